#include "pipeline/batch/piece.h"

#include <stdlib.h>

#include "base/grow.h"

/* Pieces of much the same size take blocks of one size. */
enum { BLOCK_STEP_BYTES = 32 * 1024 };

bool piece_init(struct piece *piece, size_t route_count, struct block_pool *pool)
{
    *piece = (struct piece){.pool = pool};
    buf_init(&piece->bytes, PIECE_MAX_BYTES);
    if (route_count) {
        piece->routes = calloc(route_count, sizeof(*piece->routes));
        if (!piece->routes) {
            return false;
        }
        piece->route_count = route_count;
        for (size_t i = 0; i < route_count; i++) {
            routes_init(&piece->routes[i]);
        }
    }
    return true;
}

void piece_fini(struct piece *piece)
{
    for (size_t i = 0; i < piece->route_count; i++) {
        routes_fini(&piece->routes[i]);
    }
    free(piece->routes);
    block_pool_give(piece->pool, piece->bytes.data, piece->taken_bytes, piece->bytes.allocated);
    free(piece->ends);
    free(piece->sequences);
    free(piece->positions);
    *piece = (struct piece){.count = 0};
}

/* Continue in a block of ${capacity} bytes, if there is one. */
static void move(struct piece *piece, size_t capacity)
{
    struct buf *buf = &piece->bytes;
    uint8_t *data = block_pool_take(piece->pool, capacity, &capacity);
    if (!data) {
        return;
    }
    if (buf->size) {
        memcpy(data, buf->data, buf->size);
    }
    block_pool_give(piece->pool, buf->data, piece->taken_bytes, buf->allocated);
    buf_adopt(buf, data, capacity);
    piece->taken_bytes = capacity;
}

void piece_reserve(struct piece *piece, size_t bytes)
{
    size_t capacity = (bytes + BLOCK_STEP_BYTES - 1) / BLOCK_STEP_BYTES * BLOCK_STEP_BYTES;
    if (bytes > piece->bytes.capacity && capacity <= piece->bytes.max) {
        move(piece, capacity);
    }
}

static bool grow_marks(struct piece *piece, bool with_sequences)
{
    return grow_list(&piece->ends, piece->count, &piece->capacity, sizeof(*piece->ends)) &&
           (!with_sequences || grow_list(&piece->sequences, piece->count, &piece->sequence_capacity,
                                   sizeof(*piece->sequences)));
}

static void cut_marks(struct piece *piece)
{
    if (piece->position_count > piece->count) {
        piece->position_count = piece->count;
    }
    for (size_t i = 0; i < piece->route_count; i++) {
        if (piece->routes[i].count > piece->count) {
            piece->routes[i].count = piece->count;
        }
    }
}

void piece_take_back(struct piece *piece, uint32_t start)
{
    piece->bytes.size = start;
    cut_marks(piece);
}

/* Positions for ${count} records: of those that have none so far, unknown ones. NULL: out of
 * memory. */
static struct record_position *fill_positions(struct piece *piece, size_t count)
{
    while (piece->position_count < count) {
        if (!grow_list(&piece->positions, piece->position_count, &piece->position_capacity,
                sizeof(*piece->positions)) ||
            !piece->positions) {
            return NULL;
        }
        piece->positions[piece->position_count++] = (struct record_position){.buffer_offset = 0};
    }
    return piece->positions;
}

bool piece_add_position(struct piece *piece, const struct record_position *position)
{
    struct record_position *positions = fill_positions(piece, piece->count + 1);
    if (positions) {
        positions[piece->count] = *position;
    }
    return positions != NULL;
}

static bool append_positions(
    struct piece *piece, const struct piece *from, size_t first, size_t count)
{
    if (!piece->positions && !from->positions) {
        return true;
    }
    struct record_position *positions = fill_positions(piece, piece->count + count);
    for (size_t i = 0; positions && from->positions && i < count; i++) {
        positions[piece->count + i] = from->positions[first + i];
    }
    return positions != NULL;
}

bool piece_end_record(struct piece *piece, uint64_t sequence)
{
    bool has_room = piece->count < piece->capacity && piece->count < piece->sequence_capacity;
    if ((!has_room && !grow_marks(piece, true)) ||
        (piece->positions && !fill_positions(piece, piece->count + 1))) {
        piece_take_back(piece, piece_start(piece, piece->count));
        return false;
    }
    piece->ends[piece->count] = (uint32_t)piece->bytes.size;
    piece->sequences[piece->count] = sequence;
    piece->count++;
    return true;
}

bool piece_append(struct piece *piece, const struct piece *from, size_t first, size_t count)
{
    size_t size_before = piece->bytes.size;
    size_t count_before = piece->count;
    uint32_t start = piece_start(from, first);
    size_t size = from->ends[first + count - 1] - start;
    buf_add(&piece->bytes, from->bytes.data + start, size);
    bool ok = !piece->bytes.failed;
    for (size_t i = 0; ok && i < piece->route_count; i++) {
        ok = routes_append(&piece->routes[i], &from->routes[i], first, count);
    }
    ok = ok && append_positions(piece, from, first, count);
    for (size_t i = 0; ok && i < count; i++) {
        ok = grow_marks(piece, false);
        if (ok) {
            piece->ends[piece->count++] = (uint32_t)(size_before + from->ends[first + i] - start);
        }
    }
    if (!ok) {
        piece->bytes.failed = false;
        piece->bytes.size = size_before;
        piece->count = count_before;
        cut_marks(piece);
    }
    return ok;
}

void piece_trim(struct piece *piece)
{
    if (piece->bytes.size && piece->bytes.size < piece->bytes.allocated / 2) {
        move(piece, piece->bytes.size);
    }
    free(piece->sequences);
    piece->sequences = NULL;
    piece->sequence_capacity = 0;
}

size_t piece_memory(const struct piece *piece)
{
    size_t size = sizeof(*piece) + piece->bytes.allocated + piece->capacity * sizeof(*piece->ends) +
                  piece->sequence_capacity * sizeof(*piece->sequences) +
                  piece->position_capacity * sizeof(*piece->positions);
    for (size_t i = 0; i < piece->route_count; i++) {
        size += sizeof(piece->routes[i]) + routes_bytes(&piece->routes[i]);
    }
    return size;
}

size_t piece_size(const struct piece *piece)
{
    size_t size = piece->bytes.size + piece->count * sizeof(*piece->ends) +
                  piece->position_count * sizeof(*piece->positions);
    for (size_t i = 0; i < piece->route_count; i++) {
        size += routes_size(&piece->routes[i]);
    }
    return size;
}
