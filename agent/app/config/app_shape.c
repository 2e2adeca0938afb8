#include "app/config/app_shape.h"

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

bool app_shape_hash(const struct app_output *output, uint32_t *ret_hash, struct error *err)
{
    enum { MAX_TEXT_BYTES = 1024 };
    struct event_options options = app_shape_options(output);
    struct buf text;
    buf_init(&text, MAX_TEXT_BYTES);
    buf_printf(&text, "format=%s", app_config_format(output));
    event_options_add_id(&options, &text);
    bool ok = !text.failed || error_set(err, ERR_MEMORY, "out of memory");
    *ret_hash = ok ? XXH32(text.data, text.size, 0) : 0;
    buf_fini(&text);
    return ok;
}
