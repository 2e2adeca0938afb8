#include "pipeline/outlet.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/ack_mark.h"
#include "platform/plat_system.h"
#include "platform/plat_thread.h"

/*
 * A lane is a thread with an output object and the host that retries for it. Lanes of one outlet
 * share a cursor: each batch goes to one lane.
 *
 * What is acked is a low-water mark (ack_mark.h). A lane that is too far ahead of the slowest one
 * waits for it.
 *
 * The mutex guards the state that is stored (mark, stored, checkpoint), and is held for moments only;
 * never while the output is called.
 */
/* A checkpoint may cost the output an fsync. */
static const uint64_t checkpoint_every_ns = UINT64_C(100000000);

static const uint64_t stuck_ns = UINT64_C(2000000000);

enum { IDLE_NS = 500 * 1000 * 1000, MAX_LANES = 64 };

struct lane {
    struct outlet *outlet;
    struct delivery_host *host;
    struct plat_thread *thread;
    bool done;
    uint32_t *ends; /* for a part of a batch */
    size_t end_capacity;
    struct delivery_counts told; /* to the books */
    uint64_t checkpoint_ns;      /* when the last one was taken */
};

struct outlet {
    struct outlet_settings settings;
    struct lane lanes[MAX_LANES];
    size_t lane_count;

    struct plat_mutex mutex;
    struct plat_cond changed; /* giving up, ended, a lane is done, or the mark has moved */
    atomic_bool giving_up;
    uint64_t gave_up_ns;
    atomic_bool ended;
    bool closed;

    struct ack_mark mark;
    uint64_t *stored;      /* by session: the mark as of the checkpoint */
    struct buf checkpoint; /* belongs to `stored` */
    uint64_t change;
};

/* ---- what the output asks of its host ----------------------------------------------------------- */

static bool is_giving_up(void *self)
{
    struct lane *lane = self;
    return atomic_load(&lane->outlet->giving_up);
}

static bool wait_ms(void *self, unsigned ms)
{
    struct outlet *outlet = ((struct lane *)self)->outlet;
    uint64_t until = plat_monotonic_ns() + ms * UINT64_C(1000000);
    plat_mutex_lock(&outlet->mutex);
    while (!atomic_load(&outlet->giving_up) &&
           plat_cond_wait_until(&outlet->changed, &outlet->mutex, until)) {}
    plat_mutex_unlock(&outlet->mutex);
    return !atomic_load(&outlet->giving_up);
}

static void warn_retry(void *self, const char *output, const char *text)
{
    const struct outlet_settings *settings = &((struct lane *)self)->outlet->settings;
    char line[700];
    snprintf(line, sizeof(line), "%s; trying again", text);
    settings->warn(settings->self, output, line);
}

static void warn(void *self, const char *text)
{
    const struct outlet_settings *settings = &((struct lane *)self)->outlet->settings;
    settings->warn(settings->self, settings->name, text);
}

/* ---- positions -------------------------------------------------------------------------------- */

/* Every record of ${batch} is settled: move the low-water mark, or wait until the lanes that it is
 * too far ahead of have moved it. Holds the mutex. */
static void settle_batch(struct outlet *outlet, const struct batch *batch)
{
    while (!ack_mark_settle(&outlet->mark, batch)) {
        if (atomic_load(&outlet->ended) || atomic_load(&outlet->giving_up)) {
            return;
        }
        plat_cond_wait(&outlet->changed, &outlet->mutex);
    }
    plat_cond_broadcast(&outlet->changed);
}

/* One object can say how far it is; of several, none can say it for all. */
static bool has_checkpoints(const struct outlet *outlet)
{
    return outlet->settings.ops->checkpoint && outlet->settings.workers <= 1;
}

/* Ask the output for its checkpoint; it and the positions of this moment are what is stored next.
 * False if the ones before stand. */
