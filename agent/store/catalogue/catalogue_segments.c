#include "store/catalogue/catalogue_batches.h"
#include "store/catalogue/catalogue_query.h"

/* Streams and segments: what batches are of, and lie in. */

/* Is what ${name} asks for ${id} so? In a transaction. */
static bool ask(struct catalogue *catalogue, enum catalogue_statement name, uint64_t id,
    bool *ret_answer, struct error *err)
{
    struct query q = query_start(catalogue, name);
    query_number(&q, id);
    bool answer = query_next(&q) && query_get_number(&q, 0);
    if (!query_end(&q, err)) {
        return false;
    }
    *ret_answer = answer;
    return true;
}

static bool remove_row(
    struct catalogue *catalogue, enum catalogue_statement name, uint64_t id, struct error *err)
{
    struct query q = query_start(catalogue, name);
    query_number(&q, id);
    return query_run(&q, err);
}

static bool refuse(struct catalogue *catalogue, const char *what, uint64_t id, struct error *err)
{
    catalogue_rollback(catalogue);
    return error_set(err, ERR_LIMIT, "%s: %s %llu is still in use", catalogue->path, what,
        (unsigned long long)id);
}

/* ---- streams --------------------------------------------------------------------------------- */

bool catalogue_put_stream(
    struct catalogue *catalogue, const struct catalogue_stream *stream, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_PUT_STREAM);
    query_number(&q, stream->id);
    query_bits(&q, stream->hash);
    query_blob(&q, stream->key, CATALOGUE_TEXT_MAX_BYTES);
    query_blob(&q, stream->about, CATALOGUE_TEXT_MAX_BYTES);
    query_proof(&q);
    return query_run(&q, err);
}

bool catalogue_streams(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_stream *stream), void *self, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_STREAMS);
    bool more = true;
    while (more && query_next(&q)) {
        struct catalogue_stream stream = {
            .id = query_get_number(&q, 0),
            .hash = query_get_bits(&q, 1),
            .key = query_get_span(&q, 2),
            .about = query_get_span(&q, 3),
        };
        query_get_proof(&q, 4);
        more = query_is_good(&q) && (!each || each(self, &stream));
    }
    return query_end(&q, err);
}

bool catalogue_stream_is_needed(
    struct catalogue *catalogue, uint64_t id, bool *ret_needed, struct error *err)
{
    return ask(catalogue, CATALOGUE_STREAM_NEEDED, id, ret_needed, err);
}

bool catalogue_remove_stream(struct catalogue *catalogue, uint64_t id, struct error *err)
{
    bool in_use;
    if (!ask(catalogue, CATALOGUE_STREAM_IN_USE, id, &in_use, err)) {
        return false;
    }
    if (in_use) {
        return refuse(catalogue, "stream", id, err);
    }
    return remove_row(catalogue, CATALOGUE_REMOVE_STREAM_SOURCES, id, err) &&
           remove_row(catalogue, CATALOGUE_REMOVE_STREAM, id, err);
}

/* ---- segments -------------------------------------------------------------------------------- */

bool catalogue_put_segment(
    struct catalogue *catalogue, const struct catalogue_segment *segment, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_PUT_SEGMENT);
    query_number(&q, segment->id);
    query_number(&q, segment->bytes);
    query_number(&q, segment->state);
    query_proof(&q);
    return query_run(&q, err);
}

bool catalogue_segments(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_segment *segment), void *self,
    struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_SEGMENTS);
    bool more = true;
    while (more && query_next(&q)) {
        uint64_t state = query_get_number(&q, 2);
        query_expect(&q, state <= CATALOGUE_SEGMENT_DELETING);
        struct catalogue_segment segment = {
            .id = query_get_number(&q, 0),
            .bytes = query_get_number(&q, 1),
            .state = (enum catalogue_segment_state)state,
        };
        query_get_proof(&q, 3);
        segment.batches = query_get_number(&q, 4);
        segment.batch_bytes = query_get_number(&q, 5);
        more = query_is_good(&q) && (!each || each(self, &segment));
    }
    return query_end(&q, err);
}

bool catalogue_remove_segment(struct catalogue *catalogue, uint64_t id, struct error *err)
{
    bool in_use;
    if (!ask(catalogue, CATALOGUE_SEGMENT_IN_USE, id, &in_use, err)) {
        return false;
    }
    return in_use ? refuse(catalogue, "segment", id, err)
                  : remove_row(catalogue, CATALOGUE_REMOVE_SEGMENT, id, err);
}
