#ifndef ETWSHIP_PIPELINE_BATCH_PART_H
#define ETWSHIP_PIPELINE_BATCH_PART_H

#include "pipeline/batch/batch.h"

/* Some records of a batch, copied side by side so that they can be delivered as one. Embedded, zero
 * at first; one thread at a time. */
struct batch_part {
    struct buf bytes;
    uint32_t *ends;
    uint32_t *routes;
    size_t capacity;
};

void batch_part_fini(struct batch_part *part); /* zeroed is fine */

/*
 * The ${count} records ${records} of ${batch}, ascending, for an output that wants routes of
 * template ${route} (or none: SIZE_MAX). The delivery borrows ${part} and ${records}. False: out of
 * memory.
 */
bool batch_part_delivery(struct batch_part *part, const struct batch *batch,
    const uint32_t *records, size_t count, size_t route, struct delivery *ret_delivery);

#endif
