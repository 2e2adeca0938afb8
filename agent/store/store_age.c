/*
 * Clocks are set: forward and back, by people, by time servers, where a machine has no clock that
 * runs on while it is off, where one is set back to an earlier state. The effect on ages is
 * bounded:
 *
 * - While the agent runs, ages are counted by a clock that cannot be set. When the other one is set
 *   forward, the time at which batches entered is moved along. When it is set back, what would have
 *   entered later than now has entered now. So a step makes nothing older.
 * - Between runs only the clock tells how long the agent was away, and that counts. But nothing is
 *   dropped for its age in a run's first hour (or quarter of max_age, if that is less): an agent that was
 *   stopped for long gets the chance to deliver, and a clock that is wrong at the start to be set. What is dropped
 *   then is counted and told, as ever.
 */
#include "store/store_own.h"

#include "store/backlog.h"
#include "store/catalogue/catalogue_batches.h"

enum { GRACE_MS = 3600000, SEEN_PARTS = 16 };
static const uint64_t filetime_ms = 10000;

static void move(uint64_t *time, int64_t step, uint64_t now)
{
    uint64_t by = step > 0 ? (uint64_t)step : 0;
    *time = *time <= now - by ? *time + by : now;
}

/* Change the times in memory; the catalogue follows with the next commit. */
static void move_all(struct store *store, int64_t step, uint64_t now)
{
    for (size_t i = 0; i < store->chains.count; i++) {
        struct chain *chain = store->chains.all[i];
        move(&chain->seen, step, now);
        chain->is_changed = true;
    }
    for (size_t i = 0; i < store->pending.count; i++) {
        move(&store->pending.batches[i]->row.entered, step, now);
    }
}

uint64_t store_now(struct store *store)
{
    int64_t step;
    uint64_t now = age_clock_now(&store->clock, &step);
    if (step) {
        store_tell(store, STORE_NEWS_CLOCK, "the clock was set %s by %lld seconds",
            step > 0 ? "forward" : "back", (long long)((step > 0 ? step : -step) / 10000000));
        move_all(store, step, now);
        store->is_clock_set = true;
        numbers_want_epoch(store->numbers);
        store->moved_forward += step > 0 ? (uint64_t)step : 0;
    }
    return now;
}

bool store_shift_ages(struct store *store, struct error *err)
{
    return !store->is_clock_set ||
           catalogue_shift_entered(store->catalogue, store->moved_forward, store->clock.wall, err);
}

bool store_age_open(struct store *store, struct error *err)
{
    uint64_t newest;
    uint64_t now = store_now(store);
    if (!catalogue_newest_entered(store->catalogue, &newest, err)) {
        return false;
    }
    for (size_t i = 0; i < store->chains.count; i++) {
        struct chain *chain = store->chains.all[i];
        chain->is_changed = chain->is_changed || chain->seen > now;
        chain->seen = chain->seen < now ? chain->seen : now;
    }
    if (newest > now) {
        store_tell(store, STORE_NEWS_CLOCK,
            "the clock was set back since the last run: waiting events count as new from now on");
        store->is_clock_set = true;
    }
    return true;
}

uint64_t store_oldest_allowed(struct store *store)
{
    uint64_t max_age_ms = store->settings.max_age_ms;
    uint64_t grace_ms = max_age_ms / 4 < GRACE_MS ? max_age_ms / 4 : GRACE_MS;
    uint64_t now = store_now(store);
    uint64_t run_ms = age_clock_monotonic_ms(&store->clock) - store->started_ms;
    if (max_age_ms == 0 || run_ms < grace_ms || now / filetime_ms <= max_age_ms) {
        return 0;
    }
    return now - max_age_ms * filetime_ms;
}

/* An open output is written as seen now and then: what it was seen last at may be that much too early. */
static void see_open(struct store *store, uint64_t now)
{
    uint64_t step = store->settings.max_age_ms * filetime_ms / SEEN_PARTS;
    for (size_t i = 0; i < store->chains.open_count; i++) {
        struct chain *chain = store->chains.open[i];
        if (chain->seen < now && now - chain->seen > step) {
            chain->seen = now;
            chain->is_changed = true;
        }
    }
}

/* Count each batch that waits for the chain. Batches that the catalogue cannot read are in no
 * gap. */
static void tell_waiting(
    struct store *store, const struct chain *chain, const struct store_loss *loss)
{
    enum { ROWS = 64 };
    for (size_t i = chain->first_range; i < chain->range_count; i++) {
        const struct chain_range *range = &chain->ranges[i];
        uint64_t after = chain_lower(chain, range);
        struct catalogue_batch batches[ROWS];
        size_t found = ROWS;
        while (found == ROWS && catalogue_next_batches(store->catalogue, range->stream, after,
                                    range->last, batches, ROWS, &found, NULL)) {
            for (size_t k = 0; k < found; k++) {
                after = batches[k].id;
                if (!chain_is_early(chain, after) && !store_is_removed(store, after)) {
                    struct store_row row = store_row_of(&batches[k]);
                    loss->lost(loss->self, SIZE_MAX, buf_span(&chain->name), &row);
                }
            }
        }
    }
}

/* ${loss} may be NULL. */
static void remove_output(struct store *store, struct chain *chain, const struct store_loss *loss)
{
    struct store_backlog backlog = {.records = 0};
    if (store->catalogue) {
        backlog_measure(store->catalogue, chain, &backlog, NULL);
    }
    store_tell(store, STORE_NEWS_OUTPUT_REMOVED,
        "output \"%.*s\" was not in the configuration for max_age: the %llu records that wait for "
        "it are dropped",
        SPAN_ARG(buf_span(&chain->name)), (unsigned long long)backlog.records);
    if (store->catalogue && loss) {
        tell_waiting(store, chain, loss);
    }
    chains_remove(&store->chains, chain, NULL); /* or the next time */
    unneeded_look(store->unneeded);
}

static void remove_absent(struct store *store, const struct store_loss *loss)
{
    uint64_t oldest = store_oldest_allowed(store);
    if (oldest == 0) {
        return;
    }
    see_open(store, store->clock.wall);
    for (size_t i = store->chains.count; i-- > 0;) {
        struct chain *chain = store->chains.all[i];
        if (!chain->is_open && chain->seen < oldest) {
            remove_output(store, chain, loss);
        }
    }
}

void store_remove_absent(struct store *store)
{
    if (!store->caller_removes_old) {
        remove_absent(store, NULL);
    }
}

void store_remove_old(struct store *store, const struct store_loss *loss)
{
    store->caller_removes_old = true;
    remove_absent(store, loss);
}
