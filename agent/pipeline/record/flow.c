#include "pipeline/record/flow.h"

#include <stdlib.h>

#include "pipeline/record/event_decode.h"
#include "pipeline/record/event_mark.h"
#include "pipeline/record/stack_join.h"
#include "process/file_events.h"
#include "process/process_events.h"
#include "process/process_reader.h"

enum { MAX_CONSUMERS = 64 };

struct flow {
    struct event_decode decode;
    struct input_decoding decoding;
    uint64_t max_events;
    struct flow_filter filter; /* filter.filter is NULL: all pass */
    bool (*wants)(void *self, const struct event *event);
    void *wants_self;
    struct flow_consumer consumers[MAX_CONSUMERS];
    size_t consumer_count;
    struct decoder decoder;
    struct process_table *processes;
    struct process_reader *reader; /* NULL: processes are not asked for */
    const struct codepage *ansi;
    bool knows_processes; /* on_metadata has reported some */
    struct stack_join *stacks;
    struct flow_counts counts;
    uint64_t sequence;
    uint64_t newest;        /* FILETIME of the latest event, the time of gaps */
    struct event_mark mark; /* of the event at hand */
    bool stopped;
    bool learns_late;   /* definitions came after records */
    bool may_know_more; /* of the event that was judged last: its definition is still looked for */
};

/* ---- filter ------------------------------------------------------------------------------------ */

/* True if the verdict lets the event pass. A decided one is counted. */
static bool passes(struct flow *flow, enum filter_verdict verdict, size_t rule)
{
    if (verdict != FILTER_UNDECIDED && flow->filter.hits) {
        flow->filter.hits[rule]++;
    }
    flow->counts.filtered += verdict == FILTER_DROP;
    return verdict != FILTER_DROP;
}

enum decoded { NOT_DECODED, PARTLY_DECODED, DECODED };

/* Keep what is known of ${event} beside its payload. */
static void decode_whole(struct flow *flow, const struct schema_choice *choice, struct event *event)
{
    const struct event before = *event;
    event_decode_with(&flow->decode, before.record, choice, event);
    event_decode_keep(event, &before);
}

/* As far as the filter looks. */
static enum decoded decode_for_filter(
    struct flow *flow, const struct schema_choice *choice, struct event *event)
{
    if (choice->count == 1) {
        event->schema = choice->list[0];
        uint16_t fields = filter_fields(flow->filter.filter, flow->filter.scratch, event);
        if (fields != EVENT_PATH_ALL_FIELDS &&
            event_decode_begin(&flow->decode, event->record, choice, fields, event)) {
            return PARTLY_DECODED;
        }
    }
    decode_whole(flow, choice, event);
    return DECODED;
}

/* Find the event's process, and the file that it uses. */
static void identify(const struct flow *flow, struct event *event)
{
    if (flow->reader && !event->process) {
        event->process = process_reader_find(flow->reader, event->record);
    }
    if (flow->reader && !event->file) {
        event->file = process_reader_file(flow->reader, event->record);
    }
}

/* The verdict on ${event}, which its header leaves open, and of which all but schema and fields is
 * there, as early as the schema allows. ${ret_decoded}: what was decoded for it. */
static enum filter_verdict judge(
    struct flow *flow, struct event *event, size_t *ret_rule, enum decoded *ret_decoded)
{
    const struct flow_filter *f = &flow->filter;
    const struct event_schema *const nothing = NULL;
    if (filter_is_placed(f->filter)) { /* else no rule looks at it */
        identify(flow, event);
    }
    const struct schema_choice *choice = schema_cache_find(flow->decode.cache, event->record);
    flow->may_know_more = choice->late;
    enum filter_verdict verdict = filter_candidates(f->filter, f->scratch, event,
        choice->count ? choice->list : &nothing, choice->count ? choice->count : 1, ret_rule);
    if (verdict != FILTER_UNDECIDED) {
        return verdict;
    }
    *ret_decoded = decode_for_filter(flow, choice, event);
    return filter_event(f->filter, f->scratch, event, ret_rule);
}

/* Decode ${event}, of which all but schema and fields is there. False: the filter drops it. ${tag}:
 * see early(). */
