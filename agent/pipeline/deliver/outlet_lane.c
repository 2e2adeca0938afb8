#include "pipeline/deliver/outlet_lane.h"

#include <stdlib.h>

#include "pipeline/deliver/outlet_batch.h"
#include "pipeline/deliver/outlet_checkpoint.h"
#include "pipeline/deliver/outlet_parked.h"
#include "platform/plat_clock.h"

/*
 * A lane takes a batch from the cursor, lets its host deliver it, and settles it (outlet_batch.c).
 * Parked records (outlet_parked.c) come first when they are due; if too many are parked, no batch
 * is taken until some are settled.
 *
 * The outlet's mutex is held only briefly, never while the output is called.
 */
/* Without anything to send, before the output's chores are done. */
static const uint64_t quiet_ns = UINT64_C(500000000);

/* ---- what the output asks of its host -------------------------------------------------------- */

/* Until when may the lane wait for its destination? */
static uint64_t wait_end_ns(const struct outlet_lane *lane)
{
    const struct outlet *outlet = lane->outlet;
    if (atomic_load(&outlet->state) != OUTLET_CANCELS) {
        return UINT64_MAX;
    }
    bool own = lane->batch && lane->batch->own;
    return own ? outlet->cancelled_ns + (uint64_t)OUTLET_LAST_WORDS_MS * NS_PER_MS : 0;
}

bool outlet_lane_is_cancelled(const void *self)
{
    uint64_t until = wait_end_ns(self);
    return until != UINT64_MAX && plat_monotonic_ns() >= until;
}

static bool is_stopping(void *self)
{
    const struct outlet_settings *settings = &((struct outlet_lane *)self)->outlet->settings;
    return outlet_lane_is_cancelled(self) ||
           (settings->stopping && settings->stopping(settings->self));
}

/* True if nothing is to be tried again. A delivery under way continues. */
static bool hands_over(const struct outlet_lane *lane)
{
    return atomic_load(&lane->outlet->state) == OUTLET_HANDS_OVER &&
           lane->outlet->settings.spool->keeps;
}

static bool retries_now(const struct outlet *outlet)
{
    return atomic_load(&outlet->state) >= OUTLET_RETRIES_NOW;
}

/* ${ignores_stop}: to the end, also when the agent stops. */
static bool pause_until(struct outlet_lane *lane, uint64_t end, bool ignores_stop)
{
    struct outlet *outlet = lane->outlet;
    bool in_time = true;
    plat_mutex_lock(&outlet->mutex);
    while (in_time && !outlet_lane_is_cancelled(lane) && !hands_over(lane) &&
           (ignores_stop || lane->retried_now == retries_now(outlet))) {
        uint64_t limit = wait_end_ns(lane);
        in_time = plat_cond_wait_until(&outlet->changed, &outlet->mutex, end < limit ? end : limit);
    }
    lane->retried_now = ignores_stop ? lane->retried_now : retries_now(outlet);
    plat_mutex_unlock(&outlet->mutex);
    return !outlet_lane_is_cancelled(lane) && !hands_over(lane);
}

bool outlet_lane_pause(struct outlet_lane *lane, unsigned ms)
{
    return pause_until(lane, plat_monotonic_ns() + (uint64_t)ms * NS_PER_MS, false);
}

static bool wait_while_quiet(void *self)
{
    struct outlet_lane *lane = self;
    uint64_t until = atomic_load(&lane->outlet->quiet_until_ns);
    return until == 0 || plat_monotonic_ns() >= until || pause_until(lane, until, true);
}

static void keep_quiet(void *self, unsigned ms)
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
    ledger_retry(lane->outlet->settings.ledger, lane->outlet->settings.index);
    return outlet_lane_pause(lane, ms);
}

void outlet_lane_warn(void *self, const char *text)
{
    const struct outlet_settings *settings = &((struct outlet_lane *)self)->outlet->settings;
    settings->warn(settings->self, settings->name, "output", text);
}

static void note(void *self, const char *text)
{
    const struct outlet_settings *settings = &((struct outlet_lane *)self)->outlet->settings;
    if (settings->note) {
        settings->note(settings->self, settings->name, text);
    }
}

static void set_guarantee(void *self, const char *guarantee)
{
    const struct outlet_settings *settings = &((struct outlet_lane *)self)->outlet->settings;
    ledger_set_guarantee(settings->ledger, settings->index, guarantee);
}

static void tell(void *self, enum delivery_news news, const char *text)
{
    struct outlet_lane *lane = self;
    bool over = lane->outlet->settings.ends_on_failure || delivery_host_ended(lane->host) ||
                outlet_lane_is_cancelled(lane) || hands_over(lane);
    outlet_news_tell(&lane->outlet->news, news, text, over);
}

static bool keep(
    void *self, const struct delivery_refusal *refusals, size_t count, struct error *err)
{
    const struct outlet_lane *lane = self;
    return outlet_news_keep(
        &lane->outlet->news, lane->item->epoch, lane->batch, refusals, count, err);
}

/* Nothing more will be delivered, and what waits had better stay where it is. */
static bool leaves_rest(const struct outlet *outlet)
{
    return outlet->settings.spool->keeps && (atomic_load(&outlet->state) >= OUTLET_HANDS_OVER ||
                                                atomic_load(&outlet->end) != OUTLET_OPEN);
}

/* Report the cost of the batch at once, if allowed. */
static void ship_losses(struct outlet *outlet)
{
    if (outlet->settings.losses) {
        losses_ship(outlet->settings.losses);
    }
}

