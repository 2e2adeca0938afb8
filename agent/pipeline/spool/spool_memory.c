#include <stdlib.h>

#include "pipeline/spool/batch_list.h"
#include "pipeline/spool/spool.h"
#include "platform/plat_clock.h"
#include "platform/plat_thread.h"
#include "store/age_clock.h"
#include "store/catalogue/epochs.h"

/*
 * A list of batches per stream, oldest first. A batch counts the cursors that have yet to ack it;
 * the last ack frees it, wherever in the list it stands: acks may overtake one another. A cursor
 * points to the batch that it gets next, NULL when it has to wait for one to be appended.
 *
 * One mutex over everything, held for some pointers' time, once per batch and cursor.
 */
enum { MAX_CURSORS = 256 };

struct queue {
    struct batch_list batches;
    size_t cursor_count;
    uint64_t last_number;
    size_t ahead;           /* bytes of batches that no cursor has got */
    struct plat_cond ready; /* cursors wait for the next batch */
};

struct cursor {
    struct spool_reader reader;
    struct batch *next;
    bool restless;
};

struct spool_memory {
    struct spool base;
    struct plat_mutex mutex;
    struct plat_cond room;
    struct queue *streams;
    size_t stream_count;
    struct cursor cursors[MAX_CURSORS];
    size_t cursor_count;
    uint64_t epoch;
    struct age_clock clock;
    uint64_t records; /* numbered so far */
    size_t bytes;
    size_t batches;
    size_t max_bytes;
    size_t max_ahead; /* of each stream, before sources that can wait do; SIZE_MAX: none does */
    bool closed;
    bool cancelled;
};

static struct spool_memory *self_of(struct spool *spool)
{
    return (struct spool_memory *)spool;
}

static bool add_cursor(struct spool *base, const struct spool_reader *reader, size_t *ret_cursor,
    struct spool_backlog *ret_backlog, struct error *err)
{
    struct spool_memory *spool = self_of(base);
    if (spool->cursor_count == MAX_CURSORS) {
        return error_set(err, ERR_LIMIT, "more than %d outputs", MAX_CURSORS);
    }
    struct cursor *cursor = &spool->cursors[spool->cursor_count];
    cursor->reader = *reader;
    spool->streams[reader->stream].cursor_count++;
    *ret_backlog = (struct spool_backlog){.batches = 0};
    *ret_cursor = spool->cursor_count++;
    return true;
}

/* Has even the fastest output of every stream enough to go on with? */
static bool is_far_ahead(const struct spool_memory *spool)
{
    bool reads = false;
    for (size_t i = 0; i < spool->stream_count; i++) {
        const struct queue *queue = &spool->streams[i];
        if (queue->cursor_count && queue->ahead < spool->max_ahead) {
            return false;
        }
        reads |= queue->cursor_count > 0;
    }
    return reads;
}

static bool must_wait(const struct spool_memory *spool, enum spool_origin origin)
{
    return spool->bytes >= spool->max_bytes || (origin == SPOOL_REPLAYED && is_far_ahead(spool));
}

static enum spool_room wait_room(struct spool *base, enum spool_origin origin)
{
    struct spool_memory *spool = self_of(base);
    plat_mutex_lock(&spool->mutex);
    while (!spool->cancelled && must_wait(spool, origin)) {
        plat_cond_wait(&spool->room, &spool->mutex);
    }
    enum spool_room room = spool->cancelled ? SPOOL_CANCELLED : SPOOL_ROOM;
    plat_mutex_unlock(&spool->mutex);
    return room;
}

/*
 * A machine that is set back to an earlier state while it runs would give the same names to other
 * records. Its clock tells, as soon as it has been set right.
 */
static void look_at_the_clock(struct spool_memory *spool)
{
    int64_t step;
    uint64_t fresh;
    age_clock_now(&spool->clock, &step);
    if (step && epochs_draw(&fresh, NULL)) {
        spool->epoch = fresh;
    }
}

