#ifndef ETWSHIP_PROCESS_PROCESS_EVENTS_H
#define ETWSHIP_PROCESS_PROCESS_EVENTS_H

#include "base/utf.h"
#include "event/record_process.h"
#include "process/process_table.h"

/*
 * What records tell of processes, threads and volumes, read without a schema, as these have to be
 * understood where there is none: the kernel's classes Process (versions 0 to 5), Thread and Image,
 * Microsoft-Windows-Kernel-Process (1, 2, 3, 4, 5, 15 in all versions), KernelTraceControl's volume
 * mappings. Versions that are newer are read as the last known one. Any thread, records in any order.
 */

/* Tell ${table} what is in ${record}; nothing, where it tells nothing (record_process_kind), or is not
 * what it says. ${ansi}: of names; NULL: 1252. */
void process_events_learn(
    struct process_table *table, const struct codepage *ansi, const struct event_record *record);

/* The process, and the thread where it tells of one, that a record of the kernel's classes tells of. False:
 * it tells of none. */
struct process_subject; /* process/process_subjects.h */
bool process_events_subject(const struct event_record *record, struct process_subject *ret_subject);

#endif
