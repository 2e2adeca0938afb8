#include "app/trace/trace_run.h"

#include <stdatomic.h>

#include "app/trace/progress.h"
#include "platform/plat_clock.h"
#include "platform/plat_signal.h"

/*
 * The pipeline's threads are those of its parts. The worker shows events to the observer, and stops
 * the input when that has seen enough, as the output's thread does when it ends.
 */

/* The input that runs now, for the signal thread. stop() of an input may be called at any time
 * between its create and destroy; `busy` keeps destroy from overtaking it. */
static _Atomic(const struct input_ops *) running_ops;
static _Atomic(void *) running_input;
static atomic_bool stop_asked;
static atomic_int busy;

static void on_stop(void *self)
{
    (void)self;
    atomic_store(&stop_asked, true);
    atomic_fetch_add(&busy, 1);
    const struct input_ops *ops = atomic_load(&running_ops);
    void *input = atomic_load(&running_input);
    if (ops && input) {
        ops->stop(input);
    }
    atomic_fetch_sub(&busy, 1);
}

bool trace_run_catch_signals(struct error *err)
{
    return plat_on_stop(on_stop, NULL, err);
}

bool trace_run_stopping(void)
{
    return atomic_load(&stop_asked);
}

static void publish(const struct input_ops *ops, void *input)
{
    atomic_store(&running_ops, ops);
    atomic_store(&running_input, input);
    if (input && trace_run_stopping()) {
        ops->stop(input);
    }
    while (!input && atomic_load(&busy)) {
        plat_sleep_ms(1);
    }
}

/* One trace at a time is read, without a report of its memory. */
enum {
    PROCESS_CONTEXT_BYTES = 64 * 1024 * 1024,
    FILE_NAMES_BYTES = 256 * 1024 * 1024,
    MEMORY_BYTES = 64 * 1024 * 1024, /* some 20 MB of it for batches that wait for the output */
    BATCH_BYTES = 256 * 1024, /* pieces above are batches, so that their bytes are not copied */
    BATCH_EVENTS = 16384,
};
static const uint64_t batch_age_ns = UINT64_C(1000000000);

struct run {
    const struct trace_run_settings *settings;
    void *input;
    struct process_table *processes;
    struct pipeline *pipeline;
    struct progress progress;
    struct trace_result result;
};

/* ---- what the pipeline asks and tells -------------------------------------------------------- */

static struct schema_cache *make_cache(void *self, size_t session, size_t worker, struct error *err)
{
    const struct run *run = self;
    (void)session;
    (void)worker;
    (void)err;
    return run->settings->cache;
}

static bool show_event(void *self, const struct event *event)
{
    const struct run *run = self;
    const struct event_observer *observer = &run->settings->observer;
    bool go_on = observer->event(observer->self, event);
    if (!go_on) {
        run->settings->input->stop(run->input);
    }
    return go_on;
}

static struct event_observer observe(void *self, size_t worker)
{
    const struct run *run = self;
    (void)worker;
    return (struct event_observer){
        .self = self, .event = run->settings->observer.event ? show_event : NULL};
}

static void on_damage(
    void *self, uint32_t session, const struct trace_info *trace, uint64_t offset, const char *what)
{
    struct run *run = self;
    (void)session;
    run->result.damaged++;
    if (run->settings->damage) {
        progress_clear(&run->progress);
        run->settings->damage(run->settings->damage_self, trace, offset, what);
    }
}

static void on_progress(void *self, uint32_t session, uint64_t done_bytes, uint64_t total_bytes)
{
    struct run *run = self;
    (void)session;
    progress_update(&run->progress, done_bytes, total_bytes);
}

static void on_ended(void *self, size_t output, bool closed)
{
    struct run *run = self;
    (void)output;
    run->result.output_closed = closed;
    run->result.output_failed = !closed;
    run->settings->input->stop(run->input);
}

static void on_warning(void *self, const char *output, const char *kind, const char *text)
{
    const struct run *run = self;
    (void)output;
    (void)kind;
    if (run->settings->output) {
        run->settings->output->warn(text);
    }
}

static bool is_stopping(void *self)
{
    (void)self;
    return trace_run_stopping();
}

/* ---- the run --------------------------------------------------------------------------------- */

