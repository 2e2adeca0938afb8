#include "store/catalogue/catalogue_batches.h"
#include "store/store_own.h"

uint64_t store_staged_bytes(const struct store *store)
{
    return store->pending.bytes + store->stage.bytes;
}

static bool are_good_sources(const struct store_batch *batch, struct error *err)
{
    for (size_t i = 0; i < batch->source_count; i++) {
        if (!numbers_check(batch->sources[i].sequence, err)) {
            return false;
        }
    }
    return true;
}

bool store_append(struct store *store, const struct store_batch *batch, struct store_row *ret_row,
    struct error *err)
{
    const struct stream_entry *stream = streams_get(&store->streams, batch->stream);
    if (!stream || !stream->is_described) {
        return error_set(
            err, ERR_MISSING, "there is no stream %llu", (unsigned long long)batch->stream);
    }
    if (!are_good_sources(batch, err)) {
        return false;
    }
    struct store_row row = {.stream = batch->stream,
        .epoch = numbers_epoch(store->numbers),
        .records = batch->records,
        .body_bytes = batch->body.size,
        .first_time = batch->first_time,
        .last_time = batch->last_time,
        .entered = ages_now(store->ages)};
    if (!numbers_next(store->numbers, &row.id, &row.first_record, err)) {
        return false;
    }
    if (!pending_add(&store->pending, batch, &row, err)) {
        return false;
    }
    struct segments_batch frame = pending_frame(store->pending.batches[store->pending.count - 1]);
    if (!segments_fits(&frame, err)) {
        pending_drop_last(&store->pending);
        return false;
    }
    numbers_take(store->numbers, batch->records);
    *ret_row = row;
    return true;
}

struct store_row store_row_of(const struct catalogue_batch *batch)
{
    return (struct store_row){.id = batch->id,
        .stream = batch->stream,
        .epoch = batch->epoch,
        .first_record = batch->first_record,
        .records = batch->records,
        .body_bytes = batch->raw_bytes,
        .disk_bytes = batch->bytes,
        .first_time = batch->first_time,
        .last_time = batch->last_time,
        .entered = batch->entered,
        .segment = batch->segment,
        .offset = batch->offset};
}

/* Batches of a range after ${after} that are not settled, as many as fit. */
static bool next_in_range(struct store *store, const struct chain *chain,
    const struct chain_range *range, uint64_t after, struct store_row *rows, size_t max,
    size_t *count, struct error *err)
{
    uint64_t last = range->last < numbers_last_id(store->numbers) ? range->last
                                                                  : numbers_last_id(store->numbers);
    uint64_t lower = chain_lower(chain, range);
    lower = lower > after ? lower : after;
    while (*count < max && lower < last) {
        struct catalogue_batch batches[32];
        size_t most = sizeof(batches) / sizeof(batches[0]);
        size_t found;
        if (!catalogue_next_batches(store->catalogue, range->stream, lower, last, batches,
                max - *count < most ? max - *count : most, &found, err)) {
            return false;
        }
        for (size_t i = 0; i < found; i++) {
            uint64_t id = batches[i].id;
            lower = id;
            if (!chain_is_early(chain, id) && !stage_find(&store->stage, STAGE_REMOVED, id, 0)) {
                struct store_row *row = &rows[(*count)++];
                *row = store_row_of(&batches[i]);
                row->range = (size_t)range->ordinal;
                row->has_left = chain_has_left(chain, id);
            }
        }
        if (found == 0) {
            break;
        }
    }
    return true;
}

bool store_next(struct store *store, size_t output, uint64_t after, struct store_row *rows,
    size_t max, size_t *ret_count, struct error *err)
{
    const struct chain *chain = store_chain(store, output, err);
    size_t count = 0;
    if (!chain || !store_is_whole(store, err)) {
        return false;
    }
    for (size_t i = chain->first_range; i < chain->range_count && count < max; i++) {
        if (!next_in_range(store, chain, &chain->ranges[i], after, rows, max, &count, err)) {
            return false;
        }
    }
    *ret_count = count;
    return true;
}

bool store_left(
    struct store *store, size_t output, uint64_t id, struct buf *ret_left, struct error *err)
{
    const struct chain *chain = store_chain(store, output, err);
    if (!chain || !store_is_whole(store, err)) {
        return false;
    }
    const struct stage_entry *staged = stage_find(&store->stage, STAGE_LEFTOVER, chain->id, id);
    if (staged) {
        buf_add_span(ret_left, staged->texts[0]);
    } else if (chain_has_left(chain, id) &&
               !catalogue_find_leftover(store->catalogue, chain->id, id, ret_left, err)) {
        return false;
    }
    return !ret_left->failed || error_set(err, ERR_MEMORY, "out of memory");
}

void store_expect_reads(struct store *store, bool expected)
{
    segments_expect_reads(store->segments, expected);
}

enum store_read store_read(struct store *store, const struct store_row *row, struct buf *room,
    struct span *ret_body, struct error *err)
{
    const struct segment_place place = {.segment = row->segment,
        .offset = row->offset,
        .bytes = (uint32_t)row->disk_bytes,
        .raw_bytes = (uint32_t)row->body_bytes};
    struct frame frame;
    struct error why = {.code = ERR_NONE};
    if (!segments_read(store->segments, &place, room, &frame, &why)) {
        error_set(err, why.code, "%s", why.text);
        return why.code == ERR_FORMAT ? STORE_READ_DAMAGED : STORE_READ_FAILED;
    }
    if (frame.kind != FRAME_BATCH || frame.batch != row->id || frame.epoch != row->epoch ||
        frame.stream != row->stream || frame.first_record != row->first_record ||
        frame.records != row->records) {
        error_set(
            err, ERR_FORMAT, "batch %llu is not where it was written", (unsigned long long)row->id);
        return STORE_READ_DAMAGED;
    }
    *ret_body = frame.body;
    return STORE_READ_OK;
}
