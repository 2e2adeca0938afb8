#ifndef ETWSHIP_OUTPUTS_ES_BULK_H
#define ETWSHIP_OUTPUTS_ES_BULK_H

#include "base/arena.h"
#include "base/buf.h"
#include "outputs/elasticsearch/es_name.h"
#include "outputs/output.h"

/*
 * A delivery as the body of `_bulk` requests: an action line, then the unchanged document, each
 * with a line break. Documents are not copied: a body is a list of parts, made once for the whole
 * delivery, and a request sends a range of it. One thread.
 */
struct es_bulk_options {
    struct es_name_options name;
    const char *action;   /* "create" or "index" */
    const char *pipeline; /* these two: NULL: none */
    const char *routing;
    bool require_alias;
    bool require_data_stream;
    bool ids; /* send ids, if the delivery has them */
};

/* Put the texts of ${options} into ${arena}. False: out of memory. */
bool es_bulk_options_copy(struct es_bulk_options *options, struct arena *arena);

struct es_bulk {
    struct buf heads; /* by route: the line up to the document's id; the whole line without ids */
    uint32_t *head_ends;
    size_t route_capacity;
    struct buf tail;    /* the rest of the line after the id */
    struct buf lines;   /* with ids */
    struct span *parts; /* ES_BULK_PARTS of each record */
    size_t *ends;       /* of each record's parts in the whole body */
    size_t record_capacity;
};

/* Parts of a record: the line, the document, and an optional line break. */
enum { ES_BULK_PARTS = 3 };

/* The body of a request. */
struct es_body {
    const struct span *parts;
    size_t part_count;
    size_t size; /* bytes of all of them */
};

void es_bulk_init(struct es_bulk *bulk);
void es_bulk_fini(struct es_bulk *bulk);

/* ${format}: name of the records' event format. The bytes of ${delivery} must stay. False with
 * ${err} set (ERR_MEMORY, ERR_FORMAT). */
bool es_bulk_build(struct es_bulk *bulk, const struct es_bulk_options *options, const char *format,
    const struct delivery *delivery, struct error *err);

/* Append the parts of ${body}. */
void es_bulk_gather(const struct es_body *body, struct buf *out);

/* The body for ${count} records from ${first} on; valid until the next build. */
struct es_body es_bulk_body(const struct es_bulk *bulk, size_t first, size_t count);

/* How many of the ${count} records from ${first} on fit into ${max_bytes}; at least one. */
size_t es_bulk_fit(const struct es_bulk *bulk, size_t first, size_t count, uint64_t max_bytes);

#endif
