#include <stdlib.h>

#include "pipeline/source/source_own.h"
#include "platform/plat_clock.h"
#include "process/file_events.h"
#include "process/process_events.h"

enum {
    NO_MEMORY_WAIT_MS = 50,
};

static const uint64_t second_ns = UINT64_C(1000000000);

/* ---- state ----------------------------------------------------------------------------------- */

void source_change(struct source *source, enum source_state to)
{
    if (source->state != SOURCE_STOPPED) {
        source->state = to;
    }
}

/* Not everything up to the last number was queued. */
static void stop_early(struct source *source)
{
    source_change(source, SOURCE_STOPPED);
    source->counts.complete = false;
}

/* ---- handing over ---------------------------------------------------------------------------- */

/* Counts of the join since the last slab. */
static void count_stacks(struct source *source)
{
    struct stack_join_counts now = stack_join_counts(source->stacks);
    uint64_t joined = now.joined - source->told.joined;
    uint64_t dropped = now.dropped - source->told.dropped;
    source->slab_counts.joined += joined;
    source->slab_counts.dropped[SESSION_DROP_STACK_WALK] += dropped;
    source->slab_counts.received += joined + dropped;
    source->slab_counts.unmatched += now.unmatched - source->told.unmatched;
    source->told = now;
}

void source_abandon(struct source *source, struct slab *slab)
{
    struct session_counts *counts = &slab->counts;
    counts->filtered = 0; /* they are dropped like those that no worker looked at */
    uint64_t counted = counts->metadata + counts->joined;
    for (size_t i = 0; i < SESSION_DROP_COUNT; i++) {
        counted += counts->dropped[i];
    }
    struct loss loss = {.session = source->settings.session,
        .output = SIZE_MAX,
        .reason = OUTPUT_DROP_STOPPED,
        .count = counts->received - counted,
        .times = slab->times};
    if (source->settings.losses) {
        losses_add(source->settings.losses, &loss);
    }
    counts->dropped[SESSION_DROP_STOPPED] += loss.count;
    ledger_add_session(source->settings.ledger, source->settings.session, counts);
    slab_destroy(slab);
    stop_early(source);
}

void source_complete(struct source *source, struct slab *slab)
{
    if (slab->completed) {
        return;
    }
    slab->completed = true;
    count_stacks(source);
    slab->counts = source->slab_counts;
    slab->last_sequence = source->counts.sequence;
    slab->left_out = source->left_out;
    source->slab_counts = (struct session_counts){0};
    source->left_out = 0;
    source->since_slab = 0;
    if (source->settings.gates) {
        source_gates_flush(source->settings.gates);
    }
}

bool source_hand_over(struct source *source, uint64_t deadline_ns)
{
    struct slab *slab = source->slab;
    if (!slab) {
        return true;
    }
    source_complete(source, slab);
    enum slab_push push = slab_queue_push(source->settings.queue, slab, deadline_ns);
    if (push == SLAB_QUEUE_FULL) {
        return false;
    }
    source->slab = NULL;
    if (push == SLAB_QUEUE_OVER) {
        source_abandon(source, slab);
    }
    return true;
}

/* Hand the slab over; without room the source drops from now on. */
static bool hand_over_or_drop(struct source *source, uint64_t deadline_ns)
{
    bool ok = source_hand_over(source, deadline_ns);
    if (!ok) {
        source_change(source, SOURCE_DROPS);
    }
    return ok;
}

static uint64_t deadline_of(const struct source *source)
{
    return source->settings.replayable ? UINT64_MAX
                                       : plat_monotonic_ns() + source->settings.block_for_ns;
}

/* A new slab; replayable sources wait for memory, as long as the agent
 * does not stop. NULL: none. */
static struct slab *make_slab(struct source *source, enum slab_kind kind, size_t capacity)
{
    struct slab *slab = slab_create(
        kind, source->settings.session, capacity, source->settings.pool);
    while (
        !slab && source->settings.replayable && !slab_queue_is_cancelled(source->settings.queue)) {
        plat_sleep_ms(NO_MEMORY_WAIT_MS);
        slab = slab_create(kind, source->settings.session, capacity, source->settings.pool);
    }
    return slab;
}

/* Queue the metadata that was gathered. That of a live source stays if it finds no room: later
 * events cannot be decoded without it. */
