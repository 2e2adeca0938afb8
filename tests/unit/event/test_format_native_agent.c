#include <stdio.h>

#include "event/formats/event_format.h"
#include "unit/event/writer_fixture.h"

/* Lines written by hand from the rules of docs/reference/events.md: the agent's own events, and its
 * members in others. */

static const struct piece one_number[] = {{"A", IN_UINT32, 0, "2a000000", NULL}};

/* ---- gaps ------------------------------------------------------------------------------------ */

static void a_gap_is_an_event_of_the_agent(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    f.trace.session_name = span_text("security");
    const struct gap gap = fixture_gap(&f);
    event_format_native.gap(f.writer, &gap, FIXTURE_TIME, 9, &f.out);
    static const char head[] = FIXTURE_STAMP
        "\"provider\":{\"name\":\"etwship\",\"guid\":"
        "\"5db7de6b-6094-54a0-e757-044329f62f6d\",\"kind\":\"agent\"},"
        "\"event\":{\"code\":1,\"name\":\"gap\",\"level\":3,"
        "\"level_name\":\"Warning\"},\"etw\":{\"session\":\"security\","
        "\"sequence\":9},\"gap\":{\"stage\":\"etw\",\"reason\":\"events_lost\","
        "\"unit\":\"events\",\"count\":1234,\"exact\":true,"
        "\"from\":\"2026-11-21T09:29:58.2234567Z\","
        "\"to\":\"2026-11-21T09:30:00.1234567Z\"},\"message\":\"1234 events lost ";
    struct span line = buf_span(&f.out);
    assert_span(span_first(line, sizeof(head) - 1), head);
    assert_span(span_from(line, line.size - 3), "\"}\n");
    const struct gap vague = {
        .stage = "file", .reason = "unknown", .unit = "buffers", .count = 1, .trace = &f.trace};
    buf_reset(&f.out);
    event_format_native.gap(f.writer, &vague, FIXTURE_TIME, 10, &f.out);
    static const char middle[] = "\"unit\":\"buffers\",\"count\":1,\"exact\":false},\"message\":";
    buf_add_byte(&f.out, 0);
    assert_non_null(strstr((const char *)f.out.data, middle));
    fixture_fini(&f);
}

static void a_gap_at_an_output_names_it_and_has_no_number(void **state)
{
    (void)state;
    static const struct {
        const char *session;
        const char *etw;
        const char *message;
    } cases[] = {{"security", "\"etw\":{\"session\":\"security\"}", " in session security"},
        {NULL, "\"etw\":{}", ""}};
    for (size_t i = 0; i < 2; i++) {
        struct writer_fixture f;
        fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
        struct error err;
        struct event_writer_settings settings = {.session = span_text(cases[i].session)};
        struct event_writer *writer = event_writer_create(&settings, &err);
        assert_non_null(writer);
        const struct gap gap = {.stage = "output",
            .reason = "rejected",
            .unit = "events",
            .count = 3,
            .exact = true,
            .output = "a \"b\""};
        char text[512];
        snprintf(text, sizeof(text),
            FIXTURE_STAMP "\"provider\":{\"name\":\"etwship\",\"guid\":"
                          "\"5db7de6b-6094-54a0-e757-044329f62f6d\",\"kind\":\"agent\"},"
                          "\"event\":{\"code\":1,\"name\":\"gap\",\"level\":3,"
                          "\"level_name\":\"Warning\"},%s,\"gap\":{\"stage\":\"output\","
                          "\"reason\":\"rejected\",\"unit\":\"events\","
                          "\"output\":\"a \\\"b\\\"\",\"count\":3,\"exact\":true},"
                          "\"message\":\"3 events lost at output a \\\"b\\\" (rejected)%s\"}\n",
            cases[i].etw, cases[i].message);
        event_format_native.gap(writer, &gap, FIXTURE_TIME, 0, &f.out);
        assert_span(buf_span(&f.out), text);
        event_writer_destroy(writer);
        fixture_fini(&f);
    }
}

static void a_status_carries_its_counters(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    struct status status = {
        .counters = span_text("{\"received\":5}"), .message = span_text("say \"5\"")};
    static const char head[] = FIXTURE_STAMP
        "\"provider\":{\"name\":\"etwship\",\"guid\":"
        "\"5db7de6b-6094-54a0-e757-044329f62f6d\",\"kind\":\"agent\"},"
        "\"event\":{\"code\":2,\"name\":\"status\",\"level\":4,"
        "\"level_name\":\"Information\"},\"etw\":{\"sequence\":3},"
        "\"status\":{\"received\":5}";
    char text[512];
    snprintf(text, sizeof(text), "%s,\"message\":\"say \\\"5\\\"\"}\n", head);
    event_format_native.status(f.writer, &status, FIXTURE_TIME, 3, &f.out);
    assert_span(buf_span(&f.out), text);
    buf_reset(&f.out);
    status.message.size = 0;
    snprintf(text, sizeof(text), "%s}\n", head);
    event_format_native.status(f.writer, &status, FIXTURE_TIME, 3, &f.out);
    assert_span(buf_span(&f.out), text);
    fixture_fini(&f);
}

