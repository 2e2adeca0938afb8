#ifndef ETWSHIP_PIPELINE_DELIVERY_PART_H
#define ETWSHIP_PIPELINE_DELIVERY_PART_H

#include "pipeline/delivery_host.h"

/* Records of which a destination rejects some, and does not say which (output_report.rejected_but_arrived). */

/* Is any of ${statuses} rejected at all? */
bool delivery_part_any(const enum record_status *statuses, size_t count);

/* They are kept as dead letters, since ${before} of ${counts}: those that arrived count as delivered. */
void delivery_part_count(
    const struct output_report *report, uint64_t before, struct delivery_counts *counts);

/* Nobody keeps dead letters: as many of the rejected ones in ${statuses} count as delivered. */
void delivery_part_take(
    const struct output_report *report, enum record_status *statuses, size_t count);

#endif
