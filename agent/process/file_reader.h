#ifndef ETWSHIP_PROCESS_FILE_READER_H
#define ETWSHIP_PROCESS_FILE_READER_H

#include "event/event_file.h"
#include "process/process_table.h"

/*
 * Asks a table of processes for files, for one thread, and remembers the answers: an address that it was
 * asked for lately costs no lock. A part of process_reader.h.
 */
struct file_reader;

/* ${table} is borrowed. NULL: out of memory. */
struct file_reader *file_reader_create(struct process_table *table, struct error *err);
void file_reader_destroy(struct file_reader *reader); /* NULL is fine */

/* See process_reader_file. */
const struct event_file *file_reader_find(
    struct file_reader *reader, const struct event_record *record);

#endif
