#ifndef ETWSHIP_PROCESS_PROCESS_READER_H
#define ETWSHIP_PROCESS_PROCESS_READER_H

#include "event/event_file.h"
#include "event/record_file.h"
#include "process/process_table.h"

/*
 * Asks a table of processes for one thread, and remembers the answers: an event of a process, or of a
 * file, that it was asked for lately costs no lock.
 */
struct process_reader;

/* ${table} is borrowed. NULL: out of memory. */
struct process_reader *process_reader_create(struct process_table *table, struct error *err);
void process_reader_destroy(struct process_reader *reader); /* NULL is fine */

/* The process of the record, by its id and time, and by its start key if it has one. NULL: unknown.
 * Valid until the next call. */
const struct event_process *process_reader_find(
    struct process_reader *reader, const struct event_record *record);

/* Asks it for any process at the time of a record, beside process_reader_find, whose answer stays valid;
 * as long as the reader is there. NULL for no reader. */
const struct event_processes *process_reader_others(const struct process_reader *reader);

/* Of a record for which record_file_may holds. */
const struct event_file *process_reader_used_file(
    struct process_reader *reader, const struct event_record *record);

/* The file that the record uses (event/record_file.h), by its address and time. NULL: none, or it is not
 * known which. Valid until the next call. */
static inline const struct event_file *process_reader_file(
    struct process_reader *reader, const struct event_record *record)
{
    return record_file_may(record) ? process_reader_used_file(reader, record) : NULL;
}

/* ${record}; or, where its header has no process, as those of many of the kernel's, a copy of it in ${room}
 * with one: that of the thread in its header, or the one that its payload is about (process_subjects.h),
 * with the thread where it is about one. Records of the kernel's lists (record_process_is_listed) are of the
 * process and the thread that their payload names, whatever their header has. */
const struct event_record *process_reader_complete(
    struct process_reader *reader, const struct event_record *record, struct event_record *room);

#endif
