#include "pipeline/deliver/outlet.h"

#include <stdlib.h>

#include "pipeline/deliver/outlet_checkpoint.h"
#include "pipeline/deliver/outlet_lane.h"
#include "pipeline/deliver/outlet_parked.h"
#include "platform/plat_clock.h"

/*
 * Life and state of an outlet; its work is done in lanes (outlet_lane.h).
 *
 * Acks form a low-water mark (ack_mark.h). The mutex guards the state that is stored (mark, stored,
 * checkpoint), and is held for moments only.
 */

/* Held batches occupy the spool: at most half of it. */
static void init_parking(struct outlet *outlet)
{
    struct spool *spool = outlet->settings.spool;
    struct spool_usage usage;
    spool->ops->usage(spool, &usage);
    uint64_t max_bytes = usage.max_bytes ? usage.max_bytes / 2 + 1 : UINT64_MAX;
    size_t workers = outlet->settings.workers; /* of several one is left to what is not parked */
    parking_init(
        &outlet->parking, &outlet->settings.retry, max_bytes, workers > 1 ? workers - 1 : 1);
    outlet->parking.tell = outlet_parked_tell;
    outlet->parking.self = outlet;
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
    atomic_init(&outlet->state, OUTLET_RUNS);
    atomic_init(&outlet->end, OUTLET_OPEN);
    atomic_init(&outlet->quiet_until_ns, 0);
    outlet->settings = *settings;
    outlet->news = (struct outlet_news){.output = settings->name,
        .index = settings->index,
        .ledger = settings->ledger,
        .dead_letters = settings->dead_letters,
        .losses = settings->losses,
        .session_count = settings->session_count,
        .warn = settings->warn,
        .self = settings->self};
    outlet_news_init(&outlet->news);
    outlet->parks = settings->ops->route && settings->ops->route(settings->settings) &&
                    !outlet_checkpoint_has(outlet);
    init_parking(outlet);
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
    for (size_t i = 0; i < lanes && i < OUTLET_MAX_LANES; i++) {
        if (!outlet_lane_init(&outlet->lanes[i], outlet, err)) {
            outlet_destroy(outlet);
            return NULL;
        }
        outlet->lane_count++;
    }
    return outlet;
}

void outlet_close(struct outlet *outlet)
{
    for (size_t i = 0; i < outlet->lane_count; i++) {
        outlet_lane_close(&outlet->lanes[i]);
    }
}

void outlet_destroy(struct outlet *outlet)
{
    if (!outlet) {
        return;
    }
    for (size_t i = 0; i < outlet->lane_count; i++) {
        outlet_lane_fini(&outlet->lanes[i]);
    }
    ack_mark_fini(&outlet->mark);
    buf_fini(&outlet->checkpoint);
    free(outlet->stored);
    plat_cond_fini(&outlet->changed);
    outlet_news_fini(&outlet->news);
    parking_fini(&outlet->parking);
    plat_mutex_fini(&outlet->mutex);
    free(outlet);
}

bool outlet_start(struct outlet *outlet, struct error *err)
{
    for (size_t i = 0; i < outlet->lane_count; i++) {
        if (!outlet_lane_start(&outlet->lanes[i], err)) {
            return false;
        }
    }
    return true;
}

void outlet_move(struct outlet *outlet, enum outlet_state to)
{
    plat_mutex_lock(&outlet->mutex);
    if (to > atomic_load(&outlet->state)) {
        outlet->cancelled_ns = to == OUTLET_CANCELS ? plat_monotonic_ns() : 0;
        atomic_store(&outlet->state, to);
        plat_cond_broadcast(&outlet->changed);
    }
    plat_mutex_unlock(&outlet->mutex);
    outlet_lane_turn_away(outlet);
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
        if (atomic_load(&outlet->state) == OUTLET_CANCELS) {
            in_time = plat_cond_wait_until(&outlet->changed, &outlet->mutex,
                outlet->cancelled_ns + (uint64_t)OUTLET_STUCK_MS * NS_PER_MS);
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
    return atomic_load(&outlet->end) == OUTLET_CLOSED;
}

uint64_t outlet_progress(
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
