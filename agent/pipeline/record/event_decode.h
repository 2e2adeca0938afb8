#ifndef ETWSHIP_PIPELINE_EVENT_DECODE_H
#define ETWSHIP_PIPELINE_EVENT_DECODE_H

#include "decode/decode.h"
#include "pipeline/record/width_evidence.h"
#include "schema/cache/schema_cache.h"

/*
 * Record to event: which of the definitions that may apply, and which pointer size. One thread at a
 * time.
 */
struct event_decode {
    struct schema_cache *cache;    /* borrowed */
    struct decoder *decoder;       /* borrowed */
    uint8_t pointer_size;          /* 4 or 8; 0: the record's own, checked against the payload */
    struct width_evidence *widths; /* what other events say of it; borrowed; NULL: nothing */
};

/*
 * Decode ${record} with the first definition that consumes its payload exactly, else with the first
 * one. A classic event that fits both widths of pointers is decoded with that of its class in its
 * trace, as known from event_decode_weigh, else with the header's unless its own text is garbage
 * with that. Never fails: see enum decode_status. ${ret_event} is valid until the next call with
 * the same decoder, and as long as the record.
 */
void event_decode_run(
    struct event_decode *decode, const struct event_record *record, struct event *ret_event);

/* As event_decode_run, with the definitions that schema_cache_find gave for ${record}: for filters,
 * which use them first. */
void event_decode_with(struct event_decode *decode, const struct event_record *record,
    const struct schema_choice *choice, struct event *ret_event);

/*
 * As event_decode_with, in two steps (decoder_begin), where a single definition may apply and no
 * other size of pointers could change what it makes of the payload. False: only the whole of it is
 * known to be right, and nothing was done. Stacks, and what else is known of the event, stay as
 * they are.
 */
bool event_decode_begin(struct event_decode *decode, const struct event_record *record,
    const struct schema_choice *choice, uint16_t field_count, struct event *event);
void event_decode_finish(struct event_decode *decode, struct event *event);

/* A sample of the trace (input_sink.sample), before its events: does it prove a width? */
void event_decode_weigh(struct event_decode *decode, const struct event_record *record);

/* Copy from ${before} what is known of ${event} beside its payload, to decode it again. */
static inline void event_decode_keep(struct event *event, const struct event *before)
{
    event->process = before->process;
    event->file = before->file;
    event->stack = before->stack;
    event->stack_count = before->stack_count;
}

/* How well events decoded. */
struct decode_counts {
    uint64_t raw;           /* events without layout, with payload bytes: shipped as hex */
    uint64_t partial;       /* events that decoded halfway */
    uint64_t messages;      /* WPP messages whose format is missing, with payload bytes or none */
    uint64_t other_width;   /* events decoded with another pointer size than their header says */
    uint64_t learned_width; /* … which other events of their class prove */
    uint64_t silent;        /* events of event logs without a message */
    uint64_t cut;           /* texts that were too long to ship whole: one for each stream */
};

void decode_counts_add(struct decode_counts *counts, const struct event *event);

#endif
