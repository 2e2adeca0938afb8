#include "schema/schema_files.h"

#include <stdlib.h>

static const struct schema_source_ops *const sources[] = {
#define SCHEMA_SOURCE(id) &schema_source_##id,
#include "schema/schema_sources.def"
#undef SCHEMA_SOURCE
};

enum { SOURCE_COUNT = sizeof(sources) / sizeof(sources[0]) };

struct schema_files {
    void *instances[SOURCE_COUNT];
};

struct schema_files *schema_files_create(
    const struct schema_source_settings *settings, struct error *err)
{
    struct schema_files *files = calloc(1, sizeof(*files));
    if (!files) {
        error_set(err, ERR_MEMORY, "out of memory for event schemas");
        return NULL;
    }
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        if (!sources[i]->from_files) {
            continue;
        }
        files->instances[i] = sources[i]->create(settings, err);
        if (!files->instances[i]) {
            schema_files_destroy(files);
            return NULL;
        }
    }
    return files;
}

void schema_files_destroy(struct schema_files *files)
{
    if (files) {
        for (size_t i = 0; i < SOURCE_COUNT; i++) {
            sources[i]->destroy(files->instances[i]);
        }
        free(files);
    }
}

void *schema_files_source(const struct schema_files *files, const struct schema_source_ops *source)
{
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        if (sources[i] == source) {
            return files->instances[i];
        }
    }
    return NULL;
}
