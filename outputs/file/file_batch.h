#ifndef ETWSHIP_OUTPUTS_FILE_BATCH_H
#define ETWSHIP_OUTPUTS_FILE_BATCH_H

#include "outputs/file/file_bound.h"
#include "outputs/file/file_rotate.h"
#include "outputs/output.h"

/* One delivery spread over its files. Memory is kept from batch to batch. */
struct file_batch {
    struct file_entry **targets; /* by route */
    uint32_t *starts;            /* by route: where its records begin in `order`; one more */
    uint32_t *order;             /* records by route, in order of arrival */
    size_t route_capacity;
    size_t record_capacity;
    struct buf gathered;
    struct file_bound *bound; /* maximum number of files; NULL: there is one file */
};

/* ${bound}, which may be NULL, outlives the batch. */
void file_batch_init(struct file_batch *batch, struct file_bound *bound);
void file_batch_fini(struct file_batch *batch);

/*
 * Find or open the files of ${delivery}, that of ${path} if it has no routes. ${ret_covered} is
 * false if a file is missing from the stored checkpoint. Nothing is written yet, so a failure
 * leaves nothing to undo.
 */
bool file_batch_prepare(struct file_batch *batch, struct file_rotator *rotator, const char *path,
    const struct delivery *delivery, bool *ret_covered, struct error *err);

/* Write the prepared and covered records, rotating files that grow too large. After a failure:
 * file_set_undo. */
bool file_batch_write(struct file_batch *batch, struct file_rotator *rotator,
    const struct delivery *delivery, struct error *err);

#endif