static struct input_decoding decoding_of(const struct trace_run_settings *settings)
{
    struct input_decoding decoding = {0};
    if (settings->decoding) {
        return *settings->decoding;
    }
    if (settings->input->decoding) {
        settings->input->decoding(settings->settings, &decoding);
    }
    return decoding;
}

static void run_input(struct run *run)
{
    const struct input_ops *input = run->settings->input;
    struct input_sink sink;
    pipeline_sink(run->pipeline, 0, &sink);
    publish(input, run->input);
    run->result.end = input->run(run->input, &sink, &run->result.error);
    publish(NULL, NULL);
    progress_clear(&run->progress);
    pipeline_finish_source(run->pipeline, 0, false); /* also what waits for its stack */
    pipeline_drain(run->pipeline);
}

static void take_counts(struct run *run)
{
    const struct filter *filter = run->settings->filter;
    struct session_counts counts[2]; /* the other one: of the agent itself */
    ledger_look(pipeline_ledger(run->pipeline), counts, NULL);
    run->result.counts = counts[0];
    for (size_t i = 0; filter && i < filter_rule_count(filter); i++) {
        run->result.unsure += filter_rule_unsure(filter, i);
    }
    run->result.files_evicted = run->processes ? process_table_counts(run->processes).files_evicted
                                               : 0;
}

static bool run_pipeline(struct run *run, struct error *err)
{
    static const size_t first = 0;
    const struct trace_run_settings *s = run->settings;
    const struct trace_run_output *to = s->output;
    const struct gate gate = {.filter = s->filter};
    const struct pipeline_session session = {.name = "",
        .decoding = decoding_of(s),
        .ansi = s->ansi,
        .processes = run->processes,
        .rules = {.gates = &gate,
            .gate_count = s->filter ? 1 : 0,
            .wants = s->wants,
            .selection = s->selection},
        .replayable = true,
        .max_events = s->max_events,
        .streams = &first,
        .stream_count = to ? 1 : 0};
    struct pipeline_stream stream = {.max_bytes = BATCH_BYTES,
        .max_events = BATCH_EVENTS,
        .whole_pieces = true,
        .max_age_ns = batch_age_ns};
    struct pipeline_output output = {.workers = 1, .route = SIZE_MAX, .ends_on_failure = true};
    struct pipeline_settings settings = {.sessions = &session,
        .session_count = 1,
        .streams = &stream,
        .outputs = &output,
        .stream_count = to ? 1 : 0,
        .output_count = to ? 1 : 0,
        .worker_count = 1,
        .memory_bytes = MEMORY_BYTES,
        .make_cache = make_cache,
        .borrows_caches = true,
        .observe = observe,
        .hooks = {.damage = on_damage, .progress = on_progress, .self = run},
        .ended = on_ended,
        .warn = on_warning,
        .stopping = is_stopping,
        .self = run};
    if (to) {
        stream.shape = to->shape;
        output.name = to->ops->name;
        output.ops = to->ops;
        output.settings = to->settings;
        settings.tail = to->tail;
        settings.agent = to->agent;
    }
    run->pipeline = pipeline_create(&settings, err);
    bool ok = run->pipeline && pipeline_start(run->pipeline, err);
    if (ok) {
        run_input(run);
        take_counts(run);
    }
    pipeline_destroy(run->pipeline);
    return ok;
}

bool trace_run(
    const struct trace_run_settings *settings, struct trace_result *ret_result, struct error *err)
{
    static const struct input_env nothing = {.name = NULL};
    static const struct process_table_settings table = {
        .max_bytes = PROCESS_CONTEXT_BYTES, .max_file_bytes = FILE_NAMES_BYTES};
    struct run run = {.settings = settings};
    if (settings->process_context && !(run.processes = process_table_create(&table, err))) {
        return false;
    }
    progress_init(&run.progress, settings->show_progress);
    run.input = settings->input->create(settings->settings, &nothing, err);
    bool ok = run.input && run_pipeline(&run, err);
    settings->input->destroy(run.input);
    process_table_destroy(run.processes);
    *ret_result = run.result;
    return ok;
}

bool trace_run_whole(
    const struct trace_run_settings *settings, struct trace_result *ret_result, struct error *err)
{
    if (!trace_run(settings, ret_result, err)) {
        return false;
    }
    if (ret_result->end == INPUT_FAILED) {
        *err = ret_result->error;
        return false;
    }
    return true;
}