static bool take_checkpoint(struct lane *lane, struct error *err)
{
    struct outlet *outlet = lane->outlet;
    const struct outlet_settings *settings = &outlet->settings;
    struct buf fresh;
    buf_init(&fresh, OUTPUT_CHECKPOINT_MAX_BYTES);
    bool ok = !has_checkpoints(outlet) || delivery_host_checkpoint(lane->host, &fresh, err);
    if (fresh.failed) {
        ok = error_set(err, ERR_LIMIT, "its checkpoint is too long");
    }
    if (ok) {
        plat_mutex_lock(&outlet->mutex);
        size_t size = settings->session_count * sizeof(*outlet->stored);
        if (memcmp(outlet->stored, outlet->mark.acked, size) != 0 ||
            !span_equal(buf_span(&fresh), buf_span(&outlet->checkpoint))) {
            memcpy(outlet->stored, outlet->mark.acked, size);
            struct buf before = outlet->checkpoint;
            outlet->checkpoint = fresh;
            fresh = before;
            outlet->change++;
        }
        plat_mutex_unlock(&outlet->mutex);
    }
    buf_fini(&fresh);
    return ok;
}

static bool save(void *self, struct error *err)
{
    struct lane *lane = self;
    const struct outlet_settings *settings = &lane->outlet->settings;
    return take_checkpoint(lane, err) && settings->save(settings->self, err);
}

uint64_t outlet_state(
    struct outlet *outlet, uint64_t known_change, uint64_t *ret_sequences, struct buf *checkpoint)
{
    plat_mutex_lock(&outlet->mutex);
    uint64_t change = outlet->change;
    if (change != known_change) {
        memcpy(
            ret_sequences, outlet->stored, outlet->settings.session_count * sizeof(*ret_sequences));
        buf_add_span(checkpoint, buf_span(&outlet->checkpoint));
    }
    plat_mutex_unlock(&outlet->mutex);
    return change;
}

/* ---- delivering ------------------------------------------------------------------------------- */

static bool reserve_ends(struct lane *lane, size_t count)
{
    if (count > lane->end_capacity) {
        uint32_t *ends = realloc(lane->ends, count * sizeof(*ends));
        if (!ends) {
            return false;
        }
        lane->ends = ends;
        lane->end_capacity = count;
    }
    return true;
}

/* False if some of it was not settled, which tell_books counts. */
static bool deliver_range(struct lane *lane, const struct batch *batch, size_t first, size_t count)
{
    const struct outlet_settings *settings = &lane->outlet->settings;
    if (count == 0 || atomic_load(&lane->outlet->giving_up) || atomic_load(&lane->outlet->ended)) {
        return count == 0;
    }
    while (first && !reserve_ends(lane, count)) {
        if (!wait_ms(lane, 50)) {
            return false;
        }
    }
    struct delivery delivery = batch_delivery(batch, first, count, settings->route, lane->ends);
    uint64_t before = delivery_host_counts(lane->host).undelivered;
    delivery_host_deliver(lane->host, &delivery);
    return delivery_host_counts(lane->host).undelivered == before;
}

/* The first ${count} segments are settled: a checkpoint that the output has stored while it takes
 * the rest of the batch must know it. */
static void settle_segments(struct outlet *outlet, const struct batch *batch, size_t count)
{
    plat_mutex_lock(&outlet->mutex);
    ack_mark_settle_segments(&outlet->mark, batch, count);
    plat_mutex_unlock(&outlet->mutex);
}

/* Deliver what this output has not had before a restart; how many records that are. */
static size_t deliver(struct lane *lane, const struct batch *batch)
{
    const uint64_t *resume = lane->outlet->settings.resume;
    size_t total = 0;
    size_t first = 0;
    size_t end = 0;
    bool settled = true;
    for (size_t i = 0; i < batch->segment_count; i++) {
        const struct batch_segment *segment = &batch->segments[i];
        if (resume && segment->last_sequence <= resume[segment->session]) {
            if (end > first) {
                settled = deliver_range(lane, batch, first, end - first) && settled;
                if (settled) {
                    settle_segments(lane->outlet, batch, i);
                }
            }
            total += end - first;
            first = segment->record_end;
        }
        end = segment->record_end;
    }
    deliver_range(lane, batch, first, end - first);
    return total + end - first;
}

/* What the host did with ${count} records, to the books. True if all of them are settled for good,
 * so that the output's position may move. */
