/*
 * A whole trace through reading, merging, joining, decoding and native JSON, to nowhere: events and
 * megabytes per second of CPU, peak memory.
 *
 *   bench_trace FILE...        two lines per file: without and with the processes of its events
 */
#include <stdio.h>
#include <stdlib.h>

#include "app/trace/trace_run.h"
#include "config/config.h"
#include "event/write/event_formats.h"
#include "input/registry/registry.h"
#include "platform/plat_self.h"

struct nowhere {
    struct event_writer *writer;
    struct buf out;
    uint64_t bytes;
};

static bool on_event(void *self, const struct event *event)
{
    struct nowhere *nowhere = self;
    buf_reset(&nowhere->out);
    event_format_native.event(nowhere->writer, event, &nowhere->out);
    nowhere->bytes += nowhere->out.size;
    return true;
}

static bool measure(const char *path, bool process_context, struct error *err)
{
    struct nowhere nowhere = {.bytes = 0};
    struct event_writer_settings writer = {.colors = false};
    struct schema_cache_settings cache = {.only_source = NULL};
    struct config *config = config_create(NULL, NULL);
    const struct input_ops *input = input_registry_find("file");
    void *settings = config_new(config, input->fields, input->settings_size, err);
    nowhere.writer = event_writer_create(&writer, err);
    buf_init(&nowhere.out, 64 * 1024 * 1024);
    struct event_observer observer = {.self = &nowhere, .event = on_event};
    struct trace_run_settings run = {.input = input,
        .settings = settings,
        .cache = schema_cache_create(&cache, err),
        .process_context = process_context,
        .observer = observer};
    struct trace_result result;
    uint64_t start = plat_cpu_ns();
    bool ok = settings && nowhere.writer && run.cache &&
              config_set(config, input->fields, settings, "paths", &path, 1, err) &&
              trace_run(&run, &result, err);
    double seconds = (double)(plat_cpu_ns() - start) / 1e9;
    if (ok) {
        double events = (double)result.counts.accepted;
        printf("%10.0f events  %6.3f s CPU  %9.0f events/s  %4.0f ns/event  %7.1f MB/s of JSON  "
               "peak %5.1f MB  %s%s\n",
            events, seconds, events / seconds, 1e9 * seconds / events,
            (double)nowhere.bytes / 1e6 / seconds, (double)plat_peak_rss_bytes() / 1e6, path,
            process_context ? ", with processes" : "");
    }
    schema_cache_destroy(run.cache);
    event_writer_destroy(nowhere.writer);
    buf_fini(&nowhere.out);
    config_destroy(config);
    return ok;
}

int main(int argc, char **argv)
{
    struct error err;
    for (int i = 1; i < argc; i++) {
        if (!measure(argv[i], false, &err) || !measure(argv[i], true, &err)) {
            fprintf(stderr, "bench_trace: %s\n", err.text);
            return 1;
        }
    }
    return 0;
}
