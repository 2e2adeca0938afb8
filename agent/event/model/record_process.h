#ifndef ETWSHIP_EVENT_RECORD_PROCESS_H
#define ETWSHIP_EVENT_RECORD_PROCESS_H

#include "event/model/record.h"

/*
 * Records that tell which processes and threads there are: other records are of these (event_process.h).
 * Inputs hand them over ahead of their time, so this is asked of every record of a trace.
 */
enum record_process {
    RECORD_OF_OTHERS,           /* none of them */
    RECORD_OF_PROCESS,          /* kernel class Process: start, end, rundowns, defunct */
    RECORD_OF_THREAD,           /* kernel class Thread: the same */
    RECORD_OF_IMAGE,            /* kernel class Image: load, rundowns */
    RECORD_OF_VOLUME,           /* KernelTraceControl's SystemConfigEx: what devices are called */
    RECORD_OF_PROCESS_PROVIDER, /* Microsoft-Windows-Kernel-Process: what process/ reads of it */
};

enum record_process record_process_kind(const struct event_record *record);

/* May a kernel record with this hook be one of them? */
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

/* Is it one of the lists of processes, threads and images that a session of the kernel begins and ends with
 * (DCStart, DCEnd)? No process writes these: Windows puts the one that the payload is about into the header,
 * but where that is process 0, the one that asked for the list. So the payload counts. */
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

/* May it be of another process than its header has, or of one where that has none? */
static inline bool record_process_may_change(const struct event_record *record)
{
    return !(record->present & RECORD_HAS_PROCESS) || record_process_is_listed(record);
}

/* May a record of this class or provider be one of them? */
enum record_process record_process_class(const uint8_t guid[16]);

#endif
