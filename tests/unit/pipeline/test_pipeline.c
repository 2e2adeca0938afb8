#include "pipeline/pipeline.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_system.h"
#include "platform/plat_thread.h"
#include "support/fake_output.h"
#include "support/test.h"

/* ---- a pipeline between fakes ------------------------------------------------------------------- */

/* An event becomes `session:sequence`, the session as its records say in thread_id, and blanks up to
 * kernel_ticks bytes. */
static void put_event(struct event_writer *writer, const struct event *event, struct buf *out)
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

static void put_gap(struct event_writer *writer, const struct gap *gap, uint64_t now,
    uint64_t sequence, struct buf *out)
{
    (void)writer;
    (void)now;
    buf_printf(out, "gap %s/%s %llu #%llu\n", gap->stage, gap->reason,
        (unsigned long long)gap->count, (unsigned long long)sequence);
}

static void put_status(struct event_writer *writer, const struct status *status, uint64_t now,
    uint64_t sequence, struct buf *out)
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

static struct schema_cache *make_cache(void *self, size_t session, size_t worker, struct error *err)
{
    (void)self;
    (void)session;
    (void)worker;
    return schema_cache_create(&(struct schema_cache_settings){.only_source = NULL}, err);
}

static bool on_save(void *self, struct error *err)
{
    (void)err;
    atomic_fetch_add(&((struct rig *)self)->saves, 1);
    return true;
}

static void on_ended(void *self, size_t output, bool closed)
{
    struct rig *rig = self;
    (void)output;
    atomic_fetch_add(&rig->ended, 1);
    atomic_fetch_add(&rig->closed, closed);
}

static void on_warn(void *self, const char *output, const char *text)
{
    (void)self;
    (void)output;
    assert_non_null(text);
}

/* ${session_count} replayable sessions, each into every one of ${stream_count} streams, and an
 * output per entry of ${streams_of_outputs}. */
