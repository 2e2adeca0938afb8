#include "cli/live/watch_output.h"

#include <stdlib.h>

#include "config/config.h"
#include "outputs/registry/registry.h"

static const char *const style_names[] = {"ndjson", "pretty", NULL};

struct settings {
    int style; /* index into style_names */
    int64_t max_events;
};

static const struct config_field fields[] = {
    {CONFIG_ROW("style", ENUM, struct settings, style), .names = style_names,
        .default_text = "ndjson", .help = "as of stdout"},
    {CONFIG_ROW("max_events", INT, struct settings, max_events), .max = INT64_MAX,
        .help = "maximum number; 0: no limit"},
    {.key = NULL},
};

struct watch_output {
    const struct output_ops *ops; /* of stdout */
    void *inner;
    bool is_limited;
    uint64_t left;
};

static const char *watch_format(const void *settings)
{
    return ((const struct settings *)settings)->style ? style_names[1] : NULL;
}

static void *watch_create(const void *settings, const struct output_env *env, struct error *err)
{
    const struct settings *s = settings;
    struct watch_output *self = calloc(1, sizeof(*self));
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    self->is_limited = s->max_events > 0;
    self->left = (uint64_t)s->max_events;
    self->ops = registry_find_output(span_text("stdout"));
    self->inner = self->ops->create(settings, env, err); /* uses no setting */
    if (!self->inner) {
        free(self);
        return NULL;
    }
    return self;
}

static bool watch_connect(void *self_, struct error *err)
{
    struct watch_output *self = self_;
    return self->ops->connect(self->inner, err);
}

static enum output_verdict closed(struct output_report *report)
{
    error_set(&report->error, ERR_STOPPED, "the requested number is written");
    return OUTPUT_FATAL;
}

/* How many of ${count} records were written. */
static size_t delivered(
    enum output_verdict verdict, const struct output_report *report, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; verdict == OUTPUT_MIXED && i < count; i++) {
        sum += report->records[i] == RECORD_DELIVERED;
    }
    return verdict == OUTPUT_DELIVERED ? count : sum;
}

static enum output_verdict watch_send(
    void *self_, const struct delivery *delivery, struct output_report *report)
{
    struct watch_output *self = self_;
    if (!self->is_limited) {
        return self->ops->send(self->inner, delivery, report);
    }
    struct delivery first = *delivery;
    if (first.record_count > self->left) {
        first.record_count = self->left;
        first.bytes.size = self->left ? first.record_ends[self->left - 1] : 0;
    }
    enum output_verdict verdict = OUTPUT_DELIVERED;
    if (first.record_count) {
        verdict = self->ops->send(self->inner, &first, report);
    }
    self->left -= delivered(verdict, report, first.record_count);
    bool good = verdict == OUTPUT_DELIVERED || verdict == OUTPUT_MIXED;
    return good && self->left == 0 ? closed(report) : verdict;
}

static void watch_disconnect(void *self_)
{
    struct watch_output *self = self_;
    self->ops->disconnect(self->inner);
}

static void watch_destroy(void *self_)
{
    struct watch_output *self = self_;
    if (self) {
        self->ops->destroy(self->inner);
        free(self);
    }
}

const struct output_ops watch_output_ops = {
    .name = "watch",
    .fields = fields,
    .settings_size = sizeof(struct settings),
    .alone = true,
    .format = watch_format,
    .create = watch_create,
    .connect = watch_connect,
    .send = watch_send,
    .disconnect = watch_disconnect,
    .destroy = watch_destroy,
};
