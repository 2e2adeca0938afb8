#include "app/trace/session_run.h"

#include <stdatomic.h>

#include "app/trace/progress.h"
#include "platform/plat_system.h"

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

bool session_run_catch_signals(struct error *err)
{
    return plat_on_stop(on_stop, NULL, err);
}

bool session_run_stopping(void)
{
    return atomic_load(&stop_asked);
}

static void publish(const struct input_ops *ops, void *input)
{
    atomic_store(&running_ops, ops);
    atomic_store(&running_input, input);
    if (input && session_run_stopping()) {
        ops->stop(input);
    }
    while (!input && atomic_load(&busy)) {
        plat_sleep_ms(1);
    }
}

/* One trace at a time is read, without a report of its memory. */
enum { PROCESS_CONTEXT_BYTES = 64 * 1024 * 1024, FILE_NAMES_BYTES = 256 * 1024 * 1024 };

struct run {
    const struct session_run_settings *settings;
    struct input_sink inner;
    struct progress progress;
    uint64_t damaged;
    uint64_t total_bytes;
};

static void on_metadata(void *self, const struct event_record *record)
{
    struct run *run = self;
    run->inner.metadata(run->inner.self, record);
}

static bool on_record(void *self, const struct event_record *record)
{
    struct run *run = self;
    return run->inner.record(run->inner.self, record);
}

static bool on_leaves_out(void *self, const struct event_record *record, uint64_t *ret_tag)
{
    struct run *run = self;
    return run->inner.leaves_out(run->inner.self, record, ret_tag);
}

static bool on_left_out(void *self, uint64_t tag, uint64_t count, uint64_t newest)
{
    struct run *run = self;
    return run->inner.left_out(run->inner.self, tag, count, newest);
}

static void on_trace_end(void *self, const struct trace_info *trace)
{
    struct run *run = self;
    run->inner.trace_end(run->inner.self, trace);
}

static void on_sample(void *self, const struct event_record *record)
{
    struct run *run = self;
    run->inner.sample(run->inner.self, record);
}

static void on_gap(void *self, const struct gap *gap)
{
    struct run *run = self;
    run->inner.gap(run->inner.self, gap);
}

static void on_damage(void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    struct run *run = self;
    run->damaged++;
    if (run->settings->damage) {
        progress_clear(&run->progress);
        run->settings->damage(run->settings->damage_self, trace, offset, what);
    }
}

static void on_progress(void *self, uint64_t done_bytes, uint64_t total_bytes)
{
    struct run *run = self;
    run->total_bytes = total_bytes;
    progress_update(&run->progress, done_bytes, total_bytes);
}

static struct input_decoding decoding_of(const struct session_run_settings *settings)
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

bool session_run(const struct session_run_settings *settings, struct session_result *ret_result,
    struct error *err)
{
    static const struct process_table_settings table = {
        .max_bytes = PROCESS_CONTEXT_BYTES, .max_file_bytes = FILE_NAMES_BYTES};
    struct process_table *processes = NULL;
    if (settings->process_context && !(processes = process_table_create(&table, err))) {
        return false;
    }
    struct flow_settings flow_settings = {.cache = settings->cache,
        .processes = processes,
        .ansi = settings->ansi,
        .decoding = decoding_of(settings),
        .max_events = settings->max_events,
        .filter = settings->filter,
        .wants = settings->wants,
        .wants_self = settings->wants_self,
        .consumers = settings->consumers,
        .consumer_count = settings->consumer_count};
    struct flow *flow = flow_create(&flow_settings, err);
    static const struct input_env nothing = {.name = NULL};
    void *input = flow ? settings->input->create(
                             settings->settings, settings->env ? settings->env : &nothing, err)
                       : NULL;
    if (!input) {
        flow_destroy(flow);
        process_table_destroy(processes);
        return false;
    }
    struct run run = {.settings = settings};
    flow_sink(flow, &run.inner);
    progress_init(&run.progress, settings->show_progress);
    struct input_sink sink = {.self = &run,
        .metadata = on_metadata,
        .record = on_record,
        .leaves_out = run.inner.leaves_out ? on_leaves_out : NULL,
        .left_out = run.inner.left_out ? on_left_out : NULL,
        .trace_end = on_trace_end,
        .sample = run.inner.sample ? on_sample : NULL,
        .gap = on_gap,
        .damage = on_damage,
        .progress = on_progress};
    struct session_result result = {0};
    publish(settings->input, input);
    result.end = settings->input->run(input, &sink, &result.error);
    publish(NULL, NULL);
    flow_finish(flow);
    progress_clear(&run.progress);
    result.counts = flow_counts(flow);
    result.damaged = run.damaged;
    result.source_bytes = run.total_bytes;
    result.files_evicted = processes ? process_table_counts(processes).files_evicted : 0;
    settings->input->destroy(input);
    flow_destroy(flow);
    process_table_destroy(processes);
    *ret_result = result;
    return true;
}
