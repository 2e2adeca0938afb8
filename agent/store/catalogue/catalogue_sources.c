#include "store/catalogue/catalogue_sources.h"

#include <string.h>

#include "store/catalogue/catalogue_query.h"

/* What was found, as catalogue_find_* give it. True. */
static bool give(bool found, uint64_t number, uint64_t *ret_number, bool *ret_found)
{
    if (found) {
        *ret_number = number;
    }
    *ret_found = found;
    return true;
}

/* ---- positions ------------------------------------------------------------------------------- */

bool catalogue_put_source(
    struct catalogue *catalogue, const struct catalogue_source *source, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_PUT_SOURCE);
    query_text(&q, source->session, CATALOGUE_NAME_MAX_BYTES);
    query_number(&q, source->stream);
    query_number(&q, source->sequence);
    query_proof(&q);
    return query_run(&q, err);
}

static struct catalogue_source get_source(struct query *q)
{
    struct catalogue_source source = {
        .session = query_get_span(q, 0),
        .stream = query_get_number(q, 1),
        .sequence = query_get_number(q, 2),
    };
    query_get_proof(q, 3);
    return source;
}

bool catalogue_find_source(struct catalogue *catalogue, struct span session, uint64_t stream,
    uint64_t *ret_sequence, bool *ret_found, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_FIND_SOURCE);
    query_text(&q, session, CATALOGUE_NAME_MAX_BYTES);
    query_number(&q, stream);
    bool found = query_next(&q);
    uint64_t sequence = found ? get_source(&q).sequence : 0;
    return query_end(&q, err) && give(found, sequence, ret_sequence, ret_found);
}

bool catalogue_sources(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_source *source), void *self, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_SOURCES);
    bool more = true;
    while (more && query_next(&q)) {
        struct catalogue_source source = get_source(&q);
        more = query_is_good(&q) && (!each || each(self, &source));
    }
    return query_end(&q, err);
}

/* ---- sessions -------------------------------------------------------------------------------- */

bool catalogue_put_state(
    struct catalogue *catalogue, struct span session, struct span state, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_PUT_STATE);
    query_text(&q, session, CATALOGUE_NAME_MAX_BYTES);
    query_blob(&q, state, CATALOGUE_BLOB_MAX_BYTES);
    query_proof(&q);
    return query_run(&q, err);
}

bool catalogue_put_live(
    struct catalogue *catalogue, struct span session, uint64_t live, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_PUT_LIVE);
    query_text(&q, session, CATALOGUE_NAME_MAX_BYTES);
    query_bits(&q, live);
    query_proof(&q);
    return query_run(&q, err);
}

bool catalogue_find_state(
    struct catalogue *catalogue, struct span session, struct buf *state, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_FIND_STATE);
    query_text(&q, session, CATALOGUE_NAME_MAX_BYTES);
    if (query_next(&q)) {
        query_get_span(&q, 0);
        query_add_to(&q, 1, state);
        query_get_proof(&q, 2);
    }
    return query_end(&q, err);
}

bool catalogue_find_live(
    struct catalogue *catalogue, struct span session, uint64_t *ret_live, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_FIND_LIVE);
    uint64_t live = 0;
    query_text(&q, session, CATALOGUE_NAME_MAX_BYTES);
    if (query_next(&q)) {
        query_get_span(&q, 0);
        live = query_get_bits(&q, 1);
        query_get_proof(&q, 2);
    }
    if (!query_end(&q, err)) {
        return false;
    }
    *ret_live = live;
    return true;
}

/* ---- files that were taken whole ------------------------------------------------------------- */

bool catalogue_put_done(
    struct catalogue *catalogue, const struct catalogue_done *done, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_PUT_DONE);
    query_text(&q, done->session, CATALOGUE_NAME_MAX_BYTES);
    query_blob(&q, span_make(done->file_id, sizeof(done->file_id)), sizeof(done->file_id));
    query_number(&q, done->sequence);
    query_proof(&q);
    if (!query_run(&q, err)) {
        return false;
    }
    q = query_start(catalogue, CATALOGUE_FORGET_DONE);
    query_text(&q, done->session, CATALOGUE_NAME_MAX_BYTES);
    query_number(&q, CATALOGUE_DONE_MAX);
    return query_run(&q, err);
}

static struct catalogue_done get_done(struct query *q)
{
    struct catalogue_done done = {
        .session = query_get_span(q, 0), .sequence = query_get_number(q, 2)};
    struct span file_id = query_get_span(q, 1);
    query_get_proof(q, 3);
    query_expect(q, file_id.size == sizeof(done.file_id));
    if (query_is_good(q)) {
        memcpy(done.file_id, file_id.data, sizeof(done.file_id));
    }
    return done;
}

bool catalogue_find_done(struct catalogue *catalogue, struct span session,
    const uint8_t file_id[16], uint64_t *ret_sequence, bool *ret_found, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_FIND_DONE);
    query_text(&q, session, CATALOGUE_NAME_MAX_BYTES);
    query_blob(&q, span_make(file_id, 16), 16);
    bool found = query_next(&q);
    uint64_t sequence = found ? get_done(&q).sequence : 0;
    return query_end(&q, err) && give(found, sequence, ret_sequence, ret_found);
}

bool catalogue_dones(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_done *done), void *self, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_DONES);
    bool more = true;
    while (more && query_next(&q)) {
        struct catalogue_done done = get_done(&q);
        more = query_is_good(&q) && (!each || each(self, &done));
    }
    return query_end(&q, err);
}

/* ---- gaps ------------------------------------------------------------------------------------ */

static struct query start_gap(
    struct catalogue *catalogue, enum catalogue_statement name, const struct catalogue_gap *gap)
{
    struct query q = query_start(catalogue, name);
    query_text(&q, gap->session, CATALOGUE_NAME_MAX_BYTES);
    query_text(&q, gap->output, CATALOGUE_NAME_MAX_BYTES);
    query_text(&q, gap->stage, CATALOGUE_NAME_MAX_BYTES);
    query_text(&q, gap->reason, CATALOGUE_NAME_MAX_BYTES);
    query_text(&q, gap->unit, CATALOGUE_NAME_MAX_BYTES);
    return q;
}

bool catalogue_put_gap(
    struct catalogue *catalogue, const struct catalogue_gap *gap, struct error *err)
{
    struct query q = start_gap(catalogue, CATALOGUE_PUT_GAP, gap);
    query_number(&q, gap->count);
    query_number(&q, gap->exact);
    query_bits(&q, gap->from);
    query_bits(&q, gap->to);
    query_proof(&q);
    return query_run(&q, err);
}

bool catalogue_remove_gap(
    struct catalogue *catalogue, const struct catalogue_gap *gap, struct error *err)
{
    struct query q = start_gap(catalogue, CATALOGUE_REMOVE_GAP, gap);
    return query_run(&q, err);
}

bool catalogue_gaps(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_gap *gap), void *self, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_GAPS);
    bool more = true;
    while (more && query_next(&q)) {
        struct catalogue_gap gap = {
            .session = query_get_span(&q, 0),
            .output = query_get_span(&q, 1),
            .stage = query_get_span(&q, 2),
            .reason = query_get_span(&q, 3),
            .unit = query_get_span(&q, 4),
            .count = query_get_number(&q, 5),
            .exact = query_get_number(&q, 6) != 0,
            .from = query_get_bits(&q, 7),
            .to = query_get_bits(&q, 8),
        };
        query_get_proof(&q, 9);
        more = query_is_good(&q) && (!each || each(self, &gap));
    }
    return query_end(&q, err);
}
