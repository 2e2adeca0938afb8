#include "schema/schema_files.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"

struct search {
    const char *const *endings;
    void (*each)(void *self, const char *path);
    void *self;
};

bool schema_files_is_one(const char *path, const char *const *endings)
{
    struct span name = span_text(path);
    for (size_t i = 0; endings[i]; i++) {
        struct span ending = span_text(endings[i]);
        if (name.size >= ending.size &&
            span_equal_nocase(span_from(name, name.size - ending.size), ending)) {
            return true;
        }
    }
    return false;
}

static bool take_file(void *self, const char *path)
{
    const struct search *search = self;
    if (schema_files_is_one(path, search->endings)) {
        search->each(search->self, path);
    }
    return true;
}

void schema_files_each(const struct schema_source_settings *settings, const char *const *endings,
    void (*each)(void *self, const char *path), void *self)
{
    struct search search = {.endings = endings, .each = each, .self = self};
    for (size_t i = 0; i < settings->path_count; i++) {
        const char *path = settings->paths[i];
        enum plat_path_kind kind = plat_path_kind(path);
        if (kind == PLAT_PATH_FILE) {
            take_file(&search, path);
            continue;
        }
        size_t size = strlen(path) + sizeof("/**/*");
        char *pattern = kind == PLAT_PATH_DIR ? malloc(size) : NULL;
        if (pattern) {
            snprintf(pattern, size, "%s/**/*", path);
            plat_glob(pattern, take_file, &search, NULL);
            free(pattern);
        }
    }
}

void schema_files_warn(
    const struct schema_source_settings *settings, const char *path, const char *why)
{
    if (settings->warn) {
        char text[1200];
        snprintf(text, sizeof(text), "%s: %s", path, why);
        settings->warn(settings->warn_self, text);
    }
}
