#include "pipeline/slab/slab_queue.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "platform/plat_thread.h"

/*
 * Two lists under one mutex, which is held for some pointers' time, once per slab.
 *
 * `head` … `tail` are slabs; pop takes the first one. Tickets are given at the push, so the list is
 * in their order and the sealer sees every ticket exactly once.
 *
 * Metadata has a list of its own. A slab of metadata bears the ticket of the first slab of records
 * after it, and takes none itself. Each worker has a pointer to its next slab of metadata, and
 * takes it before a slab of records with the same or a higher ticket. The last worker that learns
 * it frees it. Metadata counts as bytes of the queue, so a source cannot run ahead of a slow
 * worker.
 *
 * `bytes` and `cancelled` are written under the mutex and read without it, too.
 */
struct slab_queue {
    struct plat_mutex mutex;
    struct plat_cond room; /* sources wait */
    struct plat_cond work; /* workers wait */
    struct slab *head;
    struct slab *tail;
    struct slab *last_metadata;                    /* NULL: none is left */
    struct slab *metadata[SLAB_QUEUE_MAX_WORKERS]; /* next one, by worker */
    size_t worker_count;
    size_t max_bytes;
    atomic_size_t bytes;
    uint64_t next_ticket;
    bool closed;
    atomic_bool cancelled;
};

struct slab_queue *slab_queue_create(size_t max_bytes, size_t worker_count, struct error *err)
{
    if (worker_count == 0 || worker_count > SLAB_QUEUE_MAX_WORKERS) {
        error_set(err, ERR_LIMIT, "decode workers: 1 to %d", SLAB_QUEUE_MAX_WORKERS);
        return NULL;
    }
    struct slab_queue *queue = calloc(1, sizeof(*queue));
    if (!queue) {
        error_set(err, ERR_MEMORY, "out of memory for a queue");
        return NULL;
    }
    plat_mutex_init(&queue->mutex);
    plat_cond_init(&queue->room);
    plat_cond_init(&queue->work);
    atomic_init(&queue->bytes, 0);
    atomic_init(&queue->cancelled, false);
    queue->max_bytes = max_bytes;
    queue->worker_count = worker_count;
    return queue;
}

/* The first slab of metadata that some worker has not learned:
 * those of all workers end in one list. */
static struct slab *oldest_metadata(const struct slab_queue *queue)
{
    struct slab *oldest = NULL;
    for (size_t i = 0; i < queue->worker_count; i++) {
        struct slab *metadata = queue->metadata[i];
        if (metadata && (!oldest || metadata->metadata_number < oldest->metadata_number)) {
            oldest = metadata;
        }
    }
    return oldest;
}

static void destroy_list(struct slab *slab)
{
    while (slab) {
        struct slab *next = slab->next;
        slab_destroy(slab);
        slab = next;
    }
}

void slab_queue_destroy(struct slab_queue *queue)
{
    if (queue) {
        destroy_list(queue->head);
        destroy_list(oldest_metadata(queue));
        plat_cond_fini(&queue->room);
        plat_cond_fini(&queue->work);
        plat_mutex_fini(&queue->mutex);
        free(queue);
    }
}

/* ---- in -------------------------------------------------------------------------------------- */

static void add_bytes(struct slab_queue *queue, const struct slab *slab)
{
    atomic_fetch_add_explicit(&queue->bytes, slab->capacity, memory_order_relaxed);
}

static void take_bytes(struct slab_queue *queue, const struct slab *slab)
{
    atomic_fetch_sub_explicit(&queue->bytes, slab->capacity, memory_order_relaxed);
    /* Not for each slab: a source that is woken fills the other half. */
    if (slab_queue_is_half_empty(queue)) {
        plat_cond_broadcast(&queue->room);
    }
}

static void append_metadata(struct slab_queue *queue, struct slab *metadata)
{
    metadata->ticket = queue->next_ticket;
    metadata->learners_left = queue->worker_count;
    metadata->metadata_number = queue->last_metadata ? queue->last_metadata->metadata_number + 1
                                                     : 0;
    if (queue->last_metadata) {
        queue->last_metadata->next = metadata;
    }
    queue->last_metadata = metadata;
    for (size_t i = 0; i < queue->worker_count; i++) {
        if (!queue->metadata[i]) {
            queue->metadata[i] = metadata;
        }
    }
    plat_cond_broadcast(&queue->work);
}

static void append(struct slab_queue *queue, struct slab *slab)
{
    slab->next = NULL;
    add_bytes(queue, slab);
    if (slab->kind == SLAB_METADATA) {
        append_metadata(queue, slab);
        return;
    }
    slab->ticket = queue->next_ticket++;
    if (queue->tail) {
        queue->tail->next = slab;
    } else {
        queue->head = slab;
    }
    queue->tail = slab;
    plat_cond_signal(&queue->work);
}

