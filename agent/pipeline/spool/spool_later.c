#include "pipeline/spool/spool_durable_own.h"

/*
 * Batches that an output holds for later because a destination does not accept some of their
 * records now. Such a batch stays a flight of its cursor, but its bytes need not stay in memory: it
 * costs only the numbers of its records. It is read again when it is picked up, on the output's own
 * thread. If the oldest batches are dropped for room or age, it is treated like others: the writer
 * counts its unsettled records, and its output learns of it.
 */
void spool_later_put_down(
    struct spool *base, size_t index, const struct spool_item *item, size_t count)
{
    struct spool_durable *spool = spool_durable_of(base);
    struct spool_flight *flight = item->place;
    (void)index;
    plat_mutex_lock(&spool->mutex);
    spool_cache_release(spool->cache, flight->batch);
    flight->batch = NULL;
    flight->put_down = true;
    flight->held = count;
    plat_mutex_unlock(&spool->mutex);
}

/* It could not be read. Holds the mutex. */
static enum spool_pick pick_failed(
    struct spool_durable *spool, struct spool_flight *flight, enum store_read why, bool memory)
{
    flight->tries += memory ? 0 : 1;
    bool damaged = why == STORE_READ_DAMAGED || flight->tries >= SPOOL_READ_TRIES;
    flight->damaged = damaged && spool_cursor_report_damage(spool, &flight->entry.row);
    return flight->damaged ? SPOOL_PICK_GONE : SPOOL_PICK_LATER;
}

/* It was dropped while it was put down. Holds the mutex. */
static void settle_gone(struct spool_cursor *cursor, struct spool_flight *flight)
{
    cursor->gone_count -= !flight->told;
    flight->settled = true;
    spool_cursor_land(cursor);
    plat_cond_broadcast(&cursor->ready);
}

uint64_t spool_later_next_gone(struct spool *base, size_t index)
{
    struct spool_durable *spool = spool_durable_of(base);
    struct spool_cursor *cursor = &spool->cursors[index];
    uint64_t id = 0;
    plat_mutex_lock(&spool->mutex);
    for (struct spool_flight *f = cursor->flights; f && cursor->gone_count && !id; f = f->next) {
        if (f->gone && !f->told) {
            f->told = true;
            cursor->gone_count--;
            id = f->entry.row.id;
        }
    }
    plat_mutex_unlock(&spool->mutex);
    return id;
}

enum spool_pick spool_later_pick_up(struct spool *base, size_t index, struct spool_item *item)
{
    struct spool_durable *spool = spool_durable_of(base);
    struct spool_flight *flight = item->place;
    struct error err = {.code = ERR_NONE};
    enum spool_pick result = SPOOL_PICKED;
    plat_mutex_lock(&spool->mutex);
    if (flight->gone) {
        settle_gone(&spool->cursors[index], flight);
        plat_mutex_unlock(&spool->mutex);
        return SPOOL_PICK_GONE;
    }
    struct batch *batch = spool_cache_take_again(spool->cache, flight->entry.row.id);
    if (!batch) {
        flight->in_reading = true;
        plat_mutex_unlock(&spool->mutex);
        enum store_read read = spool_cursor_load(spool, &flight->entry, &batch, &err);
        plat_mutex_lock(&spool->mutex);
        flight->in_reading = false;
        if (read == STORE_READ_OK) {
            spool_cache_count(spool->cache, batch);
        } else {
            result = pick_failed(spool, flight, read, err.code == ERR_MEMORY);
        }
    }
    if (result == SPOOL_PICKED) {
        flight->batch = batch;
        flight->tries = 0;
        item->batch = batch;
    }
    plat_mutex_unlock(&spool->mutex);
    return result;
}

void spool_later_set_restless(struct spool *base, size_t index, bool restless)
{
    struct spool_durable *spool = spool_durable_of(base);
    plat_mutex_lock(&spool->mutex);
    spool->cursors[index].restless = restless;
    plat_cond_broadcast(&spool->cursors[index].ready);
    plat_mutex_unlock(&spool->mutex);
}
