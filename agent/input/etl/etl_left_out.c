#include "input/etl/etl_left_out.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/order.h"
#include "base/protobuf.h"

/*
 * A note is one varint: the time since the previous record, zigzag-encoded because it may be
 * negative, times ETL_LEFT_OUT_REASONS, plus the reason. The first time of a buffer is counted from
 * 0.
 */

void etl_left_out_init(struct etl_left_out *left_out, size_t *budget)
{
    etl_left_out_fini(left_out);
    left_out->budget = budget;
    buf_init(&left_out->notes, SIZE_MAX);
}

void etl_left_out_fini(struct etl_left_out *left_out)
{
    etl_left_out_clear(left_out);
    buf_fini(&left_out->notes);
    free(left_out->buffers);
    *left_out = (struct etl_left_out){.budget = NULL};
}

static size_t used(const struct etl_left_out *left_out)
{
    return left_out->closed_bytes + left_out->count * sizeof(*left_out->buffers);
}

void etl_left_out_clear(struct etl_left_out *left_out)
{
    if (left_out->budget) {
        *left_out->budget += used(left_out);
    }
    left_out->count = 0;
    left_out->closed_bytes = 0;
}

bool etl_left_out_open(struct etl_left_out *left_out, const struct etl_buffer *buffer)
{
    enum { MAX_WASTED = 16384, TRY_EACH = 16 };
    left_out->wasted += left_out->open.records;
    left_out->open.records = 0;
    bool pays = left_out->wasted <= left_out->noted + MAX_WASTED;
    if (!left_out->budget || (left_out->asked++ % TRY_EACH && !pays)) {
        return false;
    }
    left_out->notes.size = left_out->closed_bytes;
    left_out->open = (struct etl_left_out_buffer){
        .offset = buffer->offset, .size = buffer->size, .notes = left_out->closed_bytes};
    return true;
}

bool etl_left_out_add(struct etl_left_out *left_out, uint64_t time, uint8_t reason)
{
    struct etl_left_out_buffer *open = &left_out->open;
    uint64_t step = time - open->last_time;
    uint64_t zigzag = step << 1 ^ (0 - (step >> 63));
    size_t bytes = left_out->notes.size - left_out->closed_bytes + sizeof(*open);
    if (zigzag > UINT64_MAX / ETL_LEFT_OUT_REASONS ||
        bytes + PROTOBUF_VARINT_MAX > *left_out->budget ||
        !buf_reserve(&left_out->notes, PROTOBUF_VARINT_MAX)) {
        return false;
    }
    uint8_t *at = left_out->notes.data + left_out->notes.size;
    uint8_t *end = protobuf_put_varint(at, zigzag * ETL_LEFT_OUT_REASONS + reason);
    left_out->notes.size += (size_t)(end - at);
    open->last_time = time;
    open->latest = time > open->latest ? time : open->latest;
    open->records++;
    return true;
}

void etl_left_out_close(struct etl_left_out *left_out, const struct etl_scope *last)
{
    struct etl_left_out_buffer *open = &left_out->open;
    if (open->records == 0 || !grow_list(&left_out->buffers, left_out->count, &left_out->capacity,
                                  sizeof(*left_out->buffers))) {
        return;
    }
    open->trace = last->trace;
    open->last_raw = last->last_raw;
    size_t before = used(left_out);
    left_out->buffers[left_out->count++] = *open;
    left_out->closed_bytes = left_out->notes.size;
    left_out->noted += open->records;
    open->records = 0;
    *left_out->budget -= used(left_out) - before;
}

_Static_assert(offsetof(struct etl_left_out_buffer, offset) == 0, "order_place");

const struct etl_left_out_buffer *etl_left_out_find(
    const struct etl_left_out *left_out, uint64_t offset)
{
    const struct etl_left_out_buffer *buffers = left_out->buffers;
    size_t at = order_place(buffers, left_out->count, sizeof(*buffers), offset);
    return at < left_out->count && buffers[at].offset == offset ? &buffers[at] : NULL;
}

struct etl_left_out_reader etl_left_out_read(
    const struct etl_left_out *left_out, const struct etl_left_out_buffer *buffer)
{
    return (struct etl_left_out_reader){
        .at = left_out->notes.data + buffer->notes, .left = buffer->records};
}
