#include "pipeline/outlet_lane.h"

#include <stdlib.h>

#include "pipeline/outlet_checkpoint.h"
#include "platform/plat_system.h"

/*
 * A lane takes a batch from the cursor, has its host deliver it, and settles it: the books, the
 * low-water mark, the checkpoint. A lane that is too far ahead of the slowest one waits for it.
 *
 * The outlet's mutex is held for moments only, never while the output is called.
 */
/* A checkpoint may cost the output an fsync. */
static const uint64_t checkpoint_every_ns = UINT64_C(100000000);

/* Without anything to send, before the output's chores are done. */
static const uint64_t quiet_ns = UINT64_C(500000000);

enum { NS_PER_MS = 1000 * 1000 };

/* ---- what the output asks of its host ----------------------------------------------------------- */

/* Until when may the lane wait for its destination? */
static uint64_t patience_ns(const struct outlet_lane *lane)
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

/* Is nothing to be tried again? What is under way goes on. */
static bool is_leaving(const struct outlet_lane *lane)
{
    return atomic_load(&lane->outlet->leaving) && lane->outlet->settings.spool->keeps;
}

/* ${patient}: to the end, also when the outlet begins to hurry. */
static bool pause_until(struct outlet_lane *lane, uint64_t end, bool patient)
{
    struct outlet *outlet = lane->outlet;
    bool in_time = true;
    plat_mutex_lock(&outlet->mutex);
    while (in_time && !is_giving_up(lane) && !is_leaving(lane) &&
           (patient || lane->hurried == outlet->hurries)) {
        uint64_t patience = patience_ns(lane);
        in_time = plat_cond_wait_until(
            &outlet->changed, &outlet->mutex, end < patience ? end : patience);
    }
    lane->hurried = patient ? lane->hurried : outlet->hurries;
    plat_mutex_unlock(&outlet->mutex);
    return !is_giving_up(lane) && !is_leaving(lane);
}

static bool pause_lane(struct outlet_lane *lane, unsigned ms)
{
    return pause_until(lane, plat_monotonic_ns() + (uint64_t)ms * NS_PER_MS, false);
}

static bool wait_while_quiet(void *self)
{
    struct outlet_lane *lane = self;
    uint64_t until = atomic_load(&lane->outlet->quiet_until_ns);
    return until == 0 || plat_monotonic_ns() >= until || pause_until(lane, until, true);
}

static void leave_alone(void *self, unsigned ms)
{
    struct outlet *outlet = ((struct outlet_lane *)self)->outlet;
    uint64_t until = plat_monotonic_ns() + (uint64_t)ms * NS_PER_MS;
    uint_fast64_t before = atomic_load(&outlet->quiet_until_ns);
    while (
        before < until && !atomic_compare_exchange_weak(&outlet->quiet_until_ns, &before, until)) {}
}

static bool wait_for_retry(void *self, unsigned ms)
{
    struct outlet_lane *lane = self;
    books_retry(lane->outlet->settings.books, lane->outlet->settings.index);
    return pause_lane(lane, ms);
}

static void warn(void *self, const char *text)
{
    const struct outlet_settings *settings = &((struct outlet_lane *)self)->outlet->settings;
    settings->warn(settings->self, settings->name, "output", text);
}

static void tell(void *self, enum delivery_news news, const char *text)
{
    struct outlet_lane *lane = self;
    bool over = delivery_host_ended(lane->host) || is_giving_up(lane) || is_leaving(lane);
    outlet_news_tell(&lane->outlet->news, news, text, over);
}

