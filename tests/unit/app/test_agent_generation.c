#include "app/run/agent_own.h"
#include "app/run/agent_runner_own.h"
#include "store/store.h"
#include "support/pipeline_rig.h"

/* An agent hands over to another one while an output does not return from a call. */

struct fixture {
    struct agent_runner *runner;
    struct agent_common common;
    struct agent agent;
    struct app_config config;
    struct agent_plan plan;
    struct rig rig;
    size_t warnings;
};

static void count_line(void *self, struct span line)
{
    struct fixture *f = self;
    f->warnings += line.size > 0;
}

static void fixture_init(struct fixture *f, bool stops)
{
    struct error err;
    static const struct agent_run_settings settings;
    *f = (struct fixture){.runner = agent_runner_create(&settings, &err)};
    assert_non_null(f->runner);
    if (stops) {
        agent_runner_stop(f->runner, true);
    }
    rig_init(&f->rig, 0, 0, NULL, 0);
    rig_start(&f->rig);
    rig_finish(&f->rig); /* the call has returned, and nothing is pending */
    f->agent = (struct agent){.runner = f->runner,
        .common = &f->common,
        .pipeline = f->rig.pipeline,
        .drained = AGENT_DRAIN_STUCK};
    plat_mutex_init(&f->agent.drain_mutex);
    plat_cond_init(&f->agent.drain_changed);
    f->agent.log = log_create(
        &(struct log_settings){.level = LOG_LEVEL_WARNING, .console = count_line, .self = f}, &err);
    assert_non_null(f->agent.log);
    agent_life_init(&f->agent.life, f->agent.log, 0);
    assert_true(agent_life_change(&f->agent.life, AGENT_STATE_MAKING_WAY));
    assert_true(agent_life_change(&f->agent.life, AGENT_STATE_CANCELLING));
    f->config.spool.mode = APP_SPOOL_MEMORY;
    f->agent.positions = positions_open(&(struct positions_settings){.config = &f->config,
                                            .plan = &f->plan,
                                            .log = f->agent.log,
                                            .memory = &f->common.store},
        &err);
    assert_non_null(f->agent.positions);
    assert_true(positions_begin(f->agent.positions, f->agent.pipeline, &err));
}

static void fixture_fini(struct fixture *f)
{
    rig_fini(&f->rig);
    positions_close(f->agent.positions);
    agent_life_fini(&f->agent.life);
    store_close(f->common.store);
    log_destroy(f->agent.log);
    plat_cond_fini(&f->agent.drain_changed);
    plat_mutex_fini(&f->agent.drain_mutex);
    agent_runner_destroy(f->runner);
}

/* An agent in any other state may end, without an error in the log. */
static void assert_ended(struct fixture *f)
{
    size_t before = f->warnings;
    assert_false(agent_life_change(&f->agent.life, AGENT_STATE_ENDED));
    assert_int_equal(f->warnings, before + 1);
}

static void a_process_that_stops_does_not_wait_for_the_output(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, true);
    assert_false(agent_finish(&f.agent));
    assert_int_equal(f.warnings, 1);
    assert_ended(&f);
    fixture_fini(&f);
}

static void once_the_output_returns_the_agent_is_finished(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, false);
    assert_true(agent_finish(&f.agent));
    assert_ended(&f);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_stops_does_not_wait_for_the_output),
        cmocka_unit_test(once_the_output_returns_the_agent_is_finished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
