#ifndef ETWSHIP_TESTS_UNIT_PIPELINE_SOURCE_RIG_H
#define ETWSHIP_TESTS_UNIT_PIPELINE_SOURCE_RIG_H

#include "pipeline/source/source.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

/* The test is both the input before a source and the worker after it. Times are either 0, so that
 * they are over at once, or an hour, so that they never are. */
static const uint64_t hour_ns = UINT64_C(3600) * 1000000000;

enum { RECORD_BYTES = 10000, QUEUE_SLABS = 4 };

struct rig {
    struct slab_queue *queue;
    struct ledger *ledger;
    struct source_settings settings;
    struct source *source;
    struct input_sink sink;
    struct trace_info trace;
    uint64_t time;
    struct buf log; /* the slabs of the queue: `1-24 gap(3) 28-30` */
    uint64_t run_first;
    uint64_t run_last;
    struct session_counts counts; /* of those slabs */
};

static inline void rig_init(struct rig *rig, bool replayable)
{
    struct error err;
    *rig = (struct rig){.time = 1000};
    rig->queue = slab_queue_create(QUEUE_SLABS * SLAB_BYTES, 1, &err);
    rig->ledger = ledger_create(1, 0, &err);
    rig->settings = (struct source_settings){.queue = rig->queue,
        .ledger = rig->ledger,
        .decoding = {.stack_walk = STACK_WALK_EVENTS},
        .slab_bytes = SLAB_BYTES,
        .replayable = replayable,
        .slab_age_ns = hour_ns,
        .gap_age_ns = hour_ns};
    buf_init(&rig->log, 1 << 20);
}

static inline void rig_start(struct rig *rig)
{
    struct error err;
    rig->source = source_create(&rig->settings, &err);
    assert_non_null(rig->source);
    source_sink(rig->source, &rig->sink);
}

static inline bool push(struct rig *rig)
{
    static const uint8_t payload[RECORD_BYTES];
    struct event_record record = {.kind = RECORD_OPAQUE,
        .pointer_size = 8,
        .time = rig->time++,
        .payload = span_make(payload, sizeof(payload)),
        .trace = &rig->trace};
    return rig->sink.record(rig->sink.self, &record);
}

static inline void push_many(struct rig *rig, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(push(rig));
    }
}

static inline void end_run(struct rig *rig)
{
    if (rig->run_last) {
        buf_printf(&rig->log, "%llu-%llu ", (unsigned long long)rig->run_first,
            (unsigned long long)rig->run_last);
    }
    rig->run_last = 0;
}

static inline void add_counts(struct rig *rig, const struct session_counts *more)
{
    rig->counts.received += more->received;
    rig->counts.metadata += more->metadata;
    rig->counts.gaps += more->gaps;
    rig->counts.etw_events_lost += more->etw_events_lost;
    rig->counts.etw_buffers_lost += more->etw_buffers_lost;
    rig->counts.unlearned += more->unlearned;
    for (size_t i = 0; i < SESSION_DROP_COUNT; i++) {
        rig->counts.dropped[i] += more->dropped[i];
    }
}

static inline void take_apart(struct rig *rig, struct slab *slab)
{
    if (slab->kind == SLAB_METADATA) {
        end_run(rig);
        buf_printf(&rig->log, "learn(%u) ", (unsigned)slab->count);
        slab_queue_learned(rig->queue, slab);
        return;
    }
    add_counts(rig, &slab->counts);
    if (slab->kind == SLAB_GAP) {
        end_run(rig);
        buf_printf(&rig->log, "%s/%s(%llu)@%llu ", slab->gap.stage, slab->gap.reason,
            (unsigned long long)slab->gap.count, (unsigned long long)slab->last_sequence);
    }
    struct slab_item item;
    size_t cursor = 0;
    while (slab_next(slab, &cursor, &item)) {
        if (rig->run_last && item.record->sequence != rig->run_last + 1) {
            end_run(rig);
        }
        rig->run_first = rig->run_last ? rig->run_first : item.record->sequence;
        rig->run_last = item.record->sequence;
        assert_int_equal(item.record->payload.size, RECORD_BYTES);
        assert_true(item.record->sequence <= slab->last_sequence);
        rig->counts.accepted++;
    }
    slab_destroy(slab);
}

/* Take one slab, like a worker. */
static inline void take(struct rig *rig)
{
    struct slab *slab = slab_queue_pop(rig->queue, 0);
    assert_non_null(slab);
    take_apart(rig, slab);
}

static inline void take_all(struct rig *rig)
{
    while (slab_queue_bytes(rig->queue)) {
        take(rig);
    }
}

/* End the source, take the rest, and check that nothing was lost on the way. */
static inline void rig_finish(struct rig *rig, bool stopped)
{
    source_finish(rig->source, stopped);
    slab_queue_close(rig->queue);
    struct slab *slab;
    while ((slab = slab_queue_pop(rig->queue, 0))) {
        take_apart(rig, slab);
    }
    end_run(rig);
    assert_true(ledger_session_balances(&rig->counts));
    assert_int_equal(
        rig->counts.received + source_counts(rig->source).resumed, source_counts(rig->source).seen);
}

static inline void rig_fini(struct rig *rig)
{
    source_destroy(rig->source);
    slab_queue_destroy(rig->queue);
    ledger_destroy(rig->ledger);
    buf_fini(&rig->log);
}

#define assert_log(rig, text) assert_span(buf_span(&(rig)->log), text)

#endif
