#include "pipeline/deliver/outlet_parked.h"

#include "pipeline/deliver/outlet_batch.h"

/*
 * A held batch is in the spool, not acked, and in `parking`. The lane that claims it has it
 * alone, delivers what is due, and gives the rest back. The lane that settles its last record acks
 * it.
 */
enum { NO_MEMORY_WAIT_MS = 50 };

void outlet_parked_tell(void *self, enum parking_news news, const char *route, const char *text)
{
    struct outlet *outlet = self;
    outlet_news_parked(&outlet->news, news, route, text);
}

/* Others hear of what is parked now: the ledger, the spool for its waiting lanes, and lanes that
 * wait for room or for the end. */
static void note_change(struct outlet *outlet)
{
    const struct outlet_settings *settings = &outlet->settings;
    struct spool *spool = settings->spool;
    struct parking_facts facts;
    plat_mutex_lock(&outlet->mutex);
    parking_look_at(&outlet->parking, &facts);
    bool any = parking_any(&outlet->parking);
    if (any != outlet->restless) {
        spool->ops->set_restless(spool, settings->cursor, any);
    }
    outlet->restless = any;
    ledger_set_parked(settings->ledger, settings->index, facts.events, facts.routes, facts.first);
    plat_cond_broadcast(&outlet->changed);
    plat_mutex_unlock(&outlet->mutex);
}

static void put_down(const struct outlet_lane *lane, size_t count)
{
    const struct outlet_settings *settings = &lane->outlet->settings;
    settings->spool->ops->put_down(settings->spool, settings->cursor, lane->item, count);
}

/* The marked records will not be delivered in this run. */
static void lose_marked(struct outlet_lane *lane)
{
    for (size_t i = 0; i < lane->marks_count; i++) {
        if (lane->marks[i]) {
            outlet_batch_lose_undelivered(lane, i, 1);
        }
    }
    lane->parked = 0;
    memset(lane->marks, 0, lane->marks_count);
}

/* May the batch be dropped to make room? Not if an event of it can be read again,
 * nor the agent's own. */
static bool is_live(const struct outlet_lane *lane)
{
    const struct losses *losses = lane->outlet->settings.losses;
    const struct batch *batch = lane->batch;
    bool live = batch->segment_count > 0 && !batch->own;
    for (size_t i = 0; i < batch->segment_count && live; i++) {
        live = !losses || !losses_comes_again(losses, batch->segments[i].session);
    }
    return live;
}

bool outlet_parked_hold(struct outlet_lane *lane)
{
    struct outlet *outlet = lane->outlet;
    struct parked_batch *parked = NULL;
    bool over = lane->undelivered > 0;
    while (!over &&
           !(parked = parking_make(&outlet->parking, lane->item, lane->marks, lane->since_ns))) {
        over = !outlet_lane_pause(lane, NO_MEMORY_WAIT_MS);
    }
    if (over) {
        lose_marked(lane);
        return false;
    }
    parked->live = is_live(lane);
    outlet_batch_on_left(lane, NULL, 0);
    outlet_batch_tell_ledger(lane);
    put_down(lane, lane->parked);
    outlet_batch_end(lane);
    parking_put(&outlet->parking, parked);
    note_change(outlet);
    return true;
}

static enum spool_pick pick_up(struct outlet *outlet, struct spool_item *item)
{
    struct spool *spool = outlet->settings.spool;
    return spool->ops->pick_up(spool, outlet->settings.cursor, item);
}

static size_t list_marked(struct outlet_lane *lane)
{
    size_t count = 0;
    for (size_t i = 0; i < lane->marks_count; i++) {
        if (lane->marks[i]) {
            lane->list[count++] = (uint32_t)i;
        }
    }
    return count;
}

/* Of the ${count} records that are listed only ${tried} is tried.
 * Returns how many others stay held. */
static size_t hold_others(struct outlet_lane *lane, size_t count, size_t tried)
{
    for (size_t i = 0; i < count; i++) {
        lane->marks[lane->list[i]] = i != tried;
    }
    lane->list[0] = lane->list[tried];
    return count - 1;
}

/* Records that the destination has taken, or will never take. */
static uint64_t answers_of(const struct outlet_lane *lane)
{
    struct delivery_counts counts = delivery_host_counts(lane->host);
    return counts.delivered + counts.rejected + counts.dead_lettered - counts.kept_too_old;
}

