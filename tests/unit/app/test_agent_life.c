#include "app/run/agent_life.h"

#include "platform/plat_clock.h"
#include "support/test.h"

enum { RUN, WAY, STOP, UP, END, STATES };

#define SHUTDOWN_NS UINT64_C(3600000000000)

static const enum agent_state states[] = {AGENT_STATE_RUNNING, AGENT_STATE_MAKING_WAY,
    AGENT_STATE_STOPPING, AGENT_STATE_CANCELLING, AGENT_STATE_ENDED};

struct fixture {
    struct log *log;
    struct agent_life life;
    size_t warnings;
};

static void count_line(void *self, struct span line)
{
    struct fixture *f = self;
    f->warnings += line.size > 0;
}

/* A life that is in the state ${at}. */
static void fixture_init(struct fixture *f, size_t at)
{
    const struct log_settings settings = {
        .level = LOG_LEVEL_WARNING, .console = count_line, .self = f};
    struct error err;
    *f = (struct fixture){.warnings = 0};
    f->log = log_create(&settings, &err);
    assert_non_null(f->log);
    agent_life_init(&f->life, f->log, SHUTDOWN_NS);
    if (at == UP) {
        assert_true(agent_life_change(&f->life, AGENT_STATE_STOPPING));
    }
    if (at != RUN) {
        assert_true(agent_life_change(&f->life, states[at]));
    }
}

static void fixture_fini(struct fixture *f)
{
    agent_life_fini(&f->life);
    log_destroy(f->log);
}

static const bool may[STATES][STATES] = {
    [RUN] = {[WAY] = true, [STOP] = true, [END] = true},
    [WAY] = {[UP] = true, [END] = true},
    [STOP] = {[UP] = true, [END] = true},
    [UP] = {[END] = true},
};

/* After a change from ${from} to ${to}, allowed or not, the life accepts only what may
 * follow ${now}. */
static void assert_is_in(size_t from, size_t to, size_t now)
{
    for (size_t next = 0; next < STATES; next++) {
        struct fixture f;
        fixture_init(&f, from);
        agent_life_change(&f.life, states[to]);
        assert_int_equal(agent_life_change(&f.life, states[next]), may[now][next]);
        fixture_fini(&f);
    }
}

static void only_some_states_follow_one(void **state)
{
    (void)state;
    for (size_t from = 0; from < STATES; from++) {
        for (size_t to = 0; to < STATES; to++) {
            struct fixture f;
            fixture_init(&f, from);
            assert_int_equal(agent_life_change(&f.life, states[to]), may[from][to]);
            /* A second request to stop is no mistake. */
            assert_int_equal(f.warnings, !may[from][to] && to != WAY && to != STOP);
            fixture_fini(&f);
            /* It is in the new state, or still in the one before. */
            assert_is_in(from, to, may[from][to] ? to : from);
        }
    }
}

static void outputs_have_time_while_it_stops(void **state)
{
    (void)state;
    for (size_t at = 0; at < STATES; at++) {
        struct fixture f;
        uint64_t before = plat_monotonic_ns();
        fixture_init(&f, at);
        uint64_t after = plat_monotonic_ns();
        uint64_t deadline = agent_life_deadline(&f.life);
        if (at == WAY || at == STOP) {
            assert_in_range(deadline, before + SHUTDOWN_NS, after + SHUTDOWN_NS);
            /* A request that comes later gives no more time. */
            assert_false(agent_life_change(&f.life, AGENT_STATE_STOPPING));
            assert_int_equal(agent_life_deadline(&f.life), deadline);
        } else {
            assert_true(deadline == UINT64_MAX);
        }
        fixture_fini(&f);
    }
}

static void it_is_known_to_the_end_that_another_agent_comes(void **state)
{
    (void)state;
    static const size_t first[] = {WAY, STOP};
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        fixture_init(&f, first[i]);
        agent_life_change(&f.life, AGENT_STATE_STOPPING); /* the process stops meanwhile */
        agent_life_change(&f.life, AGENT_STATE_CANCELLING);
        agent_life_change(&f.life, AGENT_STATE_ENDED);
        assert_int_equal(agent_life_has_successor(&f.life), first[i] == WAY);
        fixture_fini(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_some_states_follow_one),
        cmocka_unit_test(outputs_have_time_while_it_stops),
        cmocka_unit_test(it_is_known_to_the_end_that_another_agent_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
