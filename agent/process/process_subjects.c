#include "process/process_subjects.h"

#include "base/reader.h"
#include "event/model/kernel_groups.h"
#include "event/model/record_letter.h"
#include "process/process_events.h"

/*
 * Layouts from the MOF classes of root\wmi (compared with schema/events/kernel_classes.def by a
 * test). A layout ends at the id if no pointer precedes it, else at the end of the record, because
 * the width of pointers is the one that leaves no bytes over. One letter per field:
 *
 *     p   32 bits: the process           1 … 8   number of bytes to skip
 *     T   32 bits: the thread            a       a pointer: skipped
 *     t   thread, as wide as a pointer   w       UTF-16: skipped
 *                                        ?       4 bytes in newer builds: skipped
 */
struct layout {
    uint8_t group; /* of the hook id */
    uint8_t first; /* types */
    uint8_t last;
    uint8_t version;
    const char *fields;
};

enum {
    DISK_IO = 0x01,
    PAGE_FAULT = 0x02,
    PROCESS = 0x03,
    FILE_IO = 0x04,
    THREAD = 0x05,
    TCP_IP = 0x06,
    UDP_IP = 0x08,
    LAST_BRANCHES = 0x0c,
    PERF_INFO = 0x0f,
    OBJECT = 0x11,
    IMAGE = 0x14,
    STACK_WALK = 0x18,
};

/* For one type, descending by version; frequent types come first. */
// clang-format off
static const struct layout layouts[] = {
    {THREAD, 36, 36, 1, "T"},             /* CSwitch: the new one */
    {THREAD, 50, 50, 2, "T"},             /* ReadyThread */
    {PERF_INFO, 46, 46, 2, "aT22"},       /* SampleProf */
    {PERF_INFO, 46, 46, 1, "aT2"},        /* SampleProf */
    {PERF_INFO, 47, 47, 2, "aT22"},       /* PmcCounterProf */
    {STACK_WALK, 32, 32, 2, "8pT"},       /* Stack */
    {STACK_WALK, 37, 38, 2, "8pT"},       /* StackKeyKernel, StackKeyUser */
    {LAST_BRANCHES, 32, 32, 2, "8pT"},    /* LbrRecord */
    {PAGE_FAULT, 32, 32, 2, "88aaT4"},    /* HardFault */
    {PAGE_FAULT, 98, 99, 2, "aap4"},      /* VirtualAlloc, VirtualFree */
    {PAGE_FAULT, 100, 100, 4, "a4p48"},   /* HRRundown */
    {PAGE_FAULT, 100, 100, 3, "a4p44"},
    {PAGE_FAULT, 100, 100, 2, "a4p4"},
    {PAGE_FAULT, 128, 129, 2, "aap4a"},   /* VirtualAlloc and its rundown */
    {PAGE_FAULT, 113, 113, 0, "T"},       /* 64 bits wide */
    {DISK_IO, 10, 11, 3, "44448aa8T"},    /* Read, Write */
    {DISK_IO, 12, 13, 3, "aT"},           /* ReadInit, WriteInit */
    {DISK_IO, 14, 14, 3, "448aT"},        /* FlushBuffers */
    {DISK_IO, 15, 15, 3, "aT"},           /* FlushInit */
    {DISK_IO, 55, 56, 3, "44448aa8T"},    /* Read, Write on optical disks */
    {DISK_IO, 57, 57, 3, "448aT"},
    {DISK_IO, 58, 60, 3, "aT"},
    {TCP_IP, 10, 16, 1, "p"},
    {TCP_IP, 18, 22, 1, "p"},
    {TCP_IP, 10, 15, 0, "44224p"},
    {TCP_IP, 26, 32, 2, "p"},
    {TCP_IP, 34, 34, 2, "p"},
    {UDP_IP, 10, 11, 1, "p"},
    {UDP_IP, 26, 27, 2, "p"},
    {FILE_IO, 37, 40, 3, ""},             /* MapFile …: the position is no longer known */
    {FILE_IO, 37, 40, 2, "aa8ap"},
    {FILE_IO, 64, 64, 3, "aaT444w"},      /* Create */
    {FILE_IO, 64, 64, 2, "ata444w"},
    {FILE_IO, 65, 66, 3, "aaaT"},         /* Cleanup, Close */
    {FILE_IO, 65, 66, 2, "ataa"},
    {FILE_IO, 67, 68, 3, "8aaaT44?"},     /* Read, Write */
    {FILE_IO, 67, 68, 2, "8ataa44"},
    {FILE_IO, 69, 71, 3, "aaaaT4"},       /* SetInfo, Delete, Rename */
    {FILE_IO, 69, 71, 2, "ataaa4"},
    {FILE_IO, 72, 72, 3, "aaaT444w"},     /* DirEnum */
    {FILE_IO, 72, 72, 2, "ataa444w"},
    {FILE_IO, 73, 73, 3, "aaaT"},         /* Flush */
    {FILE_IO, 73, 73, 2, "ataa"},
    {FILE_IO, 74, 75, 3, "aaaaT4"},       /* QueryInfo, FSControl */
    {FILE_IO, 74, 75, 2, "ataaa4"},
    {FILE_IO, 77, 77, 3, "aaaT444w"},     /* DirNotify */
    {FILE_IO, 77, 77, 2, "ataa444w"},
    {FILE_IO, 79, 81, 3, "aaaaT4w"},      /* DletePath, RenamePath, SetLinkPath */
    {FILE_IO, 83, 84, 3, "aaaaT4"},
    {PROCESS, 11, 11, 2, "p"},            /* Terminate */
    {PROCESS, 32, 33, 2, "p"},            /* PerfCtr */
    {PROCESS, 35, 35, 2, "ap"},           /* InSwap */
    {PROCESS, 48, 52, 2, "aap4"},         /* Wake… */
    {PROCESS, 64, 68, 2, "aap4"},
    {PROCESS, 80, 84, 2, "aap4"},
    {PROCESS, 112, 112, 0, "pT"},         /* DebugEvent */
    {IMAGE, 2, 2, 2, "aap444a4444w"},     /* UnLoad */
    {IMAGE, 2, 2, 1, "aapw"},
    {THREAD, 41, 41, 2, "aa8844T48"},     /* SpinLock */
    {THREAD, 42, 42, 0, "aT1"},           /* Queue, Resource, PushLock */
    {THREAD, 43, 43, 0, "8884Ta44"},
    {THREAD, 44, 44, 0, "aT1"},
    {THREAD, 48, 49, 3, "T"},             /* SetPriority, SetBasePriority */
    {THREAD, 51, 52, 3, "T"},             /* SetPagePriority, SetIoPriority */
    {THREAD, 53, 53, 2, "aT22"},          /* ThreadAffinity */
    {THREAD, 57, 57, 1, "T"},             /* WorkerThread */
    {THREAD, 60, 61, 2, "T"},             /* AntiStarvationBoost, Thread Migration */
    {THREAD, 62, 62, 2, "aT"},            /* Kernel Queue Enqueue */
    {THREAD, 63, 63, 2, "T"},             /* Kernel Queue Dequeue */
    {THREAD, 66, 67, 2, "aT4"},           /* AutoBoost Set Floor, Clear Floor */
    {THREAD, 68, 68, 2, "aT"},            /* AutoBoost Entry Exhaustion */
    {THREAD, 72, 72, 2, "pT"},            /* SetName */
    {OBJECT, 38, 39, 2, "ap42w"},         /* rundowns of handles */
};
// clang-format on