static bool decode_filtered(struct flow *flow, struct event *event, uint64_t tag)
{
    size_t rule = (size_t)tag - 1;
    enum decoded decoded = NOT_DECODED;
    enum filter_verdict verdict = FILTER_KEEP;
    flow->filter.scratch->unsure = span_make(NULL, 0);
    if (!tag) {
        verdict = filter_header(flow->filter.filter, flow->filter.scratch, event->record, &rule);
    }
    if (verdict == FILTER_UNDECIDED) {
        verdict = judge(flow, event, &rule, &decoded);
    }
    if (!passes(flow, verdict, rule)) {
        return false;
    }
    identify(flow, event);
    if (decoded == PARTLY_DECODED) {
        event_decode_finish(&flow->decode, event);
    } else if (decoded == NOT_DECODED) {
        decode_whole(flow, schema_cache_find(flow->decode.cache, event->record), event);
    }
    flow->counts.unsure += flow->filter.scratch->unsure.size > 0;
    event_mark_unsure(&flow->mark, flow->filter.scratch, event);
    return true;
}

/* True if the record can be dropped before it is decoded: its schema is certain, and the caller does not want it. */
static bool is_unwanted(const struct flow *flow, const struct event_record *record)
{
    if (!flow->wants || flow->learns_late || stack_join_wants(record)) {
        return false;
    }
    const struct schema_choice *choice = schema_cache_find(flow->decode.cache, record);
    const struct event event = {.record = record, .schema = choice->count ? choice->list[0] : NULL};
    return choice->count <= 1 && !choice->late && !flow->wants(flow->wants_self, &event);
}

/*
 * The verdict on a record that is still to be joined with its stack, where neither that nor the
 * records around it can change it: what is dropped need not be copied. UNDECIDED: its turn will
 * tell. ${ret_tag}: else what that is to know, the number of the rule from 1; 0: no rule decided.
 *
 * Definitions are there before the records that they describe, but for files that are followed or
 * come one after another: once some were learned between records, only headers are judged here.
 */
static enum filter_verdict early(
    struct flow *flow, const struct event_record *record, uint64_t *ret_tag)
{
    const struct flow_filter *f = &flow->filter;
    size_t rule = 0;
    enum filter_verdict verdict = FILTER_UNDECIDED;
    *ret_tag = 0;
    if (is_unwanted(flow, record)) {
        return FILTER_DROP;
    }
    if (!f->filter || stack_join_wants(record)) {
        return FILTER_UNDECIDED;
    }
    f->scratch->unsure = span_make(NULL, 0);
    f->scratch->was_unsure = false;
    f->scratch->asks_again = true; /* in doubt it is asked again in its turn: that counts */
    struct event_record completed;
    if (flow->reader && filter_asks_process(f->filter)) {
        record = process_reader_complete(flow->reader, record, &completed);
    }
    bool by_header_alone = flow->learns_late || filter_is_placed(f->filter);
    if (!by_header_alone || filter_drops_early(f->filter)) {
        verdict = filter_header(f->filter, f->scratch, record, &rule);
    }
    if (!by_header_alone && verdict == FILTER_UNDECIDED) {
        enum decoded decoded = NOT_DECODED;
        struct event event = {.record = record};
        verdict = judge(flow, &event, &rule, &decoded);
        verdict = flow->may_know_more ? FILTER_UNDECIDED : verdict;
    }
    f->scratch->asks_again = false;
    if (verdict == FILTER_UNDECIDED || f->scratch->placed || f->scratch->was_unsure) {
        return FILTER_UNDECIDED;
    }
    *ret_tag = rule + 1;
    return verdict;
}

/* ---- handing on ---------------------------------------------------------------------------------- */

