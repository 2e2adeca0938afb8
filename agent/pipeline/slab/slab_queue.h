#ifndef ETWSHIP_PIPELINE_SLAB_QUEUE_H
#define ETWSHIP_PIPELINE_SLAB_QUEUE_H

#include "base/error.h"
#include "pipeline/slab/slab.h"

/*
 * Between the sources and the decode workers: slabs in the order of their tickets, bounded by
 * bytes. Any worker takes the next slab; metadata goes to every worker, before any slab that came
 * after them. All functions: any thread.
 */
struct slab_queue;

enum { SLAB_QUEUE_MAX_WORKERS = 64 };

enum slab_push {
    SLAB_PUSHED,
    SLAB_QUEUE_FULL, /* still at the deadline; the slab stays the caller's */
    SLAB_QUEUE_OVER, /* closed or cancelled; the slab stays the caller's */
};

struct slab_queue *slab_queue_create(size_t max_bytes, size_t worker_count, struct error *err);
void slab_queue_destroy(struct slab_queue *queue); /* NULL is fine; what is in it, too */

/* Give ${slab} a ticket and take it. Waits for room until plat_monotonic_ns() is ${deadline_ns}
 * (UINT64_MAX: for ever). One slab always has room in an empty queue. */
enum slab_push slab_queue_push(struct slab_queue *queue, struct slab *slab, uint64_t deadline_ns);

/* As slab_queue_push, without waiting, and beyond the bound and after cancel: for small slabs whose
 * memory is reserved. */
enum slab_push slab_queue_push_now(struct slab_queue *queue, struct slab *slab);

/* Is it at most half full? Cheap: no lock. */
bool slab_queue_is_half_empty(const struct slab_queue *queue);

/*
 * The next slab for ${worker} (0 to worker_count - 1), waiting for one. NULL once the queue was
 * closed and is empty. Slabs of metadata stay the queue's: give them back with slab_queue_learned.
 */
struct slab *slab_queue_pop(struct slab_queue *queue, size_t worker);
void slab_queue_learned(struct slab_queue *queue, struct slab *metadata);

/* Nothing more will be pushed: pop returns NULL when everything was taken. */
void slab_queue_close(struct slab_queue *queue);

/* Wake the threads that wait in push, which fails from now on. Queued slabs stay in the queue. */
void slab_queue_cancel(struct slab_queue *queue);

/* Was it called? Any thread, at any time: nothing waits for memory any more either. */
bool slab_queue_is_cancelled(const struct slab_queue *queue);

/* The ticket that the next slab will get: all before it were given. */
uint64_t slab_queue_tickets(struct slab_queue *queue);

size_t slab_queue_bytes(const struct slab_queue *queue);

#endif
