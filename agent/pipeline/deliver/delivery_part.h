#ifndef ETWSHIP_PIPELINE_DELIVERY_PART_H
#define ETWSHIP_PIPELINE_DELIVERY_PART_H

#include "pipeline/deliver/delivery_host.h"

/* Records of which a destination rejects some, and does not say which
 * (output_report.rejected_but_arrived). */

/* How many of ${statuses} are rejected at all. */
size_t delivery_part_rejected(const enum record_status *statuses, size_t count);

/*
 * Count ${rejected} records. Those kept as dead letters are the dead letters of ${counts} since
 * ${before}; the others are sent again. Of the letters, as many count as dead as the destination
 * surely rejected, and the others as delivered. Records that are sent again are counted by the
 * answer that they get then. Some of them may have arrived already: these are possible duplicates.
 */
void delivery_part_count(const struct output_report *report, size_t rejected, uint64_t before,
    struct delivery_counts *counts);

/* Dead letters are not kept: as many of the rejected ones in ${statuses} count as delivered. */
void delivery_part_take(
    const struct output_report *report, enum record_status *statuses, size_t count);

#endif
