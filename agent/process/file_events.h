#ifndef ETWSHIP_PROCESS_FILE_EVENTS_H
#define ETWSHIP_PROCESS_FILE_EVENTS_H

#include "event/model/record_file.h"
#include "process/process_table.h"

/*
 * Passes file names in records (event/model/record_file.h) to a process table. Thread-safe.
 *
 * Names of file keys are learned from any position. If a trace passed them on ahead, the records in
 * their places add nothing, unless the trace has grown since. Opened and closed file objects are
 * learned only in their places, because there are as many as programs open files.
 */

/* Only for records for which record_file_may is true. */
void file_events_take(struct process_table *table, const struct event_record *record, bool ahead);

/* Pass the file name in ${record}, if any, to ${table}. ${ahead}: the record is delivered again in
 * its place later, like all records that an input passes on first. */
static inline void file_events_learn(
    struct process_table *table, const struct event_record *record, bool ahead)
{
    if (record_file_may(record)) {
        file_events_take(table, record, ahead);
    }
}

/* A file name in a record, as UTF-8. */
struct file_text {
    struct span path; /* empty: none, or the kernel's placeholder for an unknown name */
    uint8_t *more;    /* allocated if `room` is too small */
    uint8_t room[4096];
};

/* False: no memory. Otherwise call file_text_fini. */
bool file_text_init(struct file_text *text, const struct record_file *file);
void file_text_fini(struct file_text *text);

#endif