/* ---- the agent ------------------------------------------------------------------------------- */

static void the_tail_names_agent_labels_and_tags(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1 << 16);
    const struct span labels[] = {
        span_text("site"), span_text("ber\"lin"), span_text("env"), span_text("no")};
    const struct span tags[] = {span_text("a"), span_text("b")};
    const struct event_agent agent = {.id = span_text("1"),
        .ephemeral_id = span_text("2"),
        .name = span_text("PC"),
        .version = span_text("0.1.0"),
        .labels = labels,
        .label_count = 2,
        .tags = tags,
        .tag_count = 2};
    event_tail_render(&agent, &out);
    assert_span(buf_span(&out),
        ",\"agent\":{\"id\":\"1\",\"ephemeral_id\":\"2\",\"name\":\"PC\",\"type\":\"etwship\","
        "\"version\":\"0.1.0\"},\"labels\":{\"site\":\"ber\\\"lin\",\"env\":\"no\"},"
        "\"tags\":[\"a\",\"b\"]");
    buf_reset(&out);
    const struct event_agent bare = {.name = span_make(NULL, 0)};
    event_tail_render(&bare, &out);
    assert_span(buf_span(&out), ",\"agent\":{\"type\":\"etwship\"}");
    buf_fini(&out);
}

static void formats_are_found_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(event_format_find(span_text("native")), &event_format_native);
    assert_ptr_equal(event_format_find(span_text("ecs")), &event_format_ecs);
    assert_ptr_equal(event_format_find(span_text("pretty")), &event_format_pretty);
    assert_null(event_format_find(span_text("nativ")));
    assert_null(event_format_find(span_text("")));
}

static void what_a_guard_noticed_is_an_event_of_the_agent(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    f.trace.session_name = span_text("security");
    struct guard_report report = fixture_report(&f);
    event_format_native.guard(f.writer, &report, &f.out);
    assert_span(buf_span(&f.out), FIXTURE_STAMP
        "\"provider\":{\"name\":\"etwship\",\"guid\":"
        "\"5db7de6b-6094-54a0-e757-044329f62f6d\",\"kind\":\"agent\"},"
        "\"event\":{\"code\":3,\"name\":\"guard\",\"level\":3,\"level_name\":\"Warning\"},"
        "\"etw\":{\"session\":\"security\"},\"guard\":" GUARD_OBJECT "," GUARD_MESSAGE "}\n");
    report = (struct guard_report){.kind = "clock_jumped",
        .action = GUARD_GAVE_UP,
        .shift_ms = -3600000,
        .time = FIXTURE_TIME,
        .trace = &f.trace};
    buf_reset(&f.out);
    event_format_native.guard(f.writer, &report, &f.out);
    buf_add_byte(&f.out, 0);
    assert_non_null(strstr((const char *)f.out.data,
        "\"level\":2,\"level_name\":\"Error\"},\"etw\":{\"session\":\"security\"},\"guard\":{"
        "\"kind\":"
        "\"clock_jumped\",\"action\":\"gave_up\",\"repairs\":0,\"shift_ms\":-3600000},"));
    fixture_fini(&f);
    /* A trace whose session has no name, but a path. */
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    f.trace.path = span_text("a.etl");
    f.trace.file = span_text("a.etl");
    report.trace = &f.trace;
    event_format_native.guard(f.writer, &report, &f.out);
    buf_add_byte(&f.out, 0);
    assert_non_null(strstr((const char *)f.out.data, "\"etw\":{\"file\":\"a.etl\"},\"guard\":{"));
    fixture_fini(&f);
}

/* An event that does not fit into the buffer fails, at any byte, and leaves the buffer valid. */
static void a_full_buffer_fails_at_any_length(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, one_number, 1);
    f.schema.message = span_text("A is %1");
    buf_reset(&f.out);
    event_format_native.event(f.writer, &f.event, &f.out);
    size_t whole = f.out.size;
    for (size_t max = 0; max < whole; max++) {
        struct buf out;
        buf_init(&out, max);
        event_format_native.event(f.writer, &f.event, &out);
        assert_true(out.failed);
        assert_true(out.size <= max);
        buf_fini(&out);
    }
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gap_is_an_event_of_the_agent),
        cmocka_unit_test(a_gap_at_an_output_names_it_and_has_no_number),
        cmocka_unit_test(a_status_carries_its_counters),
        cmocka_unit_test(what_a_guard_noticed_is_an_event_of_the_agent),
        cmocka_unit_test(the_tail_names_agent_labels_and_tags),
        cmocka_unit_test(formats_are_found_by_name),
        cmocka_unit_test(a_full_buffer_fails_at_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
