#include "store/catalogue/catalogue_batches.h"

#include "store/catalogue/catalogue_query.h"

/* No batch is this large; sums of what is smaller stay in range. */
static const uint64_t max_batch_bytes = UINT64_C(1) << 40;

bool catalogue_put_batch(
    struct catalogue *catalogue, const struct catalogue_batch *batch, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_PUT_BATCH);
    query_number(&q, batch->id);
    query_number(&q, batch->stream);
    query_number(&q, batch->segment);
    query_number(&q, batch->offset);
    query_number(&q, batch->bytes);
    query_number(&q, batch->raw_bytes);
    query_bits(&q, batch->epoch);
    query_number(&q, batch->first_record);
    query_number(&q, batch->records);
    query_bits(&q, batch->first_time);
    query_bits(&q, batch->last_time);
    query_bits(&q, batch->entered);
    if (batch->id == 0 || batch->bytes > max_batch_bytes || batch->raw_bytes > max_batch_bytes) {
        q.code = ERR_LIMIT;
    }
    return query_run(&q, err);
}

bool catalogue_sum_again(struct catalogue *catalogue, uint64_t stream, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_SUM_AGAIN);
    query_number(&q, stream);
    return query_run(&q, err);
}

static struct catalogue_batch get_batch(struct query *q)
{
    struct catalogue_batch batch = {
        .id = query_get_number(q, 0),
        .stream = query_get_number(q, 1),
        .segment = query_get_number(q, 2),
        .offset = query_get_number(q, 3),
        .bytes = query_get_number(q, 4),
        .raw_bytes = query_get_number(q, 5),
        .epoch = query_get_bits(q, 6),
        .first_record = query_get_number(q, 7),
        .first_time = query_get_bits(q, 9),
        .last_time = query_get_bits(q, 10),
        .entered = query_get_bits(q, 11),
    };
    uint64_t records = query_get_number(q, 8);
    batch.records = (uint32_t)records;
    query_expect(q, records <= UINT32_MAX);
    return batch;
}

/* Of ${stream} (0: of any), after ${after}. A row that an index leads to
 * in error is none of these. */
static bool get_batches(struct query *q, uint64_t stream, uint64_t after,
    struct catalogue_batch *batches, size_t max, size_t *ret_count, struct error *err)
{
    size_t count = 0;
    while (count < max && query_next(q)) {
        batches[count] = get_batch(q);
        query_expect(q, batches[count].id > after);
        query_expect(q, stream == 0 || batches[count].stream == stream);
        after = batches[count++].id;
    }
    if (!query_end(q, err)) {
        return false;
    }
    *ret_count = count;
    return true;
}

bool catalogue_next_batches(struct catalogue *catalogue, uint64_t stream, uint64_t after,
    uint64_t last, struct catalogue_batch *batches, size_t max, size_t *ret_count,
    struct error *err)
{
    struct query q = query_start(
        catalogue, stream ? CATALOGUE_NEXT_STREAM_BATCHES : CATALOGUE_NEXT_BATCHES);
    if (stream) {
        query_number(&q, stream);
    }
    query_last(&q, after);
    query_last(&q, last);
    query_last(&q, max);
    return get_batches(&q, stream, after, batches, max, ret_count, err);
}

bool catalogue_find_batch(struct catalogue *catalogue, uint64_t id,
    struct catalogue_batch *ret_batch, bool *ret_found, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_FIND_BATCH);
    struct catalogue_batch batch;
    size_t count;
    query_last(&q, id);
    if (!get_batches(&q, 0, 0, &batch, 1, &count, err)) {
        return false;
    }
    if (count) {
        *ret_batch = batch;
    }
    *ret_found = count > 0;
    return true;
}

bool catalogue_newest_entered(struct catalogue *catalogue, uint64_t *ret_entered, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_NEWEST_ENTERED);
    uint64_t entered = query_next(&q) ? query_get_bits(&q, 0) : 0;
    if (!query_end(&q, err)) {
        return false;
    }
    *ret_entered = entered;
    return true;
}

bool catalogue_shift_entered(
    struct catalogue *catalogue, uint64_t by, uint64_t latest, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_SHIFT_ENTERED);
    query_number(&q, by);
    query_number(&q, latest);
    return query_run(&q, err);
}

bool catalogue_remove_batches(struct catalogue *catalogue, uint64_t stream, uint64_t last,
    size_t max, size_t *ret_removed, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_REMOVE_BATCHES);
    query_number(&q, stream);
    query_last(&q, last);
    query_last(&q, max);
    if (!query_run(&q, err)) {
        return false;
    }
    *ret_removed = (size_t)sqlite3_changes(catalogue->db);
    return true;
}

bool catalogue_remove_batch(struct catalogue *catalogue, uint64_t id, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_REMOVE_BATCH);
    query_last(&q, id);
    return query_run(&q, err);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Totals of the stream up to ${last}. */
static bool sum_up_to(struct catalogue *catalogue, uint64_t stream, uint64_t last,
    struct catalogue_sum *ret_sum, struct error *err)
{
    struct query q = query_start(catalogue, CATALOGUE_SUM_BEFORE);
    query_number(&q, stream);
    query_last(&q, last);
    bool found = query_next(&q);
    if (!found && query_is_good(&q)) { /* all of it */
        if (!query_end(&q, err)) {
            return false;
        }
        q = query_start(catalogue, CATALOGUE_SUM_ALL);
        query_number(&q, stream);
        found = query_next(&q);
    }
    struct catalogue_sum sum = {0};
    if (found) {
        sum.batches = query_get_number(&q, 0);
        sum.records = query_get_number(&q, 1);
        sum.bytes = query_get_number(&q, 2);
    }
    if (!query_end(&q, err)) {
        return false;
    }
    *ret_sum = sum;
    return true;
}

bool catalogue_sum_batches(struct catalogue *catalogue, uint64_t stream, uint64_t after,
    uint64_t last, struct catalogue_sum *ret_sum, struct error *err)
{
    struct catalogue_sum before;
    struct catalogue_sum all;
    if (after >= last) {
        *ret_sum = (struct catalogue_sum){0};
        return true;
    }
    if (!sum_up_to(catalogue, stream, after, &before, err) ||
        !sum_up_to(catalogue, stream, last, &all, err)) {
        return false;
    }
    if (before.batches > all.batches || before.records > all.records || before.bytes > all.bytes) {
        struct query q = query_start(catalogue, CATALOGUE_SUM_ALL);
        query_expect(&q, false);
        return query_end(&q, err);
    }
    *ret_sum = (struct catalogue_sum){
        .batches = all.batches - before.batches,
        .records = all.records - before.records,
        .bytes = all.bytes - before.bytes,
    };
    return true;
}