static void rig_init(struct rig *rig, size_t session_count, size_t stream_count,
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

static void rig_script(struct rig *rig, size_t output, const struct fake_step *steps, size_t count)
{
    rig->fakes[output] = fake_output_create(steps, count);
}

static void rig_start(struct rig *rig)
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
static bool rig_push(struct rig *rig, size_t session, size_t count, uint32_t width)
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

static void check_books(struct rig *rig)
{
    struct session_counts sessions[MAX_SESSIONS + 1];
    struct output_counts outputs[MAX_OUTPUTS];
    books_look(pipeline_books(rig->pipeline), sessions, outputs);
    for (size_t i = 0; i < rig->settings.session_count; i++) {
        assert_true(books_session_balances(&sessions[i]));
    }
    for (size_t i = 0; i < rig->settings.output_count; i++) {
        assert_true(books_output_balances(&outputs[i]));
    }
}

static struct output_counts output_counts(struct rig *rig, size_t output)
{
    struct output_counts outputs[MAX_OUTPUTS];
    books_look(pipeline_books(rig->pipeline), NULL, outputs);
    return outputs[output];
}

static struct session_counts session_counts(struct rig *rig, size_t session)
{
    struct session_counts sessions[MAX_SESSIONS + 1];
    books_look(pipeline_books(rig->pipeline), sessions, NULL);
    return sessions[session];
}

static void rig_finish(struct rig *rig)
{
    for (size_t i = 0; i < rig->settings.session_count; i++) {
        pipeline_finish_source(rig->pipeline, i, false);
    }
    assert_true(pipeline_drain(rig->pipeline));
    check_books(rig);
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

static void rig_fini(struct rig *rig)
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
static void check_received(
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

static bool has_line(struct rig *rig, size_t output, const char *line)
{
    char *text = fake_output_text(rig->fakes[output]);
    bool found = strstr(text, line) != NULL;
    free(text);
    return found;
}

/* ---- what must hold ------------------------------------------------------------------------------ */

static void every_event_reaches_every_output_in_order(void **state)
{
    (void)state;
    static const size_t workers[] = {1, 2, 5};
    for (size_t w = 0; w < sizeof(workers) / sizeof(workers[0]); w++) {
        struct rig rig;
        rig_init(&rig, 1, 2, (const size_t[]){0, 0, 1}, 3);
        rig.settings.worker_count = workers[w];
        rig_start(&rig);
        assert_true(rig_push(&rig, 0, 20000, 0));
        rig_finish(&rig);
        for (size_t i = 0; i < 3; i++) {
            check_received(&rig, i, 0, 1, 20000);
            struct output_counts counts = output_counts(&rig, i);
            assert_int_equal(counts.offered, 20000);
            assert_int_equal(counts.acked, 20000);
        }
        struct session_counts counts = session_counts(&rig, 0);
        assert_int_equal(counts.received, 20000);
        assert_int_equal(counts.accepted, 20000);
        assert_int_equal(counts.decode.raw, 20000);
        assert_int_equal(pipeline_source_counts(rig.pipeline, 0).seen, 20000);
        rig_fini(&rig);
    }
}

static void nothing_at_all_is_delivered_as_nothing(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig_start(&rig);
    rig_finish(&rig);
    assert_int_equal(output_counts(&rig, 0).offered, 0);
    rig_fini(&rig);
}

struct feeder {
    struct rig *rig;
    size_t session;
    size_t count;
    uint32_t width;
    bool went_on;
};

static void feed(void *self)
{
    struct feeder *feeder = self;
    feeder->went_on = rig_push(feeder->rig, feeder->session, feeder->count, feeder->width);
}

static struct plat_thread *start_feeding(struct feeder *feeder)
{
    struct error err;
    struct plat_thread *thread = plat_thread_start("feed", feed, feeder, &err);
    assert_non_null(thread);
    return thread;
}

static void the_books_balance_at_every_moment_under_faults(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.refuses_connect = true}, {.verdict = OUTPUT_RETRY},
        {.verdict = OUTPUT_MIXED, .delivers = 0x5555, .rejects = 0x2a}, {.verdict = OUTPUT_RETRY},
        {.verdict = OUTPUT_RECONNECT}, {.refuses_connect = true}, {.verdict = OUTPUT_DELIVERED},
        {.verdict = OUTPUT_REJECTED}, {.verdict = OUTPUT_MIXED, .delivers = UINT64_MAX}};
    struct rig rig;
    rig_init(&rig, 2, 2, (const size_t[]){0, 1, 1}, 3);
    rig.settings.worker_count = 2;
    rig_script(&rig, 0, steps, sizeof(steps) / sizeof(steps[0]));
    rig_script(&rig, 1, steps + 1, 5);
    rig_start(&rig);
    struct feeder feeders[2] = {{.rig = &rig, .session = 0, .count = 50000},
        {.rig = &rig, .session = 1, .count = 50000, .width = 90}};
    struct plat_thread *threads[2] = {start_feeding(&feeders[0]), start_feeding(&feeders[1])};
    while (output_counts(&rig, 2).acked < 50000) {
        check_books(&rig);
    }
    plat_thread_join(threads[0]);
    plat_thread_join(threads[1]);
    rig_finish(&rig);
    struct output_counts counts = output_counts(&rig, 0);
    assert_int_equal(counts.offered, 100000);
    assert_true(counts.dropped[OUTPUT_DROP_REJECTED] > 3);
    assert_true(counts.retries >= 6);
    assert_int_equal(fake_output_counts(rig.fakes[0]).records, counts.acked);
    assert_int_equal(
        fake_output_counts(rig.fakes[0]).rejected, counts.dropped[OUTPUT_DROP_REJECTED]);
    check_received(&rig, 2, 0, 1, 50000);
    check_received(&rig, 2, 1, 1, 50000);
    rig_fini(&rig);
}

static void a_blocked_output_does_not_delay_another(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0, 0}, 2);
    rig_script(&rig, 0, NULL, 0);
    fake_output_hold(rig.fakes[0]);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 30000, 0));
    pipeline_finish_source(rig.pipeline, 0, false);
    fake_output_wait_records(rig.fakes[1], 29000); /* the rest may be in open slabs */
    assert_int_equal(fake_output_counts(rig.fakes[0]).records, 0);
    check_books(&rig);
    fake_output_let_go(rig.fakes[0]);
    rig_finish(&rig);
    check_received(&rig, 0, 0, 1, 30000);
    check_received(&rig, 1, 0, 1, 30000);
    rig_fini(&rig);
}

