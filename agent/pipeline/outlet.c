#include "pipeline/outlet.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "pipeline/ack_mark.h"
#include "pipeline/outlet_news.h"
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

enum { IDLE_NS = 500 * 1000 * 1000, MAX_LANES = 64, NS_PER_MS = 1000 * 1000 };

struct lane {
    struct outlet *outlet;
    struct delivery_host *host;
    struct plat_thread *thread;
    bool done;
    bool hurried;   /* as it was told in its last pause */
    uint32_t *ends; /* for a part of a batch */
    size_t end_capacity;
    struct delivery_counts told; /* to the books */

    /* What it works on: a batch, and the records of it that the host has. */
    const struct batch *batch;
    size_t first;
    uint64_t lost[OUTPUT_DROP_COUNT]; /* of the batch */

    uint64_t checkpoint_ns; /* when the last one was taken */
};

struct outlet {
    struct outlet_settings settings;
    struct lane lanes[MAX_LANES];
    size_t lane_count;

    struct plat_mutex mutex;
    struct plat_cond changed; /* giving up, ended, a lane is done, or the mark has moved */
    atomic_bool giving_up;
    uint64_t gave_up_ns;
    bool hurries; /* the agent stops */
    atomic_bool ended;
    atomic_bool closed; /* by its reader */

    /* Until then the destination wants to be asked nothing. */
    atomic_uint_fast64_t quiet_until_ns;
    struct outlet_news news;

    struct ack_mark mark;
    uint64_t *stored;      /* by session: the mark as of the checkpoint */
    struct buf checkpoint; /* belongs to `stored` */
    uint64_t change;
};

/* ---- what the output asks of its host ----------------------------------------------------------- */

/* Until when may the lane wait for its destination? */
static uint64_t patience_ns(const struct lane *lane)
{
    const struct outlet *outlet = lane->outlet;
    if (!atomic_load(&outlet->giving_up)) {
        return UINT64_MAX;
    }
    bool own = lane->batch && lane->batch->own;
    return own ? outlet->gave_up_ns + (uint64_t)OUTLET_LAST_WORDS_MS * NS_PER_MS : 0;
}

static bool is_giving_up(void *self)
{
    uint64_t until = patience_ns(self);
    return until != UINT64_MAX && plat_monotonic_ns() >= until;
}

/* ${patient}: to the end, also when the outlet begins to hurry. */
static bool pause_until(struct lane *lane, uint64_t end, bool patient)
{
    struct outlet *outlet = lane->outlet;
    bool in_time = true;
    plat_mutex_lock(&outlet->mutex);
    while (in_time && !is_giving_up(lane) && (patient || lane->hurried == outlet->hurries)) {
        uint64_t patience = patience_ns(lane);
        in_time = plat_cond_wait_until(
            &outlet->changed, &outlet->mutex, end < patience ? end : patience);
    }
    lane->hurried = patient ? lane->hurried : outlet->hurries;
    plat_mutex_unlock(&outlet->mutex);
    return !is_giving_up(lane);
}

static bool pause_lane(struct lane *lane, unsigned ms)
{
    return pause_until(lane, plat_monotonic_ns() + (uint64_t)ms * NS_PER_MS, false);
}

static bool wait_while_quiet(void *self)
{
    struct lane *lane = self;
    uint64_t until = atomic_load(&lane->outlet->quiet_until_ns);
    return until == 0 || plat_monotonic_ns() >= until || pause_until(lane, until, true);
}

static void leave_alone(void *self, unsigned ms)
{
    struct outlet *outlet = ((struct lane *)self)->outlet;
    uint64_t until = plat_monotonic_ns() + (uint64_t)ms * NS_PER_MS;
    uint_fast64_t before = atomic_load(&outlet->quiet_until_ns);
    while (
        before < until && !atomic_compare_exchange_weak(&outlet->quiet_until_ns, &before, until)) {}
}

