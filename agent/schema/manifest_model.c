#include "schema/manifest_model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_WARNINGS = 20 }; /* per manifest: a dump without strings would fill a log */

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
        snprintf(text, sizeof(text), "%s: further warnings are left out", file);
        options->warn(options->warn_self, text);
    }
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
    arena_init(&manifest->arena, options->max_bytes);
    struct model model = {.options = options, .manifest = manifest};
    arena_init(&model.scratch, options->max_bytes);
    map_init(&model.strings, MODEL_MAX_NAMES);
    bool ok = fill(&model, self, err) && manifest_build(&model, err);
    fini_model(&model);
    if (!ok) {
        manifest_events_destroy(manifest);
        return NULL;
    }
    manifest_events_sort(manifest);
    return manifest;
}
