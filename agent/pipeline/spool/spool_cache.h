#ifndef ETWSHIP_PIPELINE_SPOOL_CACHE_H
#define ETWSHIP_PIPELINE_SPOOL_CACHE_H

#include "pipeline/batch/batch.h"

/*
 * Committed batches that stay in memory until every cursor has taken them, so outputs that keep up
 * never read the disk. When memory is full, the batch that will be needed last is dropped first. So
 * an output that lags reads the disk, and the others have the memory; of batches that wait for one
 * output alone the newest are dropped. All with the spool's mutex held.
 */
struct spool_cache;

/* ${max_bytes}: of all batches together. ${ahead} says how many ids are before a batch for the
 * first cursor that gets to it. NULL: out of memory. */
struct spool_cache *spool_cache_create(
    size_t max_bytes, uint64_t (*ahead)(void *self, const struct batch *batch), void *self);
void spool_cache_destroy(struct spool_cache *cache);

/* The memory of ${batch} counts from now on, until it is freed. */
void spool_cache_count(struct spool_cache *cache, const struct batch *batch);
void spool_cache_free(struct spool_cache *cache, struct batch *batch);
size_t spool_cache_bytes(const struct spool_cache *cache); /* of all that count */

/* A batch was committed, and ${readers} have yet to take it: keep it while there is room. Its size
 * may have changed since it was counted. */
void spool_cache_add(struct spool_cache *cache, struct batch *batch, size_t readers);

/* Do batches leave memory before all have taken them? Until others are committed and do not. */
bool spool_cache_lets_go(const struct spool_cache *cache);
void spool_cache_begin_round(struct spool_cache *cache);

/* Bytes of batches of ${stream} that no cursor has taken; it need not count beyond ${enough}. */
size_t spool_cache_untaken(const struct spool_cache *cache, size_t stream, size_t enough);

/* Batch ${id} for a cursor, which holds it until spool_cache_release; NULL: it is not there. */
struct batch *spool_cache_take(struct spool_cache *cache, uint64_t id);

/* As spool_cache_take, for a cursor that has taken it before, and released it. */
struct batch *spool_cache_take_again(struct spool_cache *cache, uint64_t id);

/* One that will not be taken by a cursor. */
void spool_cache_skip(struct spool_cache *cache, uint64_t id);

/* A batch that was taken, or read: it may be freed. */
void spool_cache_release(struct spool_cache *cache, struct batch *batch);

#endif
