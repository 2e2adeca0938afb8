#ifndef ETWSHIP_PROCESS_PROCESS_READER_H
#define ETWSHIP_PROCESS_PROCESS_READER_H

#include "event/model/record_file.h"
#include "event/write/event_file.h"
#include "process/process_table.h"

/*
 * Looks up processes and files in a process table for one thread, and caches the answers: an event
 * of a recently used process or file needs no lock.
 */
struct process_reader;

/* ${table} is borrowed. NULL: out of memory. */
struct process_reader *process_reader_create(struct process_table *table, struct error *err);
void process_reader_destroy(struct process_reader *reader); /* NULL is fine */

/* The process of the record by id and time, and by start key if the record has one. NULL: unknown.
 * Valid until the next call. */
const struct event_process *process_reader_find(
    struct process_reader *reader, const struct event_record *record);

/* Say that process_reader_find will be called for ${record} soon; and, some time after that was
 * said, that it will be called next. Both return the place (struct event_process). */
uint32_t process_reader_expect(
    const struct process_reader *reader, const struct event_record *record);
uint32_t process_reader_expect_next(
    const struct process_reader *reader, const struct event_record *record);

/* Look-up of any process at the time of a record. Does not invalidate the answer of
 * process_reader_find. Valid as long as the reader. NULL if there is no reader. */
const struct event_processes *process_reader_others(const struct process_reader *reader);

/* Only for records for which record_file_may is true. */
const struct event_file *process_reader_used_file(
    struct process_reader *reader, const struct event_record *record);

/* The file that the record uses (event/model/record_file.h), by its address and time. NULL: none or
 * unknown. Valid until the next call. */
static inline const struct event_file *process_reader_file(
    struct process_reader *reader, const struct event_record *record)
{
    return record_file_may(record) ? process_reader_used_file(reader, record) : NULL;
}

/* Returns ${record}, or a copy in ${room} with a process if its header has none, as in many kernel
 * records: the process of the thread in the header, or the process and thread that the payload
 * describes (process_subjects.h). Records of the kernel's lists (record_process_is_listed) always
 * belong to the process and thread in their payload. */
const struct event_record *process_reader_complete(
    struct process_reader *reader, const struct event_record *record, struct event_record *room);

#endif
