#include "pipeline/work/sealer_own.h"
#include "platform/plat_clock.h"

enum {
    RETRY_MS = 50,
    SMALL_SHARE = 8, /* of a batch */
    MAX_SEGMENTS =
        4096, /* sessions that take turns with few events for it must not fill the memory */
};

void sealer_seal(struct sealer *sealer, size_t index)
{
    struct stream *stream = &sealer->streams[index];
    struct batch *batch = stream->open;
    if (batch) {
        stream->open = NULL;
        piece_trim(&batch->piece);
        sealer->settings.spool->ops->append(sealer->settings.spool, index, batch);
    }
}

void sealer_wait_for_memory(void)
{
    plat_sleep_ms(RETRY_MS);
}

uint64_t sealer_due(const struct stream *stream)
{
    return stream->open ? stream->open->opened_ns + stream->settings->max_age_ns : UINT64_MAX;
}

struct batch *sealer_open_batch(struct sealer *sealer, size_t index)
{
    struct stream *stream = &sealer->streams[index];
    while (!stream->open) {
        stream->open = batch_create(
            stream->settings->route_count, sealer->settings.pool, plat_monotonic_ns());
        if (!stream->open) {
            sealer_wait_for_memory();
        }
    }
    return stream->open;
}

bool sealer_is_full(const struct stream *stream)
{
    if (!stream->open) {
        return false;
    }
    const struct piece *piece = &stream->open->piece;
    return piece->bytes.size >= stream->settings->max_bytes ||
           piece->count >= stream->settings->max_events ||
           stream->open->segment_count >= MAX_SEGMENTS || batch_is_full(stream->open);
}

/* Records that fill much of a batch make the next one, uncopied, rather than fill up one that is
 * half full. */
static bool is_better_alone(
    const struct stream *stream, const struct piece *open, size_t count, size_t bytes)
{
    const struct sealer_stream *settings = stream->settings;
    bool is_half_full = open->bytes.size >= settings->max_bytes / 2 ||
                        open->count >= settings->max_events / 2;
    return open->count && is_half_full && count <= settings->max_events &&
           bytes <= settings->max_bytes && bytes >= settings->max_bytes / 4;
}

size_t sealer_count_fitting(const struct stream *stream, const struct batch *batch,
    const struct piece *piece, size_t first, size_t end)
{
    const struct piece *open = &batch->piece;
    size_t room = stream->settings->max_bytes > open->bytes.size
                      ? stream->settings->max_bytes - open->bytes.size
                      : 0;
    size_t most = stream->settings->max_events - open->count;
    uint32_t start = piece_start(piece, first);
    size_t wanted = end - first;
    size_t bytes = piece_start(piece, end) - start;
    if (wanted <= most && bytes <= room) {
        return wanted;
    }
    if (stream->settings->whole_pieces) {
        return open->count ? 0 : wanted;
    }
    if (is_better_alone(stream, open, wanted, bytes)) {
        return 0;
    }
    end = wanted > most ? first + most : end;
    size_t count = 0;
    while (first + count < end && piece->ends[first + count] - start <= room) {
        count++;
    }
    return count == 0 && open->count == 0 && end > first ? 1 : count;
}

/* A batch that becomes more than a small one gets all of its room at once. */
static void make_room(struct sealer *sealer, size_t index, size_t more)
{
    struct piece *piece = &sealer_open_batch(sealer, index)->piece;
    size_t most = sealer->streams[index].settings->max_bytes;
    size_t needed = piece->bytes.size + more;
    if (needed > piece->bytes.capacity && needed <= most && needed >= most / SMALL_SHARE) {
        piece_reserve(piece, most);
    }
}

void sealer_move_records(
    struct sealer *sealer, size_t index, struct piece *piece, size_t first, size_t count)
{
    struct batch *batch = sealer_open_batch(sealer, index);
    if (first == 0 && count == piece->count && batch->piece.count == 0) {
        struct piece empty = batch->piece;
        batch->piece = *piece;
        *piece = empty;
        return;
    }
    make_room(sealer, index, piece_start(piece, first + count) - piece_start(piece, first));
    while (!piece_append(&sealer_open_batch(sealer, index)->piece, piece, first, count)) {
        sealer_wait_for_memory();
    }
}

void sealer_mark(struct sealer *sealer, size_t index, const struct batch_segment *segment)
{
    const struct rollup *rollup = rollups_of(sealer->rollups, segment->session, index);
    uint64_t hold = rollup ? rollup_hold(rollup) : UINT64_MAX;
    struct batch_segment held = *segment;
    held.last_sequence = held.last_sequence < hold ? held.last_sequence : hold - 1;
    while (!batch_mark(sealer_open_batch(sealer, index), &held)) {
        sealer_wait_for_memory();
    }
}