static struct spool_usage wait_until_full(struct rig *rig)
{
    struct spool *spool = pipeline_spool(rig->pipeline);
    struct spool_usage usage;
    do {
        spool->ops->usage(spool, &usage);
    } while (usage.bytes < usage.max_bytes ||
             pipeline_queue_bytes(rig->pipeline) < rig->settings.memory_bytes / 32);
    return usage;
}

static void memory_stays_in_its_budget_while_an_output_is_blocked(void **state)
{
    (void)state;
    enum { MEMORY = 16 * 1024 * 1024, EVENTS = 100000, WIDTH = 1000 };
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.settings.memory_bytes = MEMORY;
    rig_script(&rig, 0, NULL, 0);
    fake_output_hold(rig.fakes[0]);
    rig_start(&rig);
    struct feeder feeder = {.rig = &rig, .count = EVENTS, .width = WIDTH}; /* 100 MB of text */
    struct plat_thread *thread = start_feeding(&feeder);
    struct spool_usage usage = wait_until_full(&rig);
    assert_true(usage.bytes + pipeline_queue_bytes(rig.pipeline) <= MEMORY);
    check_books(&rig);
    fake_output_let_go(rig.fakes[0]);
    plat_thread_join(thread);
    assert_true(feeder.went_on);
    rig_finish(&rig);
    check_received(&rig, 0, 0, 1, EVENTS);
    rig_fini(&rig);
}

static void a_slab_that_becomes_very_large_goes_out_in_parts(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0, 0}, 2);
    rig.settings.worker_count = 3;
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 300, 100000));
    rig_finish(&rig);
    check_received(&rig, 0, 0, 1, 300);
    check_received(&rig, 1, 0, 1, 300);
    rig_fini(&rig);
}

static void a_stop_gives_up_on_an_output_that_does_not_answer(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0, 0}, 2);
    rig_script(&rig, 0, NULL, 0);
    fake_output_hold(rig.fakes[0]);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 10000, 0));
    pipeline_finish_source(rig.pipeline, 0, false);
    fake_output_wait_records(rig.fakes[1], 10000);
    pipeline_give_up(rig.pipeline);
    assert_true(pipeline_drain(rig.pipeline));
    check_books(&rig);
    struct output_counts counts = output_counts(&rig, 0);
    assert_int_equal(counts.acked, 0);
    assert_int_equal(counts.dropped[OUTPUT_DROP_STOPPED], 10000);
    assert_int_equal(output_counts(&rig, 1).acked, 10000);
    /* What was not delivered is delivered by the next run. */
    uint64_t sequences[MAX_SESSIONS + 1];
    struct buf checkpoint;
    buf_init(&checkpoint, 1000);
    outlet_state(pipeline_outlet(rig.pipeline, 0), 0, sequences, &checkpoint);
    assert_int_equal(sequences[0], 0);
    outlet_state(pipeline_outlet(rig.pipeline, 1), 0, sequences, &checkpoint);
    assert_int_equal(sequences[0], 10000);
    buf_fini(&checkpoint);
    rig_fini(&rig);
}

static void a_stop_releases_a_source_that_waits_for_room(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.settings.memory_bytes = 8 * 1024 * 1024;
    rig_script(&rig, 0, NULL, 0);
    fake_output_hold(rig.fakes[0]);
    rig_start(&rig);
    struct feeder feeder = {.rig = &rig, .count = 1000000, .width = 2000};
    struct plat_thread *thread = start_feeding(&feeder);
    wait_until_full(&rig);
    pipeline_give_up(rig.pipeline);
    plat_thread_join(thread);
    assert_false(feeder.went_on);
    pipeline_finish_source(rig.pipeline, 0, true);
    assert_true(pipeline_drain(rig.pipeline));
    check_books(&rig);
    struct session_counts counts = session_counts(&rig, 0);
    assert_int_equal(counts.received, pipeline_source_counts(rig.pipeline, 0).seen);
    assert_false(pipeline_source_counts(rig.pipeline, 0).complete);
    assert_true(counts.dropped[SESSION_DROP_STOPPED] > 0);
    rig_fini(&rig);
}

