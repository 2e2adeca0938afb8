#include "pipeline/delivery_part.h"

bool delivery_part_any(const enum record_status *statuses, size_t count)
{
    size_t i = 0;
    for (; i < count && statuses[i] != RECORD_REJECTED; i++) {}
    return i < count;
}

void delivery_part_count(
    const struct output_report *report, uint64_t before, struct delivery_counts *counts)
{
    uint64_t kept = counts->dead_lettered - before;
    uint64_t arrived = report->rejected_but_arrived < kept ? report->rejected_but_arrived : kept;
    counts->dead_lettered -= arrived;
    counts->delivered += arrived;
}

void delivery_part_take(
    const struct output_report *report, enum record_status *statuses, size_t count)
{
    uint64_t left = report->rejected_but_arrived;
    for (size_t i = 0; i < count && left; i++) {
        if (statuses[i] == RECORD_REJECTED) {
            statuses[i] = RECORD_DELIVERED;
            left--;
        }
    }
}
