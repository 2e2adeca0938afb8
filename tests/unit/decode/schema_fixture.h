#ifndef ETWSHIP_TESTS_UNIT_DECODE_SCHEMA_FIXTURE_H
#define ETWSHIP_TESTS_UNIT_DECODE_SCHEMA_FIXTURE_H

#include "base/arena.h"
#include "event/model/schema.h"
#include "support/test.h"

/* Schemas from a table of fields, in an arena that lives as long as a group of tests. */

#define NAME(text) .name = {(const uint8_t *)(text), sizeof(text) - 1}

static struct arena arena;

static inline int make_arena(void **state)
{
    (void)state;
    arena_init(&arena, 1 << 26);
    return 0;
}

static inline int free_arena(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static inline struct event_schema *make_schema(
    const struct schema_field *fields, size_t count, size_t top_count)
{
    struct event_schema *schema = arena_alloc(&arena, sizeof(*schema));
    assert_non_null(schema);
    schema->kind = SCHEMA_MANIFEST;
    schema->has_layout = true;
    schema->fields = arena_alloc_array(&arena, count, sizeof(*fields));
    assert_non_null(schema->fields);
    if (count) {
        memcpy(schema->fields, fields, count * sizeof(*fields));
    }
    schema->field_count = (uint16_t)count;
    schema->top_count = (uint16_t)top_count;
    struct error err = {0};
    if (!schema_finish(schema, &arena, &err)) {
        fail_msg("%s", err.text);
    }
    return schema;
}

#define SCHEMA(fields) \
    make_schema(       \
        (fields), sizeof(fields) / sizeof((fields)[0]), sizeof(fields) / sizeof((fields)[0]))

#endif
