#ifndef ETWSHIP_TESTS_SUPPORT_ETL_MIX_H
#define ETWSHIP_TESTS_SUPPORT_ETL_MIX_H

#include "base/buf.h"
#include "event/model/record.h"

/*
 * A stream of events such as a security engineer's sessions hold: DNS queries and processes from
 * manifest providers, TraceLogging, a .NET EventSource, the kernel logger, a WPP driver. Endless,
 * the same for the same options, one event at a time: the generator of traces and the benchmark
 * both draw from it.
 *
 * Every event but StackWalk carries a number that counts up from 1, so that a test can prove that
 * all events arrived, and in order: the field etl_mix_sequence_field names.
 */
enum etl_mix_kind {
    MIX_DNS_COMPLETED, /* manifest: etl_mix_schema_dns */
    MIX_DNS_CALLED,
    MIX_PROCESS_START, /* manifest: etl_mix_schema_process */
    MIX_PROCESS_STOP,
    MIX_HTTP_REQUEST, /* TraceLogging: structs, array, counted strings */
    MIX_HEARTBEAT,
    MIX_WORK_START, /* EventSource */
    MIX_NOTE,
    MIX_KERNEL_PROCESS_START,
    MIX_KERNEL_PROCESS_END,
    MIX_KERNEL_THREAD_START,
    MIX_KERNEL_IMAGE_LOAD,
    MIX_KERNEL_DISK_READ,
    MIX_KERNEL_TCP_SEND,
    MIX_KERNEL_FILE_CREATE,
    MIX_KERNEL_SAMPLE,
    MIX_WPP,
    MIX_KINDS,                    /* kinds below are not drawn by themselves */
    MIX_KERNEL_STACK = MIX_KINDS, /* follows every second sample, same stamp in EventTimeStamp */
    MIX_METADATA,                 /* TRACE_EVENT_INFO, EVENT_MAP_INFO, ManifestData */
};

enum etl_mix_profile {
    MIX_REALISTIC,
    MIX_MANIFEST,
    MIX_TRACELOGGING,
    MIX_EVENTSOURCE,
    MIX_KERNEL,
    MIX_WPP_ONLY,
    MIX_LIMIT, /* five kinds, short and long, that the limit program (bench/limit.h) knows */
    MIX_ALL,   /* every kind as often as the others */
};

struct etl_mix_options {
    uint64_t seed;
    enum etl_mix_profile profile;
    uint16_t processors;            /* 0: 1 */
    uint8_t pointer_size;           /* of all records, 4 or 8; 0: 8 */
    struct trace_clock clock;       /* etl_writer_clock */
    uint32_t events_per_second;     /* pace of the stamps; 0: 50000 */
    uint64_t last_sequence;         /* the first event gets the number after it */
    uint32_t descriptors;           /* of each type with an EVENT_HEADER; 0: 1 */
    const struct trace_info *trace; /* for record->trace; may be NULL */
};

/* Both views of an event are valid until the next call. */
struct etl_mix_event {
    enum etl_mix_kind kind;
    uint64_t sequence;                 /* 0: StackWalk, metadata */
    const struct event_record *record; /* as a reader has to deliver it; the position is zero */
    struct span bytes;                 /* in the form of a file */
};

struct etl_mix;

struct etl_mix *etl_mix_create(const struct etl_mix_options *options, struct error *err);
void etl_mix_destroy(struct etl_mix *mix); /* NULL is fine */

/* The records that describe the events of the profile, one per call; NULL after the last. They
 * carry the current stamp. */
const struct etl_mix_event *etl_mix_metadata(struct etl_mix *mix);

/* The next event. NULL only without memory. */
const struct etl_mix_event *etl_mix_next(struct etl_mix *mix);

/* Do not draw from the profile but make an event of ${kind} (below MIX_KINDS). */
const struct etl_mix_event *etl_mix_make(struct etl_mix *mix, enum etl_mix_kind kind);

/* A short name, for reports. */
const char *etl_mix_kind_name(enum etl_mix_kind kind);

/*
 * The field below `data` that holds the sequence: a decimal number, but for SubProcessTag and
 * InstructionPointer, which are "0x…"; the latter has it in its low 31 bits. ByteOffset is 64 bits
 * wide, the others of the kernel 32. NULL for kinds without.
 */
const char *etl_mix_sequence_field(enum etl_mix_kind kind);

#endif
