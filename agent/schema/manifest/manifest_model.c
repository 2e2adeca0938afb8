#include "schema/manifest/manifest_model.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_WARNINGS = 20 }; /* per manifest; a dump without strings would otherwise flood the log */

void manifest_model_warn(struct model *model, size_t line, const char *format, ...)
{
    const struct manifest_options *options = model->options;
    if (!options->warn || ++model->warnings > MAX_WARNINGS) {
        return;
    }
    char what[400];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    char text[1024];
    const char *file = options->file ? options->file : "manifest";
    if (line) {
        snprintf(text, sizeof(text), "%s:%zu: %s", file, line, what);
    } else {
        snprintf(text, sizeof(text), "%s: %s", file, what);
    }
    options->warn(options->warn_self, text);
    if (model->warnings == MAX_WARNINGS) {
        snprintf(text, sizeof(text), "%s: further warnings are suppressed", file);
        options->warn(options->warn_self, text);
    }
}

/* Append ${thing} to a list. */
#define APPEND(first, last, thing)                      \
    do {                                                \
        *((last) ? &(last)->next : &(first)) = (thing); \
        (last) = (thing);                               \
    } while (0)

void manifest_model_add_provider(struct model *model, struct model_provider *provider)
{
    for (size_t i = 0; i < MODEL_KINDS; i++) {
        map_init_in(&provider->names[i], MODEL_MAX_NAMES, model->options->budget);
    }
    APPEND(model->first_provider, model->last_provider, provider);
}

void manifest_model_add_keyword(struct model_provider *provider, struct model_name *keyword)
{
    APPEND(provider->first_keyword, provider->last_keyword, keyword);
    provider->keyword_count++;
}

size_t manifest_model_add_channel(struct model_provider *provider, struct model_name *channel)
{
    size_t place = provider->channel_count++;
    APPEND(provider->first_channel, provider->last_channel, channel);
    channel->mask = place < 16 ? UINT64_C(0x8000000000000000) >> place : 0;
    return place;
}

void manifest_model_add_event(struct model_provider *provider, struct model_event *event)
{
    APPEND(provider->first_event, provider->last_event, event);
    provider->event_count++;
}

void manifest_model_add_entry(struct model_map *map, struct model_entry *entry)
{
    APPEND(map->first, map->last, entry);
    map->count++;
}

static void fini_model(struct model *model)
{
    for (struct model_provider *p = model->first_provider; p; p = p->next) {
        for (size_t i = 0; i < MODEL_KINDS; i++) {
            map_fini(&p->names[i]);
        }
    }
    map_fini(&model->strings);
    arena_fini(&model->scratch);
}

struct manifest *manifest_model_make(const struct manifest_options *options,
    bool (*fill)(struct model *model, void *self, struct error *err), void *self, struct error *err)
{
    struct manifest *manifest = calloc(1, sizeof(*manifest));
    if (!manifest) {
        error_set(err, ERR_MEMORY, "no memory for a manifest");
        return NULL;
    }
    arena_init_small(&manifest->arena, options->max_bytes, options->budget);
    struct model model = {.options = options, .manifest = manifest};
    arena_init_small(&model.scratch, options->max_bytes, options->budget);
    model.best_rank = UINT_MAX;
    map_init_in(&model.strings, MODEL_MAX_NAMES, options->budget);
    bool ok = fill(&model, self, err) && manifest_build(&model, err);
    fini_model(&model);
    if (!ok) {
        manifest_events_destroy(manifest);
        return NULL;
    }
    manifest_events_sort(manifest);
    return manifest;
}
