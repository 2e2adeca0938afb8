#include <stdlib.h>

#include "base/bytes.h"
#include "pipeline/spool/spool_durable_own.h"

/*
 * The position and the leftovers of an output: its threads note them together with the matching
 * checkpoint, and the writer stages them with its next commit. Acks since the last note are not
 * included: an output that removes what it wrote after its checkpoint gets those batches again.
 */
void spool_position_note_left(struct spool *base, size_t index, const struct spool_item *item,
    const uint32_t *records, size_t count)
{
    struct spool_durable *spool = spool_durable_of(base);
    struct spool_flight *flight = item->place;
    (void)index;
    uint32_t *left = malloc((count + 1) * sizeof(*left));
    if (!left) {
        return; /* then all of it is delivered again */
    }
    memcpy(left, records, count * sizeof(*left));
    plat_mutex_lock(&spool->mutex);
    uint32_t *before = flight->noted;
    flight->noted = left;
    flight->noted_count = count;
    spool_durable_touch(spool);
    plat_mutex_unlock(&spool->mutex);
    free(before);
}

/* Everything up to this id is settled: what is before the first flight is. */
static uint64_t settled_up_to(const struct spool_cursor *cursor)
{
    uint64_t before = cursor->flights ? cursor->flights->entry.row.id - 1 : 0;
    return before > cursor->position ? before : cursor->position;
}

/* The ids beyond ${position} that are settled, ascending: those of earlier runs, of which rows were
 * not fetched again, and those of flights. NULL: out of memory. */
static uint64_t *settled_early(
    const struct spool_cursor *cursor, uint64_t position, size_t *ret_count)
{
    uint64_t *early = malloc((cursor->before_count + cursor->flight_count + 1) * sizeof(*early));
    const struct spool_flight *flight = cursor->flights;
    size_t count = 0;
    size_t i = 0;
    while (early && (flight || i < cursor->before_count)) {
        if (!flight || (i < cursor->before_count && cursor->before[i] < flight->entry.row.id)) {
            early[count] = cursor->before[i++];
            count += early[count] > position;
        } else {
            early[count] = flight->entry.row.id;
            count += flight->settled;
            flight = flight->next;
        }
    }
    *ret_count = count;
    return early;
}

/* Does it differ from what was noted last? */
static bool is_news(const struct spool_cursor *cursor, uint64_t position, const uint64_t *early,
    size_t count, struct span checkpoint)
{
    return position != cursor->stored_position || count != cursor->stored_early_count ||
           (count && memcmp(early, cursor->stored_early, count * sizeof(*early)) != 0) ||
           !span_equal(checkpoint, buf_span(&cursor->stored_checkpoint));
}

static bool note(struct spool_cursor *cursor, struct span checkpoint, bool *ret_news)
{
    uint64_t position = settled_up_to(cursor);
    size_t count;
    uint64_t *early = settled_early(cursor, position, &count);
    if (!early) {
        return false;
    }
    *ret_news = is_news(cursor, position, early, count, checkpoint);
    if (!*ret_news) {
        free(early);
        return true;
    }
    struct buf fresh;
    buf_init(&fresh, STORE_VALUE_MAX);
    buf_add_span(&fresh, checkpoint);
    if (fresh.failed) {
        buf_fini(&fresh);
        free(early);
        return false;
    }
    buf_fini(&cursor->stored_checkpoint);
    cursor->stored_checkpoint = fresh;
    free(cursor->stored_early);
    cursor->stored_position = position;
    cursor->stored_early = early;
    cursor->stored_early_count = count;
    cursor->changed = true;
    return true;
}

bool spool_position_checkpoint(
    struct spool *base, size_t index, struct span bytes, bool now, struct error *err)
{
    struct spool_durable *spool = spool_durable_of(base);
    struct spool_cursor *cursor = &spool->cursors[index];
    bool news = false;
    plat_mutex_lock(&spool->mutex);
    bool ok = note(cursor, bytes, &news);
    if (news) {
        cursor->noted_in = spool->rounds_begun;
        spool_durable_touch(spool);
    }
    bool pending = spool->cursors_true <= cursor->noted_in;
    plat_mutex_unlock(&spool->mutex);
    if (!ok) {
        return error_set(err, ERR_MEMORY, "out of memory for a position");
    }
    return !now || !pending || spool_writer_wait(spool, false, err);
}

bool spool_position_first_checkpoint(
    struct spool *base, size_t index, struct buf *ret_bytes, struct error *err)
{
    struct spool_durable *spool = spool_durable_of(base);
    return store_checkpoint(spool->settings.store, index, ret_bytes, err);
}

/* The leftover of a batch, in the form of the store. */
static bool stage_left(
    struct spool_durable *spool, size_t index, struct spool_flight *flight, struct error *err)
{
    struct buf bytes;
    buf_init(&bytes, STORE_VALUE_MAX);
    bool ok = buf_reserve(&bytes, flight->noted_count * sizeof(uint32_t));
    for (size_t i = 0; ok && i < flight->noted_count; i++) {
        store_le32(bytes.data + i * sizeof(uint32_t), flight->noted[i]);
    }
    bytes.size = ok ? flight->noted_count * sizeof(uint32_t) : 0;
    ok = !ok ||
         store_leftover(spool->settings.store, index, flight->entry.row.id, buf_span(&bytes), err);
    buf_fini(&bytes);
    if (ok) { /* without memory all of it is delivered again */
        free(flight->noted);
        flight->noted = NULL;
    }
    return ok;
}

bool spool_position_stage(struct spool_durable *spool, size_t index, struct error *err)
{
    struct spool_cursor *cursor = &spool->cursors[index];
    bool ok = true;
    for (struct spool_flight *f = cursor->flights; ok && f; f = f->next) {
        ok = !f->noted || f->settled || f->gone || stage_left(spool, index, f, err);
    }
    if (ok && cursor->changed) {
        const struct span checkpoint = buf_span(&cursor->stored_checkpoint);
        const struct store_progress progress = {.output = index,
            .position = cursor->stored_position,
            .early = cursor->stored_early,
            .early_count = cursor->stored_early_count,
            .checkpoint = &checkpoint};
        ok = store_progress(spool->settings.store, &progress, err);
        cursor->changed = !ok;
    }
    return ok;
}
