#include "schema/cache/schema_shared.h"

#include <stdio.h>
#include <stdlib.h>

#include "schema/cache/schema_source_set.h"
#include "schema/source/schema_sources.h"

static const struct schema_source_ops *const sources[] = {
#define SCHEMA_SOURCE(id) &schema_source_##id,
#include "schema/source/schema_sources.def"
#undef SCHEMA_SOURCE
};

enum { SOURCE_COUNT = sizeof(sources) / sizeof(sources[0]) };

struct schema_shared {
    struct arena_budget budget; /* shared by all sources */
    void *instances[SOURCE_COUNT];
    struct corrections *corrections;
};

static void warn_of_budget(
    const struct schema_shared *shared, const struct schema_source_settings *settings)
{
    if (atomic_load_explicit(&shared->budget.has_refused, memory_order_relaxed)) {
        char text[160];
        snprintf(text, sizeof(text),
            "definitions from files exceed %zu KB of agent.memory; some are not used. "
            "raise agent.memory",
            shared->budget.max_bytes >> 10);
        schema_source_warn(settings, text);
    }
}

struct schema_shared *schema_shared_create(
    const struct schema_source_settings *settings, struct error *err)
{
    struct schema_shared *shared = calloc(1, sizeof(*shared));
    if (!shared) {
        error_set(err, ERR_MEMORY, "out of memory for event schemas");
        return NULL;
    }
    struct schema_source_settings charged = *settings;
    shared->budget.max_bytes = settings->max_definition_bytes ? settings->max_definition_bytes
                                                              : SIZE_MAX;
    charged.budget = &shared->budget;
    charged.is_read = schema_source_set_reads;
    /* the built-in table is charged to the budget first */
    shared->corrections = corrections_create(&charged, err);
    bool ok = shared->corrections != NULL;
    for (size_t i = 0; ok && i < SOURCE_COUNT; i++) {
        if (sources[i]->shared) {
            shared->instances[i] = sources[i]->create(&charged, err);
            ok = shared->instances[i] != NULL;
        }
    }
    if (!ok) {
        schema_shared_destroy(shared);
        return NULL;
    }
    warn_of_budget(shared, settings);
    return shared;
}

size_t schema_shared_bytes(const struct schema_shared *shared)
{
    return atomic_load_explicit(&shared->budget.used_bytes, memory_order_relaxed);
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
