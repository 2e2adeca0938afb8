#include "pipeline/work/provider_ladder.h"

#include <stdlib.h>

#include "support/test.h"

/* With a clock of the test's own. */
static const uint64_t second_ns = UINT64_C(1000000000);

enum { CRITICAL = 1, ERROR = 2, WARNING = 3, INFORMATION = 4, VERBOSE = 5 };

static uint64_t next_random(uint64_t *state)
{
    /* splitmix64, Steele, Lea and Flood 2014 */
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* ---- against a model ------------------------------------------------------------------------- */

/*
 * The rules of provider_ladder.h, implemented in another way: a bucket of events and one of bytes,
 * in billionths, and a list of all events since the last tick.
 */
enum { MODEL_EVENTS = 1 << 16 };

struct model {
    struct provider_limit limit;
    int64_t events;
    int64_t bytes;
    uint64_t now;
    uint64_t window;
    unsigned step;
    unsigned calm;
    uint64_t sampled;
    struct came {
        uint8_t level;
        uint64_t bytes;
    } list[MODEL_EVENTS];
    size_t count;
};

static int64_t most(uint64_t limit, const struct model *model)
{
    return (int64_t)(limit * model->limit.burst_ns);
}

static void model_init(struct model *model, const struct provider_limit *limit)
{
    *model = (struct model){.limit = *limit};
    model->events = most(limit->events, model);
    model->bytes = most(limit->bytes, model);
}

static void model_fill(struct model *model, uint64_t now)
{
    uint64_t passed = now - model->now;
    model->now = now;
    model->events += (int64_t)(passed * model->limit.events);
    model->bytes += (int64_t)(passed * model->limit.bytes);
    model->events = model->events > most(model->limit.events, model)
                        ? most(model->limit.events, model)
                        : model->events;
    model->bytes = model->bytes > most(model->limit.bytes, model) ? most(model->limit.bytes, model)
                                                                  : model->bytes;
}

/* A quarter of the bucket is the reserve, and an eighth of that a step: 32 parts in all. */
static unsigned model_step(int64_t left, int64_t full)
{
    unsigned step = 0;
    for (int64_t part = 7; part >= 1 && full; part--) {
        step += left * 32 < full * part;
    }
    return step;
}

static bool model_is_empty(const struct model *model)
{
    return (model->limit.events && model->events <= 0) || (model->limit.bytes && model->bytes <= 0);
}

static enum provider_cut model_ask(struct model *model, uint8_t level, uint64_t bytes, uint64_t now)
{
    model_fill(model, now);
    assert_true(model->count < MODEL_EVENTS);
    model->list[model->count++] = (struct came){level, bytes};
    unsigned by_events = model_step(model->events, most(model->limit.events, model));
    unsigned by_bytes = model_step(model->bytes, most(model->limit.bytes, model));
    unsigned least = by_events > by_bytes ? by_events : by_bytes;
    if (least > model->step) {
        model->step = least;
        model->calm = 0;
    }
    bool severe = level == CRITICAL || level == ERROR;
    if (model_is_empty(model) || (model->step == 7 && !severe)) {
        return PROVIDER_CUT_PROVIDER;
    }
    if ((model->step >= 5 && level >= VERBOSE) || (model->step >= 6 && level == INFORMATION)) {
        return PROVIDER_CUT_VERBOSE;
    }
    static const uint64_t shares[] = {1, 2, 4, 8, 16, 16, 16, 16};
    uint64_t share = shares[model->step];
    if (!severe && share > 1) {
        uint64_t place = ++model->sampled * UINT64_C(0x9e3779b97f4a7c15);
        if (place > UINT64_MAX / share) {
            return PROVIDER_CUT_SAMPLED;
        }
    }
    model->events -= model->limit.events ? (int64_t)second_ns : 0;
    model->bytes -= model->limit.bytes ? (int64_t)(bytes * second_ns) : 0;
    return PROVIDER_CUT_NONE;
}

/* The share that the step would have kept, in sixteenths of events and bytes. */
static void model_kept(
    const struct model *model, unsigned step, uint64_t *ret_events, uint64_t *ret_bytes)
{
    static const uint64_t sixteenths[] = {16, 8, 4, 2, 1, 1, 1, 0};
    *ret_events = 0;
    *ret_bytes = 0;
    for (size_t i = 0; i < model->count; i++) {
        uint8_t level = model->list[i].level;
        uint64_t part = level == CRITICAL || level == ERROR ? 16
                        : step >= 5 && level >= VERBOSE     ? 0
                        : step >= 6 && level == INFORMATION ? 0
                                                            : sixteenths[step];
        *ret_events += part;
        *ret_bytes += part * model->list[i].bytes;
    }
}

static void model_tick(struct model *model, uint64_t now)
{
    if (now < model->window + second_ns) {
        return;
    }
    model_fill(model, now);
    if (model->step) {
        uint64_t events;
        uint64_t bytes;
        model_kept(model, model->step - 1, &events, &bytes);
        double seconds = (double)(now - model->window) / 1e9;
        bool calm = (!model->limit.events ||
                        ((double)events / 16 <= (double)model->limit.events * seconds * 0.8 &&
                            model->events * 4 >= most(model->limit.events, model))) &&
                    (!model->limit.bytes ||
                        ((double)bytes / 16 <= (double)model->limit.bytes * seconds * 0.8 &&
                            model->bytes * 4 >= most(model->limit.bytes, model)));
        model->calm = calm ? model->calm + 1 : 0;
        model->step -= model->calm >= 3;
    }
    model->count = 0;
    model->window = now;
}

/* Floods, trickles and pauses with any mix of levels, with limits that both can count exactly. */
static void it_does_as_the_model_does(void **state)
{
    (void)state;
    static const uint64_t event_limits[] = {0, 10, 1000, 20000};
    static const uint64_t byte_limits[] = {0, 1000, 100000, 1000000};
    struct model *model = malloc(sizeof(*model));
    assert_non_null(model);
    unsigned seen[PROVIDER_STEP_COUNT] = {0};
    unsigned downs = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t random = seed;
        struct provider_limit limit = {.events = event_limits[next_random(&random) % 4],
            .bytes = byte_limits[next_random(&random) % 4],
            .burst_ns = second_ns * (seed % 2 ? 4 : 32)};
        struct provider_ladder ladder;
        provider_ladder_init(&ladder, &limit, 0);
        model_init(model, &limit);
        uint64_t now = 0;
        for (int phase = 0; phase < 12; phase++) {
            uint64_t gap_ns = second_ns >> (next_random(&random) % 18);
            uint64_t top = next_random(&random) % 7;
            for (int i = 0; i < 3000; i++) {
                now += next_random(&random) % (2 * gap_ns);
                if (next_random(&random) % 32 == 0) {
                    unsigned before = ladder.step;
                    provider_ladder_tick(&ladder, now);
                    model_tick(model, now);
                    assert_int_equal(ladder.step, model->step);
                    downs += ladder.step < before;
                }
                uint8_t level = (uint8_t)(next_random(&random) % (top + 1));
                uint64_t bytes = next_random(&random) % 2000;
                enum provider_cut cut = provider_ladder_ask(&ladder, level, bytes, now);
                assert_int_equal(cut, model_ask(model, level, bytes, now));
                assert_int_equal(ladder.step, model->step);
                seen[ladder.step]++;
            }
        }
    }
    free(model);
    for (int i = 0; i < PROVIDER_STEP_COUNT; i++) {
        assert_true(seen[i] > 0);
    }
    assert_true(downs > 10);
}

