#ifndef ETWSHIP_PIPELINE_FLOW_H
#define ETWSHIP_PIPELINE_FLOW_H

#include "filter/filter.h"
#include "input/input.h"
#include "pipeline/record/event_decode.h"
#include "process/process_table.h"

/*
 * From one session's records to decoded events: metadata is learned, stacks are joined, each event
 * is decoded once and shown to every consumer in turn. All on the thread of input_ops.run, which
 * the consumers may block: files wait.
 */
struct flow;

/* A receiver of decoded events. An event is valid until the call returns. False ends the flow. */
struct flow_consumer {
    void *self;
    bool (*event)(void *self, const struct event *event);
    bool (*gap)(void *self, const struct gap *gap, uint64_t now, uint64_t sequence);
};

/* Which events the consumers see. All borrowed. */
struct flow_filter {
    const struct filter *filter;
    struct filter_scratch *scratch;
    uint64_t *hits; /* events by the rule that decided, then those that none did; may be NULL */
};

struct flow_settings {
    struct schema_cache *cache; /* borrowed */
    struct input_decoding decoding;
    uint64_t max_events;              /* 0: no limit */
    const struct flow_filter *filter; /* copied; NULL: all events */

    /* True if the event is wanted, judged by record and schema. Called only for events with a
     * certain schema, before they are decoded: ${event} has only record and schema. NULL: all are
     * wanted. */
    bool (*wants)(void *self, const struct event *event);
    void *wants_self;

    struct process_table
        *processes;              /* learns of them, and tells; borrowed; NULL: none is asked for */
    const struct codepage *ansi; /* of their names; NULL: 1252 */
    const struct flow_consumer *consumers;
    size_t consumer_count;
};

/* received = metadata + joined + dropped + filtered + events (and metadata ones are one of the last
 * two, too, if asked). */
struct flow_counts {
    uint64_t received;  /* records */
    uint64_t metadata;  /* records that only carry metadata */
    uint64_t joined;    /* StackWalk records that became part of an event */
    uint64_t unmatched; /* StackWalk records shipped as events for want of a partner */
    uint64_t dropped;   /* StackWalk records left out on request */
    uint64_t filtered;  /* not wanted, or dropped by the filter; numbered as others */
    uint64_t events;    /* given to the consumers */
    uint64_t unsure;    /* of these, kept though a rule could not be judged (event_mark.h) */
    uint64_t gaps;
    struct decode_counts decode; /* of the events */
};

/* NULL: out of memory. The consumers are copied. */
struct flow *flow_create(const struct flow_settings *settings, struct error *err);
void flow_destroy(struct flow *flow); /* NULL is fine */

/* Fill ${ret_sink}, to which an input passes its records; the caller handles damage and
 * progress. */
void flow_sink(struct flow *flow, struct input_sink *ret_sink);

/* Hand on what is held back, at the end of the input. False if a consumer ended the flow. */
bool flow_finish(struct flow *flow);

/* The flow ended itself: max_events was reached, or a consumer said so. */
bool flow_stopped(const struct flow *flow);

struct flow_counts flow_counts(const struct flow *flow);

#endif
