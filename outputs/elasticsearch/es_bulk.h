#ifndef ETWSHIP_OUTPUTS_ES_BULK_H
#define ETWSHIP_OUTPUTS_ES_BULK_H

#include "base/arena.h"
#include "base/buf.h"
#include "outputs/elasticsearch/es_name.h"
#include "outputs/output.h"

/*
 * A delivery as the body of `_bulk` requests: a line that says what to do, then the document as it
 * is, each with a line break behind it. The whole delivery is put together once; a request takes a
 * stretch of it. One thread.
 */
struct es_bulk_options {
    struct es_name_options name;
    const char *action;   /* "create" or "index" */
    const char *pipeline; /* these two: NULL: none */
    const char *routing;
    bool require_alias;
    bool require_data_stream;
    bool ids; /* name documents, where the delivery has names */
};

/* Put the texts of ${options} into ${arena}. False: out of memory. */
bool es_bulk_options_copy(struct es_bulk_options *options, struct arena *arena);

struct es_bulk {
    struct buf heads; /* by route: the line up to the document's id */
    uint32_t *head_ends;
    size_t route_capacity;
    struct buf tail; /* the rest of the line behind the id; without one its beginning is left out */
    struct buf body;
    size_t *ends; /* of each record's lines in `body` */
    size_t record_capacity;
};

void es_bulk_init(struct es_bulk *bulk);
void es_bulk_fini(struct es_bulk *bulk);

/* ${format}: name of the records' event format. False with ${err} set (ERR_MEMORY, ERR_FORMAT). */
bool es_bulk_build(struct es_bulk *bulk, const struct es_bulk_options *options, const char *format,
    const struct delivery *delivery, struct error *err);

/* The body for ${count} records from ${first} on; valid until the next build. */
struct span es_bulk_body(const struct es_bulk *bulk, size_t first, size_t count);

/* How many of the ${count} records from ${first} on fit ${max_bytes}; at least one. */
size_t es_bulk_fit(const struct es_bulk *bulk, size_t first, size_t count, uint64_t max_bytes);

#endif
