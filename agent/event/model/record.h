#ifndef ETWSHIP_EVENT_RECORD_H
#define ETWSHIP_EVENT_RECORD_H

#include "base/event_descriptor.h"
#include "base/guid.h"
#include "base/span.h"
#include "base/text/time_zone.h"
#include "event/model/trace_clock.h"

/*
 * A raw event as its source delivers it: header fields in one form for every header type, extended
 * items and payload as views. Everything is borrowed from the source and valid until the call that
 * delivered it returns; record_copy.h copies it.
 */

/* The record's family of headers. */
enum record_kind {
    RECORD_EVENT,   /* EVENT_HEADER: manifest, TraceLogging, EventSource, string events */
    RECORD_CLASSIC, /* EVENT_TRACE_HEADER and instance headers: class GUID + type + version */
    RECORD_KERNEL,  /* SYSTEM, COMPACT and PERFINFO headers: hook id */
    RECORD_MESSAGE, /* WPP and TraceMessage */
    RECORD_OPAQUE,  /* a header type without public layout: payload only */
};

/* Header flags (EVENT_HEADER_FLAG_*, evntcons.h). */
enum {
    EVENT_FLAG_EXTENDED_INFO = 0x0001,
    EVENT_FLAG_PRIVATE_SESSION = 0x0002,
    EVENT_FLAG_STRING_ONLY = 0x0004,
    EVENT_FLAG_TRACE_MESSAGE = 0x0008,
    EVENT_FLAG_NO_CPUTIME = 0x0010,
    EVENT_FLAG_32_BIT = 0x0020,
    EVENT_FLAG_64_BIT = 0x0040,
    EVENT_FLAG_DECODE_GUID = 0x0080,
    EVENT_FLAG_CLASSIC = 0x0100,
    EVENT_FLAG_PROCESSOR_INDEX = 0x0200,
};

/* The header fields that the record really has: absent ones are never invented. */
enum {
    RECORD_HAS_PROCESS = 0x01,
    RECORD_HAS_THREAD = 0x02,
    RECORD_HAS_CPU_TIMES = 0x04,      /* kernel_ticks and user_ticks */
    RECORD_HAS_PROCESSOR_TIME = 0x08, /* private sessions: processor_time in cpu cycles */
    RECORD_HAS_INSTANCE = 0x10,
    RECORD_HAS_SEQUENCE = 0x20,  /* WPP sequence number */
    RECORD_HAS_COMPONENT = 0x40, /* WPP component id instead of the message GUID */
    RECORD_HAS_TIME = 0x80,
    RECORD_HAS_MESSAGE_FLAGS = 0x100, /* unknown: EVENT_RECORD does not have them */
    RECORD_TIME_OF_BUFFER = 0x200,    /* a message without a time: that of the record before it */
    RECORD_SID_IS_TEXT = 0x400,       /* EXTENDED_SID holds UTF-8 text of a rule (event_editor.h) */
    RECORD_OF_LOG = 0x800,            /* from an event log: see struct event_record */
    RECORD_HAS_QUALIFIERS = 0x1000,
    RECORD_WITHOUT_MESSAGE = 0x2000, /* RECORD_OF_LOG: the user wants no message … */
    RECORD_MESSAGE_SOUGHT =
        0x4000,                /* … its reader asked the publisher, and said if that has none */
    RECORD_IS_CARVED = 0x8000, /* RECORD_OF_LOG: a leftover, no longer in the log */
};

/* Extended data items (EVENT_HEADER_EXT_TYPE_*, evntcons.h). */
enum extended_type {
    EXTENDED_RELATED_ACTIVITY_ID = 0x01,
    EXTENDED_SID = 0x02,
    EXTENDED_TS_ID = 0x03,
    EXTENDED_INSTANCE_INFO = 0x04,
    EXTENDED_STACK_TRACE32 = 0x05,
    EXTENDED_STACK_TRACE64 = 0x06,
    EXTENDED_PEBS_INDEX = 0x07,
    EXTENDED_PMC_COUNTERS = 0x08,
    EXTENDED_PSM_KEY = 0x09,
    EXTENDED_EVENT_KEY = 0x0a,
    EXTENDED_SCHEMA_TL = 0x0b,
    EXTENDED_PROV_TRAITS = 0x0c,
    EXTENDED_PROCESS_START_KEY = 0x0d,
    EXTENDED_CONTROL_GUID = 0x0e,
    EXTENDED_QPC_DELTA = 0x0f,
    EXTENDED_CONTAINER_ID = 0x10,
    EXTENDED_STACK_KEY32 = 0x11,
    EXTENDED_STACK_KEY64 = 0x12,
    EXTENDED_LOG_MESSAGE = 0x3e, /* not a type of ETW; see record_log_message */
};

struct extended_item {
    uint16_t type;
    struct span data;
};

/* More items than any real event has; further ones are dropped and counted as damage. */
enum { RECORD_MAX_EXTENDED = 32 };

/* Position of a record in its source: stable over restarts, independent of delivery order. */
struct record_position {
    uint8_t file_id[16];    /* XXH3-128, see etl_file.h; zero for live sessions */
    uint64_t buffer_offset; /* bytes from the start of the file; circular: etl_file_place */
    uint32_t record_offset; /* bytes from the start of the (uncompressed) buffer */
};

/* True if it is a position in a file. */
static inline bool record_position_is_known(const struct record_position *position)
{
    static const uint8_t none[sizeof(position->file_id)];
    return memcmp(position->file_id, none, sizeof(none)) != 0;
}

