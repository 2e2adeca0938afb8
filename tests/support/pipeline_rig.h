#ifndef ETWSHIP_TESTS_SUPPORT_PIPELINE_RIG_H
#define ETWSHIP_TESTS_SUPPORT_PIPELINE_RIG_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/assembly/pipeline.h"
#include "platform/plat_thread.h"
#include "support/fake_output.h"
#include "support/test.h"

/* A pipeline between fakes: sources that a test feeds, and scripted outputs. */

/* An event becomes `session:sequence`, the session as its records say in thread_id, and blanks up
 * to kernel_ticks bytes. */
static inline void put_event(
    struct event_writer *writer, const struct event *event, struct buf *out)
{
    (void)writer;
    size_t start = out->size;
    buf_printf(out, "%u:%llu", (unsigned)event->record->thread_id,
        (unsigned long long)event->record->sequence);
    while (out->size - start < event->record->kernel_ticks && !out->failed) {
        static const char blanks[] = "                                                        ";
        size_t more = event->record->kernel_ticks - (out->size - start);
        buf_add(out, blanks, more < sizeof(blanks) - 1 ? more : sizeof(blanks) - 1);
    }
    buf_add_byte(out, '\n');
}

static inline void put_gap(struct event_writer *writer, const struct gap *gap, uint64_t now,
    uint64_t sequence, struct buf *out)
{
    (void)writer;
    (void)now;
    buf_printf(out, "gap %s/%s %llu #%llu", gap->stage, gap->reason, (unsigned long long)gap->count,
        (unsigned long long)sequence);
    buf_printf(out, gap->output ? " of %s\n" : "\n", gap->output);
}

static inline void put_status(struct event_writer *writer, const struct status *status,
    uint64_t now, uint64_t sequence, struct buf *out)
{
    (void)writer;
    (void)now;
    buf_printf(out, "status %llu %.*s %.*s\n", (unsigned long long)sequence,
        SPAN_ARG(status->counters), SPAN_ARG(status->message));
}

static const struct event_format fake_format = {
    .name = "fake", .event = put_event, .gap = put_gap, .status = put_status};

enum { MAX_SESSIONS = 3, MAX_OUTPUTS = 4 };

struct rig {
    struct pipeline_session sessions[MAX_SESSIONS];
    struct pipeline_stream streams[MAX_OUTPUTS];
    struct pipeline_output outputs[MAX_OUTPUTS];
    struct fake_settings fake_settings[MAX_OUTPUTS];
    struct fake_output *fakes[MAX_OUTPUTS];
    uint64_t resume[MAX_SESSIONS * MAX_OUTPUTS];
    struct pipeline_settings settings;
    struct pipeline *pipeline;
    struct trace_info trace;
    atomic_uint saves;
    atomic_uint ended;
    atomic_uint closed;
};

static const size_t first_streams[MAX_OUTPUTS] = {0, 1, 2, 3};

static inline struct schema_cache *make_cache(
    void *self, size_t session, size_t worker, struct error *err)
{
    (void)self;
    (void)session;
    (void)worker;
    return schema_cache_create(&(struct schema_cache_settings){.only_source = NULL}, err);
}

static inline bool on_save(void *self, struct error *err)
{
    (void)err;
    atomic_fetch_add(&((struct rig *)self)->saves, 1);
    return true;
}

static inline void on_ended(void *self, size_t output, bool closed)
{
    struct rig *rig = self;
    (void)output;
    atomic_fetch_add(&rig->ended, 1);
    atomic_fetch_add(&rig->closed, closed);
}

static inline void on_warn(void *self, const char *output, const char *kind, const char *text)
{
    (void)self;
    (void)output;
    assert_non_null(kind);
    assert_non_null(text);
}

/* ${session_count} replayable sessions, each into every one of ${stream_count} streams, and an
 * output per entry of ${streams_of_outputs}. */