/* ---- properties ------------------------------------------------------------------------------ */

struct run {
    struct provider_ladder ladder;
    uint64_t now;
    uint64_t kept;
    uint64_t kept_bytes;
    uint64_t cuts[PROVIDER_CUT_COUNT];
    unsigned changes;
};

static void run_init(struct run *run, uint64_t events, uint64_t bytes)
{
    *run = (struct run){.now = 0};
    struct provider_limit limit = {.events = events, .bytes = bytes, .burst_ns = 4 * second_ns};
    provider_ladder_init(&run->ladder, &limit, 0);
}

/* ${rate} events a second for so many seconds, with alternating levels. */
static void send(struct run *run, uint64_t rate, uint64_t seconds, const uint8_t *levels,
    size_t level_count, uint64_t bytes)
{
    for (uint64_t i = 0; i < rate * seconds; i++) {
        run->now += second_ns / rate;
        unsigned before = run->ladder.step;
        if (i % (rate / 10 + 1) == 0) {
            provider_ladder_tick(&run->ladder, run->now);
        }
        enum provider_cut cut = provider_ladder_ask(
            &run->ladder, levels[i % level_count], bytes, run->now);
        run->changes += run->ladder.step != before;
        run->cuts[cut]++;
        run->kept += cut == PROVIDER_CUT_NONE;
        run->kept_bytes += cut == PROVIDER_CUT_NONE ? bytes : 0;
    }
}

