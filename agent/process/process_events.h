#ifndef ETWSHIP_PROCESS_PROCESS_EVENTS_H
#define ETWSHIP_PROCESS_PROCESS_EVENTS_H

#include "base/utf.h"
#include "event/model/record_process.h"
#include "process/process_table.h"

/*
 * Facts about processes, threads and volumes in records, read without a schema because they are
 * needed where none is available: the kernel's classes Process (versions 0 to 5), Thread and Image,
 * Microsoft-Windows-Kernel-Process (1, 2, 3, 4, 5, 15 in all versions), and KernelTraceControl's
 * volume mappings. Newer versions are read like the last known one. Thread-safe; records may come
 * in any order.
 */

/* Add the facts in ${record} to ${table}; none if it is of another kind (record_process_kind) or
 * malformed. ${ansi}: code page of names; NULL: 1252. */
void process_events_learn(
    struct process_table *table, const struct codepage *ansi, const struct event_record *record);

/* The process, and if present the thread, that a record of the kernel's classes describes. False:
 * none. */
struct process_subject; /* process/process_subjects.h */
bool process_events_subject(const struct event_record *record, struct process_subject *ret_subject);

#endif
