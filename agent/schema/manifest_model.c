#include "schema/manifest_model.h"

#include <stdarg.h>
#include <stdio.h>

enum { MAX_WARNINGS = 20 }; /* per manifest: a dump without strings would fill a log */

void manifest_model_warn(struct model *model, size_t line, const char *format, ...)
{
    const struct manifest_xml_options *options = model->options;
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