static bool keep(
    void *self, const struct delivery_refusal *refusals, size_t count, struct error *err)
{
    const struct outlet_lane *lane = self;
    return outlet_news_keep(
        &lane->outlet->news, lane->item->epoch, lane->batch->first_record, refusals, count, err);
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

/* ---- delivering ------------------------------------------------------------------------------- */

/* Records of the batch will not be delivered. What an output that was closed by its reader does not
 * take, and events of the agent itself, are counted and no more. */
static void lose(struct outlet_lane *lane, size_t first, size_t count, enum output_drop reason)
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

static void lose_undelivered(struct outlet_lane *lane, size_t first, size_t count)
{
    struct outlet *outlet = lane->outlet;
    if (delivery_host_closed(lane->host)) {
        atomic_store(&outlet->closed, true);
    }
    bool ended = delivery_host_ended(lane->host) || atomic_load(&outlet->ended);
    lane->undelivered += count;
    if (!outlet->settings.spool->keeps) {
        lose(lane, first, count, ended ? OUTPUT_DROP_ENDED : OUTPUT_DROP_STOPPED);
    }
}

static void on_lost(void *self, size_t first, size_t count, enum delivery_loss why)
{
    struct outlet_lane *lane = self;
    const uint32_t *left = lane->item->left;
    if (why == DELIVERY_UNDELIVERED) {
        lose_undelivered(lane, lane->first + first, count);
        return;
    }
    enum output_drop reason = why == DELIVERY_REJECTED ? OUTPUT_DROP_REJECTED : OUTPUT_DROP_TOO_OLD;
    for (size_t i = 0; left && i < count; i++) {
        lose(lane, left[first + i], 1, reason);
    }
    if (!left) {
        lose(lane, lane->first + first, count, reason);
    }
}

static bool reserve_list(uint32_t **list, size_t *capacity, size_t count)
{
    if (count > *capacity) {
        uint32_t *grown = realloc(*list, count * sizeof(*grown));
        if (!grown) {
            return false;
        }
        *list = grown;
        *capacity = count;
    }
    return true;
}

/* Had the output this part of the batch before a restart? */
static bool was_had(const struct outlet_lane *lane, const struct batch_segment *segment)
{
    const struct outlet_settings *settings = &lane->outlet->settings;
    if (settings->had) {
        return had_covers(
            &settings->had[segment->session], lane->batch->number, segment->last_sequence);
    }
    return settings->resume && segment->last_sequence <= settings->resume[segment->session];
}

/* What the host gets of the batch later is left, too: add it to the ${count} records of the list. */
static size_t add_later(struct outlet_lane *lane, size_t count)
{
    const struct batch *batch = lane->batch;
    size_t record = lane->later ? batch->segments[lane->later - 1].record_end : 0;
    for (size_t i = lane->later; i < batch->segment_count; i++) {
        size_t end = batch->segments[i].record_end;
        for (; record < end && !was_had(lane, &batch->segments[i]); record++) {
            lane->left[count++] = (uint32_t)record;
        }
        record = end;
    }
    return count;
}

/* Part of the batch is settled. The spool may remember that for the next run; a checkpoint that is taken
 * back there takes the whole batch back. Behind a part that could not be delivered nothing new is noted:
 * what was before has that part in it. */
static void on_left(void *self, const uint32_t *records, size_t count)
{
    struct outlet_lane *lane = self;
    const struct outlet_settings *settings = &lane->outlet->settings;
    const struct spool_item *item = lane->item;
    struct spool *spool = settings->spool;
    if (!spool->ops->note_left || outlet_checkpoint_has(lane->outlet) || lane->undelivered ||
        !reserve_list(&lane->left, &lane->left_capacity, lane->batch->piece.count)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        lane->left[i] = item->left ? item->left[records[i]] : (uint32_t)lane->first + records[i];
    }
    count = add_later(lane, count);
    if (count) {
        spool->ops->note_left(spool, settings->cursor, item, lane->left, count);
        lane->noted = true;
    }
}

/* Is everything of the batch so far delivered, or lost for good? */
static bool is_settled(const struct outlet_lane *lane)
{
    return lane->undelivered == 0;
}

/* May an earlier run have sent some of the batch? */
static bool may_be_repeated(const struct outlet_lane *lane)
{
    const bool *repeats = lane->outlet->settings.repeats;
    if (lane->item->earlier) {
        return true;
    }
    for (size_t i = 0; repeats && i < lane->batch->segment_count; i++) {
        if (repeats[lane->batch->segments[i].session]) {
            return true;
        }
    }
    return false;
}

static void hand_over(struct outlet_lane *lane, struct delivery delivery)
{
    const struct spool_item *item = lane->item;
    struct delivery_ids ids = batch_ids(lane->batch, item->epoch, item->stream_hash);
    delivery.ids = lane->outlet->settings.ids ? &ids : NULL;
    delivery.repeated = may_be_repeated(lane);
    delivery_host_deliver(lane->host, &delivery);
}

enum { NO_MEMORY_WAIT_MS = 50 };

/* Deliver records of the batch, or lose them. */
static void deliver_range(struct outlet_lane *lane, size_t first, size_t count)
{
    const struct outlet *outlet = lane->outlet;
    if (count == 0) {
        return;
    }
    bool over = is_giving_up(lane) || atomic_load(&outlet->ended);
    while (!over && first && !reserve_list(&lane->ends, &lane->end_capacity, count)) {
        over = !pause_lane(lane, NO_MEMORY_WAIT_MS);
    }
    lane->first = first;
    if (over) {
        lose_undelivered(lane, first, count);
        return;
    }
    struct delivery delivery = batch_delivery(
        lane->batch, first, count, lane->item->route, lane->ends);
    hand_over(lane, delivery);
}

/* Deliver what an earlier run has left of the batch. */
static void deliver_left(struct outlet_lane *lane)
{
    const struct spool_item *item = lane->item;
    struct delivery delivery;
    lane->first = 0;
    bool over = is_giving_up(lane) || atomic_load(&lane->outlet->ended);
    while (!over && !batch_part_delivery(&lane->part, item->batch, item->left, item->left_count,
                        item->route, &delivery)) {
        over = !pause_lane(lane, NO_MEMORY_WAIT_MS);
    }
    if (over) {
        lose_undelivered(lane, 0, item->left_count);
    } else {
        hand_over(lane, delivery);
    }
}

/* The first ${count} segments are settled: a checkpoint that the output has stored while it takes
 * the rest of the batch must know it. */
static void settle_segments(struct outlet *outlet, const struct batch *batch, size_t count)
{
    plat_mutex_lock(&outlet->mutex);
    ack_mark_settle_segments(&outlet->mark, batch, count);
    plat_mutex_unlock(&outlet->mutex);
}

/* Deliver what lies before segment ${i}, which the output had. What was noted of it as left is not left
 * any more when it is settled. */
static void deliver_before(struct outlet_lane *lane, size_t i, size_t first, size_t count)
{
    lane->later = i;
    deliver_range(lane, first, count);
    if (is_settled(lane)) {
        settle_segments(lane->outlet, lane->batch, i);
        if (lane->noted) {
            on_left(lane, NULL, 0);
        }
    }
}

/* Deliver what this output has not had before a restart. */
static void deliver(struct outlet_lane *lane)
{
    const struct batch *batch = lane->batch;
    lane->later = batch->segment_count;
    if (lane->item->left) {
        deliver_left(lane);
        return;
    }
    size_t first = 0;
    size_t end = batch->segment_count ? 0 : batch->piece.count;
    for (size_t i = 0; i < batch->segment_count; i++) {
        const struct batch_segment *segment = &batch->segments[i];
        if (was_had(lane, segment)) {
            if (end > first) {
                deliver_before(lane, i, first, end - first);
            }
            first = segment->record_end;
            lane->had += first - end;
        }
        end = segment->record_end;
    }
    lane->later = batch->segment_count;
    deliver_range(lane, first, end - first);
}

/* What became of the batch, to the books. What an earlier run has left was offered as events, all of
 * it; of other batches only what the output had not had. */
static void tell_books(struct outlet_lane *lane)
{
    struct outlet *outlet = lane->outlet;
    const struct spool_item *item = lane->item;
    bool own = lane->batch->own && !item->earlier;
    struct delivery_counts now = delivery_host_counts(lane->host);
    const struct delivery_counts *before = &lane->told;
    struct books_settlement settlement = {.acked = now.delivered - before->delivered,
        .bytes = now.bytes - before->bytes,
        .dead_lettered = now.dead_lettered - before->dead_lettered,
        .unexpected_duplicates = now.unexpected_duplicates - before->unexpected_duplicates};
    for (size_t i = 0; i < OUTPUT_DROP_COUNT; i++) {
        settlement.dropped[i] = lane->lost[i];
    }
    if (item->left) {
        settlement.acked += lane->batch->piece.count - item->left_count;
    }
    if (item->earlier) {
        settlement.acked += lane->had;
    }
    lane->told = now;
    books_settle(outlet->settings.books, outlet->settings.index, &settlement, own);
}

static void note_end(struct outlet_lane *lane)
{
    struct outlet *outlet = lane->outlet;
    bool closed = delivery_host_closed(lane->host);
    plat_mutex_lock(&outlet->mutex);
    bool first = !atomic_exchange(&outlet->ended, true);
    plat_cond_broadcast(&outlet->changed);
    plat_mutex_unlock(&outlet->mutex);
    outlet_lane_turn_away(outlet);
    if (first && outlet->settings.ended) {
        outlet->settings.ended(outlet->settings.self, outlet->settings.index, closed);
    }
}

/* Take a checkpoint, unless that is not possible now: then the one before stands, false. */
static bool note_position(struct outlet_lane *lane)
{
    struct error err;
    lane->checkpoint_ns = plat_monotonic_ns();
    bool ok = outlet_checkpoint_take(lane, false, &err);
    if (!ok) {
        warn(lane, err.text);
    }
    return ok;
}

static void note_position_now_and_then(struct outlet_lane *lane)
{
    if (plat_monotonic_ns() - lane->checkpoint_ns >= checkpoint_every_ns) {
        note_position(lane);
    }
}

/* The spool and the mark hear what became of the batch. */
static void settle(struct outlet_lane *lane, const struct spool_item *item)
{
    struct outlet *outlet = lane->outlet;
    struct spool *spool = outlet->settings.spool;
    bool settled = is_settled(lane);
    if (settled && !spool->keeps) {
        plat_mutex_lock(&outlet->mutex);
        settle_batch(outlet, item->batch);
        plat_mutex_unlock(&outlet->mutex);
        note_position_now_and_then(lane);
    } else if (!settled && delivery_host_ended(lane->host)) {
        note_end(lane);
    }
    spool->ops->ack(spool, outlet->settings.cursor, item, settled);
    if (settled && spool->keeps) {
        note_position_now_and_then(lane);
    }
}

static void work_on(struct outlet_lane *lane, const struct spool_item *item)
{
    lane->item = item;
    lane->batch = item->batch;
    lane->undelivered = 0;
    lane->had = 0;
    lane->noted = false;
    memset(lane->lost, 0, sizeof(lane->lost));
    deliver(lane);
    tell_books(lane);
    lane->batch = NULL;
    lane->item = NULL;
    settle(lane, item);
}

/* Nothing more will be delivered, and what waits had better stay where it is. */
static bool leaves_rest(const struct outlet *outlet)
{
    return outlet->settings.spool->keeps &&
           (atomic_load(&outlet->giving_up) || atomic_load(&outlet->leaving) ||
               atomic_load(&outlet->ended));
}

/* What the batch has cost is told at once, if that may be. */
static void ship_losses(struct outlet *outlet)
{
    if (outlet->settings.losses) {
        losses_ship(outlet->settings.losses);
    }
}

/* What there is to do while nothing is to be sent; returns when there is more of it. */
static uint64_t do_chores(struct outlet_lane *lane)
{
    uint64_t due = delivery_host_idle(lane->host);
    bool ok = note_position(lane);
    uint64_t again = plat_monotonic_ns() + quiet_ns;
    return !ok && again < due ? again : due;
}

static void run_lane(void *self)
{
    struct outlet_lane *lane = self;
    struct outlet *outlet = lane->outlet;
    struct spool *spool = outlet->settings.spool;
    uint64_t chores_ns = plat_monotonic_ns() + quiet_ns;
    while (!leaves_rest(outlet)) {
        struct spool_item item;
        enum spool_next next = spool->ops->next(spool, outlet->settings.cursor, chores_ns, &item);
        if (next == SPOOL_END) {
            break;
        }
        if (next == SPOOL_BATCH) {
            work_on(lane, &item);
            ship_losses(outlet);
            chores_ns = plat_monotonic_ns() + quiet_ns;
        } else {
            chores_ns = do_chores(lane);
        }
    }
    note_position(lane);
    if (leaves_rest(outlet)) {
        books_leave(outlet->settings.books, outlet->settings.index);
    }
    plat_mutex_lock(&outlet->mutex);
    lane->done = true;
    plat_cond_broadcast(&outlet->changed);
    plat_mutex_unlock(&outlet->mutex);
}

void outlet_lane_turn_away(struct outlet *outlet)
{
    struct spool *spool = outlet->settings.spool;
    if (leaves_rest(outlet)) {
        spool->ops->leave(spool, outlet->settings.cursor);
    }
}

/* ---- life ------------------------------------------------------------------------------------- */

bool outlet_lane_init(struct outlet_lane *lane, struct outlet *outlet, struct error *err)
{
    const struct outlet_settings *settings = &outlet->settings;
    lane->outlet = outlet;
    lane->done = true;
    bool checkpoints = outlet_checkpoint_has(outlet);
    struct output_env env = {.format = settings->format,
        .checkpoint = checkpoints ? settings->checkpoint : span_make(NULL, 0),
        .save = checkpoints && (settings->save || settings->spool->keeps) ? outlet_checkpoint_save
                                                                          : NULL,
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
        .left = on_left,
        .self = lane};
    lane->host = delivery_host_create(&host, err);
    return lane->host != NULL;
}

void outlet_lane_close(struct outlet_lane *lane)
{
    delivery_host_destroy(lane->host);
    lane->host = NULL;
}

void outlet_lane_fini(struct outlet_lane *lane)
{
    outlet_lane_close(lane);
    batch_part_fini(&lane->part);
    free(lane->ends);
    free(lane->left);
}

bool outlet_lane_start(struct outlet_lane *lane, struct error *err)
{
    lane->done = false;
    lane->thread = plat_thread_start(lane->outlet->settings.name, run_lane, lane, err);
    if (!lane->thread) {
        lane->done = true; /* the thread itself says so otherwise */
    }
    return lane->thread != NULL;
}
