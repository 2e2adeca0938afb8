#include "schema/source/schema_files.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"

static bool each_below(
    const char *folder, bool (*each)(void *self, const char *path), void *self, struct error *err)
{
    size_t size = strlen(folder) + sizeof("/**");
    char *pattern = malloc(size);
    if (!pattern) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    snprintf(pattern, size, "%s/**", folder);
    bool ok = plat_glob(pattern, each, self, err);
    free(pattern);
    return ok;
}

bool schema_files_walk(
    const char *path, bool (*each)(void *self, const char *path), void *self, struct error *err)
{
    switch (plat_path_kind(path)) {
    case PLAT_PATH_FILE:
        each(self, path);
        return true;
    case PLAT_PATH_DIR:
        return each_below(path, each, self, err);
    default:
        return error_set(err, ERR_CONFIG, "no such file or folder");
    }
}

bool schema_files_is_one(const char *path, const char *const *endings)
{
    while (*endings && !span_ends_nocase(span_text(path), *endings)) {
        endings++;
    }
    return *endings != NULL;
}

struct search {
    const char *const *endings;
    void (*each)(void *self, const char *path);
    void *self;
};

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
        schema_files_walk(settings->paths[i], take_file, &search, NULL);
    }
}

bool schema_files_load(const struct schema_source_settings *settings, const char *path,
    size_t max_bytes, char **ret_data, size_t *ret_size, struct error *err)
{
    size_t left = arena_budget_left(settings->budget);
    struct error why = {0};
    if (left < max_bytes) {
        max_bytes = left;
    }
    if (!plat_file_load(path, max_bytes, ret_data, ret_size, &why)) {
        if (why.code == ERR_LIMIT && max_bytes == left) {
            arena_budget_take(settings->budget, SIZE_MAX); /* marks the budget as exceeded */
            return error_set(err, ERR_LIMIT, "not enough memory is left for definitions");
        }
        return error_set(err, why.code, "%s", why.text);
    }
    if (!arena_budget_take(settings->budget, *ret_size)) {
        free(*ret_data);
        return error_set(err, ERR_LIMIT, "not enough memory is left for definitions");
    }
    return true;
}

void schema_files_unload(const struct schema_source_settings *settings, char *data, size_t size)
{
    arena_budget_give(settings->budget, size);
    free(data);
}

void schema_files_warn(
    const struct schema_source_settings *settings, const char *path, const char *why)
{
    char text[1200];
    size_t size = strlen(path);
    bool has_path = strncmp(why, path, size) == 0 && why[size] == ':';
    snprintf(text, sizeof(text), "%s%s%s", has_path ? "" : path, has_path ? "" : ": ", why);
    schema_source_warn(settings, text);
}
