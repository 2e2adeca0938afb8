#include "schema/cache/schema_copies.h"

enum {
    MAX_COPIES = 65536,
    MAX_BYTES = 20 * 1024 * 1024,
    MAX_CORRECTED_BYTES = 16 * 1024 * 1024,
};

struct copy {
    const struct event_schema *of; /* its address is the key */
    struct event_schema schema;
};

/* a fifth is reserved for unused ends of arena blocks */
_Static_assert(sizeof(struct copy) <= MAX_BYTES / MAX_COPIES / 5 * 4,
    "the map of copies is full before their memory is");

void schema_copies_init(struct schema_copies *copies, size_t max_bytes)
{
    size_t half = max_bytes / 2;
    size_t count = half / (MAX_BYTES / MAX_COPIES);
    *copies = (struct schema_copies){.is_full = false};
    arena_init(&copies->arena, half < MAX_BYTES ? half : MAX_BYTES);
    arena_init(&copies->corrected, half < MAX_CORRECTED_BYTES ? half : MAX_CORRECTED_BYTES);
    map_init(&copies->map, count < MAX_COPIES ? count : MAX_COPIES);
}

void schema_copies_fini(struct schema_copies *copies)
{
    map_fini(&copies->map);
    arena_fini(&copies->corrected);
    arena_fini(&copies->arena);
}

const struct event_schema *schema_copies_get(
    struct schema_copies *copies, const struct event_schema *schema)
{
    struct copy *copy = map_get(&copies->map, span_make(&schema, sizeof(schema)));
    if (!copy) {
        copy = arena_alloc(&copies->arena, sizeof(*copy));
        if (!copy) {
            return NULL;
        }
        *copy = (struct copy){.of = schema, .schema = *schema};
        copy->schema.serial = 0;
        copies->is_full |= copies->corrections && !corrections_apply(copies->corrections,
                                                      &copy->schema, &copies->corrected);
        if (!map_put(&copies->map, span_make(&copy->of, sizeof(copy->of)), copy)) {
            return NULL;
        }
    }
    return &copy->schema;
}

const struct event_schema *schema_copies_correct(
    struct schema_copies *copies, const struct event_schema *schema)
{
    bool concerned = copies->corrections && corrections_concern(copies->corrections, schema);
    const struct event_schema *copy = concerned ? schema_copies_get(copies, schema) : NULL;
    return copy ? copy : schema;
}

bool schema_copies_are_full(const struct schema_copies *copies)
{
    return copies->is_full || copies->map.count + SCHEMA_MAX_CANDIDATES > copies->map.max_entries;
}

void schema_copies_clear(struct schema_copies *copies)
{
    map_clear(&copies->map);
    arena_fini(&copies->corrected);
    arena_fini(&copies->arena);
    copies->is_full = false;
}
