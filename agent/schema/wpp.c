#include <stdlib.h>

#include "schema/schema_source.h"

/*
 * WPP messages: without their trace message formats nothing is known of the layout, so the schema
 * says what kind of event it is and the payload travels as it came.
 */
enum { MAX_BYTES = 16 * 1024 * 1024 };

static void *wpp_create(const struct schema_source_settings *settings, struct error *err)
{
    (void)settings;
    struct arena *arena = malloc(sizeof(*arena));
    if (!arena) {
        error_set(err, ERR_MEMORY, "no memory for WPP schemas");
        return NULL;
    }
    arena_init(arena, MAX_BYTES);
    return arena;
}

static void wpp_find(void *self, const struct event_record *record, struct schema_candidates *found)
{
    if (record->kind != RECORD_MESSAGE) {
        return;
    }
    struct event_schema *schema = arena_alloc(self, sizeof(*schema));
    if (schema) {
        schema->kind = SCHEMA_WPP;
        schema->source = "wpp";
        schema->provider = record->provider;
        schema->descriptor.id = record->descriptor.id;
        schema_candidates_add(found, schema);
    }
}

static void wpp_destroy(void *self)
{
    if (self) {
        arena_fini(self);
        free(self);
    }
}

const struct schema_source_ops schema_source_wpp = {
    .name = "wpp",
    .create = wpp_create,
    .find = wpp_find,
    .destroy = wpp_destroy,
};
