#ifndef ETWSHIP_PROCESS_FILE_EVENTS_H
#define ETWSHIP_PROCESS_FILE_EVENTS_H

#include "event/record_file.h"
#include "process/process_table.h"

/*
 * Which files records name (event/record_file.h), told to a table of processes. Any thread.
 *
 * Names of file keys are taken wherever they stand: once a trace has handed them over ahead, those in
 * their places tell nothing new, unless the trace has grown since. Opened and closed file objects are taken in their places only, as there
 * are as many of them as programs open files.
 */

/* Of a record for which record_file_may holds. */
void file_events_take(struct process_table *table, const struct event_record *record, bool ahead);

/* Tell ${table} which file ${record} names, if it does. ${ahead}: it comes again in its place later, as
 * those records do that an input hands over first. */
static inline void file_events_learn(
    struct process_table *table, const struct event_record *record, bool ahead)
{
    if (record_file_may(record)) {
        file_events_take(table, record, ahead);
    }
}

/* The name that a record tells, as UTF-8. */
struct file_text {
    struct span path; /* empty: none, or the kernel's word for a name that it does not know */
    uint8_t *more;    /* where `room` is too small */
    uint8_t room[4096];
};

/* False: no memory. Else file_text_fini is due. */
bool file_text_init(struct file_text *text, const struct record_file *file);
void file_text_fini(struct file_text *text);

#endif
