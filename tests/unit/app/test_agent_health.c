#include "app/watch/agent_health.h"

#include <stdio.h>

#include "support/json_check.h"
#include "support/test.h"

enum { NOW_S = 10000 };
#define SECONDS UINT64_C(1000000000)
#define AGO(seconds) ((NOW_S - (seconds)) * SECONDS)

/* A healthy machine with one live session and one output. */
struct rig {
    struct session_counts session;
    struct output_counts output;
    struct agent_status status;
    struct app_session session_config;
    struct app_output output_config;
    const struct app_session *sessions[1];
    const struct app_output *outputs[1];
    struct agent_plan plan;
    struct agent_loads loads;
    struct agent_session_state states[1];
    bool ended[1];
    struct agent_health_inputs inputs;
    struct agent_health health;
};

static void rig_init(struct rig *rig)
{
    *rig = (struct rig){.session_config = {.name = "security"},
        .output_config = {.name = "siem", .batch = {.age_ns = SECONDS}}};
    rig->sessions[0] = &rig->session_config;
    rig->outputs[0] = &rig->output_config;
    rig->status = (struct agent_status){.sessions = &rig->session, .outputs = &rig->output};
    rig->plan = (struct agent_plan){.session_configs = rig->sessions,
        .session_count = 1,
        .output_configs = rig->outputs,
        .output_count = 1};
    rig->inputs = (struct agent_health_inputs){.status = &rig->status,
        .plan = &rig->plan,
        .loads = &rig->loads,
        .sessions = rig->states,
        .ended_outputs = rig->ended,
        .spool_keeps = true,
        .now_ns = NOW_S * SECONDS};
}

/* The causes by name, each with a blank after it. */
static void expect(struct rig *rig, bool healthy, const char *names)
{
    char found[400] = "";
    size_t size = 0;
    agent_health_look(&rig->inputs, &rig->health);
    for (size_t i = 0; i < rig->health.count; i++) {
        size += (size_t)snprintf(found + size, sizeof(found) - size, "%s ",
            agent_health_cause_name(rig->health.findings[i].cause));
    }
    assert_string_equal(found, names);
    assert_int_equal(rig->health.healthy, healthy);
    assert_true(rig->health.ready);
}

static void an_agent_without_trouble_is_healthy(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    rig.output = (struct output_counts){.offered = 5, .pending = 5, .progress_ns = AGO(5)};
    expect(&rig, true, "");
}

static void an_output_has_one_cause_that_says_most(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    rig.output = (struct output_counts){.pending = 5, .progress_ns = AGO(7)};
    expect(&rig, false, "output_stalled ");
    snprintf(rig.output.trouble, sizeof(rig.output.trouble), "connection refused");
    expect(&rig, false, "output_failing ");
    assert_string_equal(rig.health.findings[0].text, "connection refused");
    rig.output.degraded = true;
    expect(&rig, false, "output_degraded ");
    rig.output.parked_routes = 1;
    expect(&rig, false, "output_parked ");
    rig.ended[0] = true;
    expect(&rig, false, "output_ended ");
    assert_string_equal(rig.health.findings[0].output, "siem");
}

static void losses_count_for_five_minutes(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    rig.session.loss_ns = AGO(299);
    rig.output.loss_ns = AGO(299);
    rig.output.refused_ns = AGO(299);
    expect(&rig, false, "session_lost_events output_lost_events output_refuses ");
    rig.session.loss_ns = AGO(300);
    rig.output.loss_ns = AGO(300);
    expect(&rig, true, "output_refuses ");
}

static void a_guard_that_gave_up_is_worse_than_one_that_repaired(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    rig.session.guard_ns[GUARD_REPAIRED] = AGO(20);
    expect(&rig, true, "session_repaired ");
    rig.session.guard_ns[GUARD_GAVE_UP] = AGO(10);
    expect(&rig, false, "session_stopped ");
    rig.session.guard_ns[GUARD_REPAIRED] = AGO(5);
    expect(&rig, true, "session_repaired ");
    rig.states[0].failed = true;
    expect(&rig, false, "session_failed session_repaired ");
}

static void a_session_that_is_not_read_is_told_until_it_is_and_as_a_note_afterwards(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    snprintf(rig.states[0].trouble, sizeof(rig.states[0].trouble), "no more resources");
    expect(&rig, false, "session_waiting ");
    assert_string_equal(rig.health.findings[0].text, "no more resources");
    rig.states[0].failed = true; /* it is not tried again */
    expect(&rig, false, "session_failed ");
    rig.states[0] = (struct agent_session_state){.failed = false};
    rig.session.unread_ns = AGO(299);
    expect(&rig, true, "session_unread ");
    rig.session.unread_ns = AGO(300);
    expect(&rig, true, "");
}

static void what_is_of_the_agent_itself_is_told(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    rig.inputs.spool.room = SPOOL_NO_ROOM_DISK;
    rig.inputs.spool.failing = true;
    rig.inputs.letters_evicted = 1;
    rig.inputs.error = 2;
    rig.loads.refused = true;
    expect(&rig, false,
        "spool_failing spool_full dead_letters_evicted reload_refused conservation_error ");
    rig.inputs.positions_fail = true; /* this is what a failing spool means */
    expect(&rig, false,
        "spool_failing spool_full dead_letters_evicted reload_refused conservation_error ");
    rig.inputs.spool_keeps = false; /* a spool in memory is often full */
    rig.inputs.error = 0;
    expect(&rig, false, "positions_failing dead_letters_evicted reload_refused ");
    rig.inputs.positions_fail = false;
    expect(&rig, true, "dead_letters_evicted reload_refused ");
}

static void an_agent_that_does_not_run_is_not_ready(void **state)
{
    (void)state;
    struct agent_health health;
    agent_health_set(&health, AGENT_CAUSE_STARTING, "the agent starts");
    assert_false(health.healthy || health.ready);
    assert_int_equal(health.count, 1);
}

static void texts_of_others_are_escaped(void **state)
{
    (void)state;
    struct rig rig;
    struct buf out;
    rig_init(&rig);
    snprintf(rig.output.trouble, sizeof(rig.output.trouble), "said \"no\"\n");
    agent_health_look(&rig.inputs, &rig.health);
    buf_init(&out, 10000);
    agent_health_json(&rig.health, &out);
    size_t at;
    assert_null(json_check(buf_span(&out), &at));
    buf_reset(&out);
    agent_health_line(&rig.health, &out);
    assert_span(buf_span(&out), "output siem: said \"no\"\n");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_without_trouble_is_healthy),
        cmocka_unit_test(an_output_has_one_cause_that_says_most),
        cmocka_unit_test(losses_count_for_five_minutes),
        cmocka_unit_test(a_guard_that_gave_up_is_worse_than_one_that_repaired),
        cmocka_unit_test(a_session_that_is_not_read_is_told_until_it_is_and_as_a_note_afterwards),
        cmocka_unit_test(what_is_of_the_agent_itself_is_told),
        cmocka_unit_test(an_agent_that_does_not_run_is_not_ready),
        cmocka_unit_test(texts_of_others_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