static bool tell_books(struct lane *lane, size_t count, bool own)
{
    struct outlet *outlet = lane->outlet;
    struct delivery_counts now = delivery_host_counts(lane->host);
    const struct delivery_counts *before = &lane->told;
    struct books_settlement settlement = {.acked = now.delivered - before->delivered,
        .bytes = now.bytes - before->bytes,
        .retries = now.retries - before->retries};
    settlement.dropped[OUTPUT_DROP_REJECTED] = now.rejected - before->rejected;
    settlement.dropped[OUTPUT_DROP_TOO_OLD] = now.too_old - before->too_old;
    uint64_t settled = settlement.acked + settlement.dropped[OUTPUT_DROP_REJECTED] +
                       settlement.dropped[OUTPUT_DROP_TOO_OLD];
    bool ended = delivery_host_ended(lane->host) || atomic_load(&outlet->ended);
    settlement.dropped[ended ? OUTPUT_DROP_ENDED : OUTPUT_DROP_STOPPED] = count - settled;
    lane->told = now;
    books_settle(outlet->settings.books, outlet->settings.index, &settlement, own);
    return settled == count;
}

static void note_end(struct lane *lane)
{
    struct outlet *outlet = lane->outlet;
    bool closed = delivery_host_closed(lane->host);
    plat_mutex_lock(&outlet->mutex);
    bool first = !atomic_exchange(&outlet->ended, true);
    outlet->closed = outlet->closed || closed;
    plat_cond_broadcast(&outlet->changed);
    plat_mutex_unlock(&outlet->mutex);
    if (first && outlet->settings.ended) {
        outlet->settings.ended(outlet->settings.self, outlet->settings.index, closed);
    }
}

/* Take a checkpoint, unless that is not possible now: then the one before stands. */
static void note_position(struct lane *lane)
{
    struct error err;
    lane->checkpoint_ns = plat_monotonic_ns();
    if (!take_checkpoint(lane, &err)) {
        warn(lane, err.text);
    }
}

static void work_on(struct lane *lane, const struct batch *batch)
{
    struct outlet *outlet = lane->outlet;
    size_t count = deliver(lane, batch);
    bool settled = tell_books(lane, count, batch->own);
    if (settled) {
        plat_mutex_lock(&outlet->mutex);
        settle_batch(outlet, batch);
        plat_mutex_unlock(&outlet->mutex);
        if (plat_monotonic_ns() - lane->checkpoint_ns >= checkpoint_every_ns) {
            note_position(lane);
        }
    } else if (delivery_host_ended(lane->host)) {
        note_end(lane);
    }
    outlet->settings.spool->ops->ack(outlet->settings.spool, outlet->settings.cursor, batch);
}

static void run_lane(void *self)
{
    struct lane *lane = self;
    struct outlet *outlet = lane->outlet;
    struct spool *spool = outlet->settings.spool;
    for (;;) {
        const struct batch *batch;
        enum spool_next next = spool->ops->next(
            spool, outlet->settings.cursor, plat_monotonic_ns() + IDLE_NS, &batch);
        if (next == SPOOL_END) {
            break;
        }
        if (next == SPOOL_BATCH) {
            work_on(lane, batch);
        } else {
            delivery_host_idle(lane->host);
            note_position(lane);
        }
    }
    note_position(lane);
    plat_mutex_lock(&outlet->mutex);
    lane->done = true;
    plat_cond_broadcast(&outlet->changed);
    plat_mutex_unlock(&outlet->mutex);
}

/* ---- life ------------------------------------------------------------------------------------- */

static bool make_lane(struct outlet *outlet, struct error *err)
{
    const struct outlet_settings *settings = &outlet->settings;
    struct lane *lane = &outlet->lanes[outlet->lane_count];
    lane->outlet = outlet;
    lane->done = true;
    bool checkpoints = has_checkpoints(outlet);
    struct output_env env = {.checkpoint = checkpoints ? settings->checkpoint : span_make(NULL, 0),
        .save = checkpoints && settings->save ? save : NULL,
        .warn = warn,
        .stopping = is_giving_up,
        .host = lane};
    struct delivery_host_settings host = {.ops = settings->ops,
        .settings = settings->settings,
        .name = settings->name,
        .env = &env,
        .retry = settings->retry,
        .stopping = is_giving_up,
        .wait = wait_ms,
        .warn = warn_retry,
        .self = lane};
    lane->host = delivery_host_create(&host, err);
    outlet->lane_count += lane->host != NULL;
    return lane->host != NULL;
}

