#include "pipeline/deliver/outlet_batch.h"

#include <stdlib.h>

#include "base/filetime.h"
#include "base/grow.h"
#include "pipeline/deliver/outlet_checkpoint.h"
#include "pipeline/deliver/outlet_parked.h"
#include "platform/plat_clock.h"

/*
 * Delivers the batch of a lane. The host sends those records that the output does not have yet.
 * The lane then counts the results in the ledger, moves the low-water mark and settles the batch in
 * the spool. It leaves out records whose route is parked, and marks records that the host parks.
 * A batch with either is held (outlet_parked.c), not settled.
 */
/* A checkpoint may cost the output an fsync. */
static const uint64_t checkpoint_every_ns = UINT64_C(100000000);

enum { NO_MEMORY_WAIT_MS = 50 };

/* ---- positions ------------------------------------------------------------------------------- */

/* Every record of ${batch} is settled: move the low-water mark, or wait until the lanes that it is
 * too far ahead of have moved it, or until there is memory to note it. Holds the mutex. */
static void settle_batch(struct outlet *outlet, const struct batch *batch)
{
    while (!ack_mark_settle(&outlet->mark, batch)) {
        if (atomic_load(&outlet->end) != OUTLET_OPEN ||
            atomic_load(&outlet->state) == OUTLET_CANCELS) {
            return;
        }
        plat_cond_wait_until(&outlet->changed, &outlet->mutex,
            plat_monotonic_ns() + (uint64_t)NO_MEMORY_WAIT_MS * NS_PER_MS);
    }
    plat_cond_broadcast(&outlet->changed);
}

/* ---- delivering ------------------------------------------------------------------------------ */

/* Records of the batch will not be delivered. For an output that its reader closed, and for events
 * of the agent itself, they are only counted. */
static void lose(struct outlet_lane *lane, size_t first, size_t count, enum output_drop reason)
{
    const struct outlet *outlet = lane->outlet;
    const struct outlet_settings *settings = &outlet->settings;
    const struct batch *batch = lane->batch;
    bool closed = atomic_load(&outlet->end) == OUTLET_CLOSED || delivery_host_closed(lane->host);
    bool unwanted = reason == OUTPUT_DROP_ENDED && closed;
    lane->lost[reason] += count;
    if (settings->losses && !batch->own && !unwanted) {
        losses_add_records(settings->losses, batch, first, count, settings->index, reason);
    }
}

void outlet_batch_lose_held(struct outlet_lane *lane, size_t record)
{
    lose(lane, record, 1, OUTPUT_DROP_SPOOL_FULL);
}

void outlet_batch_lose_undelivered(struct outlet_lane *lane, size_t first, size_t count)
{
    const struct outlet *outlet = lane->outlet;
    bool ended = delivery_host_ended(lane->host) || atomic_load(&outlet->end) != OUTLET_OPEN;
    lane->undelivered += count;
    if (!outlet->settings.spool->keeps) {
        lose(lane, first, count, ended ? OUTPUT_DROP_ENDED : OUTPUT_DROP_STOPPED);
    }
}

static void lose_for(struct outlet_lane *lane, size_t first, size_t count, enum delivery_loss why)
{
    if (why == DELIVERY_UNDELIVERED) {
        outlet_batch_lose_undelivered(lane, first, count);
    } else {
        lose(lane, first, count,
            why == DELIVERY_REJECTED ? OUTPUT_DROP_REJECTED : OUTPUT_DROP_TOO_OLD);
    }
}

void outlet_batch_on_lost(void *self, size_t first, size_t count, enum delivery_loss why)
{
    struct outlet_lane *lane = self;
    const uint32_t *records = lane->records;
    for (size_t i = 0; records && i < count; i++) {
        lose_for(lane, records[first + i], 1, why);
    }
    if (!records) {
        lose_for(lane, lane->first + first, count, why);
    }
}

void outlet_batch_on_park(void *self, size_t record, const struct output_rejection *why)
{
    struct outlet_lane *lane = self;
    size_t at = lane->records ? lane->records[record] : lane->first + record;
    const struct routes *routes = &lane->batch->piece.routes[lane->item->route];
    uint32_t route = routes->indexes[at];
    lane->marks[at] = 1;
    lane->parked++;
    if (route != lane->closed_route) {
        parking_close_route(&lane->outlet->parking, routes->names[route], why);
        lane->closed_route = route;
    }
}

