/*
 * How decode workers scale: slabs that lie ready in the queue, through decoding and native JSON, to
 * an output that takes everything. Reading and delivering are not part of it.
 *
 *   bench_pipeline FILE [WORKERS]      events per second with 1 to WORKERS (default 2) workers
 *
 * What counts is the ratio on a machine that has a core for each worker and nothing else to do.
 */
#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "event/write/event_formats.h"
#include "input/registry/registry.h"
#include "pipeline/assembly/pipeline.h"
#include "platform/plat_clock.h"

struct bench {
    const char *path;
    struct pipeline *pipeline;
};

static void *nowhere_create(const void *settings, const struct output_env *env, struct error *err)
{
    (void)env;
    (void)err;
    return (void *)(uintptr_t)settings;
}

static enum output_verdict nowhere_send(
    void *self, const struct delivery *delivery, struct output_report *report)
{
    (void)self;
    (void)delivery;
    (void)report;
    return OUTPUT_DELIVERED;
}

static void nowhere_destroy(void *self)
{
    (void)self;
}

static const struct output_ops nowhere = {
    .name = "nowhere", .create = nowhere_create, .send = nowhere_send, .destroy = nowhere_destroy};

static struct schema_cache *make_cache(void *self, size_t session, size_t worker, struct error *err)
{
    (void)self;
    (void)session;
    (void)worker;
    return schema_cache_create(&(struct schema_cache_settings){.only_source = NULL}, err);
}

static void warn(void *self, const char *output, const char *kind, const char *text)
{
    (void)self;
    (void)kind;
    fprintf(stderr, "bench_pipeline: %s: %s\n", output, text);
}

/* Read the whole trace into the queue, which is large enough. */
static bool fill(struct bench *bench, struct error *err)
{
    struct config *config = config_create(NULL, NULL);
    const struct input_ops *ops = input_registry_find("file");
    void *settings = config_new(config, ops->fields, ops->settings_size, err);
    struct input_sink sink;
    pipeline_sink(bench->pipeline, 0, &sink);
    bool ok = settings && config_set(config, ops->fields, settings, "paths", &bench->path, 1, err);
    void *input = ok ? ops->create(settings, &(struct input_env){.name = "bench"}, err) : NULL;
    ok = input && ops->run(input, &sink, err) == INPUT_DONE;
    pipeline_finish_source(bench->pipeline, 0, false);
    /* Records refer to the input: it and its settings live until the end of the process. */
    return ok;
}

static bool measure(const char *path, size_t workers, double *ret_rate, struct error *err)
{
    static const size_t streams[] = {0};
    const struct pipeline_session session = {
        .name = "bench", .replayable = true, .streams = streams, .stream_count = 1};
    const struct pipeline_stream stream = {.shape = {.format = &event_format_native},
        .max_bytes = 1024 * 1024,
        .max_events = 5000,
        .max_age_ns = UINT64_C(1000000000)};
    const struct pipeline_output output = {
        .name = "nowhere", .ops = &nowhere, .settings = &nowhere, .workers = 1, .route = SIZE_MAX};
    struct pipeline_settings settings = {.sessions = &session,
        .session_count = 1,
        .streams = &stream,
        .stream_count = 1,
        .outputs = &output,
        .output_count = 1,
        .worker_count = workers,
        .memory_bytes = 64 * 1024 * 1024,
        .queue_bytes = SIZE_MAX / 2,
        .make_cache = make_cache,
        .warn = warn};
    struct bench bench = {.path = path, .pipeline = pipeline_create(&settings, err)};
    if (!bench.pipeline || !fill(&bench, err)) {
        return false;
    }
    uint64_t start = plat_monotonic_ns();
    bool ok = pipeline_start(bench.pipeline, err) && pipeline_drain(bench.pipeline);
    double seconds = (double)(plat_monotonic_ns() - start) / 1e9;
    struct session_counts counts[2];
    ledger_look(pipeline_ledger(bench.pipeline), counts, NULL);
    *ret_rate = (double)counts[0].accepted / seconds;
    pipeline_destroy(bench.pipeline);
    return ok;
}

int main(int argc, char **argv)
{
    size_t most = argc > 2 ? strtoull(argv[2], NULL, 10) : 2;
    double one = 0;
    for (size_t workers = 1; argc > 1 && workers <= most; workers++) {
        struct error err = {0};
        double rate;
        if (!measure(argv[1], workers, &rate, &err)) {
            fprintf(stderr, "bench_pipeline: %s\n", err.text);
            return 1;
        }
        one = workers == 1 ? rate : one;
        printf("%zu workers  %9.0f events/s  %.2f times one\n", workers, rate, rate / one);
    }
    return argc > 1 ? 0 : 2;
}
