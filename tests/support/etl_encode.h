#ifndef ETWSHIP_TESTS_SUPPORT_ETL_ENCODE_H
#define ETWSHIP_TESTS_SUPPORT_ETL_ENCODE_H

#include "base/buf.h"
#include "event/model/record.h"

/*
 * Records as they stand in a buffer of an .etl file, one builder per family of headers. Each
 * appends one whole record, not padded, to ${out}; ${payload} is copied. A record above 65535
 * bytes sets out->failed. Layouts: ntwmi.h of System Informer's phnt, evntrace.h, evntcons.h.
 *
 * A record can as well be any bytes of your own: etl_writer_put takes what it gets.
 */

enum etl_kernel_form { ETL_SYSTEM, ETL_COMPACT, ETL_PERFINFO };

/* SYSTEM_TRACE_HEADER, its COMPACT form without cpu times, PERFINFO_TRACE_HEADER without ids. */
struct etl_kernel {
    enum etl_kernel_form form;
    uint8_t pointer_size; /* 4 or 8 */
    uint16_t version;     /* PERFINFO: the low byte */
    uint16_t hook_id;     /* group << 8 | type */
    uint32_t thread_id;
    uint32_t process_id;
    int64_t time;
    uint32_t kernel_ticks;
    uint32_t user_ticks;
    const uint64_t *pebs_index; /* PERFINFO: NULL or one value */
    const uint64_t *counters;   /* PERFINFO: up to 7 performance counters */
    uint8_t counter_count;
};

void etl_encode_kernel(struct buf *out, const struct etl_kernel *header, struct span payload);

/* EVENT_TRACE_HEADER (TraceEvent), and with `instance` the longer form of TraceEventInstance. */
struct etl_classic {
    uint8_t pointer_size;
    uint8_t opcode;
    uint8_t level;
    uint16_t version;
    uint32_t thread_id;
    uint32_t process_id;
    int64_t time;
    struct guid class_guid;
    uint32_t kernel_ticks;
    uint32_t user_ticks;
    bool instance;
    uint32_t instance_id;
    uint32_t parent_instance_id;
    struct guid parent_guid;
};

void etl_encode_classic(struct buf *out, const struct etl_classic *header, struct span payload);

/* EVENT_HEADER (EventWrite). EXTENDED_INFO is set where there are items. */
struct etl_event {
    uint8_t pointer_size;
    uint16_t flags; /* EVENT_FLAG_* */
    uint16_t event_property;
    uint32_t thread_id;
    uint32_t process_id;
    int64_t time;
    struct guid provider;
    struct event_descriptor descriptor;
    uint32_t kernel_ticks;
    uint32_t user_ticks;
    struct guid activity_id;
    const struct extended_item *extended; /* in this order */
    size_t extended_count;
};

void etl_encode_event(struct buf *out, const struct etl_event *header, struct span payload);

/* TRACE_MESSAGE_*, evntrace.h: which optional fields a message record has. */
enum {
    ETL_MESSAGE_SEQUENCE = 0x01,
    ETL_MESSAGE_GUID = 0x02,
    ETL_MESSAGE_COMPONENT = 0x04, /* instead of the GUID */
    ETL_MESSAGE_TIMESTAMP = 0x08,
    ETL_MESSAGE_PERFORMANCE_TIMESTAMP = 0x10, /* adds nothing */
    ETL_MESSAGE_SYSTEMINFO = 0x20,            /* thread and process */
    ETL_MESSAGE_POINTER32 = 0x40,
    ETL_MESSAGE_POINTER64 = 0x80,
};

/* MESSAGE_TRACE_HEADER (TraceMessage, WPP). */
struct etl_message {
    uint16_t number;
    uint16_t flags; /* ETL_MESSAGE_* */
    uint32_t sequence;
    struct guid guid;
    uint32_t component;
    int64_t time;
    uint32_t thread_id;
    uint32_t process_id;
};

void etl_encode_message(struct buf *out, const struct etl_message *header, struct span payload);

/* The record that a reader turns into ${record}. Not for RECORD_OPAQUE, which fails ${out}. */
void etl_encode_record(struct buf *out, const struct event_record *record);

#endif
