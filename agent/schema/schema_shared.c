#include "schema/schema_shared.h"

#include <stdlib.h>

static const struct schema_source_ops *const sources[] = {
#define SCHEMA_SOURCE(id) &schema_source_##id,
#include "schema/schema_sources.def"
#undef SCHEMA_SOURCE
};

enum { SOURCE_COUNT = sizeof(sources) / sizeof(sources[0]) };

struct schema_shared {
    void *instances[SOURCE_COUNT];
    struct corrections *corrections;
};

struct schema_shared *schema_shared_create(
    const struct schema_source_settings *settings, struct error *err)
{
    struct schema_shared *shared = calloc(1, sizeof(*shared));
    if (!shared) {
        error_set(err, ERR_MEMORY, "out of memory for event schemas");
        return NULL;
    }
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        if (!sources[i]->shared) {
            continue;
        }
        shared->instances[i] = sources[i]->create(settings, err);
        if (!shared->instances[i]) {
            schema_shared_destroy(shared);
            return NULL;
        }
    }
    shared->corrections = corrections_create(settings, err);
    if (!shared->corrections) {
        schema_shared_destroy(shared);
        return NULL;
    }
    return shared;
}

const struct corrections *schema_shared_corrections(const struct schema_shared *shared)
{
    return shared->corrections;
}

void schema_shared_destroy(struct schema_shared *shared)
{
    if (shared) {
        for (size_t i = 0; i < SOURCE_COUNT; i++) {
            sources[i]->destroy(shared->instances[i]);
        }
        corrections_destroy(shared->corrections);
        free(shared);
    }
}

void *schema_shared_source(
    const struct schema_shared *shared, const struct schema_source_ops *source)
{
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        if (sources[i] == source) {
            return shared->instances[i];
        }
    }
    return NULL;
}
