#ifndef ETWSHIP_TESTS_UNIT_SCHEMA_WPP_RIG_H
#define ETWSHIP_TESTS_UNIT_SCHEMA_WPP_RIG_H

#include "support/test.h"

#include <stdio.h>

#include "schema/source/schema_sources.h"

/* The source of trace message formats over paths, and its warnings. */
static const struct schema_source_ops *const ops = &schema_source_wpp;

static char warnings[4096];

static inline void on_warning(void *self, const char *text)
{
    (void)self;
    size_t used = strlen(warnings);
    snprintf(warnings + used, sizeof(warnings) - used, "%s\n", text);
    for (char *p = strchr(warnings, '\\'); p; p = strchr(p, '\\')) {
        *p = '/'; /* Windows has both separators in paths */
    }
}

static inline void *create_within(const char *const *paths, size_t count, size_t max_bytes)
{
    const struct schema_source_settings settings = {
        .paths = paths, .path_count = count, .max_tmf_bytes = max_bytes, .warn = on_warning};
    struct error err = {0};
    warnings[0] = 0;
    void *source = ops->create(&settings, &err);
    assert_non_null(source);
    return source;
}

static inline void *create(const char *path)
{
    return create_within(&path, 1, 0);
}

#endif
