#include "schema/schema_source.h"

void schema_candidates_add(struct schema_candidates *to, const struct event_schema *schema)
{
    if (schema && to->count < SCHEMA_MAX_CANDIDATES) {
        to->yields[to->count] = false;
        to->list[to->count++] = schema;
    }
}

void schema_candidates_add_yielding(struct schema_candidates *to, const struct event_schema *schema)
{
    size_t before = to->count;
    schema_candidates_add(to, schema);
    if (to->count > before) {
        to->yields[before] = true;
    }
}