/* Facts common to all records of one file or session. Owned by the source, outlives its records. */
struct trace_info {
    struct span session_name;      /* UTF-8; ETW's logger name */
    struct span path;              /* the file as the user gave it; empty for live sessions */
    struct span file;              /* `etw.file` of its events: the path, or only the name */
    struct span host_name;         /* UTF-8; the recording machine's name; empty: unknown */
    struct span host_fqdn;         /* as far as known, like all that follows of that machine */
    struct span host_domain;       /* DNS domain */
    struct span host_architecture; /* x86 x86_64 arm arm64 ia64 */
    struct span os_name;           /* "Windows 11 Pro" */
    struct span os_version;        /* "10.0.19041" */
    struct span os_kernel;         /* "10.0.19041.4291", with the updates; live sessions */
    struct span host_id;           /* its GUID; live sessions */
    const struct span *host_ips;   /* its addresses; live sessions */
    size_t host_ip_count;
    struct trace_clock clock;
    uint64_t boot_time;        /* FILETIME, 0 unknown */
    uint32_t timer_resolution; /* 100 ns per kernel or user tick */
    uint8_t pointer_size;      /* of the machine that logged, from the file header: 4 or 8 */
    struct time_zone zone;     /* of the recording machine, if known */
    bool has_stacks;           /* the trace may hold StackWalk records; true if unknown */
    bool grows;                /* the file still grows while it is read */
};

/*
 * A record of an event log (RECORD_OF_LOG) is a self-describing event: its reader makes a payload
 * of the named and typed values in the XML, with TraceLogging metadata (EXTENDED_SCHEMA_TL).
 * EXTENDED_PROV_TRAITS names the provider as for TraceLogging, followed by the channel's name with
 * its NUL, and the event's id and version.
 */
struct event_record {
    enum record_kind kind;
    uint8_t header_type;  /* as on disk: 1-4, 10, 11, 15 (message), 16-21 */
    uint8_t pointer_size; /* by this record's own header: 4 or 8 */
    uint16_t present;     /* RECORD_HAS_* */
    uint16_t flags;       /* EVENT_FLAG_*, as on disk */
    uint16_t event_property;
    uint16_t cpu;
    uint16_t hook_id; /* kernel: group << 8 | type */
    uint32_t process_id;
    uint32_t thread_id;
    uint32_t kernel_ticks;
    uint32_t user_ticks;
    uint64_t processor_time;
    int64_t time_raw;     /* session clock */
    uint64_t time;        /* FILETIME, UTC */
    struct guid provider; /* provider, event class (classic, kernel) or WPP message GUID */
    /* classic, kernel: version, level and opcode; WPP: id is the message number */
    struct event_descriptor descriptor;
    struct guid activity_id;
    struct guid parent_guid; /* instance headers */
    uint32_t instance_id;
    uint32_t parent_instance_id;
    uint16_t message_flags; /* WPP: TRACE_MESSAGE_* */
    uint32_t message_sequence;
    uint32_t message_component;
    uint16_t log_qualifiers; /* RECORD_HAS_QUALIFIERS: the upper half of a classic event's id */
    uint64_t log_record_id;  /* RECORD_OF_LOG: EventRecordID */
    const char *log_problem; /* RECORD_OF_LOG: why the record gave only a part of its values, a
                                static text; NULL: it gave all */
    const struct extended_item *extended;
    size_t extended_count;
    struct span payload;
    const struct trace_info *trace;
    struct record_position position;
    uint64_t sequence; /* from 1 per session and start of the agent; 0: not assigned yet */
};

/* Kernel and user time of the header, in timer ticks. 0 if the header has no such times. */
static inline uint32_t record_kernel_ticks(const struct event_record *record)
{
    return record->present & RECORD_HAS_CPU_TIMES ? record->kernel_ticks : 0;
}

static inline uint32_t record_user_ticks(const struct event_record *record)
{
    return record->present & RECORD_HAS_CPU_TIMES ? record->user_ticks : 0;
}

/* The first extended item of ${type}, or NULL. */
const struct extended_item *record_extended(
    const struct event_record *record, enum extended_type type);

/* The message of a record of an event log (UTF-8), from its publisher here or on the machine that
 * forwarded it. Empty: none is known. */
struct span record_log_message(const struct event_record *record);

static inline bool record_is_log_message(
    const struct event_record *record, const struct extended_item *item)
{
    return item->type == EXTENDED_LOG_MESSAGE && (record->present & RECORD_OF_LOG);
}

/*
 * True if the record only carries metadata: kernel group 0 type 0 (the trace header), class
 * {bbccf6c1-6cd1-48c4-80ff-839482e37671} (KernelTraceControl metadata) and id 65534 with a
 * ManifestData payload. Such records are counted and delivered only on request.
 */
bool record_is_metadata(const struct event_record *record);

/* Event id of the records that carry .NET EventSource manifests. */
enum { RECORD_MANIFEST_ID = 0xfffe };

/* True if the payload looks like a chunk of a .NET EventSource manifest (id 65534, opcode 254, task
 * 65534, format 1, magic 0x5b). */
bool record_is_manifest_data(const struct event_record *record);

/* {bbccf6c1-6cd1-48c4-80ff-839482e37671}: TRACE_EVENT_INFO (opcode 32), EVENT_MAP_INFO (33). */
extern const struct guid record_metadata_class;

/* An EVENT_DESCRIPTOR as it lies in memory and in files: 16 bytes. */
struct reader; /* base/reader.h */
struct event_descriptor record_read_descriptor(struct reader *r);

#endif
