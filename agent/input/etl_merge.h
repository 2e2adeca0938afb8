#ifndef ETWSHIP_INPUT_ETL_MERGE_H
#define ETWSHIP_INPUT_ETL_MERGE_H

#include "input/etl_file.h"

/*
 * The records of indexed files in one order of time. Equal times go by the order of the files,
 * then by the place of buffer and record in the file; what one processor wrote keeps its order
 * even where its times step back. The order depends on nothing but the files.
 */
struct etl_merge;

/* ${files} (and the array) are borrowed and outlive the merge. */
struct etl_merge *etl_merge_create(
    struct etl_file *const *files, size_t file_count, struct error *err);
void etl_merge_destroy(struct etl_merge *merge); /* NULL is fine */

enum etl_merge_step {
    ETL_MERGE_RECORD,
    ETL_MERGE_FILE_END, /* all records of a file were given */
    ETL_MERGE_END,
    ETL_MERGE_FAILED, /* a file cannot be read */
};

/*
 * The next step. ${ret_record}: a record, valid until the next call; ${ret_file}: index of its
 * file, or of the file that ended. ${err} is set on failure.
 */
enum etl_merge_step etl_merge_next(struct etl_merge *merge, const struct event_record **ret_record,
    size_t *ret_file, struct error *err);

/* Bytes of the files whose records were begun so far. */
uint64_t etl_merge_bytes(const struct etl_merge *merge);

#endif
