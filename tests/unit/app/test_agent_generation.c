#include "app/run/agent_internal.h"
#include "support/pipeline_rig.h"

/* An agent that makes way for another while an output does not return from a call. */

struct fixture {
    struct agent_process process;
    struct agent agent;
    size_t warnings;
};

static void count_line(void *self, struct span line)
{
    struct fixture *f = self;
    f->warnings += line.size > 0;
}

static void fixture_init(struct fixture *f, struct pipeline *pipeline, bool stops)
{
    struct error err;
    *f = (struct fixture){.process = {.asked_to_stop = stops}};
    f->agent = (struct agent){
        .process = &f->process, .pipeline = pipeline, .stuck = true, .makes_way = true};
    plat_mutex_init(&f->process.mutex);
    plat_cond_init(&f->process.changed);
    plat_mutex_init(&f->agent.mutex);
    f->agent.log = log_create(
        &(struct log_settings){.level = LOG_LEVEL_WARNING, .console = count_line, .self = f}, &err);
    assert_non_null(f->agent.log);
}

static void fixture_fini(struct fixture *f)
{
    log_destroy(f->agent.log);
    plat_mutex_fini(&f->agent.mutex);
    plat_cond_fini(&f->process.changed);
    plat_mutex_fini(&f->process.mutex);
}

static void a_process_that_stops_does_not_wait_for_the_output(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, NULL, true);
    assert_false(agent_finish(&f.agent));
    assert_true(f.agent.over);
    assert_int_equal(f.warnings, 1);
    fixture_fini(&f);
}

static void once_the_output_returns_the_agent_is_finished(void **state)
{
    (void)state;
    struct fixture f;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig_start(&rig);
    rig_finish(&rig); /* it has returned, and nothing is under way */
    fixture_init(&f, rig.pipeline, false);
    assert_true(agent_finish(&f.agent));
    assert_true(f.agent.over);
    fixture_fini(&f);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_stops_does_not_wait_for_the_output),
        cmocka_unit_test(once_the_output_returns_the_agent_is_finished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