/* Had the output this part of the batch before a restart? */
static bool was_delivered(const struct outlet_lane *lane, const struct batch_segment *segment)
{
    const struct outlet_settings *settings = &lane->outlet->settings;
    if (settings->delivered) {
        return delivered_covers(
            &settings->delivered[segment->session], lane->batch->number, segment->last_sequence);
    }
    return settings->resume && segment->last_sequence <= settings->resume[segment->session];
}

/* Records that the host gets later are unsettled too: add them to the ${count} records of the
 * list. */
static size_t add_later(struct outlet_lane *lane, size_t count)
{
    const struct batch *batch = lane->batch;
    size_t record = lane->later ? batch->segments[lane->later - 1].record_end : 0;
    for (size_t i = lane->later; i < batch->segment_count; i++) {
        size_t end = batch->segments[i].record_end;
        for (; record < end && !was_delivered(lane, &batch->segments[i]); record++) {
            lane->left[count++] = (uint32_t)record;
        }
        record = end;
    }
    return count;
}

/* So is what is held: put it between the ${count} records of the list, which end with those that
 * come later and none of which is held. */
static size_t add_held(struct outlet_lane *lane, size_t count)
{
    size_t held = 0;
    for (size_t i = 0; lane->marks_count && i < lane->batch->piece.count; i++) {
        held += lane->marks[i];
    }
    size_t from = count;
    size_t to = count + held;
    for (size_t i = lane->batch->piece.count; held && i > 0 && to > from; i--) {
        if (lane->marks[i - 1]) {
            while (from && lane->left[from - 1] > i - 1) {
                lane->left[--to] = lane->left[--from];
            }
            lane->left[--to] = (uint32_t)(i - 1);
        }
    }
    return count + held;
}

/* Part of the batch is settled. The spool may remember that for the next run; a checkpoint that is
 * taken back there takes the whole batch back. After a part that could not be delivered nothing new
 * is noted: what was before has that part in it. */
void outlet_batch_on_left(void *self, const uint32_t *records, size_t count)
{
    struct outlet_lane *lane = self;
    const struct outlet_settings *settings = &lane->outlet->settings;
    const struct spool_item *item = lane->item;
    struct spool *spool = settings->spool;
    if (outlet_checkpoint_has(lane->outlet) || lane->undelivered ||
        !grow_to(
            &lane->left, lane->batch->piece.count, &lane->left_capacity, sizeof(*lane->left))) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        lane->left[i] = lane->records ? lane->records[records[i]]
                                      : (uint32_t)lane->first + records[i];
    }
    count = add_held(lane, add_later(lane, count));
    if (count) {
        spool->ops->note_left(spool, settings->cursor, item, lane->left, count);
        lane->noted = true;
    }
}

/* True if every record of the batch so far is delivered or permanently lost. */
static bool is_settled(const struct outlet_lane *lane)
{
    return lane->undelivered == 0 && lane->parked == 0;
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
    delivery.repeated = lane->tried || may_be_repeated(lane);
    delivery.suspect = lane->suspect;
    delivery.probe = lane->probe;
    delivery.cleared = lane->cleared;
    delivery_host_deliver_since(lane->host, &delivery, lane->since_ns, lane->tried);
}

static bool is_over(const struct outlet_lane *lane)
{
    return lane->over || outlet_lane_is_cancelled(lane) ||
           atomic_load(&lane->outlet->end) != OUTLET_OPEN;
}

void outlet_batch_deliver_list(struct outlet_lane *lane, const uint32_t *records, size_t count)
{
    const struct spool_item *item = lane->item;
    struct delivery delivery;
    bool over = is_over(lane);
    if (count == 0) {
        return;
    }
    while (!over &&
           !batch_part_delivery(&lane->part, item->batch, records, count, item->route, &delivery)) {
        over = !outlet_lane_pause(lane, NO_MEMORY_WAIT_MS);
    }
    for (size_t i = 0; over && i < count; i++) {
        outlet_batch_lose_undelivered(lane, records[i], 1);
    }
    if (!over) {
        lane->records = records;
        hand_over(lane, delivery);
        lane->records = NULL;
    }
}

/* Is the record's route parked? Then it is held. */
static bool hold_if_parked(struct outlet_lane *lane, size_t record)
{
    const struct routes *routes = &lane->batch->piece.routes[lane->item->route];
    bool parked = lane->shut[routes->indexes[record]];
    lane->marks[record] = parked;
    lane->parked += parked;
    return parked;
}

