#ifndef ETWSHIP_PROCESS_PROCESS_SUBJECTS_H
#define ETWSHIP_PROCESS_PROCESS_SUBJECTS_H

#include "event/record.h"

/* Whom a kernel record is about, by its payload. */
struct process_subject {
    bool has_process;
    bool has_thread;
    uint32_t process_id;
    uint32_t thread_id;
};

/* For records whose header names nobody: samples, switches of threads, disk and network I/O, images and
 * the like. False: the payload names nobody either, or it is not known where. Never fails; any thread. */
bool process_subjects_read(const struct event_record *record, struct process_subject *ret_subject);

#endif