struct outlet *outlet_create(const struct outlet_settings *settings, struct error *err)
{
    struct outlet *outlet = calloc(1, sizeof(*outlet));
    if (!outlet) {
        error_set(err, ERR_MEMORY, "out of memory for output %s", settings->name);
        return NULL;
    }
    plat_mutex_init(&outlet->mutex);
    plat_cond_init(&outlet->changed);
    atomic_init(&outlet->giving_up, false);
    atomic_init(&outlet->ended, false);
    outlet->settings = *settings;
    outlet->change = 1;
    buf_init(&outlet->checkpoint, OUTPUT_CHECKPOINT_MAX_BYTES);
    buf_add_span(&outlet->checkpoint, settings->checkpoint);
    outlet->stored = calloc(settings->session_count + 1, sizeof(*outlet->stored));
    if (!ack_mark_init(&outlet->mark, settings->session_count, settings->resume) ||
        !outlet->stored || outlet->checkpoint.failed) {
        outlet_destroy(outlet);
        error_set(err, ERR_MEMORY, "out of memory for output %s", settings->name);
        return NULL;
    }
    for (size_t i = 0; settings->resume && i < settings->session_count; i++) {
        outlet->stored[i] = settings->resume[i];
    }
    size_t lanes = settings->workers ? settings->workers : 1;
    for (size_t i = 0; i < lanes && i < MAX_LANES; i++) {
        if (!make_lane(outlet, err)) {
            outlet_destroy(outlet);
            return NULL;
        }
    }
    return outlet;
}

void outlet_close(struct outlet *outlet)
{
    for (size_t i = 0; i < outlet->lane_count; i++) {
        delivery_host_destroy(outlet->lanes[i].host);
        outlet->lanes[i].host = NULL;
    }
}

void outlet_destroy(struct outlet *outlet)
{
    if (!outlet) {
        return;
    }
    outlet_close(outlet);
    for (size_t i = 0; i < outlet->lane_count; i++) {
        free(outlet->lanes[i].ends);
    }
    ack_mark_fini(&outlet->mark);
    buf_fini(&outlet->checkpoint);
    free(outlet->stored);
    plat_cond_fini(&outlet->changed);
    plat_mutex_fini(&outlet->mutex);
    free(outlet);
}

bool outlet_start(struct outlet *outlet, struct error *err)
{
    for (size_t i = 0; i < outlet->lane_count; i++) {
        struct lane *lane = &outlet->lanes[i];
        lane->done = false;
        lane->thread = plat_thread_start(outlet->settings.name, run_lane, lane, err);
        if (!lane->thread) {
            lane->done = true;
            return false;
        }
    }
    return true;
}

void outlet_give_up(struct outlet *outlet)
{
    plat_mutex_lock(&outlet->mutex);
    outlet->gave_up_ns = plat_monotonic_ns();
    atomic_store(&outlet->giving_up, true);
    plat_cond_broadcast(&outlet->changed);
    plat_mutex_unlock(&outlet->mutex);
}

static bool all_done(const struct outlet *outlet)
{
    for (size_t i = 0; i < outlet->lane_count; i++) {
        if (!outlet->lanes[i].done) {
            return false;
        }
    }
    return true;
}

bool outlet_join(struct outlet *outlet)
{
    plat_mutex_lock(&outlet->mutex);
    bool in_time = true;
    while (!all_done(outlet) && in_time) {
        if (atomic_load(&outlet->giving_up)) {
            in_time = plat_cond_wait_until(
                &outlet->changed, &outlet->mutex, outlet->gave_up_ns + stuck_ns);
        } else {
            plat_cond_wait(&outlet->changed, &outlet->mutex);
        }
    }
    bool done = all_done(outlet);
    plat_mutex_unlock(&outlet->mutex);
    for (size_t i = 0; done && i < outlet->lane_count; i++) {
        plat_thread_join(outlet->lanes[i].thread);
        outlet->lanes[i].thread = NULL;
    }
    return done;
}

bool outlet_closed(struct outlet *outlet)
{
    plat_mutex_lock(&outlet->mutex);
    bool closed = outlet->closed;
    plat_mutex_unlock(&outlet->mutex);
    return closed;
}