static void an_output_that_has_ended_takes_nothing_and_holds_up_nobody(void **state)
{
    (void)state;
    static const struct fake_step dies[] = {
        {.verdict = OUTPUT_DELIVERED}, {.verdict = OUTPUT_FATAL, .closed = true}};
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0, 0}, 2);
    rig_script(&rig, 0, dies, 2);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 30000, 0));
    rig_finish(&rig);
    struct output_counts counts = output_counts(&rig, 0);
    assert_true(counts.acked > 0);
    assert_int_equal(counts.acked + counts.dropped[OUTPUT_DROP_ENDED], 30000);
    assert_int_equal(atomic_load(&rig.ended), 1);
    assert_int_equal(atomic_load(&rig.closed), 1);
    assert_true(outlet_closed(pipeline_outlet(rig.pipeline, 0)));
    check_received(&rig, 1, 0, 1, 30000);
    rig_fini(&rig);
}

static void outputs_go_on_where_each_had_come_to(void **state)
{
    (void)state;
    for (size_t workers = 1; workers < 4; workers++) {
        struct rig rig;
        rig_init(&rig, 2, 2, (const size_t[]){0, 0, 1, 0}, 4);
        rig.settings.worker_count = workers;
        static const uint64_t had[2][4] = {{5000, 12345, 7000, 0}, {0, 19999, 20000, 3}};
        for (size_t s = 0; s < 2; s++) {
            for (size_t o = 0; o < 4; o++) {
                rig.resume[s * 4 + o] = had[s][o];
            }
        }
        rig.settings.resume = rig.resume;
        rig_start(&rig);
        struct feeder feeders[2] = {{.rig = &rig, .session = 0, .count = 20000},
            {.rig = &rig, .session = 1, .count = 20000}};
        struct plat_thread *threads[2] = {start_feeding(&feeders[0]), start_feeding(&feeders[1])};
        plat_thread_join(threads[0]);
        plat_thread_join(threads[1]);
        rig_finish(&rig);
        for (size_t o = 0; o < 4; o++) {
            for (size_t s = 0; s < 2; s++) {
                check_received(&rig, o, s, had[s][o] + 1, 20000);
            }
            assert_int_equal(output_counts(&rig, o).offered, 40000 - had[0][o] - had[1][o]);
            uint64_t sequences[MAX_SESSIONS + 1];
            struct buf checkpoint;
            buf_init(&checkpoint, 1000);
            outlet_state(pipeline_outlet(rig.pipeline, o), 0, sequences, &checkpoint);
            assert_int_equal(sequences[0], 20000);
            assert_int_equal(sequences[1], 20000);
            buf_fini(&checkpoint);
        }
        rig_fini(&rig);
    }
}

/* What is stored at any moment, and delivering it again from there, gives every event once. */
static void a_stored_position_and_its_checkpoint_belong_together(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig_start(&rig);
    struct feeder feeder = {.rig = &rig, .count = 50000};
    struct plat_thread *thread = start_feeding(&feeder);
    uint64_t change = 0;
    uint64_t sequences[MAX_SESSIONS + 1] = {0};
    size_t looks = 0;
    while (sequences[0] < 45000) {
        struct buf checkpoint;
        buf_init(&checkpoint, 100);
        uint64_t now = outlet_state(
            pipeline_outlet(rig.pipeline, 0), change, sequences, &checkpoint);
        if (now != change && checkpoint.size) {
            /* The fake's checkpoint is its length: the lines 0:1 … 0:N. */
            size_t bytes = 0;
            for (uint64_t i = 1; i <= sequences[0]; i++) {
                bytes += (size_t)(4 + (i > 9) + (i > 99) + (i > 999) + (i > 9999));
            }
            buf_add_byte(&checkpoint, 0);
            assert_int_equal(strtoull((char *)checkpoint.data, NULL, 10), bytes);
            looks++;
        }
        change = now;
        buf_fini(&checkpoint);
    }
    assert_true(looks > 0);
    plat_thread_join(thread);
    rig_finish(&rig);
    rig_fini(&rig);
}

static void several_workers_of_an_output_share_its_batches(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.verdict = OUTPUT_RETRY}, {.verdict = OUTPUT_RETRY},
        {.verdict = OUTPUT_RECONNECT}, {.verdict = OUTPUT_RETRY}};
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.outputs[0].workers = 4;
    rig_script(&rig, 0, steps, 4);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 50000, 0));
    rig_finish(&rig);
    assert_int_equal(output_counts(&rig, 0).acked, 50000);
    assert_int_equal(fake_output_counts(rig.fakes[0]).created, 4);
    uint64_t sequences[MAX_SESSIONS + 1];
    struct buf checkpoint;
    buf_init(&checkpoint, 100);
    outlet_state(pipeline_outlet(rig.pipeline, 0), 0, sequences, &checkpoint);
    assert_int_equal(sequences[0], 50000);
    buf_fini(&checkpoint);
    rig_fini(&rig);
}

