#include "app/watch/agent_status.h"

#include "support/test.h"

/* The line for people about what an agent has done. */

static void a_line_has_every_session_and_output_of_the_plan(void **state)
{
    (void)state;
    /* Behind those of the plan is one more of each, which is none of it. */
    struct session_counts sessions[3] = {{.received = 30, .accepted = 20}};
    struct output_counts outputs[3] = {{.acked = 5}};
    const struct app_session session_configs[] = {{.name = "a"}, {.name = "b"}, {.name = "none"}};
    const struct app_output output_configs[] = {{.name = "o"}, {.name = "p"}, {.name = "none"}};
    const struct app_session *session_list[] = {
        &session_configs[0], &session_configs[1], &session_configs[2]};
    const struct app_output *output_list[] = {
        &output_configs[0], &output_configs[1], &output_configs[2]};
    sessions[0].dropped[SESSION_DROP_FULL] = 1;
    sessions[0].dropped[SESSION_DROP_STOPPED] = 2;
    sessions[0].dropped[SESSION_DROP_SPOOL_FULL] = 3;
    sessions[0].dropped[SESSION_DROP_SPOOL_DISK] = 4;
    sessions[0].dropped[SESSION_DROP_BUDGET_SAMPLED] = 100;
    sessions[0].dropped[SESSION_DROP_BUDGET_VERBOSE] = 20;
    sessions[0].dropped[SESSION_DROP_BUDGET_PROVIDER] = 7;
    sessions[0].guard[GUARD_REPAIRED] = 1;
    outputs[0].pending = 6;
    outputs[0].dropped[OUTPUT_DROP_REJECTED] = 8;
    outputs[0].dropped[OUTPUT_DROP_COUNT - 1] = 1;
    outputs[1].dead_lettered = 3;
    outputs[1].kept_too_old = 2;
    outputs[1].degraded = true;
    const struct agent_status status = {.sessions = sessions, .outputs = outputs};
    const struct agent_plan plan = {.session_configs = session_list,
        .session_count = 2,
        .output_configs = output_list,
        .output_count = 2};
    struct buf line;
    buf_init(&line, 1 << 16);
    agent_status_line(&status, &plan, &line);
    assert_span(buf_span(&line),
        "session a: 30 received, 20 accepted, 127 over budget, 10 dropped, 1 repaired; session b: "
        "0 received, 0 accepted; output o: 5 acked, 6 pending, 9 dropped; output p: 0 acked, 0 "
        "pending, 3 dead-lettered, 2 of them too old, degraded");
    buf_fini(&line);
}

static void the_last_loads_are_kept_and_what_runs_is_of_the_last_that_ran(void **state)
{
    (void)state;
    struct agent_loads loads = {.count = 0};
    for (uint64_t i = 0; i < AGENT_LOADS_KEPT + 1; i++) {
        agent_loads_add(&loads, i, 100 + i, AGENT_LOAD_RUNS);
    }
    agent_loads_add(&loads, 50, 500, AGENT_LOAD_REFUSED);
    assert_int_equal(loads.count, AGENT_LOADS_KEPT + 2);
    assert_int_equal(loads.shown, 100 + AGENT_LOADS_KEPT);
    assert_int_equal(loads.last[0].time, AGENT_LOADS_KEPT); /* in the place of the first */
    assert_int_equal(loads.last[1].time, 50);
    assert_int_equal(loads.last[1].result, AGENT_LOAD_REFUSED);
    assert_int_equal(loads.last[2].time, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_every_session_and_output_of_the_plan),
        cmocka_unit_test(the_last_loads_are_kept_and_what_runs_is_of_the_last_that_ran),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
