#include <stdio.h>

#include "app/trace/trace_run.h"
#include "config/config.h"
#include "event/write/event_formats.h"
#include "input/registry/registry.h"
#include "support/path_oracle.h"

/*
 * path_check TRACE...: for every event of the traces, at most LIMIT of each, the values by path
 * must be those of its native line (support/path_oracle.h). The first difference is printed;
 * exit 1.
 */
enum { LIMIT = 4000, MAX_LINE = 1 << 26 };

struct check {
    struct event_writer *writer;
    struct event_path_context context;
    struct buf line;
    struct buf what;
    unsigned long events;
    bool failed;
};

static bool on_event(void *self, const struct event *event)
{
    struct check *check = self;
    buf_reset(&check->line);
    event_format_native.event(check->writer, event, &check->line);
    check->events++;
    if (check->line.failed ||
        !path_oracle_check(event, &check->context, buf_span(&check->line), &check->what)) {
        printf("%.*s in\n%.*s", SPAN_ARG(buf_span(&check->what)), SPAN_ARG(buf_span(&check->line)));
        check->failed = true;
    }
    return !check->failed;
}

static bool check_trace(const char *path, struct check *check)
{
    static const struct schema_cache_settings cache_settings;
    static const struct event_writer_settings writer_settings;
    struct error err = {0};
    struct schema_cache *cache = schema_cache_create(&cache_settings, &err);
    struct config *config = config_create(NULL, NULL);
    const struct input_ops *input = input_registry_find("file");
    void *settings = config ? config_new(config, input->fields, input->settings_size, &err) : NULL;
    const struct event_observer observer = {.self = check, .event = on_event};
    struct trace_run_settings run = {.input = input,
        .settings = settings,
        .cache = cache,
        .max_events = LIMIT,
        .observer = observer};
    struct trace_result result;
    /* A writer knows traces by their place in memory, which the next one may have. */
    check->writer = event_writer_create(&writer_settings, &err);
    bool ok = cache && settings && check->writer &&
              config_set(config, input->fields, settings, "paths", &path, 1, &err) &&
              trace_run(&run, &result, &err);
    if (!ok) {
        printf("%s: %s\n", path, err.text);
    }
    event_writer_destroy(check->writer);
    schema_cache_destroy(cache);
    config_destroy(config);
    return ok && !check->failed;
}

int main(int argc, char **argv)
{
    struct check check = {.events = 0};
    bool ok = event_path_context_init(&check.context, NULL, NULL);
    buf_init(&check.line, MAX_LINE);
    buf_init(&check.what, MAX_LINE);
    for (int i = 1; i < argc && ok; i++) {
        ok = check_trace(argv[i], &check);
    }
    printf("%lu events\n", check.events);
    buf_fini(&check.line);
    buf_fini(&check.what);
    event_path_context_fini(&check.context);
    return ok && check.events ? 0 : 1;
}