/* Work while nothing is to be sent; returns the time of the next work. */
static uint64_t do_chores(struct outlet_lane *lane)
{
    uint64_t due = delivery_host_idle(lane->host);
    bool ok = outlet_batch_note_position(lane);
    uint64_t again = plat_monotonic_ns() + quiet_ns;
    return !ok && again < due ? again : due;
}

/* Too much is parked, or too many batches after a parked one are settled: take no more. */
static bool is_full(struct outlet *outlet)
{
    if (!parking_any(&outlet->parking)) {
        return false;
    }
    plat_mutex_lock(&outlet->mutex);
    bool far = !ack_mark_has_room(&outlet->mark, outlet->lane_count);
    plat_mutex_unlock(&outlet->mutex);
    return far || parking_is_full(&outlet->parking);
}

static void tell_full(struct outlet_lane *lane, bool full)
{
    if (lane->waits != full) {
        lane->waits = full;
        outlet_news_full(&lane->outlet->news, full);
    }
}

/* Nothing can be taken while batches are parked: until one of them is due, or is settled. */
static void wait_for_parked(struct outlet_lane *lane)
{
    uint64_t soon = plat_monotonic_ns() + spool_restless_ns;
    uint64_t due = parking_due(&lane->outlet->parking);
    pause_until(lane, due < soon ? due : soon, false);
}

/* Is the outlet to deliver nothing more, though it continues to take batches? */
static bool is_over(const struct outlet_lane *lane)
{
    return outlet_lane_is_cancelled(lane) || atomic_load(&lane->outlet->end) != OUTLET_OPEN;
}

/* The next batch, unless what is parked comes first, which was tried or waited for then. */
static enum spool_next take_next(
    struct outlet_lane *lane, uint64_t chores_ns, struct spool_item *ret_item)
{
    struct outlet *outlet = lane->outlet;
    struct spool *spool = outlet->settings.spool;
    if (is_over(lane)) {
        outlet_parked_release(lane);
    } else if (outlet_parked_try(lane)) {
        ship_losses(outlet);
        return SPOOL_NOTHING;
    } else if (is_full(outlet)) {
        if (outlet_parked_make_room(lane)) {
            ship_losses(outlet);
            return SPOOL_NOTHING;
        }
        tell_full(lane, true);
        wait_for_parked(lane);
        return SPOOL_NOTHING;
    }
    tell_full(lane, false);
    uint64_t due = parking_due(&outlet->parking);
    enum spool_next next = spool->ops->next(
        spool, outlet->settings.cursor, due < chores_ns ? due : chores_ns, ret_item);
    if (next == SPOOL_END && parking_any(&outlet->parking)) {
        wait_for_parked(lane);
        return SPOOL_NOTHING;
    }
    return next;
}

static void run_lane(void *self)
{
    struct outlet_lane *lane = self;
    struct outlet *outlet = lane->outlet;
    uint64_t chores_ns = plat_monotonic_ns() + quiet_ns;
    while (!leaves_rest(outlet)) {
        struct spool_item item;
        enum spool_next next = take_next(lane, chores_ns, &item);
        if (next == SPOOL_END) {
            break;
        }
        if (next == SPOOL_BATCH) {
            outlet_batch_work_on(lane, &item);
            ship_losses(outlet);
            chores_ns = plat_monotonic_ns() + quiet_ns;
        } else if (plat_monotonic_ns() >= chores_ns) {
            chores_ns = do_chores(lane);
        }
    }
    outlet_parked_release(lane);
    outlet_batch_note_position(lane);
    if (leaves_rest(outlet)) {
        ledger_end_output(outlet->settings.ledger, outlet->settings.index);
    }
    plat_mutex_lock(&outlet->mutex);
    lane->done = true;
    plat_cond_broadcast(&outlet->changed);
    plat_mutex_unlock(&outlet->mutex);
}

void outlet_lane_end(struct outlet_lane *lane)
{
    struct outlet *outlet = lane->outlet;
    bool closed = delivery_host_closed(lane->host);
    plat_mutex_lock(&outlet->mutex);
    enum outlet_end before = atomic_load(&outlet->end);
    if (closed || before == OUTLET_OPEN) {
        atomic_store(&outlet->end, closed ? OUTLET_CLOSED : OUTLET_ENDED);
    }
    plat_cond_broadcast(&outlet->changed);
    plat_mutex_unlock(&outlet->mutex);
    outlet_lane_turn_away(outlet);
    if (before == OUTLET_OPEN && outlet->settings.ended) {
        outlet->settings.ended(outlet->settings.self, outlet->settings.index, closed);
    }
}

void outlet_lane_turn_away(struct outlet *outlet)
{
    struct spool *spool = outlet->settings.spool;
    if (leaves_rest(outlet)) {
        spool->ops->end_cursor(spool, outlet->settings.cursor);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

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
        .folder = settings->folder,
        .agent_id = settings->agent_id,
        .warn = outlet_lane_warn,
        .note = note,
        .guarantee = set_guarantee,
        .stopping = is_stopping,
        .host = lane};
    struct delivery_host_settings host = {.ops = settings->ops,
        .settings = settings->settings,
        .name = settings->name,
        .env = &env,
        .retry = settings->retry,
        .ends_on_failure = settings->ends_on_failure,
        .stopping = is_stopping,
        .wait = wait_for_retry,
        .clear = wait_while_quiet,
        .keep_quiet = keep_quiet,
        .tell = tell,
        .keep = settings->dead_letters ? keep : NULL,
        .lost = outlet_batch_on_lost,
        .left = outlet_batch_on_left,
        .park = outlet->parks ? outlet_batch_on_park : NULL,
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
    free(lane->list);
    free(lane->marks);
    free(lane->shut);
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