static void batches_keep_to_their_limits(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.streams[0].max_events = 7;
    rig.streams[0].max_age_ns = UINT64_C(3600) * 1000000000;
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 70000, 0));
    rig_finish(&rig);
    check_received(&rig, 0, 0, 1, 70000);
    assert_int_equal(fake_output_counts(rig.fakes[0]).sends, 10000);
    rig_fini(&rig);

    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.streams[0].max_bytes = 1000; /* nine lines of 101 bytes */
    rig.streams[0].max_age_ns = UINT64_C(3600) * 1000000000;
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 9000, 100));
    rig_finish(&rig);
    check_received(&rig, 0, 0, 1, 9000);
    assert_int_equal(fake_output_counts(rig.fakes[0]).sends, 1000);
    rig_fini(&rig);
}

static void a_record_longer_than_a_batch_is_a_batch(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.streams[0].max_bytes = 1000;
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 10, 5000));
    rig_finish(&rig);
    check_received(&rig, 0, 0, 1, 10);
    assert_int_equal(fake_output_counts(rig.fakes[0]).sends, 10);
    rig_fini(&rig);
}

static void age_seals_a_batch_that_does_not_fill(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 10, 0));
    struct input_sink sink;
    pipeline_sink(rig.pipeline, 0, &sink);
    sink.pause(sink.self);
    fake_output_wait_records(rig.fakes[0], 10); /* while the source goes on */
    rig_finish(&rig);
    rig_fini(&rig);
}

static void gaps_go_through_every_stream_and_are_counted_apart(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 2, (const size_t[]){0, 1}, 2);
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 10, 0));
    struct input_sink sink;
    pipeline_sink(rig.pipeline, 0, &sink);
    struct gap gap = {
        .stage = "etw", .reason = "events_lost", .unit = "events", .count = 12, .exact = true};
    sink.gap(sink.self, &gap);
    assert_true(rig_push(&rig, 0, 10, 0));
    rig_finish(&rig);
    for (size_t i = 0; i < 2; i++) {
        assert_true(has_line(&rig, i, "0:10\ngap etw/events_lost 12 #11\n0:12\n"));
        struct output_counts counts = output_counts(&rig, i);
        assert_int_equal(counts.offered, 20);
        assert_int_equal(counts.acked, 20);
        assert_int_equal(counts.own_acked, 1);
    }
    assert_int_equal(session_counts(&rig, 0).gaps, 1);
    rig_fini(&rig);
}

static void the_agent_reports_on_itself_through_every_stream(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 2, (const size_t[]){0, 1}, 2);
    rig_start(&rig);
    struct status status = {.counters = span_text("{\"a\":1}"), .message = span_text("fine")};
    pipeline_report(rig.pipeline, &status, 1);
    fake_output_wait_records(rig.fakes[0], 1);
    assert_true(rig_push(&rig, 0, 10, 0));
    rig_finish(&rig);
    for (size_t i = 0; i < 2; i++) {
        assert_true(has_line(&rig, i, "status 1 {\"a\":1} fine\n"));
        assert_int_equal(output_counts(&rig, i).own_acked, 1);
        assert_int_equal(output_counts(&rig, i).acked, 10);
    }
    rig_fini(&rig);
}

static void records_are_routed_by_their_outputs_template(void **state)
{
    (void)state;
    struct error err;
    struct event_template *by_thread = event_template_create(
        span_text("t/{process.thread.id}"), EVENT_TEMPLATE_PATH, &err);
    struct event_template *fixed = event_template_create(
        span_text("all"), EVENT_TEMPLATE_PATH, &err);
    assert_non_null(by_thread);
    struct rig rig;
    rig_init(&rig, 2, 1, (const size_t[]){0, 0}, 2);
    rig.streams[0].shape.routes[0] = by_thread;
    rig.streams[0].shape.routes[1] = fixed;
    rig.streams[0].shape.route_count = 2;
    for (size_t i = 0; i < 2; i++) {
        rig.fake_settings[i].route = "x";
        rig.outputs[i].route = i;
    }
    rig_start(&rig);
    for (size_t i = 0; i < 100; i++) {
        assert_true(rig_push(&rig, i % 2, 10, 0));
    }
    rig_finish(&rig);
    char *text = fake_output_text(rig.fakes[0]);
    size_t lines = 0;
    for (char *line = text; *line; line = strchr(line, '\n') + 1) {
        assert_memory_equal(line, line[2] == '0' ? "t/0\t0:" : "t/1\t1:", 6);
        lines++;
    }
    assert_int_equal(lines, 1000);
    free(text);
    assert_true(has_line(&rig, 1, "all\t0:1\n"));
    rig_fini(&rig);
    event_template_destroy(by_thread);
    event_template_destroy(fixed);
}

