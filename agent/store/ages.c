/*
 * Clocks are set: forward and back, by people, by time servers, where a machine has no clock that
 * runs on while it is off, where one is set back to an earlier state. The effect on ages is
 * bounded:
 *
 * - While the agent runs, ages are counted by a clock that cannot be set. When the other one is set
 *   forward, the time at which batches entered is moved along. When it is set back, what would have
 *   entered later than now has entered now. So a step makes nothing older.
 * - Between runs only the clock tells how long the agent was away, and that counts. But nothing is
 *   dropped for its age in a run's first hour (or quarter of max_age, if that is less): an agent
 *   that was stopped for long gets the chance to deliver, and a clock that is wrong at the start to
 *   be set. What is dropped then is counted and told, as ever.
 */
#include "store/ages.h"
#include "base/filetime.h"

#include <stdlib.h>

#include "store/age_clock.h"

enum { GRACE_MS = 3600000 };

struct ages {
    struct age_clock clock;
    struct chains *chains;
    struct pending *pending;
    struct numbers *numbers;
    const struct report *report;
    uint64_t max_age_ms;
    uint64_t started_ms;    /* monotonic */
    bool is_changed;        /* what the catalogue says of ages is to be moved … */
    uint64_t moved_forward; /* … by so much, 100 ns */
};

struct ages *ages_create(const struct store_settings *settings, struct chains *chains,
    struct pending *pending, struct numbers *numbers, const struct report *report)
{
    struct ages *ages = calloc(1, sizeof(*ages));
    if (ages) {
        *ages = (struct ages){.chains = chains,
            .pending = pending,
            .numbers = numbers,
            .report = report,
            .max_age_ms = settings->max_age_ms};
        age_clock_init(&ages->clock, settings->clock);
        ages->started_ms = age_clock_monotonic_ms(&ages->clock);
    }
    return ages;
}

void ages_destroy(struct ages *ages)
{
    free(ages);
}

uint64_t ages_now(struct ages *ages)
{
    int64_t step;
    uint64_t now = age_clock_now(&ages->clock, &step);
    if (step) {
        report_news(ages->report, STORE_NEWS_CLOCK, "the clock was set %s by %lld seconds",
            step > 0 ? "forward" : "back", (long long)((step > 0 ? step : -step) / 10000000));
        uint64_t forward = step > 0 ? (uint64_t)step : 0;
        chains_shift_seen(
            ages->chains, forward, now); /* the catalogue follows with the next commit */
        pending_shift_entered(ages->pending, forward, now);
        numbers_want_epoch(ages->numbers);
        ages->is_changed = true;
        ages->moved_forward += forward;
    }
    return now;
}

uint64_t ages_monotonic_ms(const struct ages *ages)
{
    return age_clock_monotonic_ms(&ages->clock);
}

bool ages_begin(struct ages *ages, struct catalogue *catalogue, struct error *err)
{
    uint64_t newest;
    uint64_t now = ages_now(ages);
    if (!catalogue_newest_entered(catalogue, &newest, err)) {
        return false;
    }
    chains_shift_seen(ages->chains, 0, now);
    if (newest > now) {
        report_news(ages->report, STORE_NEWS_CLOCK,
            "the clock was set back since the last run: waiting events count as new from now on");
        ages->is_changed = true;
    }
    return true;
}

bool ages_are_changed(const struct ages *ages)
{
    return ages->is_changed;
}

bool ages_write(const struct ages *ages, struct catalogue *catalogue, struct error *err)
{
    return !ages->is_changed ||
           catalogue_shift_entered(catalogue, ages->moved_forward, ages->clock.wall, err);
}

void ages_written(struct ages *ages)
{
    ages->is_changed = false;
    ages->moved_forward = 0;
}

uint64_t ages_oldest_allowed(struct ages *ages)
{
    uint64_t max_age_ms = ages->max_age_ms;
    uint64_t grace_ms = max_age_ms / 4 < GRACE_MS ? max_age_ms / 4 : GRACE_MS;
    uint64_t now = ages_now(ages);
    uint64_t run_ms = ages_monotonic_ms(ages) - ages->started_ms;
    if (max_age_ms == 0 || run_ms < grace_ms || now / FILETIME_PER_MS <= max_age_ms) {
        return 0;
    }
    return now - max_age_ms * FILETIME_PER_MS;
}
