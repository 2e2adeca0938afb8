#include "pipeline/spool/spool_durable_own.h"

/*
 * Committed batches that stay in memory until every cursor has taken them, so outputs that keep up
 * never read the disk. When memory is full, the batch that will be needed last is dropped first. So
 * an output that lags reads the disk, and the others have the memory; of batches that wait for one
 * output alone the newest are dropped.
 *
 * A batch is in the list as long as an output has yet to take it (readers_left), and is freed when no output
 * has it in hand either (holders). All functions: the mutex is held.
 */
void spool_cache_count(struct spool_durable *spool, const struct batch *batch)
{
    spool->memory_bytes += batch->memory;
}

void spool_cache_free(struct spool_durable *spool, struct batch *batch)
{
    spool->memory_bytes -= batch->memory;
    batch_destroy(batch);
}

/* How many ids are before it for the first cursor that gets to it. */
static uint64_t distance(const struct spool_durable *spool, const struct batch *batch)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < spool->cursor_count; i++) {
        const struct spool_cursor *cursor = &spool->cursors[i];
        if (cursor->reader.stream == batch->stream && cursor->taken < batch->number &&
            batch->number - cursor->taken < least) {
            least = batch->number - cursor->taken;
        }
    }
    return least;
}

static struct batch *find_last_needed(const struct spool_durable *spool)
{
    struct batch *found = NULL;
    uint64_t most = 0;
    for (struct batch *batch = spool->cache.head; batch; batch = batch->next) {
        uint64_t ahead = batch->holders ? 0 : distance(spool, batch);
        if (ahead > most) {
            most = ahead;
            found = batch;
        }
    }
    return found;
}

void spool_cache_add(struct spool_durable *spool, struct batch *batch)
{
    spool->memory_bytes -= batch->memory;
    batch->memory = batch_memory(batch);
    spool->memory_bytes += batch->memory;
    batch->readers_left = spool->stream_cursors[batch->stream];
    batch->holders = 0;
    batch_list_add(&spool->cache, batch);
    struct batch *victim;
    while (spool->memory_bytes > spool->memory_max && (victim = find_last_needed(spool))) {
        spool->lets_go = true;
        batch_list_remove(&spool->cache, victim);
        spool_cache_free(spool, victim);
    }
}

static struct batch *find(const struct spool_durable *spool, uint64_t id)
{
    struct batch *batch = spool->cache.head;
    while (batch && batch->number < id) {
        batch = batch->next;
    }
    return batch && batch->number == id ? batch : NULL;
}

static void count_down(struct spool_durable *spool, struct batch *batch)
{
    if (--batch->readers_left == 0) {
        batch_list_remove(&spool->cache, batch);
    }
}

struct batch *spool_cache_take(struct spool_durable *spool, uint64_t id)
{
    struct batch *batch = find(spool, id);
    if (batch) {
        batch->holders++;
        count_down(spool, batch);
    }
    return batch;
}

struct batch *spool_cache_take_again(struct spool_durable *spool, uint64_t id)
{
    struct batch *batch = find(spool, id);
    if (batch) {
        batch->holders++;
    }
    return batch;
}

void spool_cache_skip(struct spool_durable *spool, uint64_t id)
{
    struct batch *batch = find(spool, id);
    if (batch) {
        count_down(spool, batch);
        if (batch->readers_left == 0 && batch->holders == 0) {
            spool_cache_free(spool, batch);
        }
    }
}

void spool_cache_release(struct spool_durable *spool, struct batch *batch)
{
    if (--batch->holders == 0 && batch->readers_left == 0) {
        spool_cache_free(spool, batch);
    }
}
