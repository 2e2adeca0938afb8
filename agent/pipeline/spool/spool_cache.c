#include "pipeline/spool/spool_cache.h"

#include <stdlib.h>

#include "pipeline/spool/batch_list.h"

/* A batch is in the list as long as an output has yet to take it (readers_left), and is freed when
 * no output has it in hand either (holders). */
struct spool_cache {
    struct batch_list list; /* committed, by id */
    size_t bytes;           /* of all batches */
    size_t max_bytes;
    bool lets_go;
    uint64_t (*ahead)(void *self, const struct batch *batch);
    void *self;
};

struct spool_cache *spool_cache_create(
    size_t max_bytes, uint64_t (*ahead)(void *self, const struct batch *batch), void *self)
{
    struct spool_cache *cache = malloc(sizeof(*cache));
    if (cache) {
        *cache = (struct spool_cache){.max_bytes = max_bytes, .ahead = ahead, .self = self};
    }
    return cache;
}

void spool_cache_destroy(struct spool_cache *cache)
{
    struct batch *batch;
    while (cache && (batch = batch_list_take(&cache->list))) {
        batch_destroy(batch);
    }
    free(cache);
}

void spool_cache_count(struct spool_cache *cache, const struct batch *batch)
{
    cache->bytes += batch->memory;
}

void spool_cache_free(struct spool_cache *cache, struct batch *batch)
{
    cache->bytes -= batch->memory;
    batch_destroy(batch);
}

size_t spool_cache_bytes(const struct spool_cache *cache)
{
    return cache->bytes;
}

bool spool_cache_lets_go(const struct spool_cache *cache)
{
    return cache->lets_go;
}

void spool_cache_begin_round(struct spool_cache *cache)
{
    cache->lets_go = false;
}

static struct batch *find_last_needed(const struct spool_cache *cache)
{
    struct batch *found = NULL;
    uint64_t most = 0;
    for (struct batch *batch = cache->list.head; batch; batch = batch->next) {
        uint64_t ahead = batch->holders ? 0 : cache->ahead(cache->self, batch);
        if (ahead > most) {
            most = ahead;
            found = batch;
        }
    }
    return found;
}

void spool_cache_add(struct spool_cache *cache, struct batch *batch, size_t readers)
{
    cache->bytes -= batch->memory;
    batch->memory = batch_memory(batch);
    cache->bytes += batch->memory;
    batch->readers_left = readers;
    batch->holders = 0;
    batch_list_add(&cache->list, batch);
    struct batch *victim;
    while (cache->bytes > cache->max_bytes && (victim = find_last_needed(cache))) {
        cache->lets_go = true;
        batch_list_remove(&cache->list, victim);
        spool_cache_free(cache, victim);
    }
}

static struct batch *find(const struct spool_cache *cache, uint64_t id)
{
    struct batch *batch = cache->list.head;
    while (batch && batch->number < id) {
        batch = batch->next;
    }
    return batch && batch->number == id ? batch : NULL;
}

static void count_down(struct spool_cache *cache, struct batch *batch)
{
    if (--batch->readers_left == 0) {
        batch_list_remove(&cache->list, batch);
    }
}

/* Cursors take a stream's batches in order, so those that none has taken are its last ones. */
size_t spool_cache_untaken(const struct spool_cache *cache, size_t stream, size_t enough)
{
    size_t bytes = 0;
    for (const struct batch *batch = cache->list.tail; batch && bytes < enough;
         batch = batch->previous) {
        if (batch->stream == stream && batch->is_taken) {
            break;
        }
        bytes += batch->stream == stream ? batch->memory : 0;
    }
    return bytes;
}

struct batch *spool_cache_take(struct spool_cache *cache, uint64_t id)
{
    struct batch *batch = find(cache, id);
    if (batch) {
        batch->is_taken = true;
        batch->holders++;
        count_down(cache, batch);
    }
    return batch;
}

struct batch *spool_cache_take_again(struct spool_cache *cache, uint64_t id)
{
    struct batch *batch = find(cache, id);
    if (batch) {
        batch->holders++;
    }
    return batch;
}

void spool_cache_skip(struct spool_cache *cache, uint64_t id)
{
    struct batch *batch = find(cache, id);
    if (batch) {
        count_down(cache, batch);
        if (batch->readers_left == 0 && batch->holders == 0) {
            spool_cache_free(cache, batch);
        }
    }
}

void spool_cache_release(struct spool_cache *cache, struct batch *batch)
{
    if (--batch->holders == 0 && batch->readers_left == 0) {
        spool_cache_free(cache, batch);
    }
}