static bool wait_for_retry(void *self, unsigned ms)
{
    struct lane *lane = self;
    books_retry(lane->outlet->settings.books, lane->outlet->settings.index);
    return pause_lane(lane, ms);
}

static void warn(void *self, const char *text)
{
    const struct outlet_settings *settings = &((struct lane *)self)->outlet->settings;
    settings->warn(settings->self, settings->name, "output", text);
}

static void tell(void *self, enum delivery_news news, const char *text)
{
    struct lane *lane = self;
    outlet_news_tell(&lane->outlet->news, news, text, delivery_host_ended(lane->host));
}

static bool keep(
    void *self, const struct delivery_refusal *refusals, size_t count, struct error *err)
{
    return outlet_news_keep(&((struct lane *)self)->outlet->news, refusals, count, err);
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

/* Records of the batch will not be delivered. What an output that was closed by its reader does not
 * take, and events of the agent itself, are counted and no more. */
static void lose(struct lane *lane, size_t first, size_t count, enum output_drop reason)
{
    const struct outlet *outlet = lane->outlet;
    const struct outlet_settings *settings = &outlet->settings;
    const struct batch *batch = lane->batch;
    bool unwanted = reason == OUTPUT_DROP_ENDED && atomic_load(&outlet->closed);
    lane->lost[reason] += count;
    if (settings->losses && !batch->own && !unwanted) {
        losses_add_records(settings->losses, batch, first, count, settings->index, reason);
    }
}

static void lose_undelivered(struct lane *lane, size_t first, size_t count)
{
    struct outlet *outlet = lane->outlet;
    if (delivery_host_closed(lane->host)) {
        atomic_store(&outlet->closed, true);
    }
    bool ended = delivery_host_ended(lane->host) || atomic_load(&outlet->ended);
    lose(lane, first, count, ended ? OUTPUT_DROP_ENDED : OUTPUT_DROP_STOPPED);
}

static void on_lost(void *self, size_t first, size_t count, enum delivery_loss why)
{
    struct lane *lane = self;
    if (why == DELIVERY_UNDELIVERED) {
        lose_undelivered(lane, lane->first + first, count);
        return;
    }
    lose(lane, lane->first + first, count,
        why == DELIVERY_REJECTED ? OUTPUT_DROP_REJECTED : OUTPUT_DROP_TOO_OLD);
}

/* Is everything of the batch so far delivered, or lost for good? */
static bool is_settled(const struct lane *lane)
{
    return lane->lost[OUTPUT_DROP_ENDED] + lane->lost[OUTPUT_DROP_STOPPED] == 0;
}

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

/* May an earlier run have sent some of the batch? */
static bool may_be_repeated(const struct lane *lane)
{
    const bool *repeats = lane->outlet->settings.repeats;
    for (size_t i = 0; repeats && i < lane->batch->segment_count; i++) {
        if (repeats[lane->batch->segments[i].session]) {
            return true;
        }
    }
    return false;
}

/* Deliver records of the batch, or lose them. */
static void deliver_range(struct lane *lane, size_t first, size_t count)
{
    enum { NO_MEMORY_WAIT_MS = 50 };
    const struct outlet *outlet = lane->outlet;
    if (count == 0) {
        return;
    }
    bool over = is_giving_up(lane) || atomic_load(&outlet->ended);
    while (!over && first && !reserve_ends(lane, count)) {
        over = !pause_lane(lane, NO_MEMORY_WAIT_MS);
    }
    if (over) {
        lose_undelivered(lane, first, count);
        return;
    }
    struct delivery delivery = batch_delivery(
        lane->batch, first, count, outlet->settings.route, lane->ends);
    struct delivery_ids ids = batch_ids(
        lane->batch, outlet->settings.spool->epoch, outlet->settings.stream_hash);
    delivery.ids = outlet->settings.ids ? &ids : NULL;
    delivery.repeated = may_be_repeated(lane);
    lane->first = first;
    delivery_host_deliver(lane->host, &delivery);
}

/* The first ${count} segments are settled: a checkpoint that the output has stored while it takes
 * the rest of the batch must know it. */
static void settle_segments(struct outlet *outlet, const struct batch *batch, size_t count)
{
    plat_mutex_lock(&outlet->mutex);
    ack_mark_settle_segments(&outlet->mark, batch, count);
    plat_mutex_unlock(&outlet->mutex);
}

/* Deliver what this output has not had before a restart. */
static void deliver(struct lane *lane)
{
    const struct batch *batch = lane->batch;
    const uint64_t *resume = lane->outlet->settings.resume;
    size_t first = 0;
    size_t end = batch->segment_count ? 0 : batch->piece.count;
    for (size_t i = 0; i < batch->segment_count; i++) {
        const struct batch_segment *segment = &batch->segments[i];
        if (resume && segment->last_sequence <= resume[segment->session]) {
            if (end > first) {
                deliver_range(lane, first, end - first);
                if (is_settled(lane)) {
                    settle_segments(lane->outlet, batch, i);
                }
            }
            first = segment->record_end;
        }
        end = segment->record_end;
    }
    deliver_range(lane, first, end - first);
}

/* What became of the batch, to the books. */
static void tell_books(struct lane *lane)
{
    struct outlet *outlet = lane->outlet;
    struct delivery_counts now = delivery_host_counts(lane->host);
    const struct delivery_counts *before = &lane->told;
    struct books_settlement settlement = {.acked = now.delivered - before->delivered,
        .bytes = now.bytes - before->bytes,
        .dead_lettered = now.dead_lettered - before->dead_lettered,
        .unexpected_duplicates = now.unexpected_duplicates - before->unexpected_duplicates};
    for (size_t i = 0; i < OUTPUT_DROP_COUNT; i++) {
        settlement.dropped[i] = lane->lost[i];
    }
    lane->told = now;
    books_settle(outlet->settings.books, outlet->settings.index, &settlement, lane->batch->own);
}

static void note_end(struct lane *lane)
{
    struct outlet *outlet = lane->outlet;
    bool closed = delivery_host_closed(lane->host);
    plat_mutex_lock(&outlet->mutex);
    bool first = !atomic_exchange(&outlet->ended, true);
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
    lane->batch = batch;
    memset(lane->lost, 0, sizeof(lane->lost));
    deliver(lane);
    tell_books(lane);
    lane->batch = NULL;
    if (is_settled(lane)) {
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
        if (outlet->settings.losses) {
            losses_ship(outlet->settings.losses);
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
    struct output_env env = {.format = settings->format,
        .checkpoint = checkpoints ? settings->checkpoint : span_make(NULL, 0),
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
        .wait = wait_for_retry,
        .clear = wait_while_quiet,
        .leave_alone = leave_alone,
        .tell = tell,
        .keep = settings->dead_letters ? keep : NULL,
        .lost = on_lost,
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
    atomic_init(&outlet->closed, false);
    atomic_init(&outlet->quiet_until_ns, 0);
    outlet->settings = *settings;
    outlet->news = (struct outlet_news){.output = settings->name,
        .index = settings->index,
        .books = settings->books,
        .dead_letters = settings->dead_letters,
        .warn = settings->warn,
        .self = settings->self};
    outlet_news_init(&outlet->news);
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
    outlet_news_fini(&outlet->news);
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

void outlet_hurry(struct outlet *outlet)
{
    plat_mutex_lock(&outlet->mutex);
    outlet->hurries = true;
    plat_cond_broadcast(&outlet->changed);
    plat_mutex_unlock(&outlet->mutex);
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
            in_time = plat_cond_wait_until(&outlet->changed, &outlet->mutex,
                outlet->gave_up_ns + (uint64_t)OUTLET_STUCK_MS * NS_PER_MS);
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
    return atomic_load(&outlet->closed);
}