static bool is_over(const struct slab_queue *queue)
{
    return queue->closed || slab_queue_is_cancelled(queue);
}

static bool has_room(const struct slab_queue *queue, const struct slab *slab)
{
    size_t bytes = slab_queue_bytes(queue);
    return bytes == 0 || bytes + slab->capacity <= queue->max_bytes;
}

enum slab_push slab_queue_push(struct slab_queue *queue, struct slab *slab, uint64_t deadline_ns)
{
    enum slab_push result = SLAB_PUSHED;
    plat_mutex_lock(&queue->mutex);
    while (!is_over(queue) && !has_room(queue, slab) && result == SLAB_PUSHED) {
        if (deadline_ns == UINT64_MAX) {
            plat_cond_wait(&queue->room, &queue->mutex);
        } else if (!plat_cond_wait_until(&queue->room, &queue->mutex, deadline_ns) &&
                   !has_room(queue, slab)) {
            result = SLAB_QUEUE_FULL;
        }
    }
    if (is_over(queue)) {
        result = SLAB_QUEUE_OVER;
    }
    if (result == SLAB_PUSHED) {
        append(queue, slab);
    }
    plat_mutex_unlock(&queue->mutex);
    return result;
}

enum slab_push slab_queue_push_now(struct slab_queue *queue, struct slab *slab)
{
    plat_mutex_lock(&queue->mutex);
    bool over = queue->closed;
    if (!over) {
        append(queue, slab);
    }
    plat_mutex_unlock(&queue->mutex);
    return over ? SLAB_QUEUE_OVER : SLAB_PUSHED;
}

uint64_t slab_queue_tickets(struct slab_queue *queue)
{
    plat_mutex_lock(&queue->mutex);
    uint64_t tickets = queue->next_ticket;
    plat_mutex_unlock(&queue->mutex);
    return tickets;
}

size_t slab_queue_bytes(const struct slab_queue *queue)
{
    return atomic_load_explicit(&queue->bytes, memory_order_relaxed);
}

bool slab_queue_is_half_empty(const struct slab_queue *queue)
{
    return slab_queue_bytes(queue) <= queue->max_bytes / 2;
}

/* ---- out ------------------------------------------------------------------------------------- */

static struct slab *pop_metadata(struct slab_queue *queue, size_t worker)
{
    struct slab *metadata = queue->metadata[worker];
    if (!metadata || (queue->head && queue->head->ticket < metadata->ticket)) {
        return NULL;
    }
    queue->metadata[worker] = metadata->next;
    return metadata;
}

static struct slab *pop_slab(struct slab_queue *queue)
{
    struct slab *slab = queue->head;
    if (slab) {
        queue->head = slab->next;
        queue->tail = queue->head ? queue->tail : NULL;
        slab->next = NULL;
        take_bytes(queue, slab);
    }
    return slab;
}

struct slab *slab_queue_pop(struct slab_queue *queue, size_t worker)
{
    plat_mutex_lock(&queue->mutex);
    struct slab *slab = NULL;
    for (;;) {
        slab = pop_metadata(queue, worker);
        slab = slab ? slab : pop_slab(queue);
        if (slab || queue->closed) {
            break;
        }
        plat_cond_wait(&queue->work, &queue->mutex);
    }
    plat_mutex_unlock(&queue->mutex);
    return slab;
}

void slab_queue_learned(struct slab_queue *queue, struct slab *metadata)
{
    plat_mutex_lock(&queue->mutex);
    bool last = --metadata->learners_left == 0;
    if (last) {
        take_bytes(queue, metadata);
        if (queue->last_metadata == metadata) {
            queue->last_metadata = NULL;
        }
    }
    plat_mutex_unlock(&queue->mutex);
    if (last) {
        slab_destroy(metadata);
    }
}

/* ---- end ------------------------------------------------------------------------------------- */

void slab_queue_close(struct slab_queue *queue)
{
    plat_mutex_lock(&queue->mutex);
    queue->closed = true;
    plat_cond_broadcast(&queue->room);
    plat_cond_broadcast(&queue->work);
    plat_mutex_unlock(&queue->mutex);
}

bool slab_queue_is_cancelled(const struct slab_queue *queue)
{
    return atomic_load_explicit(&queue->cancelled, memory_order_relaxed);
}

void slab_queue_cancel(struct slab_queue *queue)
{
    plat_mutex_lock(&queue->mutex);
    atomic_store(&queue->cancelled, true);
    plat_cond_broadcast(&queue->room);
    plat_mutex_unlock(&queue->mutex);
}