/* Deliver records of the batch, or lose them. */
static void deliver_range(struct outlet_lane *lane, size_t first, size_t count)
{
    if (count == 0) {
        return;
    }
    bool over = is_over(lane);
    while (
        !over && first && !grow_to(&lane->ends, count, &lane->end_capacity, sizeof(*lane->ends))) {
        over = !outlet_lane_pause(lane, NO_MEMORY_WAIT_MS);
    }
    lane->first = first;
    if (over) {
        outlet_batch_lose_undelivered(lane, first, count);
        return;
    }
    size_t open = 0;
    for (size_t i = first; lane->any_shut && i < first + count; i++) {
        if (!hold_if_parked(lane, i)) {
            lane->list[open++] = (uint32_t)i;
        }
    }
    if (lane->any_shut) {
        outlet_batch_deliver_list(lane, lane->list, open);
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
    size_t open = 0;
    for (size_t i = 0; lane->any_shut && i < item->left_count; i++) {
        if (!hold_if_parked(lane, item->left[i])) {
            lane->list[open++] = item->left[i];
        }
    }
    if (lane->any_shut) {
        outlet_batch_deliver_list(lane, lane->list, open);
    } else {
        outlet_batch_deliver_list(lane, item->left, item->left_count);
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

/* Deliver what lies before segment ${i}, which the output had. What was noted of it as left is not
 * left any more when it is settled. */
static void deliver_before(struct outlet_lane *lane, size_t i, size_t first, size_t count)
{
    lane->later = i;
    deliver_range(lane, first, count);
    if (is_settled(lane)) {
        settle_segments(lane->outlet, lane->batch, i);
        if (lane->noted) {
            outlet_batch_on_left(lane, NULL, 0);
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
        if (was_delivered(lane, segment)) {
            if (end > first) {
                deliver_before(lane, i, first, end - first);
            }
            first = segment->record_end;
            lane->delivered_before += first - end;
        }
        end = segment->record_end;
    }
    lane->later = batch->segment_count;
    deliver_range(lane, first, end - first);
}

/* How long ${acked} events of the batch took, to the ledger:
 * from the oldest of those that are live. */
static void tell_latency(const struct outlet_lane *lane, uint64_t acked)
{
    const struct outlet_settings *settings = &lane->outlet->settings;
    const struct batch *batch = lane->batch;
    uint64_t oldest = 0;
    for (size_t i = 0; i < batch->segment_count && settings->losses; i++) {
        const struct batch_segment *segment = &batch->segments[i];
        uint64_t from = segment->times.from;
        if (from && (!oldest || from < oldest) &&
            !losses_comes_again(settings->losses, segment->session)) {
            oldest = from;
        }
    }
    uint64_t now = plat_now_filetime();
    if (acked && oldest) {
        uint64_t ms = now > oldest ? (now - oldest) / FILETIME_PER_MS : 0;
        ledger_add_latency(settings->ledger, settings->index, ms, acked);
    }
}

/* Possible losses of an earlier connection are reported in the session of the present batch: the
 * events are not known any more. */
static void tell_maybe_lost(struct outlet_lane *lane, uint64_t count)
{
    const struct outlet_settings *settings = &lane->outlet->settings;
    uint64_t now = plat_now_filetime();
    const struct loss loss = {
        .session = lane->batch->segment_count ? lane->batch->segments[0].session : 0,
        .output = settings->index,
        .maybe_lost = true,
        .count = count,
        .times = {.from = now, .to = now}};
    if (settings->losses) {
        losses_add(settings->losses, &loss);
    }
}

/* Count the result of the batch in the ledger. Leftovers of an earlier run count fully as offered;
 * of other batches only the events that the output did not have. Both are counted with the first
 * try. */
void outlet_batch_tell_ledger(struct outlet_lane *lane)
{
    struct outlet *outlet = lane->outlet;
    const struct spool_item *item = lane->item;
    bool own = lane->batch->own && !item->earlier;
    struct delivery_counts now = delivery_host_counts(lane->host);
    const struct delivery_counts *before = &lane->told;
    struct ledger_settlement settlement = {.acked = now.delivered - before->delivered,
        .bytes = now.bytes - before->bytes,
        .dead_lettered = now.dead_lettered - before->dead_lettered,
        .kept_too_old = now.kept_too_old - before->kept_too_old,
        .unexpected_duplicates = now.unexpected_duplicates - before->unexpected_duplicates,
        .maybe_duplicates = now.maybe_duplicates - before->maybe_duplicates};
    for (size_t i = 0; i < OUTPUT_DROP_COUNT; i++) {
        settlement.dropped[i] = lane->lost[i];
    }
    if (item->left && !lane->tried) {
        settlement.acked += lane->batch->piece.count - item->left_count;
    }
    if (item->earlier && !lane->tried) {
        settlement.acked += lane->delivered_before;
    }
    if (now.maybe_lost > before->maybe_lost) {
        tell_maybe_lost(lane, now.maybe_lost - before->maybe_lost);
    }
    lane->told = now;
    ledger_settle(outlet->settings.ledger, outlet->settings.index, &settlement, own);
    if (!own) {
        tell_latency(lane, settlement.acked);
    }
}

bool outlet_batch_note_position(struct outlet_lane *lane)
{
    struct error err;
    lane->checkpoint_ns = plat_monotonic_ns();
    bool ok = outlet_checkpoint_take(lane, false, &err);
    if (!ok) {
        outlet_lane_warn(lane, err.text);
    }
    return ok;
}

static void note_position_now_and_then(struct outlet_lane *lane)
{
    if (plat_monotonic_ns() - lane->checkpoint_ns >= checkpoint_every_ns) {
        outlet_batch_note_position(lane);
    }
}

void outlet_batch_settle(struct outlet_lane *lane, const struct spool_item *item, bool settled)
{
    struct outlet *outlet = lane->outlet;
    struct spool *spool = outlet->settings.spool;
    if (settled && !spool->keeps) {
        plat_mutex_lock(&outlet->mutex);
        settle_batch(outlet, item->batch);
        plat_mutex_unlock(&outlet->mutex);
        note_position_now_and_then(lane);
    } else if (!settled && delivery_host_ended(lane->host)) {
        outlet_lane_end(lane);
    }
    spool->ops->ack(spool, outlet->settings.cursor, item, settled);
    if (settled && spool->keeps) {
        note_position_now_and_then(lane);
    }
}

/* Room for what is parked of a batch, and which of its routes are. False: there is no memory. */
static bool prepare_to_park(struct outlet_lane *lane)
{
    const struct piece *piece = &lane->batch->piece;
    bool routed = lane->outlet->parks && lane->item->route < piece->route_count;
    lane->marks_count = 0;
    lane->any_shut = false;
    if (!routed || piece->count == 0) {
        return true;
    }
    const struct routes *routes = &piece->routes[lane->item->route];
    if (!grow_to(&lane->marks, piece->count, &lane->marks_capacity, sizeof(*lane->marks)) ||
        !grow_to(&lane->shut, routes->name_count, &lane->shut_capacity, sizeof(*lane->shut)) ||
        !grow_to(&lane->list, piece->count, &lane->list_capacity, sizeof(*lane->list))) {
        return false;
    }
    memset(lane->marks, 0, piece->count);
    lane->marks_count = piece->count;
    lane->any_shut = parking_any(&lane->outlet->parking) &&
                     parking_look(
                         &lane->outlet->parking, routes->names, routes->name_count, lane->shut);
    return true;
}

void outlet_batch_begin(
    struct outlet_lane *lane, const struct spool_item *item, bool tried, uint64_t since_ns)
{
    lane->item = item;
    lane->batch = item->batch;
    lane->tried = tried;
    lane->suspect = false;
    lane->probe = 0;
    lane->cleared = false;
    lane->since_ns = since_ns;
    lane->records = NULL;
    lane->first = 0;
    lane->later = item->batch->segment_count;
    lane->parked = 0;
    lane->closed_route = UINT32_MAX;
    lane->undelivered = 0;
    lane->delivered_before = 0;
    lane->noted = false;
    lane->over = false;
    memset(lane->lost, 0, sizeof(lane->lost));
    while (!lane->over && !prepare_to_park(lane)) {
        lane->over = !outlet_lane_pause(lane, NO_MEMORY_WAIT_MS);
    }
}

void outlet_batch_end(struct outlet_lane *lane)
{
    lane->batch = NULL;
    lane->item = NULL;
}

void outlet_batch_work_on(struct outlet_lane *lane, const struct spool_item *item)
{
    outlet_batch_begin(lane, item, false, plat_monotonic_ns());
    deliver(lane);
    if (lane->parked && outlet_parked_hold(lane)) {
        return;
    }
    outlet_batch_tell_ledger(lane);
    outlet_batch_end(lane);
    outlet_batch_settle(lane, item, lane->undelivered == 0);
}