/* The batch is claimed, and in hand. */
static void try_claimed(struct outlet_lane *lane, struct parked_batch *parked)
{
    struct outlet *outlet = lane->outlet;
    outlet_batch_begin(lane, &parked->item, true, parked->since_ns);
    lane->undelivered = parked->undelivered;
    lane->suspect = parked->suspect;
    lane->probe = parked->probe;
    lane->cleared = parked->cleared;
    if (lane->over) { /* without memory there are no marks, and no try */
        put_down(lane, parking_count(parked));
        outlet_batch_end(lane);
        parking_return(&outlet->parking, parked, NULL, false);
        return;
    }
    parking_mark(parked, true, lane->marks, 1);
    size_t count = list_marked(lane);
    memset(lane->marks, 0, lane->marks_count);
    size_t others = parking_mark(parked, false, lane->marks, 1);
    if (parked->later && count > 1) {
        others += hold_others(lane, count, parked->probe % count);
        count = 1;
    }
    uint64_t answers = answers_of(lane);
    outlet_batch_deliver_list(lane, lane->list, count);
    parked->undelivered = parked->undelivered || lane->undelivered;
    size_t left = lane->parked + others;
    if (left && lane->parked < count && !parked->undelivered) {
        outlet_batch_on_left(lane, NULL, 0);
    }
    outlet_batch_tell_ledger(lane);
    if (left) {
        put_down(lane, left);
    }
    outlet_batch_end(lane);
    bool answered = answers_of(lane) > answers;
    if (parking_return(&outlet->parking, parked, lane->marks, answered)) {
        outlet_batch_settle(lane, &parked->item, !parked->undelivered);
        parked_batch_free(parked);
    }
}

/* Release batches that the spool gave up. */
static void end_gone(struct outlet_lane *lane)
{
    struct outlet *outlet = lane->outlet;
    struct spool *spool = outlet->settings.spool;
    uint64_t number;
    while ((number = spool->ops->next_gone(spool, outlet->settings.cursor))) {
        struct parked_batch *parked = parking_drop_number(&outlet->parking, number);
        if (parked) { /* else the lane that has claimed it finds that */
            parking_end(&outlet->parking, parked);
            outlet_batch_settle(lane, &parked->item, true);
            parked_batch_free(parked);
            note_change(outlet);
        }
    }
}

static void lose_parked(struct outlet_lane *lane, struct parked_batch *parked)
{
    size_t count = 0;
    outlet_batch_begin(lane, &parked->item, true, parked->since_ns);
    for (const struct parked_group *g = parked->groups; g; g = g->sibling) {
        for (size_t i = 0; i < g->count; i++) {
            outlet_batch_lose_held(lane, g->records[i]);
        }
        count += g->count;
    }
    outlet_batch_tell_ledger(lane);
    outlet_batch_end(lane);
    outlet_news_gave_way(&lane->outlet->news, count);
}

bool outlet_parked_make_room(struct outlet_lane *lane)
{
    struct outlet *outlet = lane->outlet;
    struct parking *parking = &outlet->parking;
    if (!outlet->settings.drops_held || !parking_is_full(parking)) {
        return false;
    }
    struct parked_batch *parked = parking_drop_oldest(parking);
    if (!parked) {
        return false;
    }
    enum spool_pick pick = pick_up(outlet, &parked->item);
    if (pick == SPOOL_PICK_LATER) {
        parking_return(parking, parked, NULL, false);
        return false;
    }
    if (pick == SPOOL_PICKED) {
        lose_parked(lane, parked);
    }
    parking_end(parking, parked);
    if (pick == SPOOL_PICKED) {
        outlet_batch_settle(lane, &parked->item, !parked->undelivered);
    }
    parked_batch_free(parked);
    note_change(outlet);
    return true;
}

bool outlet_parked_try(struct outlet_lane *lane)
{
    struct outlet *outlet = lane->outlet;
    if (!parking_any(&outlet->parking)) {
        return false;
    }
    end_gone(lane);
    bool retries_now = atomic_load(&outlet->state) >= OUTLET_RETRIES_NOW;
    struct parked_batch *parked = parking_claim(&outlet->parking, retries_now);
    if (!parked) {
        return false;
    }
    ledger_retry(outlet->settings.ledger, outlet->settings.index);
    switch (pick_up(outlet, &parked->item)) {
    case SPOOL_PICKED:
        try_claimed(lane, parked);
        break;
    case SPOOL_PICK_LATER:
        parking_return(&outlet->parking, parked, NULL, false);
        break;
    case SPOOL_PICK_GONE:
        parking_end(&outlet->parking, parked);
        parked_batch_free(parked);
        break;
    }
    note_change(outlet);
    return true;
}

/* A spool that keeps has it for the next run. */
static void release(struct outlet_lane *lane, struct parked_batch *parked)
{
    if (!lane->outlet->settings.spool->keeps) {
        outlet_batch_begin(lane, &parked->item, true, parked->since_ns);
        for (const struct parked_group *g = parked->groups; g; g = g->sibling) {
            for (size_t i = 0; i < g->count; i++) {
                outlet_batch_lose_undelivered(lane, g->records[i], 1);
            }
        }
        outlet_batch_tell_ledger(lane);
        outlet_batch_end(lane);
    }
    parking_end(&lane->outlet->parking, parked);
    outlet_batch_settle(lane, &parked->item, false);
    parked_batch_free(parked);
}

void outlet_parked_release(struct outlet_lane *lane)
{
    struct parking *parking = &lane->outlet->parking;
    struct parked_batch *parked;
    if (!parking_any(parking)) {
        return;
    }
    while ((parked = parking_drop(parking))) {
        release(lane, parked);
    }
    parking_tidy(parking);
    note_change(lane->outlet);
}
