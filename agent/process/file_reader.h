#ifndef ETWSHIP_PROCESS_FILE_READER_H
#define ETWSHIP_PROCESS_FILE_READER_H

#include "event/write/event_file.h"
#include "process/process_table.h"

/*
 * Looks up files in a process table for one thread, and caches the answers: a recently used address
 * needs no lock. Part of process_reader.h.
 */
struct file_reader;

/* ${table} is borrowed. NULL: out of memory. */
struct file_reader *file_reader_create(struct process_table *table, struct error *err);
void file_reader_destroy(struct file_reader *reader); /* NULL is fine */

/* See process_reader_file. */
const struct event_file *file_reader_find(
    struct file_reader *reader, const struct event_record *record);

#endif
