#ifndef ETWSHIP_PROCESS_PROCESS_SUBJECTS_H
#define ETWSHIP_PROCESS_PROCESS_SUBJECTS_H

#include "event/model/record.h"

/* Process and thread that a kernel record describes, from its payload. */
struct process_subject {
    bool has_process;
    bool has_thread;
    uint32_t process_id;
    uint32_t thread_id;
};

/* For records without process in their header: samples, thread switches, disk and network I/O,
 * images and similar. False: the payload has none either, or its position is unknown. Never fails;
 * thread-safe. */
bool process_subjects_read(const struct event_record *record, struct process_subject *ret_subject);

#endif