static inline void rig_init(struct rig *rig, size_t session_count, size_t stream_count,
    const size_t *streams_of_outputs, size_t output_count)
{
    *rig = (struct rig){.trace = {.has_stacks = false}};
    for (size_t i = 0; i < session_count; i++) {
        static const char *const names[] = {"one", "two", "three"};
        rig->sessions[i] = (struct pipeline_session){.name = names[i],
            .replayable = true,
            .streams = first_streams,
            .stream_count = stream_count};
    }
    for (size_t i = 0; i < stream_count; i++) {
        rig->streams[i] = (struct pipeline_stream){.shape = {.format = &fake_format},
            .max_bytes = 64 * 1024,
            .max_events = 1000,
            .max_age_ns = UINT64_C(20000000)};
    }
    for (size_t i = 0; i < output_count; i++) {
        static const char *const names[] = {"a", "b", "c", "d"};
        rig->outputs[i] = (struct pipeline_output){.name = names[i],
            .ops = &fake_output_ops,
            .settings = &rig->fake_settings[i],
            .retry = {.min_ms = 1, .max_ms = 2},
            .workers = 1,
            .stream = streams_of_outputs[i],
            .route = SIZE_MAX};
    }
    rig->settings = (struct pipeline_settings){.sessions = rig->sessions,
        .session_count = session_count,
        .streams = rig->streams,
        .stream_count = stream_count,
        .outputs = rig->outputs,
        .output_count = output_count,
        .worker_count = 1,
        .memory_bytes = 64 * 1024 * 1024,
        .make_cache = make_cache,
        .save = on_save,
        .ended = on_ended,
        .warn = on_warn,
        .self = rig};
}

static inline void rig_script(
    struct rig *rig, size_t output, const struct fake_step *steps, size_t count)
{
    rig->fakes[output] = fake_output_create(steps, count);
}

static inline void rig_start(struct rig *rig)
{
    for (size_t i = 0; i < rig->settings.output_count; i++) {
        if (!rig->fakes[i]) {
            rig_script(rig, i, NULL, 0);
        }
        rig->fake_settings[i].fake = rig->fakes[i];
    }
    struct error err = {0};
    rig->pipeline = pipeline_create(&rig->settings, &err);
    assert_string_equal(err.text, "");
    assert_non_null(rig->pipeline);
    assert_true(pipeline_start(rig->pipeline, &err));
}

/* Hand over events; false when the source stops. */
static inline bool rig_push(struct rig *rig, size_t session, size_t count, uint32_t width)
{
    static const uint8_t payload[64];
    struct input_sink sink;
    pipeline_sink(rig->pipeline, session, &sink);
    for (size_t i = 0; i < count; i++) {
        struct event_record record = {.kind = RECORD_OPAQUE,
            .pointer_size = 8,
            .present = RECORD_HAS_THREAD,
            .thread_id = (uint32_t)session,
            .kernel_ticks = width,
            .time = 133500000000000000 + i,
            .payload = span_make(payload, sizeof(payload)),
            .trace = &rig->trace};
        if (!sink.record(sink.self, &record)) {
            return false;
        }
    }
    return true;
}

static inline void check_ledger(struct rig *rig)
{
    struct session_counts sessions[MAX_SESSIONS + 1];
    struct output_counts outputs[MAX_OUTPUTS];
    ledger_look(pipeline_ledger(rig->pipeline), sessions, outputs);
    for (size_t i = 0; i < rig->settings.session_count; i++) {
        assert_true(ledger_session_balances(&sessions[i]));
    }
    for (size_t i = 0; i < rig->settings.output_count; i++) {
        assert_true(ledger_output_balances(&outputs[i]));
    }
}

static inline struct output_counts output_counts(struct rig *rig, size_t output)
{
    struct output_counts outputs[MAX_OUTPUTS];
    ledger_look(pipeline_ledger(rig->pipeline), NULL, outputs);
    return outputs[output];
}

static inline struct session_counts session_counts(struct rig *rig, size_t session)
{
    struct session_counts sessions[MAX_SESSIONS + 1];
    ledger_look(pipeline_ledger(rig->pipeline), sessions, NULL);
    return sessions[session];
}

