#ifndef ETWSHIP_SCHEMA_PACK_H
#define ETWSHIP_SCHEMA_PACK_H

#include "base/buf.h"
#include "event/model/schema.h"
#include "schema/pack/pack_parameters.h"

/*
 * Schema packs: definitions of events as text, written by `etwship schema export` and read by the
 * source `pack`. agent/schema/README.md describes the format. Writing and reading preserves
 * everything of a schema except `source` and `serial`.
 */
enum {
    /* version 1 had no zeros in descriptors, version 2 no texts of parameters; both are still
     * read */
    PACK_VERSION = 3,
    PACK_MAX_BYTES = 64 * 1024 * 1024,   /* limit of a file */
    PACK_MAX_MEMORY = 512 * 1024 * 1024, /* limit of its schemas in memory */
    PACK_MAX_KEYWORDS = 65536,           /* limit of names of one event */
};

/* Source of the texts of parameters. */
struct pack_texts {
    void *self;
    /* Those of the provider of ${schema}; NULL: it has none. */
    const struct schema_parameters *(*find)(void *self, const struct event_schema *schema);
};

/*
 * Append the definitions of kinds manifest, eventsource and mof to ${out}, sorted by provider, id
 * or opcode, and version, after the texts of each provider; ${texts} may be NULL. Equal keys keep
 * their order, duplicates are written once. Other kinds are omitted because they are part of every
 * event or carry no definition. The schemas must be finished (schema_finish). False if memory is
 * short or ${out} is full; pack_read accepts PACK_MAX_BYTES.
 */
bool pack_write(const struct event_schema *const *schemas, size_t count,
    const struct pack_texts *texts, struct buf *out);

/* Content of a pack, in its order. */
struct pack {
    struct arena arena;
    struct event_schema **events; /* finished */
    size_t event_count;
    size_t event_capacity;
    struct pack_parameter_sets parameters;
};

/*
 * Read the pack ${text}, which may be freed afterwards. NULL with ${err} set to one line
 * `FILE:LINE: …` at the first error; ${file} is only used for that line. The caller frees the pack
 * with pack_destroy(). ${budget}, which must outlive the pack, is charged; NULL: no limit.
 */
struct pack *pack_read(
    struct span text, const char *file, struct arena_budget *budget, struct error *err);
void pack_destroy(struct pack *pack); /* NULL is fine */

#endif