static void push_metadata(struct source *source, uint64_t deadline_ns)
{
    struct slab *metadata = source->metadata;
    if (!metadata) {
        return;
    }
    enum slab_push push = slab_queue_push(source->settings.queue, metadata, deadline_ns);
    if (push == SLAB_QUEUE_FULL) {
        source_change(source, SOURCE_DROPS);
        return;
    }
    source->metadata = NULL;
    if (push == SLAB_QUEUE_OVER) {
        slab_destroy(metadata);
    }
}

void source_offer_metadata(struct source *source)
{
    bool drops = source->state == SOURCE_DROPS;
    if (source->metadata && (!drops || slab_queue_is_half_empty(source->settings.queue))) {
        push_metadata(source, drops ? 0 : deadline_of(source));
    }
}

static void drop(struct source *source, const struct event_record *record)
{
    source_gaps_add_loss(source, ledger_session_drop_reason(SESSION_DROP_FULL), record);
    source->slab_counts.dropped[SESSION_DROP_FULL]++;
}

/* While dropping: is there room again? */
static bool resume(struct source *source)
{
    if (!slab_queue_is_half_empty(source->settings.queue)) {
        if (source->until_clock-- == 0) {
            source->until_clock = SOURCE_CLOCK_EVERY;
            source_gaps_close_old(source);
        }
        return false;
    }
    if (!source_hand_over(source, 0)) {
        return false;
    }
    source_gaps_close(source, true);
    source_change(source, SOURCE_READS);
    return true;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool is_old(struct source *source)
{
    if (source->settings.replayable || source->until_clock-- != 0) {
        return false;
    }
    source->until_clock = SOURCE_CLOCK_EVERY;
    return plat_monotonic_ns() - source->slab_opened_ns >= source->settings.slab_age_ns;
}

/* Hand the slab over and open one with room for ${size} bytes. False if that is impossible. */
static bool open_next_slab(struct source *source, size_t size)
{
    if (!hand_over_or_drop(source, deadline_of(source))) {
        return false;
    }
    size_t usual = source->settings.slab_bytes;
    source->slab = make_slab(source, SLAB_RECORDS, size > usual ? size : usual);
    source->slab_opened_ns = source->settings.replayable ? 0 : plat_monotonic_ns();
    if (!source->slab) {
        source_change(source, SOURCE_DROPS);
    }
    return source->slab != NULL;
}

/* Copy an event into a slab. False if there is no room for it: it is to be dropped. */
static bool put(struct source *source, const struct event_record *record, const uint64_t *frames,
    uint32_t frame_count)
{
    size_t size = slab_item_size(record, frame_count);
    if (source->state == SOURCE_DROPS && !resume(source)) {
        return false;
    }
    const struct slab *slab = source->slab;
    bool fits = slab && !slab->completed && !is_old(source) && slab_has_room(slab, size);
    if (!fits && !open_next_slab(source, size)) {
        return false;
    }
    uint64_t sequence = source->counts.sequence + 1;
    slab_add(source->slab, record, frames, frame_count, size, sequence);
    return true;
}

/* stack_join_emit_fn */
static bool emit(void *self, const struct event_record *record, const uint64_t *frames,
    uint32_t frame_count, uint64_t tag)
{
    (void)tag;
    struct source *source = self;
    if (source->state == SOURCE_STOPPED) {
        return false;
    }
    source->newest = record->time > source->newest ? record->time : source->newest;
    source->events++;
    if (source->counts.sequence < source->settings.resume) {
        source->counts.resumed++;
    } else {
        bool keeps = !source->budget || source_budget_keeps(source, record, frame_count);
        if (keeps && !put(source, record, frames, frame_count)) {
            if (source->settings.replayable) { /* the agent stops; the next run reads it again */
                stop_early(source);
                return false;
            }
            drop(source, record);
        }
        source->slab_counts.received++;
    }
    source->counts.sequence++;
    if (source->settings.max_events && source->events >= source->settings.max_events) {
        source_change(source, SOURCE_STOPPED);
    }
    return source->state != SOURCE_STOPPED;
}

void source_hand_over_counts(struct source *source)
{
    count_stacks(source);
    if (!source->slab && source->slab_counts.received) {
        source->slab = make_slab(source, SLAB_RECORDS, 0);
    }
}

/* Copy a record of metadata into the slab that waits for its turn. False: no room, no memory. */
static bool add_metadata(struct source *source, const struct event_record *record, size_t size)
{
    if (source->metadata && !slab_has_room(source->metadata, size)) {
        source_offer_metadata(source);
        if (source->metadata) {
            return false;
        }
    }
    if (!source->metadata) {
        source->metadata = make_slab(source, SLAB_METADATA, size > SLAB_BYTES ? size : SLAB_BYTES);
    }
    if (source->metadata) {
        slab_add(source->metadata, record, NULL, 0, size, 0);
    }
    return source->metadata != NULL;
}

static void learn(struct source *source, const struct event_record *record)
{
    if (record->kind == RECORD_KERNEL) {
        stack_join_learn(source->stacks, record);
        return;
    }
    size_t size = slab_item_size(record, 0);
    if (source->state == SOURCE_READS) {
        hand_over_or_drop(source, deadline_of(source));
    }
    if (source->state == SOURCE_STOPPED) {
        return;
    }
    if (!add_metadata(source, record, size)) {
        /* What it describes is shipped undecoded. The gap is closed when there is room again. */
        source_gaps_add_loss(source, "metadata", record);
        source->slab_counts.unlearned++;
        source_change(source, SOURCE_DROPS);
    }
}

static void learn_process(struct source *source, const struct event_record *record)
{
    if (source->settings.processes) {
        process_events_learn(source->settings.processes, source->settings.ansi, record);
    }
}

static void learn_file(struct source *source, const struct event_record *record, bool ahead)
{
    if (source->settings.processes) {
        file_events_learn(source->settings.processes, record, ahead);
    }
}

static void on_metadata(void *self, const struct event_record *record)
{
    if (record_file_names(record)) {
        learn_file(self, record, true);
    } else if (record_process_kind(record) != RECORD_OF_OTHERS) {
        learn_process(self, record);
        ((struct source *)self)->told_ahead = true;
    } else {
        learn(self, record);
    }
}

static void on_trace_end(void *self, const struct trace_info *trace)
{
    const struct source *source = self;
    stack_join_remove_trace(source->stacks, trace);
}

static void on_sample(void *self, const struct event_record *record)
{
    learn(self, record);
}

/* A trace that does not grow tells of its processes ahead of all records. To learn them once more
 * would make what workers see depend on how far they lag, so that is for those alone for which
 * there was no room. */
static void learn_in_place(struct source *source, const struct event_record *record)
{
    if (source->told_ahead) {
        source->told_ahead = false;
        source->knows_processes = source->settings.processes &&
                                  !process_table_has_evicted(source->settings.processes);
    }
    if (!source->knows_processes || !record->trace || record->trace->grows) {
        learn_process(source, record);
    }
}

static bool on_record(void *self, const struct event_record *record)
{
    struct source *source = self;
    source->counts.seen++;
    source->quiet_since_ns = 0;
    learn_in_place(source, record);
    learn_file(source, record, false);
    if (source->metadata) {
        source_offer_metadata(source);
    }
    if (record_is_metadata(record)) {
        if (!source->settings.replayable) {
            learn(source, record);
        }
        if (!source->settings.decoding.metadata) {
            source->slab_counts.metadata++;
            source->slab_counts.received++;
            return source->state != SOURCE_STOPPED;
        }
    }
    uint64_t tag;
    bool is_left_out = source->settings.gates && !stack_join_wants(record) &&
                       source_gates_ask(source->settings.gates, record, source->counts.sequence,
                           &tag) != SOURCE_GATES_PASS;
    bool go_on = is_left_out ? stack_join_leave_out(source->stacks, record, tag)
                             : stack_join_push(source->stacks, record, 0);
    return go_on && source->state != SOURCE_STOPPED;
}

static void on_gap(void *self, const struct gap *gap)
{
    struct source *source = self;
    if (source->state == SOURCE_STOPPED || !stack_join_flush(source->stacks)) {
        return;
    }
    source_offer_metadata(source);
    if (source->counts.sequence < source->settings.resume) {
        source->counts.sequence++; /* shipped in an earlier run */
        return;
    }
    if (source->settings.replayable) {
        source_hand_over(source, UINT64_MAX);
    } else if (source->state == SOURCE_READS) {
        hand_over_or_drop(source, 0);
    }
    gap_list_add(&source->gaps, gap);
    if (source->state != SOURCE_DROPS) {
        source_gaps_close(source, true);
    }
}

/* ---- quiet sources --------------------------------------------------------------------------- */

/* Events whose stacks must have come by now, as the source has been quiet for so long. */
static void release_quiet(struct source *source)
{
    uint64_t now = plat_monotonic_ns();
    if (source->quiet_since_ns == 0) {
        source->quiet_since_ns = now;
    } else if (now - source->quiet_since_ns >= second_ns) {
        stack_join_flush(source->stacks);
        source->quiet_since_ns = now;
    }
}

static bool on_pause(void *self)
{
    struct source *source = self;
    if (source->state == SOURCE_STOPPED) {
        return false;
    }
    source_offer_metadata(source);
    if (!source->settings.replayable) {
        release_quiet(source); /* others say when: on_settle */
    }
    if (source->budget) {
        source_budget_look(source, false);
    }
    if (source->state == SOURCE_DROPS && !resume(source)) {
        source_gaps_close_old(source);
        return true;
    }
    source_hand_over_counts(source);
    source_hand_over(source, source->settings.replayable ? UINT64_MAX : 0);
    return source->state != SOURCE_STOPPED;
}

static void on_settle(void *self)
{
    struct source *source = self;
    if (source->state != SOURCE_STOPPED) {
        stack_join_flush(source->stacks);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

struct source *source_create(const struct source_settings *settings, struct error *err)
{
    struct source *source = calloc(1, sizeof(*source));
    if (source) {
        source->settings = *settings;
        source->counts.complete = true;
    }
    if (!source || !gap_list_init(&source->gaps, settings->session)) {
        if (!source) {
            source_gates_destroy(settings->gates);
        }
        source_destroy(source);
        error_set(err, ERR_MEMORY, "out of memory for a session");
        return NULL;
    }
    source->stacks = stack_join_create(
        settings->decoding.stack_walk, emit, source_left_out_one, source, err);
    bool ok = source->stacks != NULL;
    if (ok && !settings->replayable && provider_budget_is_given(&settings->budget)) {
        source->budget_now_ns = source->budget_ticked_ns = source->budget_told_ns =
            plat_monotonic_ns();
        source->budget = provider_budget_create(&settings->budget, source->budget_now_ns, err);
        ok = source->budget != NULL;
    }
    if (!ok) {
        source_destroy(source);
        return NULL;
    }
    return source;
}

void source_destroy(struct source *source)
{
    if (source) {
        stack_join_destroy(source->stacks);
        provider_budget_destroy(source->budget);
        slab_destroy(source->slab);
        gap_list_fini(&source->gaps);
        slab_destroy(source->metadata);
        source_gates_destroy(source->settings.gates);
        free(source);
    }
}

void source_sink(struct source *source, struct input_sink *ret_sink)
{
    *ret_sink = (struct input_sink){.self = source,
        .metadata = on_metadata,
        .record = on_record,
        .trace_end = on_trace_end,
        .pause = on_pause,
        .settle = on_settle,
        .gap = on_gap,
        .guard = source_gaps_report,
        .number = &source->counts.sequence};
    if (source->settings.decoding.pointer_size == 0) {
        ret_sink->sample = on_sample;
    }
    if (source->settings.gates && !source->settings.max_events) {
        ret_sink->leaves_out = source_left_out_ask;
        ret_sink->left_out = source_left_out_many;
    }
    source_files_sink(source, ret_sink);
}

void source_finish(struct source *source, bool stopped)
{
    push_metadata(source, UINT64_MAX);
    if (source->state != SOURCE_STOPPED && !(stopped && source->settings.replayable)) {
        stack_join_flush(source->stacks);
    }
    source_hand_over_counts(source);
    source_hand_over(source, UINT64_MAX);
    source_gaps_close(source, true);
    if (source->budget) {
        source_budget_look(source, true);
    }
    /* Counts that came up since, or that a gap which could not be shipped would have carried. */
    source_hand_over_counts(source);
    source_hand_over(source, UINT64_MAX);
}

struct source_counts source_counts(const struct source *source)
{
    return source->counts;
}
