#ifndef ETWSHIP_EVENT_RECORD_PROCESS_H
#define ETWSHIP_EVENT_RECORD_PROCESS_H

#include "event/model/record.h"

/*
 * Records about the start and end of processes and threads, to which other records belong
 * (event_process.h). Inputs deliver them ahead of their time, so this is called for every record of
 * a trace.
 */
enum record_process {
    RECORD_OF_OTHERS,           /* none of them */
    RECORD_OF_PROCESS,          /* kernel class Process: start, end, rundowns, defunct */
    RECORD_OF_THREAD,           /* kernel class Thread: start, end, rundowns */
    RECORD_OF_IMAGE,            /* kernel class Image: load, rundowns */
    RECORD_OF_VOLUME,           /* KernelTraceControl's SystemConfigEx: names of devices */
    RECORD_OF_PROCESS_PROVIDER, /* Microsoft-Windows-Kernel-Process: the events that process/ reads
                                   */
};

enum record_process record_process_kind(const struct event_record *record);

/* True if a kernel record with this hook may be one of them. */
static inline bool record_process_hook(uint16_t hook_id)
{
    enum { PROCESS = 0x03, THREAD = 0x05, IMAGE = 0x14, IMAGE_LOAD = 0x0a, DEFUNCT = 0x27 };
    uint8_t type = (uint8_t)hook_id;
    switch (hook_id >> 8) {
    case PROCESS:
        return (type >= 1 && type <= 4) || type == IMAGE_LOAD || type == DEFUNCT;
    case THREAD:
        return type >= 1 && type <= 4;
    case IMAGE:
        return type == 3 || type == 4;
    default:
        return false;
    }
}

/* True if it is part of the rundown (DCStart, DCEnd) of processes, threads and images at the start
 * or end of a kernel session. No process writes these: the header has the process of the payload,
 * or, if that is process 0, the one that requested the rundown. So the payload counts. */
static inline bool record_process_is_listed(const struct event_record *record)
{
    enum { LIST_BEGIN = 3, LIST_END = 4 };
    uint8_t type = record->descriptor.opcode;
    if ((record->kind != RECORD_KERNEL && record->kind != RECORD_CLASSIC) ||
        (type != LIST_BEGIN && type != LIST_END)) {
        return false;
    }
    enum record_process kind = record_process_kind(record);
    return kind == RECORD_OF_PROCESS || kind == RECORD_OF_THREAD || kind == RECORD_OF_IMAGE;
}

/* True if it may belong to another process than its header says, or to one though the header has
 * none. */
static inline bool record_process_may_change(const struct event_record *record)
{
    return !(record->present & RECORD_HAS_PROCESS) || record_process_is_listed(record);
}

/* True if a record of this class or provider may be one of them. */
enum record_process record_process_class(const uint8_t guid[16]);

#endif
