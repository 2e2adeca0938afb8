#include "pipeline/batch/batch.h"

#include <stdlib.h>

#include "base/grow.h"

struct batch *batch_create(size_t route_count, struct block_pool *pool, uint64_t now_ns)
{
    struct batch *batch = calloc(1, sizeof(*batch));
    if (batch && !piece_init(&batch->piece, route_count, pool)) {
        batch_destroy(batch);
        return NULL;
    }
    if (batch) {
        batch->opened_ns = now_ns;
    }
    return batch;
}

void batch_destroy(struct batch *batch)
{
    if (batch) {
        piece_fini(&batch->piece);
        free(batch->segments);
        free(batch);
    }
}

bool batch_mark(struct batch *batch, const struct batch_segment *segment)
{
    struct batch_segment *last = batch->segment_count ? &batch->segments[batch->segment_count - 1]
                                                      : NULL;
    struct batch_segment mark = *segment;
    mark.record_end = batch->piece.count;
    if (mark.record_end == (last ? last->record_end : 0)) {
        mark.times = (struct time_range){0};
    }
    if (last && last->session == mark.session && !last->cut) {
        time_range_add(&mark.times, last->times);
        *last = mark;
        return true;
    }
    if (!grow_list(&batch->segments, batch->segment_count, &batch->segment_capacity,
            sizeof(*batch->segments)) ||
        !batch->segments) {
        return false;
    }
    batch->segments[batch->segment_count++] = mark;
    return true;
}

/* A piece that is added has PIECE_FULL_BYTES and one event more, which is at most twice as long. */
bool batch_is_full(const struct batch *batch)
{
    enum { FULL_BYTES = PIECE_MAX_BYTES - 4 * PIECE_FULL_BYTES };
    bool is_full = piece_size(&batch->piece) >= FULL_BYTES;
    for (size_t i = 0; i < batch->piece.route_count; i++) {
        is_full |= batch->piece.routes[i].name_count >= ROUTES_FULL_NAMES;
    }
    return is_full;
}

size_t batch_size(const struct batch *batch)
{
    return piece_size(&batch->piece) + batch->segment_count * sizeof(*batch->segments);
}

size_t batch_segment_of(const struct batch *batch, size_t index)
{
    size_t low = 0;
    size_t high = batch->segment_count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (batch->segments[middle].record_end > index) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

size_t batch_memory(const struct batch *batch)
{
    enum { ALLOCATOR_BYTES = 8 * 1024 }; /* large blocks are whole pages with a head of their own */
    return ALLOCATOR_BYTES + sizeof(*batch) + piece_memory(&batch->piece) +
           batch->segment_capacity * sizeof(*batch->segments);
}

struct delivery_ids batch_ids(const struct batch *batch, uint64_t epoch, uint32_t stream_hash)
{
    return (struct delivery_ids){.epoch = epoch,
        .first_number = batch->first_record,
        .stream_hash = stream_hash,
        .positions = batch->piece.positions};
}

struct delivery batch_delivery(
    const struct batch *batch, size_t first, size_t count, size_t route, uint32_t *ends)
{
    const struct piece *piece = &batch->piece;
    uint32_t start = piece_start(piece, first);
    uint32_t end = piece_start(piece, first + count);
    struct delivery delivery = {.bytes = span_make(piece->bytes.data + start, end - start),
        .record_ends = piece->ends,
        .record_count = count,
        .first_place = (uint32_t)first};
    if (first) {
        for (size_t i = 0; i < count; i++) {
            ends[i] = piece->ends[first + i] - start;
        }
        delivery.record_ends = ends;
    }
    if (route < piece->route_count) {
        const struct routes *routes = &piece->routes[route];
        delivery.routes = routes->indexes + first;
        delivery.route_names = routes->names;
        delivery.route_count = routes->name_count;
    }
    return delivery;
}
