#include "pipeline/work/provider_ladder.h"

#include <stddef.h>

/*
 * Both sides of the bucket, events and bytes, are counted in the time in which the budget grows by
 * as much: one scale for all limits, without overflow. Steps up are taken from the bucket alone, at
 * once: its last part, the reserve, is divided evenly among them. Steps down are taken from what
 * came in windows of a second, kept or not.
 */
enum { LOWEST_SHARE = 16, RESERVE_PARTS = 4, CALM_WINDOWS = 3, WELL_WITHIN_PERCENT = 80 };

static const uint64_t second_ns = UINT64_C(1000000000);

static enum provider_class class_of(uint8_t level)
{
    enum { CRITICAL = 1, ERROR = 2, INFORMATION = 4, VERBOSE = 5 };
    if (level == CRITICAL || level == ERROR) {
        return PROVIDER_CLASS_SEVERE;
    }
    if (level >= VERBOSE) {
        return PROVIDER_CLASS_VERBOSE;
    }
    return level == INFORMATION ? PROVIDER_CLASS_INFORMATION : PROVIDER_CLASS_OTHER;
}

/* Of how many events of the class one is kept at ${step}; 0: none. */
static uint64_t share_of(unsigned step, enum provider_class class)
{
    if (class == PROVIDER_CLASS_SEVERE) {
        return 1;
    }
    if ((class == PROVIDER_CLASS_VERBOSE && step >= PROVIDER_STEP_VERBOSE) ||
        (class == PROVIDER_CLASS_INFORMATION && step >= PROVIDER_STEP_INFORMATION) ||
        step >= PROVIDER_STEP_PROVIDER) {
        return 0;
    }
    return step >= PROVIDER_STEP_VERBOSE ? LOWEST_SHARE : UINT64_C(1) << step;
}

/* The time in which the budget pays for ${count}, rounded up, so that it is never exceeded. */
static uint64_t cost_ns(uint64_t count, uint64_t per_second)
{
    return per_second ? (count * second_ns + per_second - 1) / per_second : 0;
}

static int64_t reserve_ns(const struct provider_ladder *ladder)
{
    return (int64_t)(ladder->limit.burst_ns / RESERVE_PARTS);
}

static int64_t left_ns(const struct provider_ladder *ladder)
{
    return ladder->left_events_ns < ladder->left_bytes_ns ? ladder->left_events_ns
                                                          : ladder->left_bytes_ns;
}

static int64_t filled(int64_t left, int64_t more, int64_t most)
{
    return left + more < most ? left + more : most;
}

static void fill(struct provider_ladder *ladder, uint64_t now_ns)
{
    if (now_ns > ladder->filled_ns) {
        int64_t more = (int64_t)(now_ns - ladder->filled_ns);
        int64_t most = (int64_t)ladder->limit.burst_ns;
        ladder->filled_ns = now_ns;
        ladder->left_events_ns = filled(ladder->left_events_ns, more, most);
        ladder->left_bytes_ns = filled(ladder->left_bytes_ns, more, most);
    }
}

void provider_ladder_init(
    struct provider_ladder *ladder, const struct provider_limit *limit, uint64_t now_ns)
{
    *ladder = (struct provider_ladder){.limit = *limit,
        .event_ns = cost_ns(1, limit->events),
        .left_events_ns = (int64_t)limit->burst_ns,
        .left_bytes_ns = (int64_t)limit->burst_ns,
        .filled_ns = now_ns,
        .window_ns = now_ns};
}

/* ---- up -------------------------------------------------------------------------------------- */

/* The least step with so little left. */
static unsigned step_for(const struct provider_ladder *ladder)
{
    enum { STEPS = PROVIDER_STEP_COUNT - 1 };
    int64_t part = reserve_ns(ladder) / PROVIDER_STEP_COUNT;
    int64_t left = left_ns(ladder);
    if (left >= part * STEPS) {
        return PROVIDER_STEP_ALL;
    }
    return left <= 0 ? STEPS : (unsigned)(STEPS - left / part);
}

/* Every so manieth of any regular sequence of events: the fraction of a multiple of the golden
 * ratio meets no period, as a plain count would (Knuth, The Art of Computer Programming, volume 3,
 * 6.4). */
static bool is_sampled(struct provider_ladder *ladder, uint64_t share)
{
    static const uint64_t golden_ratio = UINT64_C(0x9e3779b97f4a7c15);
    ladder->phase += golden_ratio;
    return ladder->phase <= UINT64_MAX / share;
}

