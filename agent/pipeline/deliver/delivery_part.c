#include "pipeline/deliver/delivery_part.h"

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

size_t delivery_part_rejected(const enum record_status *statuses, size_t count)
{
    size_t rejected = 0;
    for (size_t i = 0; i < count; i++) {
        rejected += statuses[i] == RECORD_REJECTED;
    }
    return rejected;
}

void delivery_part_count(const struct output_report *report, size_t rejected, uint64_t before,
    struct delivery_counts *counts)
{
    uint64_t kept = counts->dead_lettered - before;
    uint64_t sure = rejected - smaller(report->rejected_but_arrived, rejected);
    uint64_t dead = smaller(kept, sure);
    counts->dead_lettered = before + dead;
    counts->delivered += kept - dead;
    counts->maybe_duplicates += smaller(rejected - kept, report->rejected_maybe_arrived);
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
