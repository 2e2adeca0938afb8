#ifndef ETWSHIP_CLI_SCHEMA_LIST_H
#define ETWSHIP_CLI_SCHEMA_LIST_H

#include "base/buf.h"
#include "cli/options/trace_options.h"

/* All schemas of the sources. */
struct schema_list {
    const struct event_schema **items;
    size_t count;
    size_t capacity;
    bool failed; /* out of memory: the list is incomplete */
};

/* Collect the schemas in lookup order; the cache keeps owning them. */
void schema_list_init(struct schema_list *list, struct schema_cache *cache);

/* Sort by provider, id, opcode and version, for people. */
void schema_list_sort(struct schema_list *list);
void schema_list_fini(struct schema_list *list);

/* Let ${cache} read the definitions in the traces among the operands, from ${first} on. */
bool schema_list_learn(
    const struct cli_args *args, size_t first, struct schema_cache *cache, int *ret_exit);

/* True if ${text} (a name or a GUID) is the provider or the event class of ${schema}. */
bool schema_list_is_provider(const struct event_schema *schema, struct span text);

/* One event type for people: a line, and a line per field. */
void schema_list_describe(const struct event_schema *schema, struct buf *out);

/* One event type as a JSON object. */
void schema_list_describe_json(const struct event_schema *schema, struct buf *out);

#endif
