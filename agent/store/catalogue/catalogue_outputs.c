#include "store/catalogue/catalogue_outputs.h"

#include "store/catalogue/catalogue_query.h"

/* One that changes by a number. */
static bool run_one(
    struct catalogue *catalogue, enum catalogue_statement name, uint64_t number, struct error *err)
{
    struct query q = query_start(catalogue, name);
    query_number(&q, number);
    return query_run(&q, err);
}

/* One that changes by two. */
static bool run_pair(struct catalogue *catalogue, enum catalogue_statement name, uint64_t first,
    uint64_t second, struct error *err)
{
    struct query q = query_start(catalogue, name);
    query_number(&q, first);
    query_last(&q, second);
    return query_run(&q, err);
}

/* ---- outputs --------------------------------------------------------------------------------- */

bool catalogue_move_output(
    struct catalogue *catalogue, const struct catalogue_output *output, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_PUT_OUTPUT);
    query_number(&q, output->id);
    query_text(&q, output->name, CATALOGUE_NAME_MAX_BYTES);
    query_number(&q, output->position);
    query_blob(&q, output->early, CATALOGUE_BLOB_MAX_BYTES);
    query_bits(&q, output->seen);
    query_proof(&q);
    return query_run(&q, err) && run_pair(catalogue, CATALOGUE_REMOVE_OUTPUT_LEFTOVERS, output->id,
                                     output->position, err);
}

bool catalogue_put_output(
    struct catalogue *catalogue, const struct catalogue_output *output, struct error *err)
{
    if (!catalogue_move_output(catalogue, output, err)) {
        return false;
    }
    struct query q = query_start(catalogue, CATALOGUE_PUT_CHECKPOINT);
    query_number(&q, output->id);
    query_blob(&q, output->checkpoint, CATALOGUE_BLOB_MAX_BYTES);
    query_proof(&q);
    return query_run(&q, err);
}

bool catalogue_outputs(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_output *output), void *self, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_OUTPUTS);
    bool more = true;
    while (more && query_next(&q)) {
        struct catalogue_output output = {
            .id = query_get_number(&q, 0),
            .name = query_get_span(&q, 1),
            .position = query_get_number(&q, 2),
            .early = query_get_span(&q, 3),
            .seen = query_get_bits(&q, 4),
        };
        query_get_proof(&q, 5);
        if (!query_is_null(&q, 6)) {
            query_get_number(&q, 6);
            output.checkpoint = query_get_span(&q, 7);
            query_get_proof(&q, 8);
        }
        more = query_is_good(&q) && (!each || each(self, &output));
    }
    return query_end(&q, err);
}

bool catalogue_find_checkpoint(
    struct catalogue *catalogue, uint64_t output, struct buf *checkpoint, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_FIND_CHECKPOINT);
    query_number(&q, output);
    if (query_next(&q)) {
        query_get_number(&q, 0);
        query_add_to(&q, 1, checkpoint);
        query_get_proof(&q, 2);
    }
    return query_end(&q, err);
}

static bool remove_checkpoint(struct catalogue *catalogue, uint64_t output, struct error *err)
{
    return run_one(catalogue, CATALOGUE_REMOVE_OUTPUT_CHECKPOINT, output, err);
}

bool catalogue_remove_output(struct catalogue *catalogue, uint64_t id, struct error *err)
{
    return run_pair(catalogue, CATALOGUE_REMOVE_OUTPUT_LEFTOVERS, id, UINT64_MAX, err) &&
           run_pair(catalogue, CATALOGUE_REMOVE_OUTPUT_RANGES, id, UINT64_MAX, err) &&
           remove_checkpoint(catalogue, id, err) &&
           run_one(catalogue, CATALOGUE_REMOVE_OUTPUT, id, err);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

bool catalogue_put_range(
    struct catalogue *catalogue, const struct catalogue_range *range, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_PUT_RANGE);
    query_number(&q, range->output);
    query_number(&q, range->ordinal);
    query_number(&q, range->stream);
    query_blob(&q, range->about, CATALOGUE_TEXT_MAX_BYTES);
    query_number(&q, range->after);
    if (range->last == UINT64_MAX) {
        query_bits(&q, range->last);
    } else {
        query_number(&q, range->last);
    }
    query_proof(&q);
    return query_run(&q, err);
}

bool catalogue_ranges(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_range *range), void *self, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_RANGES);
    bool more = true;
    while (more && query_next(&q)) {
        struct catalogue_range range = {
            .output = query_get_number(&q, 0),
            .ordinal = query_get_number(&q, 1),
            .stream = query_get_number(&q, 2),
            .about = query_get_span(&q, 3),
            .after = query_get_number(&q, 4),
            .last = query_get_bits(&q, 5),
        };
        query_get_proof(&q, 6);
        more = query_is_good(&q) && (!each || each(self, &range));
    }
    return query_end(&q, err);
}

bool catalogue_remove_ranges(
    struct catalogue *catalogue, uint64_t output, uint64_t ordinal, struct error *err)
{
    return run_pair(catalogue, CATALOGUE_REMOVE_OUTPUT_RANGES, output, ordinal, err);
}

/* ---- leftovers ------------------------------------------------------------------------------- */

bool catalogue_put_leftover(
    struct catalogue *catalogue, const struct catalogue_leftover *leftover, struct error *err)
{
    if (leftover->left.size == 0) {
        return run_pair(
            catalogue, CATALOGUE_REMOVE_LEFTOVER, leftover->output, leftover->batch, err);
    }
    struct query q = query_start(catalogue, CATALOGUE_PUT_LEFTOVER);
    query_number(&q, leftover->output);
    query_number(&q, leftover->batch);
    query_blob(&q, leftover->left, CATALOGUE_BLOB_MAX_BYTES);
    query_proof(&q);
    return query_run(&q, err);
}

bool catalogue_leftovers(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_leftover *leftover), void *self,
    struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_LEFTOVERS);
    bool more = true;
    while (more && query_next(&q)) {
        struct catalogue_leftover leftover = {
            .output = query_get_number(&q, 0),
            .batch = query_get_number(&q, 1),
            .left = query_get_span(&q, 2),
        };
        query_get_proof(&q, 3);
        more = query_is_good(&q) && (!each || each(self, &leftover));
    }
    return query_end(&q, err);
}

bool catalogue_find_leftover(struct catalogue *catalogue, uint64_t output, uint64_t batch,
    struct buf *left, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_FIND_LEFTOVER);
    query_number(&q, output);
    query_number(&q, batch);
    if (query_next(&q)) {
        query_get_number(&q, 0);
        query_get_number(&q, 1);
        query_add_to(&q, 2, left);
        query_get_proof(&q, 3);
    }
    return query_end(&q, err);
}