/* Readers are woken after the mutex is released, since they would have to wait for it. */
static void append(struct spool *base, size_t stream, struct batch *batch)
{
    struct spool_memory *spool = self_of(base);
    struct queue *queue = &spool->streams[stream];
    batch->memory = batch_memory(batch);
    batch->readers_left = queue->cursor_count;
    if (queue->cursor_count == 0) {
        batch_destroy(batch);
        return;
    }
    plat_mutex_lock(&spool->mutex);
    look_at_the_clock(spool);
    spool->bytes += batch->memory;
    spool->batches++;
    batch->epoch = spool->epoch;
    batch->number = ++queue->last_number;
    batch->first_record = spool->records + 1;
    spool->records += batch->piece.count;
    batch_list_add(&queue->batches, batch);
    queue->ahead += batch->memory;
    bool is_awaited = false;
    for (size_t i = 0; i < spool->cursor_count; i++) {
        struct cursor *cursor = &spool->cursors[i];
        if (cursor->reader.stream == stream && !cursor->next) {
            cursor->next = batch;
            is_awaited = true;
        }
    }
    plat_mutex_unlock(&spool->mutex);
    if (is_awaited) {
        plat_cond_broadcast(&queue->ready);
    }
}

/* A cursor gets ${batch}. Sources that wait are woken for several batches at once. */
static void take(struct spool_memory *spool, struct queue *queue, struct batch *batch)
{
    if (!batch->is_taken) {
        batch->is_taken = true;
        queue->ahead -= batch->memory;
        if (queue->ahead <= spool->max_ahead / 2) {
            plat_cond_broadcast(&spool->room);
        }
    }
}

static enum spool_next next(
    struct spool *base, size_t index, uint64_t deadline_ns, struct spool_item *ret_item)
{
    struct spool_memory *spool = self_of(base);
    struct cursor *cursor = &spool->cursors[index];
    struct queue *queue = &spool->streams[cursor->reader.stream];
    enum spool_next result = SPOOL_NOTHING;
    bool in_time = true;
    uint64_t restless_ns = plat_monotonic_ns() + spool_restless_ns;
    plat_mutex_lock(&spool->mutex);
    while (!cursor->next && !spool->closed && in_time) {
        bool soon = cursor->restless && restless_ns < deadline_ns;
        in_time = plat_cond_wait_until(
            &queue->ready, &spool->mutex, soon ? restless_ns : deadline_ns);
    }
    if (cursor->next) {
        *ret_item = (struct spool_item){.batch = cursor->next,
            .epoch = cursor->next->epoch,
            .stream_hash = cursor->reader.stream_hash,
            .route = cursor->reader.route,
            .bytes = cursor->next->memory};
        take(spool, queue, cursor->next);
        cursor->next = cursor->next->next;
        result = SPOOL_BATCH;
    } else if (spool->closed) {
        result = SPOOL_END;
    }
    plat_mutex_unlock(&spool->mutex);
    return result;
}

static void set_restless(struct spool *base, size_t index, bool restless)
{
    struct spool_memory *spool = self_of(base);
    plat_mutex_lock(&spool->mutex);
    spool->cursors[index].restless = restless;
    plat_cond_broadcast(&spool->streams[spool->cursors[index].reader.stream].ready);
    plat_mutex_unlock(&spool->mutex);
}

static void ack(struct spool *base, size_t index, const struct spool_item *item, bool settled)
{
    (void)settled;
    struct spool_memory *spool = self_of(base);
    struct batch *batch = (struct batch *)(uintptr_t)item->batch;
    plat_mutex_lock(&spool->mutex);
    bool last = --batch->readers_left == 0;
    if (last) {
        batch_list_remove(&spool->streams[spool->cursors[index].reader.stream].batches, batch);
        spool->bytes -= batch->memory;
        spool->batches--;
        plat_cond_broadcast(&spool->room);
    }
    plat_mutex_unlock(&spool->mutex);
    if (last) {
        batch_destroy(batch);
    }
}

static void close_spool(struct spool *base)
{
    struct spool_memory *spool = self_of(base);
    plat_mutex_lock(&spool->mutex);
    spool->closed = true;
    for (size_t i = 0; i < spool->stream_count; i++) {
        plat_cond_broadcast(&spool->streams[i].ready);
    }
    plat_mutex_unlock(&spool->mutex);
}

static void cancel(struct spool *base)
{
    struct spool_memory *spool = self_of(base);
    plat_mutex_lock(&spool->mutex);
    spool->cancelled = true;
    plat_cond_broadcast(&spool->room);
    plat_mutex_unlock(&spool->mutex);
}

static void usage(struct spool *base, struct spool_usage *ret_usage)
{
    struct spool_memory *spool = self_of(base);
    plat_mutex_lock(&spool->mutex);
    *ret_usage = (struct spool_usage){
        .bytes = spool->bytes, .batches = spool->batches, .max_bytes = spool->max_bytes};
    plat_mutex_unlock(&spool->mutex);
}