static const uint8_t mixed[] = {WARNING, INFORMATION, VERBOSE, VERBOSE};

static void the_budget_holds_whatever_comes(void **state)
{
    (void)state;
    static const uint8_t severe[] = {CRITICAL, ERROR};
    struct run run;
    run_init(&run, 1000, 0);
    send(&run, 100000, 20, severe, sizeof(severe), 100);
    assert_true(run.kept <= 1000 * (20 + 4) + 1);
    assert_true(run.kept >= 1000 * 20);
    run_init(&run, 0, 50000);
    send(&run, 20000, 20, mixed, sizeof(mixed), 700);
    assert_true(run.kept_bytes <= 50000 * (20 + 4) + 700);
    assert_true(run.kept_bytes > 0);
}

static void within_the_budget_everything_is_kept(void **state)
{
    (void)state;
    struct run run;
    run_init(&run, 1000, 100000);
    send(&run, 1000, 60, mixed, sizeof(mixed), 100);
    assert_int_equal(run.kept, 60000);
    /* Saved records come at once, like a buffer, of which ETW hands over one a second. */
    for (int burst = 0; burst < 20; burst++) {
        run.now += second_ns;
        for (int i = 0; i < 1000; i++) {
            assert_int_equal(
                provider_ladder_ask(&run.ladder, VERBOSE, 100, run.now), PROVIDER_CUT_NONE);
        }
    }
}

static void steps_come_in_the_order_that_is_announced(void **state)
{
    (void)state;
    struct run run;
    run_init(&run, 1000, 0);
    unsigned last = 0;
    enum provider_cut worst = PROVIDER_CUT_NONE;
    for (int i = 0; i < 1000000 && run.ladder.step < PROVIDER_STEP_PROVIDER; i++) {
        enum provider_cut cut = provider_ladder_ask(&run.ladder, mixed[i % 4], 1, run.now += 1000);
        assert_true(run.ladder.step == last || run.ladder.step == last + 1);
        last = run.ladder.step;
        assert_true(cut <= PROVIDER_CUT_SAMPLED || last >= PROVIDER_STEP_VERBOSE);
        assert_true(cut != PROVIDER_CUT_PROVIDER || last == PROVIDER_STEP_PROVIDER);
        worst = cut > worst ? cut : worst;
    }
    assert_int_equal(last, PROVIDER_STEP_PROVIDER);
    assert_int_equal(worst, PROVIDER_CUT_PROVIDER);
    /* Errors are dropped last: some pass, then none. */
    assert_int_equal(provider_ladder_ask(&run.ladder, VERBOSE, 1, run.now), PROVIDER_CUT_PROVIDER);
    assert_int_equal(provider_ladder_ask(&run.ladder, ERROR, 1, run.now), PROVIDER_CUT_NONE);
    for (int i = 0; i < 1000; i++) {
        provider_ladder_ask(&run.ladder, ERROR, 1, run.now);
    }
    assert_int_equal(provider_ladder_ask(&run.ladder, ERROR, 1, run.now), PROVIDER_CUT_PROVIDER);
}