/* stack_join_emit_fn */
static bool emit(void *self, const struct event_record *record, const uint64_t *frames,
    uint32_t frame_count, uint64_t tag)
{
    struct flow *flow = self;
    if (flow->stopped) {
        return false;
    }
    struct event_record completed;
    if (flow->reader) {
        record = process_reader_complete(flow->reader, record, &completed);
    }
    struct event_record numbered = *record;
    numbered.sequence = ++flow->sequence;
    flow->newest = record->time > flow->newest ? record->time : flow->newest;
    struct event event = {.record = &numbered, .stack = frames, .stack_count = frame_count};
    if (!flow->filter.filter) {
        event_decode_run(&flow->decode, &numbered, &event);
        identify(flow, &event);
        event.stack = frames;
        event.stack_count = frame_count;
    } else if (!decode_filtered(flow, &event, tag)) {
        return true;
    }
    event.others = process_reader_others(flow->reader);
    flow->counts.events++;
    decode_counts_add(&flow->counts.decode, &event);
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

/* The turn of ${count} events that were dropped early. */
static bool leave_out(struct flow *flow, uint64_t time, uint64_t tag, uint64_t count)
{
    if (flow->stopped) {
        return false;
    }
    flow->sequence += count;
    flow->newest = time > flow->newest ? time : flow->newest;
    flow->counts.filtered += count;
    if (tag && flow->filter.hits) {
        flow->filter.hits[tag - 1] += count;
    }
    return true;
}

/* stack_join_left_out_fn: the turn of an event that was dropped before it was copied. */
static bool on_left_out(void *self, uint64_t time, uint64_t tag)
{
    return leave_out(self, time, tag, 1);
}

/* input_sink.leaves_out */
static bool leaves_out(void *self, const struct event_record *record, uint64_t *ret_tag)
{
    struct flow *flow = self;
    const struct flow_filter *f = &flow->filter;
    size_t rule = 0;
    f->scratch->was_unsure = false;
    f->scratch->asks_again = true;
    bool drops = filter_header(f->filter, f->scratch, record, &rule) == FILTER_DROP &&
                 !f->scratch->placed && !f->scratch->was_unsure;
    f->scratch->asks_again = false;
    *ret_tag = rule + 1;
    return drops;
}

/* input_sink.left_out */
static bool on_many_left_out(void *self, uint64_t tag, uint64_t count, uint64_t newest)
{
    struct flow *flow = self;
    flow->counts.received += count;
    return stack_join_flush(flow->stacks) && leave_out(flow, newest, tag, count);
}

static void learn_process(struct flow *flow, const struct event_record *record)
{
    if (flow->processes) {
        process_events_learn(flow->processes, flow->ansi, record);
    }
}

static void learn_file(struct flow *flow, const struct event_record *record, bool ahead)
{
    if (flow->processes) {
        file_events_learn(flow->processes, record, ahead);
    }
}

static void on_metadata(void *self, const struct event_record *record)
{
    struct flow *flow = self;
    if (record_file_names(record)) {
        learn_file(flow, record, true);
    } else if (record_process_kind(record) != RECORD_OF_OTHERS) {
        learn_process(flow, record);
        flow->knows_processes = true;
    } else if (record->kind == RECORD_KERNEL) {
        stack_join_learn(flow->stacks, record);
    } else {
        flow->learns_late |= flow->counts.received > 0;
        schema_cache_learn(flow->decode.cache, record);
    }
}

static void on_trace_end(void *self, const struct trace_info *trace)
{
    const struct flow *flow = self;
    stack_join_remove_trace(flow->stacks, trace);
}

static void on_sample(void *self, const struct event_record *record)
{
    struct flow *flow = self;
    event_decode_weigh(&flow->decode, record);
}

static bool on_record(void *self, const struct event_record *record)
{
    struct flow *flow = self;
    flow->counts.received++;
    if (!flow->knows_processes) { /* else all of the trace's were handed over before */
        learn_process(flow, record);
    }
    learn_file(flow, record, false);
    if (record_is_metadata(record)) {
        flow->counts.metadata++;
        if (!flow->decoding.metadata) {
            return true;
        }
    }
    uint64_t tag;
    return early(flow, record, &tag) == FILTER_DROP
               ? stack_join_leave_out(flow->stacks, record, tag)
               : stack_join_push(flow->stacks, record, tag);
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
    flow->decode = (struct event_decode){.cache = settings->cache,
        .decoder = &flow->decoder,
        .pointer_size = settings->decoding.pointer_size};
    flow->decode.widths = width_evidence_create(err);
    flow->decoding = settings->decoding;
    flow->max_events = settings->max_events;
    if (settings->filter) {
        flow->filter = *settings->filter;
    }
    flow->wants = settings->wants;
    flow->wants_self = settings->wants_self;
    flow->consumer_count = settings->consumer_count;
    for (size_t i = 0; i < settings->consumer_count; i++) {
        flow->consumers[i] = settings->consumers[i];
    }
    flow->processes = settings->processes;
    flow->ansi = settings->ansi;
    flow->reader = settings->processes ? process_reader_create(settings->processes, err) : NULL;
    flow->stacks = stack_join_create(settings->decoding.stack_walk, emit, on_left_out, flow, err);
    if (!flow->stacks || !flow->decode.widths || (settings->processes && !flow->reader) ||
        !decoder_init(&flow->decoder, err)) {
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
        width_evidence_destroy(flow->decode.widths);
        process_reader_destroy(flow->reader);
        free(flow);
    }
}

void flow_sink(struct flow *flow, struct input_sink *ret_sink)
{
    *ret_sink = (struct input_sink){.self = flow,
        .metadata = on_metadata,
        .record = on_record,
        .trace_end = on_trace_end,
        .sample = flow->decoding.pointer_size ? NULL : on_sample,
        .gap = on_gap};
    if (flow->filter.filter && filter_drops_early(flow->filter.filter) && !flow->max_events) {
        ret_sink->leaves_out = leaves_out;
        ret_sink->left_out = on_many_left_out;
    }
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
