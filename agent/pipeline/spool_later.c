#include "pipeline/spool_durable_own.h"

/*
 * Batches that an output holds for later, as a destination does not take some of their records now. One that
 * is put down stays a flight of its cursor, but in memory it need not be: so it costs no more than the
 * numbers of its records. It is read again when it is picked up, on the output's own thread.
 */
void spool_later_put_down(
    struct spool *base, size_t index, const struct spool_item *item, size_t count)
{
    struct spool_durable *spool = spool_durable_of(base);
    struct spool_flight *flight = item->place;
    (void)index;
    plat_mutex_lock(&spool->mutex);
    spool_cache_release(spool, flight->batch);
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

enum spool_pick spool_later_pick_up(struct spool *base, size_t index, struct spool_item *item)
{
    struct spool_durable *spool = spool_durable_of(base);
    struct spool_flight *flight = item->place;
    struct error err = {.code = ERR_NONE};
    enum spool_pick result = SPOOL_PICKED;
    (void)index;
    plat_mutex_lock(&spool->mutex);
    struct batch *batch = spool_cache_take_again(spool, flight->entry.row.id);
    if (!batch) {
        plat_mutex_unlock(&spool->mutex);
        enum store_read read = spool_cursor_load(spool, &flight->entry, &batch, &err);
        plat_mutex_lock(&spool->mutex);
        if (read == STORE_READ_OK) {
            spool->memory_bytes += batch->memory;
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
