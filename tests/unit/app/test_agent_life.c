#include "app/run/agent_life.h"

#include "support/test.h"

enum { RUN, WAY, STOP, UP, END, STATES };

static const enum agent_state states[] = {AGENT_STATE_RUNNING, AGENT_STATE_MAKING_WAY,
    AGENT_STATE_STOPPING, AGENT_STATE_CANCELLING, AGENT_STATE_ENDED};

struct fixture {
    struct log *log;
    struct agent_life *life;
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
    f->life = agent_life_create(f->log, 1, &err);
    assert_non_null(f->life);
    if (at == UP) {
        assert_true(agent_life_change(f->life, AGENT_STATE_STOPPING));
    }
    if (at != RUN) {
        assert_true(agent_life_change(f->life, states[at]));
    }
}

static void fixture_fini(struct fixture *f)
{
    agent_life_destroy(f->life);
    log_destroy(f->log);
}

static void only_some_states_follow_one(void **state)
{
    (void)state;
    static const bool may[STATES][STATES] = {
        [RUN] = {[WAY] = true, [STOP] = true, [END] = true},
        [WAY] = {[UP] = true, [END] = true},
        [STOP] = {[UP] = true, [END] = true},
        [UP] = {[END] = true},
    };
    for (size_t from = 0; from < STATES; from++) {
        for (size_t to = 0; to < STATES; to++) {
            struct fixture f;
            fixture_init(&f, from);
            assert_int_equal(agent_life_change(f.life, states[to]), may[from][to]);
            /* A second request to stop is no mistake. */
            assert_int_equal(f.warnings, !may[from][to] && to != WAY && to != STOP);
            /* It is in the new state, or still in the one before. */
            size_t now = may[from][to] ? to : from;
            for (size_t next = 0; next < STATES; next++) {
                if (!may[now][next]) {
                    assert_false(agent_life_change(f.life, states[next]));
                }
            }
            assert_int_equal(agent_life_change(f.life, AGENT_STATE_ENDED), now != END);
            fixture_fini(&f);
        }
    }
}

static void outputs_have_time_while_it_stops(void **state)
{
    (void)state;
    for (size_t at = 0; at < STATES; at++) {
        struct fixture f;
        fixture_init(&f, at);
        assert_int_equal(agent_life_deadline(f.life) != UINT64_MAX, at == WAY || at == STOP);
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
        agent_life_change(f.life, AGENT_STATE_STOPPING); /* the process stops meanwhile */
        agent_life_change(f.life, AGENT_STATE_CANCELLING);
        agent_life_change(f.life, AGENT_STATE_ENDED);
        assert_int_equal(agent_life_has_successor(f.life), first[i] == WAY);
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
