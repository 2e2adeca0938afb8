#ifndef ETWSHIP_SCHEMA_PACK_H
#define ETWSHIP_SCHEMA_PACK_H

#include "base/buf.h"
#include "event/schema.h"

/*
 * Schema packs: definitions of events as text, written by `etwship schema export` and read by the
 * source `pack`. The format is described in agent/schema/README.md. Writing and reading loses
 * nothing of a schema but its `source` and `serial`.
 */
enum {
    PACK_VERSION = 2,                    /* 1 had no zeros in descriptors; it is read as well */
    PACK_MAX_BYTES = 64 * 1024 * 1024,   /* of a file */
    PACK_MAX_MEMORY = 512 * 1024 * 1024, /* of its schemas */
    PACK_MAX_KEYWORDS = 65536,           /* names of one event */
};

/*
 * Append the definitions to ${out}: those of kind manifest, eventsource and mof, sorted by
 * provider, id or opcode, and version; equal ones keep their order, repeated ones are written once.
 * All others describe themselves or say nothing, and are left out. The schemas are finished
 * (schema_finish). False when memory ends or ${out} is full; pack_read takes PACK_MAX_BYTES.
 */
bool pack_write(const struct event_schema *const *schemas, size_t count, struct buf *out);

/* What a pack held, in its order. */
struct pack {
    struct arena arena;
    struct event_schema **events; /* finished */
    size_t event_count;
    size_t event_capacity;
};

/*
 * Read the pack ${text}, which may go away afterwards. NULL with ${err} set to one line
 * `FILE:LINE: …` at the first error; ${file} is only for that line.
 */
struct pack *pack_read(struct span text, const char *file, struct error *err);

/* The same, charged to ${budget}, which outlives the pack. */
struct pack *pack_read_in(
    struct span text, const char *file, struct arena_budget *budget, struct error *err);
void pack_destroy(struct pack *pack); /* NULL is fine */

#endif
