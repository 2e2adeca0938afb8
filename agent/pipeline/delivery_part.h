#ifndef ETWSHIP_PIPELINE_DELIVERY_PART_H
#define ETWSHIP_PIPELINE_DELIVERY_PART_H

#include "pipeline/delivery_host.h"

/* Records of which a destination rejects some, and does not say which (output_report.rejected_but_arrived). */

/* How many of ${statuses} are rejected at all. */
size_t delivery_part_rejected(const enum record_status *statuses, size_t count);

/*
 * Of ${rejected} records those that are dead letters since ${before} of ${counts} are kept, and the others come again.
 * As many of the letters as are sure to be rejected count so, the others as delivered: what comes again is counted by
 * the answer that it gets then. It may have arrived already, which is counted, too.
 */
void delivery_part_count(const struct output_report *report, size_t rejected, uint64_t before,
    struct delivery_counts *counts);

/* Nobody keeps dead letters: as many of the rejected ones in ${statuses} count as delivered. */
void delivery_part_take(
    const struct output_report *report, enum record_status *statuses, size_t count);

#endif