/* Group of the record's class; KERNEL_GROUP_COUNT: not a kernel class. */
static unsigned group_of(const struct event_record *record)
{
    if (record->kind == RECORD_KERNEL) {
        return record->hook_id >> 8;
    }
    unsigned group = 0;
    while (group < KERNEL_GROUP_COUNT &&
           !guid_equal(&kernel_group_find((uint8_t)group)->class_guid, &record->provider)) {
        group++;
    }
    return group;
}

static const struct layout *find_layout(const struct event_record *record)
{
    unsigned group = group_of(record);
    uint8_t type = record->descriptor.opcode;
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        const struct layout *layout = &layouts[i];
        if (layout->group == group && layout->first <= type && type <= layout->last &&
            layout->version <= record->descriptor.version) {
            return layout;
        }
    }
    return NULL;
}

static void take_field(
    struct reader *r, char letter, uint8_t pointer_size, struct process_subject *subject)
{
    switch (letter) {
    case 'p':
        subject->process_id = reader_u32(r);
        break;
    case 'T':
        subject->thread_id = reader_u32(r);
        break;
    case 't':
        subject->thread_id = (uint32_t)record_letter_pointer(r, pointer_size);
        break;
    default:
        record_letter_skip(r, letter, pointer_size);
        break;
    }
}

/* False: the payload is too short. */
static bool take_fields(const struct event_record *record, const struct layout *layout,
    uint8_t pointer_size, struct process_subject *ret_subject, size_t *ret_left)
{
    static const uint32_t unset = UINT32_MAX;
    struct reader r = reader_make(record->payload);
    *ret_subject = (struct process_subject){.process_id = unset, .thread_id = unset};
    for (const char *letter = layout->fields; *letter; letter++) {
        take_field(&r, *letter, pointer_size, ret_subject);
    }
    ret_subject->has_process = ret_subject->process_id != unset;
    ret_subject->has_thread = ret_subject->thread_id != unset;
    *ret_left = reader_left(&r);
    return !r.failed;
}

/* process_events.c explains the two widths. */
static bool read_layout(const struct event_record *record, const struct layout *layout,
    struct process_subject *ret_subject)
{
    struct process_subject other;
    size_t left;
    size_t other_left;
    uint8_t width = record->pointer_size == 4 ? 4 : 8;
    bool good = take_fields(record, layout, width, ret_subject, &left);
    if (good && left == 0) {
        return true;
    }
    if (take_fields(record, layout, 12 - width, &other, &other_left) && other_left == 0) {
        *ret_subject = other;
        return true;
    }
    return good;
}

bool process_subjects_read(const struct event_record *record, struct process_subject *ret_subject)
{
    if (record->kind != RECORD_KERNEL && record->kind != RECORD_CLASSIC) {
        return false;
    }
    const struct layout *layout = find_layout(record);
    bool good = layout ? read_layout(record, layout, ret_subject)
                       : process_events_subject(record, ret_subject);
    return good && (ret_subject->has_process || ret_subject->has_thread);
}
