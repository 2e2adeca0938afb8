#include "app/watch/agent_history.h"

#include <stdio.h>

#include "support/test.h"

enum { MAX_BYTES = 1 << 20 };

static void mark(struct agent_history *history, const char *session, uint64_t received,
    const char *output, uint64_t acked)
{
    struct metric_set set;
    metric_set_init(&set);
    if (session) {
        metric_set_label(&set, 0, span_text(session));
        metric_set_number(&set, METRIC_SESSION_RECEIVED, received);
        /* the history does not follow this one */
        metric_set_number(&set, METRIC_SESSION_ACCEPTED, 1);
    }
    if (output) {
        metric_set_label(&set, 0, span_text(output));
        metric_set_number(&set, METRIC_OUTPUT_ACKED, acked);
    }
    agent_history_mark(history, &set);
    metric_set_fini(&set);
}

static void expect(const struct agent_history *history, const char *sessions, const char *outputs)
{
    char wanted[4096];
    struct buf out;
    buf_init(&out, MAX_BYTES);
    agent_history_json(history, &out);
    snprintf(wanted, sizeof(wanted), "{\"every_s\":10,\"sessions\":{%s},\"outputs\":{%s}}",
        sessions, outputs);
    assert_span(buf_span(&out), wanted);
    buf_fini(&out);
}

static void marks_hold_what_came_between_them(void **state)
{
    (void)state;
    struct agent_history *history = agent_history_create();
    expect(history, "", "");
    mark(history, "a\"", 1000, "siem", 7);
    mark(history, "a\"", 1010, "siem", 7);
    expect(history, "\"a\\\"\":[0,10]", "\"siem\":[0,0]");
    mark(history, "a\"", 30, "siem", 9); /* the agent has begun again */
    expect(history, "\"a\\\"\":[0,10,30]", "\"siem\":[0,0,2]");
    mark(history, NULL, 0, "siem", 9); /* like in a reload */
    mark(history, "a\"", 50, "siem", 9);
    mark(history, "a\"", 51, "siem", 9);
    expect(history, "\"a\\\"\":[0,10,30,0,0,1]", "\"siem\":[0,0,2,0,0,0]");
    agent_history_destroy(history);
}

static void what_is_older_than_15_minutes_goes(void **state)
{
    (void)state;
    struct agent_history *history = agent_history_create();
    char wanted[2048] = "\"b\":[";
    mark(history, "gone", 5, NULL, 0);
    mark(history, "gone", 6, NULL, 0);
    for (uint64_t i = 0; i < AGENT_HISTORY_MARKS; i++) {
        mark(history, "b", i * i, NULL, 0);
        char number[32];
        snprintf(number, sizeof(number), "%s%u", i ? "," : "", (unsigned)(i ? 2 * i - 1 : 0));
        strcat(wanted, number);
    }
    strcat(wanted, "]");
    expect(history, wanted, "");
    agent_history_destroy(history);
}

static void series_are_bounded_and_their_room_is_used_again(void **state)
{
    (void)state;
    struct agent_history *history = agent_history_create();
    struct buf out;
    for (int round = 0; round < 3; round++) {
        struct metric_set set;
        metric_set_init(&set);
        for (int i = 0; i < 2 * AGENT_HISTORY_MAX_SERIES; i++) {
            char name[32];
            snprintf(name, sizeof(name), "%d-%d", round, i);
            metric_set_label(&set, 0, span_text(name));
            metric_set_number(&set, METRIC_SESSION_RECEIVED, 1);
        }
        for (int i = 0; i <= AGENT_HISTORY_MARKS; i++) {
            agent_history_mark(history, &set);
        }
        metric_set_fini(&set);
        for (int i = 0; i < AGENT_HISTORY_MARKS; i++) {
            mark(history, NULL, 0, NULL, 0);
        }
        buf_init(&out, MAX_BYTES);
        agent_history_json(history, &out);
        assert_span(buf_span(&out), "{\"every_s\":10,\"sessions\":{},\"outputs\":{}}");
        buf_fini(&out);
    }
    agent_history_destroy(history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_hold_what_came_between_them),
        cmocka_unit_test(what_is_older_than_15_minutes_goes),
        cmocka_unit_test(series_are_bounded_and_their_room_is_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