static void destroy(struct spool *base)
{
    struct spool_memory *spool = self_of(base);
    for (size_t i = 0; spool->streams && i < spool->stream_count; i++) {
        struct batch *batch;
        while ((batch = batch_list_take(&spool->streams[i].batches))) {
            batch_destroy(batch);
        }
        plat_cond_fini(&spool->streams[i].ready);
    }
    plat_cond_fini(&spool->room);
    plat_mutex_fini(&spool->mutex);
    free(spool->streams);
    free(spool);
}

/* ---- what is about the disk ------------------------------------------------------------------ */

static bool succeed(struct spool *spool, struct error *err)
{
    (void)spool;
    (void)err;
    return true;
}

static void ignore(struct spool *spool)
{
    (void)spool;
}

static void ignore_cursor(struct spool *spool, size_t cursor)
{
    (void)spool;
    (void)cursor;
}

static void note_left(struct spool *spool, size_t cursor, const struct spool_item *item,
    const uint32_t *records, size_t count)
{
    (void)item;
    (void)records;
    (void)count;
    ignore_cursor(spool, cursor);
}

static void put_down(
    struct spool *spool, size_t cursor, const struct spool_item *item, size_t count)
{
    note_left(spool, cursor, item, NULL, count);
}

static enum spool_pick pick_up(struct spool *spool, size_t cursor, struct spool_item *item)
{
    (void)item;
    ignore_cursor(spool, cursor);
    return SPOOL_PICKED;
}

static uint64_t next_gone(struct spool *spool, size_t cursor)
{
    ignore_cursor(spool, cursor);
    return 0;
}

static bool checkpoint(
    struct spool *spool, size_t cursor, struct span bytes, bool now, struct error *err)
{
    (void)cursor;
    (void)bytes;
    (void)now;
    return succeed(spool, err);
}

static bool first_checkpoint(
    struct spool *spool, size_t cursor, struct buf *ret_bytes, struct error *err)
{
    (void)cursor;
    (void)ret_bytes;
    return succeed(spool, err);
}

static void backlog(struct spool *spool, size_t cursor, struct spool_backlog *ret_backlog)
{
    ignore_cursor(spool, cursor);
    *ret_backlog = (struct spool_backlog){.batches = 0};
}

static const struct spool_ops memory_ops = {
    .add_cursor = add_cursor,
    .start = succeed,
    .wait_room = wait_room,
    .append = append,
    .next = next,
    .ack = ack,
    .note_left = note_left,
    .put_down = put_down,
    .pick_up = pick_up,
    .next_gone = next_gone,
    .set_restless = set_restless,
    .checkpoint = checkpoint,
    .first_checkpoint = first_checkpoint,
    .flush = succeed,
    .halt = ignore,
    .end_cursor = ignore_cursor,
    .close = close_spool,
    .cancel = cancel,
    .usage = usage,
    .backlog = backlog,
    .destroy = destroy,
};

void spool_memory_hold_back(struct spool *spool, size_t max_ahead)
{
    self_of(spool)->max_ahead = max_ahead;
}

void spool_memory_use_clock(struct spool *spool, const struct store_clock *clock)
{
    age_clock_init(&self_of(spool)->clock, clock);
}

struct spool *spool_memory_create(size_t stream_count, size_t max_bytes, struct error *err)
{
    struct spool_memory *spool = calloc(1, sizeof(*spool));
    if (spool) {
        spool->base.ops = &memory_ops;
        plat_mutex_init(&spool->mutex);
        plat_cond_init(&spool->room);
        age_clock_init(&spool->clock, NULL);
        spool->stream_count = stream_count;
        spool->max_bytes = max_bytes;
        spool->max_ahead = SIZE_MAX;
        spool->streams = calloc(stream_count + 1, sizeof(*spool->streams));
    }
    if (!spool || !spool->streams) {
        if (spool) {
            destroy(&spool->base);
        }
        error_set(err, ERR_MEMORY, "out of memory for batches");
        return NULL;
    }
    for (size_t i = 0; i < stream_count; i++) {
        plat_cond_init(&spool->streams[i].ready);
    }
    if (!epochs_draw(&spool->epoch, err)) {
        destroy(&spool->base);
        return NULL;
    }
    return &spool->base;
}
