#ifndef ETWSHIP_CLI_SCHEMA_LIST_H
#define ETWSHIP_CLI_SCHEMA_LIST_H

#include "base/buf.h"
#include "cli/options/trace_options.h"

/* All schemas that the sources know. */
struct schema_list {
    const struct event_schema **items;
    size_t count;
    size_t capacity;
    bool failed; /* out of memory: the list is not whole */
};

/* Gather, in the order in which definitions are asked; the schemas stay the cache's. */
void schema_list_init(struct schema_list *list, struct schema_cache *cache);

/* Sort by provider, id, opcode and version, for people. */
void schema_list_sort(struct schema_list *list);
void schema_list_fini(struct schema_list *list);

/* Let ${cache} learn what the traces among the operands, from ${first} on, carry. */
bool schema_list_learn(
    const struct cli_args *args, size_t first, struct schema_cache *cache, int *ret_exit);

/* Is ${text} (a name or a GUID) the provider or the event class of ${schema}? */
bool schema_list_is_provider(const struct event_schema *schema, struct span text);

/* One event type for people: a line, and one for each field. */
void schema_list_describe(const struct event_schema *schema, struct buf *out);

/* The same as a JSON object. */
void schema_list_describe_json(const struct event_schema *schema, struct buf *out);

#endif
