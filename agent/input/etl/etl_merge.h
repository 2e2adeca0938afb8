#ifndef ETWSHIP_INPUT_ETL_MERGE_H
#define ETWSHIP_INPUT_ETL_MERGE_H

#include "input/etl/etl_file.h"

/*
 * Merges the records of indexed files by time. Equal times are ordered by file, then by position of
 * buffer and record in the file. Records of one processor keep their order even if their times step
 * back. The order depends only on the files.
 *
 * Buffers noted in etl_file.left_out are not read: their records are counted in their places.
 */
struct etl_merge;

/* ${files} and the array are borrowed and must outlive the merge. */
struct etl_merge *etl_merge_create(
    struct etl_file *const *files, size_t file_count, struct error *err);
void etl_merge_destroy(struct etl_merge *merge); /* NULL is fine */

enum etl_merge_step {
    ETL_MERGE_RECORD,
    ETL_MERGE_LEFT_OUT, /* records that were left out; see etl_merge_left_out */
    ETL_MERGE_FILE_END, /* all records of a file were delivered */
    ETL_MERGE_END,
    ETL_MERGE_FAILED, /* a file cannot be read */
};

/*
 * Perform the next step. ${ret_record}: a record, valid until the next call; ${ret_file}: index of
 * its file, or of the file that ended. ${err} is set on failure.
 */
enum etl_merge_step etl_merge_next(struct etl_merge *merge, const struct event_record **ret_record,
    size_t *ret_file, struct error *err);

/* Records that were left out since the previous step, about 16,384 at most. */
struct etl_merge_left_out {
    uint64_t total;
    uint64_t counts[ETL_LEFT_OUT_REASONS]; /* by reason */
    uint64_t newest;                       /* FILETIME of the latest */
};

/* After ETL_MERGE_LEFT_OUT, valid until the next step. */
const struct etl_merge_left_out *etl_merge_left_out(const struct etl_merge *merge);

/* Bytes of the buffers that were started so far. */
uint64_t etl_merge_bytes(const struct etl_merge *merge);

#endif
