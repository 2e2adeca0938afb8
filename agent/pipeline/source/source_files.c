#include "pipeline/source/source_own.h"

/* What a source that reads files is told of them, and asked. */

static void on_file_end(void *self, const uint8_t file_id[16])
{
    struct source *source = self;
    const struct source_settings *settings = &source->settings;
    /* All stacks of the file's events have come. */
    if (source->state != SOURCE_STOPPED && stack_join_flush(source->stacks)) {
        settings->hooks.file_end(
            settings->hooks.self, settings->session, file_id, source->counts.sequence);
    }
}

static bool on_is_done(void *self, const uint8_t file_id[16])
{
    const struct source_settings *settings = &((struct source *)self)->settings;
    uint64_t sequence;
    return settings->hooks.is_done(settings->hooks.self, settings->session, file_id, &sequence);
}

static void on_skipped(void *self, const uint8_t file_id[16])
{
    struct source *source = self;
    const struct source_settings *settings = &source->settings;
    uint64_t sequence;
    if (settings->hooks.is_done(settings->hooks.self, settings->session, file_id, &sequence) &&
        sequence > source->counts.sequence) {
        source->counts.sequence = sequence;
    }
}

static void on_damage(void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    const struct source_settings *settings = &((struct source *)self)->settings;
    settings->hooks.damage(settings->hooks.self, settings->session, trace, offset, what);
}

static void on_progress(void *self, uint64_t done_bytes, uint64_t total_bytes)
{
    const struct source_settings *settings = &((struct source *)self)->settings;
    settings->hooks.progress(settings->hooks.self, settings->session, done_bytes, total_bytes);
}

static uint64_t on_renumber(void *self, uint64_t behind)
{
    struct source *source = self;
    uint64_t to = behind ? behind : source->settings.resume_max;
    if (source->state != SOURCE_STOPPED && stack_join_flush(source->stacks) &&
        source->counts.sequence < to) {
        source->counts.sequence = to;
    }
    return to;
}

void source_files_sink(struct source *source, struct input_sink *ret_sink)
{
    if (source->settings.hooks.damage) {
        ret_sink->damage = on_damage;
    }
    if (source->settings.hooks.progress) {
        ret_sink->progress = on_progress;
    }
    if (source->settings.hooks.is_done) {
        ret_sink->file_end = on_file_end;
        ret_sink->is_done = on_is_done;
        ret_sink->skipped = on_skipped;
        ret_sink->renumber = on_renumber;
    }
}
