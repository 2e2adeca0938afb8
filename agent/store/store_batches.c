#include "store/store_own.h"

#include "store/catalogue/catalogue_batches.h"
#include "store/state/stage.h"
#include "store/state/streams.h"

uint64_t store_staged_bytes(const struct store *store)
{
    return pending_bytes(store->pending) + stage_bytes(store->stage);
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
    if (!streams_is_described(store->streams, batch->stream)) {
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
    if (!numbers_next(store->numbers, &row.id, &row.first_record, err) ||
        !pending_add(store->pending, batch, &row, err)) {
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