static void a_steady_rate_rests_on_one_step(void **state)
{
    (void)state;
    static const struct {
        uint64_t rate;
        unsigned step;
    } rows[] = {{1500, 1}, {3000, 2}, {6000, 3}, {12000, 4},
        /* half are verbose, a quarter informational: 1/16 of the rest */
        {25000, 5}, {50000, 6}, {200000, 7}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct run run;
        run_init(&run, 1000, 0);
        send(&run, rows[i].rate, 60, mixed, sizeof(mixed), 10);
        assert_int_equal(run.ladder.step, rows[i].step);
        unsigned changes = run.changes;
        assert_int_equal(changes, rows[i].step);
        send(&run, rows[i].rate, 20, mixed, sizeof(mixed), 10);
        assert_int_equal(run.changes, changes);
    }
}

static void it_comes_back_step_by_step(void **state)
{
    (void)state;
    struct run run;
    run_init(&run, 1000, 0);
    send(&run, 200000, 5, mixed, sizeof(mixed), 10);
    assert_int_equal(run.ladder.step, 7);
    /* 900 are within the budget, but near its limit: so the ladder stays on the step that leaves
     * out half. */
    send(&run, 900, 30, mixed, sizeof(mixed), 10);
    assert_int_equal(run.ladder.step, 1);
    unsigned before = run.changes;
    send(&run, 900, 30, mixed, sizeof(mixed), 10);
    assert_int_equal(run.changes, before);
    send(&run, 700, 10, mixed, sizeof(mixed), 10);
    assert_int_equal(run.ladder.step, 0);
    /* That is also true if no event comes at all. */
    send(&run, 200000, 5, mixed, sizeof(mixed), 10);
    for (unsigned left = 7; left > 0; left--) {
        for (int i = 0; i < (left == 7 ? 4 : 1) && run.ladder.step == left; i++) {
            provider_ladder_tick(&run.ladder, run.now += second_ns);
        }
        assert_int_equal(run.ladder.step, left - 1);
    }
}

/* In whatever order events come, each kind has its share. */
static void a_sample_is_fair_to_what_comes_in_turns(void **state)
{
    (void)state;
    for (unsigned step = 1; step <= 4; step++) {
        for (unsigned period = 1; period <= 16; period++) {
            struct provider_limit limit = {.events = 1000000000, .burst_ns = 4 * second_ns};
            struct provider_ladder ladder;
            provider_ladder_init(&ladder, &limit, 0);
            ladder.step = step;
            uint64_t kept[16] = {0};
            enum { TURNS = 10000 };
            for (unsigned i = 0; i < TURNS * period; i++) {
                kept[i % period] += provider_ladder_ask(&ladder, 0, 0, 0) == PROVIDER_CUT_NONE;
            }
            double share = (double)TURNS / (double)(1u << step);
            for (unsigned k = 0; k < period; k++) {
                assert_true((double)kept[k] > share * 0.95 && (double)kept[k] < share * 1.05);
            }
        }
    }
}

/* An event larger than all that the budget ever saves is paid for afterwards. */
static void a_debt_is_paid(void **state)
{
    (void)state;
    struct run run;
    run_init(&run, 0, 100);
    assert_int_equal(provider_ladder_ask(&run.ladder, ERROR, 60000, 0), PROVIDER_CUT_NONE);
    uint64_t paid = (60000 - 400) / 100 * second_ns;
    assert_int_equal(provider_ladder_ask(&run.ladder, ERROR, 1, paid), PROVIDER_CUT_PROVIDER);
    assert_int_equal(provider_ladder_ask(&run.ladder, ERROR, 1, paid + 1), PROVIDER_CUT_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_does_as_the_model_does),
        cmocka_unit_test(the_budget_holds_whatever_comes),
        cmocka_unit_test(within_the_budget_everything_is_kept),
        cmocka_unit_test(steps_come_in_the_order_that_is_announced),
        cmocka_unit_test(a_steady_rate_rests_on_one_step),
        cmocka_unit_test(it_comes_back_step_by_step),
        cmocka_unit_test(a_sample_is_fair_to_what_comes_in_turns),
        cmocka_unit_test(a_debt_is_paid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