static void a_live_session_loses_events_but_never_the_count_of_them(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 2, (const size_t[]){0, 1}, 2);
    rig.sessions[0].replayable = false;
    rig.settings.memory_bytes = 8 * 1024 * 1024;
    rig.settings.worker_count = 2;
    rig_script(&rig, 0, NULL, 0);
    fake_output_hold(rig.fakes[0]);
    rig_start(&rig);
    for (int i = 0; i < 30; i++) {
        assert_true(rig_push(&rig, 0, 1000, 1000)); /* a megabyte of text, each time */
        struct input_sink sink;
        pipeline_sink(rig.pipeline, 0, &sink);
        sink.pause(sink.self);
        check_books(&rig);
    }
    fake_output_let_go(rig.fakes[0]);
    assert_true(rig_push(&rig, 0, 10000, 1000));
    rig_finish(&rig);
    struct session_counts counts = session_counts(&rig, 0);
    uint64_t dropped = counts.dropped[SESSION_DROP_FULL];
    assert_int_equal(counts.received, pipeline_source_counts(rig.pipeline, 0).seen);
    assert_int_equal(counts.accepted + dropped, counts.received);
    assert_true(dropped > 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(output_counts(&rig, i).acked, counts.accepted);
        assert_int_equal(output_counts(&rig, i).own_acked, counts.gaps);
        char *text = fake_output_text(rig.fakes[i]);
        uint64_t in_gaps = 0;
        for (char *at = text; (at = strstr(at, "gap queue/full ")); at++) {
            in_gaps += strtoull(at + strlen("gap queue/full "), NULL, 10);
        }
        free(text);
        assert_int_equal(in_gaps, dropped);
    }
    rig_fini(&rig);
}

static void a_limit_ends_the_source_and_ships_what_came_before(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.sessions[0].max_events = 7;
    rig_start(&rig);
    assert_false(rig_push(&rig, 0, 20, 0));
    rig_finish(&rig);
    check_received(&rig, 0, 0, 1, 7);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_reaches_every_output_in_order),
        cmocka_unit_test(nothing_at_all_is_delivered_as_nothing),
        cmocka_unit_test(the_books_balance_at_every_moment_under_faults),
        cmocka_unit_test(a_blocked_output_does_not_delay_another),
        cmocka_unit_test(memory_stays_in_its_budget_while_an_output_is_blocked),
        cmocka_unit_test(a_slab_that_becomes_very_large_goes_out_in_parts),
        cmocka_unit_test(a_stop_gives_up_on_an_output_that_does_not_answer),
        cmocka_unit_test(a_stop_releases_a_source_that_waits_for_room),
        cmocka_unit_test(an_output_that_has_ended_takes_nothing_and_holds_up_nobody),
        cmocka_unit_test(outputs_go_on_where_each_had_come_to),
        cmocka_unit_test(a_stored_position_and_its_checkpoint_belong_together),
        cmocka_unit_test(several_workers_of_an_output_share_its_batches),
        cmocka_unit_test(batches_keep_to_their_limits),
        cmocka_unit_test(a_record_longer_than_a_batch_is_a_batch),
        cmocka_unit_test(age_seals_a_batch_that_does_not_fill),
        cmocka_unit_test(gaps_go_through_every_stream_and_are_counted_apart),
        cmocka_unit_test(the_agent_reports_on_itself_through_every_stream),
        cmocka_unit_test(records_are_routed_by_their_outputs_template),
        cmocka_unit_test(a_live_session_loses_events_but_never_the_count_of_them),
        cmocka_unit_test(a_limit_ends_the_source_and_ships_what_came_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