static enum provider_cut cut_at(struct provider_ladder *ladder, enum provider_class class)
{
    uint64_t share = share_of(ladder->step, class);
    if (left_ns(ladder) <= 0 || (share == 0 && ladder->step >= PROVIDER_STEP_PROVIDER)) {
        return PROVIDER_CUT_PROVIDER;
    }
    if (share == 0) {
        return PROVIDER_CUT_VERBOSE;
    }
    return share == 1 || is_sampled(ladder, share) ? PROVIDER_CUT_NONE : PROVIDER_CUT_SAMPLED;
}

static void count(struct provider_ladder *ladder, enum provider_class class, uint64_t bytes)
{
    ladder->window[class].events++;
    ladder->window[class].bytes += bytes;
}

static void pay(struct provider_ladder *ladder, uint64_t bytes)
{
    ladder->left_events_ns -= (int64_t)ladder->event_ns;
    ladder->left_bytes_ns -= (int64_t)cost_ns(bytes, ladder->limit.bytes);
}

void provider_ladder_charge(struct provider_ladder *ladder, uint64_t bytes, uint64_t now_ns)
{
    int64_t most_debt = -(int64_t)ladder->limit.burst_ns;
    fill(ladder, now_ns);
    count(ladder, PROVIDER_CLASS_SEVERE, bytes); /* they are kept on every step, as these are */
    pay(ladder, bytes);
    if (ladder->left_events_ns < most_debt) {
        ladder->left_events_ns = most_debt;
    }
    if (ladder->left_bytes_ns < most_debt) {
        ladder->left_bytes_ns = most_debt;
    }
}

enum provider_cut provider_ladder_ask(
    struct provider_ladder *ladder, uint8_t level, uint64_t bytes, uint64_t now_ns)
{
    enum provider_class class = class_of(level);
    fill(ladder, now_ns);
    count(ladder, class, bytes);
    unsigned least = step_for(ladder);
    if (least > ladder->step) {
        ladder->step = least;
        ladder->calm = 0;
    }
    enum provider_cut cut = cut_at(ladder, class);
    if (cut == PROVIDER_CUT_NONE) {
        pay(ladder, bytes);
    }
    return cut;
}

/* ---- down ------------------------------------------------------------------------------------ */

/* What the budget pays in the time of which ${per_second} times ${share} is used; in doubles, as
 * counts of a hostile window times a second do not fit a number. */
static bool would_do(const struct provider_ladder *ladder, unsigned step, uint64_t window_ns)
{
    double events = 0;
    double bytes = 0;
    for (int i = 0; i < PROVIDER_CLASS_COUNT; i++) {
        uint64_t share = share_of(step, (enum provider_class)i);
        events += share ? (double)ladder->window[i].events / (double)share : 0;
        bytes += share ? (double)ladder->window[i].bytes / (double)share : 0;
    }
    double seconds = (double)window_ns / (double)second_ns * (int)WELL_WITHIN_PERCENT / 100;
    const struct provider_limit *limit = &ladder->limit;
    return (limit->events == 0 || events <= (double)limit->events * seconds) &&
           (limit->bytes == 0 || bytes <= (double)limit->bytes * seconds);
}

void provider_ladder_tick(struct provider_ladder *ladder, uint64_t now_ns)
{
    if (now_ns < ladder->window_ns + second_ns) {
        return;
    }
    fill(ladder, now_ns);
    if (ladder->step != PROVIDER_STEP_ALL) {
        bool is_calm = left_ns(ladder) >= reserve_ns(ladder) &&
                       would_do(ladder, ladder->step - 1, now_ns - ladder->window_ns);
        ladder->calm = is_calm ? ladder->calm + 1 : 0;
        ladder->step -= ladder->calm >= CALM_WINDOWS;
    }
    for (int i = 0; i < PROVIDER_CLASS_COUNT; i++) {
        ladder->window[i] = (struct provider_load){0};
    }
    ladder->window_ns = now_ns;
}

const char *provider_ladder_words(unsigned step)
{
    static const char *const words[PROVIDER_STEP_COUNT] = {"everything is kept",
        "1 event in 2 is kept", "1 event in 4 is kept", "1 event in 8 is kept",
        "1 event in 16 is kept", "verbose events are left out, of the others 1 in 16 is kept",
        "verbose and informational events are left out, of the others 1 in 16 is kept",
        "critical events and errors alone are kept"};
    return words[step];
}
