#include "pipeline/flow.h"

#include <stdlib.h>

#include "decode/decode.h"
#include "pipeline/stack_join.h"

enum { MAX_CONSUMERS = 64 };

struct flow {
    struct schema_cache *cache;
    struct input_decoding decoding;
    uint64_t max_events;
    struct flow_consumer consumers[MAX_CONSUMERS];
    size_t consumer_count;
    struct decoder decoder;
    struct stack_join *stacks;
    struct flow_counts counts;
    uint64_t sequence;
    uint64_t newest; /* FILETIME of the latest event, the time of gaps */
    bool stopped;
};

/* ---- decoding: the definition and the pointer size that fit ----------------------------------- */

/* A 32-bit logger on a 64-bit machine writes 64-bit payloads behind 32-bit headers. Only classes
 * are tried again: their sizes are exact, so a fit with the other width is no accident. */
static bool try_other_width(struct flow *flow, const struct event_record *record,
    const struct event_schema *schema, struct event *event)
{
    if (flow->decoding.pointer_size || schema->kind != SCHEMA_MOF || !schema->uses_pointers) {
        return false;
    }
    uint8_t other = record->pointer_size == 8 ? 4 : 8;
    decoder_run(&flow->decoder, record, schema, other, event);
    return event->status == DECODE_COMPLETE;
}

/* Does the definition take the payload to its last byte? One of names alone takes nothing. */
static bool fits(struct flow *flow, const struct event_record *record,
    const struct event_schema *schema, uint8_t pointer_size, struct event *event)
{
    decoder_run(&flow->decoder, record, schema, pointer_size, event);
    return event->status == DECODE_COMPLETE ||
           (event->status == DECODE_RAW && record->payload.size == 0);
}

static void decode(struct flow *flow, const struct event_record *record, struct event *event)
{
    const struct schema_choice *choice = schema_cache_find(flow->cache, record);
    uint8_t pointer_size = flow->decoding.pointer_size ? flow->decoding.pointer_size
                                                       : record->pointer_size;
    for (size_t i = 0; i < choice->count; i++) {
        if (fits(flow, record, choice->list[i], pointer_size, event)) {
            return;
        }
    }
    for (size_t i = 0; i < choice->count; i++) {
        if (try_other_width(flow, record, choice->list[i], event)) {
            return;
        }
    }
    /* Nothing fits: the first definition stands, with what it could make of it. */
    decoder_run(
        &flow->decoder, record, choice->count ? choice->list[0] : NULL, pointer_size, event);
}

/* ---- handing on ---------------------------------------------------------------------------------- */

static void count_event(struct flow *flow, const struct event *event)
{
    struct flow_counts *counts = &flow->counts;
    counts->events++;
    counts->raw += event->status == DECODE_RAW && event->record->payload.size > 0;
    counts->partial += event->status == DECODE_PARTIAL;
    counts->other_width += event->pointer_size != event->record->pointer_size;
}

/* stack_join_emit_fn */
static bool emit(
    void *self, const struct event_record *record, const uint64_t *frames, uint32_t frame_count)
{
    struct flow *flow = self;
    if (flow->stopped) {
        return false;
    }
    struct event_record numbered = *record;
    numbered.sequence = ++flow->sequence;
    flow->newest = record->time > flow->newest ? record->time : flow->newest;
    struct event event;
    decode(flow, &numbered, &event);
    event.stack = frames;
    event.stack_count = frame_count;
    count_event(flow, &event);
    for (size_t i = 0; i < flow->consumer_count; i++) {
        if (!flow->consumers[i].event(flow->consumers[i].self, &event)) {
            flow->stopped = true;
        }
    }
    if (flow->max_events && flow->counts.events >= flow->max_events) {
        flow->stopped = true;
    }
    return !flow->stopped;
}

static void on_metadata(void *self, const struct event_record *record)
{
    struct flow *flow = self;
    if (record->kind == RECORD_KERNEL) {
        stack_join_learn(flow->stacks, record);
    } else {
        schema_cache_learn(flow->cache, record);
    }
}

static bool on_record(void *self, const struct event_record *record)
{
    struct flow *flow = self;
    flow->counts.received++;
    if (record_is_metadata(record)) {
        flow->counts.metadata++;
        if (!flow->decoding.metadata) {
            return true;
        }
    }
    return stack_join_push(flow->stacks, record);
}

static void on_gap(void *self, const struct gap *gap)
{
    struct flow *flow = self;
    if (flow->stopped || !stack_join_flush(flow->stacks)) {
        return;
    }
    uint64_t now = gap->to ? gap->to : flow->newest;
    uint64_t sequence = ++flow->sequence;
    flow->counts.gaps++;
    for (size_t i = 0; i < flow->consumer_count; i++) {
        const struct flow_consumer *consumer = &flow->consumers[i];
        if (consumer->gap && !consumer->gap(consumer->self, gap, now, sequence)) {
            flow->stopped = true;
        }
    }
}

/* ---- life -------------------------------------------------------------------------------------------- */

struct flow *flow_create(const struct flow_settings *settings, struct error *err)
{
    if (settings->consumer_count > MAX_CONSUMERS) {
        error_set(err, ERR_LIMIT, "more than %d consumers of one session", MAX_CONSUMERS);
        return NULL;
    }
    struct flow *flow = calloc(1, sizeof(*flow));
    if (!flow) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    flow->cache = settings->cache;
    flow->decoding = settings->decoding;
    flow->max_events = settings->max_events;
    flow->consumer_count = settings->consumer_count;
    for (size_t i = 0; i < settings->consumer_count; i++) {
        flow->consumers[i] = settings->consumers[i];
    }
    flow->stacks = stack_join_create(settings->decoding.stack_walk, emit, flow, err);
    if (!flow->stacks || !decoder_init(&flow->decoder, err)) {
        flow_destroy(flow);
        return NULL;
    }
    return flow;
}

void flow_destroy(struct flow *flow)
{
    if (flow) {
        stack_join_destroy(flow->stacks);
        decoder_fini(&flow->decoder);
        free(flow);
    }
}

void flow_sink(struct flow *flow, struct input_sink *ret_sink)
{
    *ret_sink = (struct input_sink){
        .self = flow, .metadata = on_metadata, .record = on_record, .gap = on_gap};
}

bool flow_finish(struct flow *flow)
{
    return !flow->stopped && stack_join_flush(flow->stacks);
}

bool flow_stopped(const struct flow *flow)
{
    return flow->stopped;
}

struct flow_counts flow_counts(const struct flow *flow)
{
    struct flow_counts counts = flow->counts;
    struct stack_join_counts stacks = stack_join_counts(flow->stacks);
    counts.joined = stacks.joined;
    counts.unmatched = stacks.unmatched;
    counts.dropped = stacks.dropped;
    return counts;
}