static inline void rig_finish(struct rig *rig)
{
    for (size_t i = 0; i < rig->settings.session_count; i++) {
        pipeline_finish_source(rig->pipeline, i, false);
    }
    assert_true(pipeline_drain(rig->pipeline));
    check_ledger(rig);
    for (size_t i = 0; i < rig->settings.output_count; i++) {
        struct output_counts counts = output_counts(rig, i);
        assert_int_equal(counts.pending, 0);
        assert_int_equal(counts.own_pending, 0);
    }
    struct spool_usage usage;
    struct spool *spool = pipeline_spool(rig->pipeline);
    spool->ops->usage(spool, &usage);
    assert_int_equal(usage.bytes, 0);
    assert_int_equal(usage.batches, 0);
}

static inline void rig_fini(struct rig *rig)
{
    pipeline_destroy(rig->pipeline);
    for (size_t i = 0; i < rig->settings.output_count; i++) {
        struct fake_counts counts = fake_output_counts(rig->fakes[i]);
        assert_int_equal(counts.misused, 0);
        assert_int_equal(counts.created, counts.destroyed);
        fake_output_destroy(rig->fakes[i]);
    }
}

/* Did ${output} get exactly the events ${from} to ${to} of ${session}, in order, among others? */
static inline void check_received(
    struct rig *rig, size_t output, size_t session, uint64_t from, uint64_t to)
{
    char *text = fake_output_text(rig->fakes[output]);
    uint64_t next = from;
    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        char *end;
        bool is_of_session = strtoul(line, &end, 10) == session && end > line && *end == ':';
        if (is_of_session) {
            assert_int_equal(strtoull(end + 1, NULL, 10), next);
            next++;
        }
    }
    assert_int_equal(next, to + 1);
    free(text);
}

static inline bool has_line(struct rig *rig, size_t output, const char *line)
{
    char *text = fake_output_text(rig->fakes[output]);
    bool found = strstr(text, line) != NULL;
    free(text);
    return found;
}

/* What the gaps that ${output} got say: of ${what} (`output/rejected`), lost by ${loser}, or by
 * none if that is NULL. */
static inline uint64_t gap_sum(struct rig *rig, size_t output, const char *what, const char *loser)
{
    char *text = fake_output_text(rig->fakes[output]);
    uint64_t sum = 0;
    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        char head[64];
        char tail[64];
        int head_size = snprintf(head, sizeof(head), "gap %s ", what);
        int tail_size = snprintf(tail, sizeof(tail), loser ? " of %s\n" : "\n", loser);
        if (strncmp(line, head, (size_t)head_size) == 0) {
            char *rest;
            uint64_t count = strtoull(line + head_size, &rest, 10);
            rest = strncmp(rest, " #0", 3) == 0 ? rest + 3 : rest;
            sum += strncmp(rest, tail, (size_t)tail_size) == 0 ? count : 0;
        }
    }
    free(text);
    return sum;
}

struct feeder {
    struct rig *rig;
    size_t session;
    size_t count;
    uint32_t width;
    bool went_on;
};

static inline void feed(void *self)
{
    struct feeder *feeder = self;
    feeder->went_on = rig_push(feeder->rig, feeder->session, feeder->count, feeder->width);
}

static inline struct plat_thread *start_feeding(struct feeder *feeder)
{
    struct error err;
    struct plat_thread *thread = plat_thread_start("feed", feed, feeder, &err);
    assert_non_null(thread);
    return thread;
}

static inline struct spool_usage wait_until_full(struct rig *rig)
{
    struct spool *spool = pipeline_spool(rig->pipeline);
    struct spool_usage usage;
    do {
        spool->ops->usage(spool, &usage);
    } while (usage.bytes < usage.max_bytes ||
             pipeline_queue_bytes(rig->pipeline) < rig->settings.memory_bytes / 32);
    return usage;
}

#endif
