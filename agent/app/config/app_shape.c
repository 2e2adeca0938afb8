#include "app/config/app_shape.h"

#include <stdio.h>
#include <xxhash.h>

struct event_options app_shape_options(const struct app_output *output)
{
    struct event_options options = {.max_string_bytes = 0};
    if (output->ops->options) {
        output->ops->options(output->settings, &options);
    }
    if (output->uint64 != APP_UINT64_DEFAULT) {
        options.uint64_strings = output->uint64 == APP_UINT64_STRING;
    }
    if (strcmp(app_config_format(output), "ecs") == 0) {
        options.uint64_strings = false; /* its values are strings anyway */
    } else {
        options.dataset = options.data_namespace = span_make(NULL, 0);
        options.dataset_varies = false;
    }
    return options;
}

uint32_t app_shape_hash(const struct app_output *output)
{
    struct event_options options = app_shape_options(output);
    char text[128];
    int size = snprintf(text, sizeof(text), "format=%s uint64=%s max_string=%lu%s",
        app_config_format(output), options.uint64_strings ? "string" : "number",
        (unsigned long)options.max_string_bytes,
        options.times == EVENT_TIMES_NANOS ? " times=nanos" : "");
    return XXH32(text, (size_t)size, 0);
}
