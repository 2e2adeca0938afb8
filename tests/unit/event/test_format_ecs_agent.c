#include "unit/event/format_ecs_rig.h"
#include "unit/event/writer_fixture.h"

/* Lines written by hand from agent/event/ecs.tsv and the rules of docs/reference/events.md: the
 * agent's own events. */

static void a_gap_is_an_event_of_the_agent(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    f.trace.session_name = span_text("security");
    f.trace.path = span_text("a.etl");
    const struct gap gap = fixture_gap(&f);
    event_format_ecs.gap(f.writer, &gap, FIXTURE_TIME, 9, &f.out);
    assert_span(buf_span(&f.out), FIXTURE_STAMP
        "\"event\":{\"code\":\"1\",\"kind\":\"event\",\"severity\":3,\"provider\":\"etwship\","
        "\"action\":\"gap\",\"dataset\":\"etw.events\",\"sequence\":9},"
        "\"log\":{\"level\":\"warning\",\"file\":{\"path\":\"a.etl\"}},"
        "\"winlog\":{\"provider_guid\":\"{5DB7DE6B-6094-54A0-E757-044329F62F6D}\","
        "\"level\":\"Warning\",\"level_raw\":3,\"session\":\"security\"},"
        "\"etw\":{\"gap\":{\"stage\":\"etw\",\"reason\":\"events_lost\",\"unit\":\"events\","
        "\"count\":1234,\"exact\":true,\"from\":\"2026-11-21T09:29:58.2234567Z\","
        "\"to\":\"2026-11-21T09:30:00.1234567Z\"}},"
        "\"message\":\"1234 events lost by ETW in session security between 09:29:58.2234567 "
        "and 09:30:00.1234567\"" END "\n");
    const struct gap vague = {
        .stage = "file", .reason = "unknown", .unit = "buffers", .count = 1, .trace = NULL};
    buf_reset(&f.out);
    event_format_ecs.gap(f.writer, &vague, FIXTURE_TIME, 10, &f.out);
    assert_span(buf_span(&f.out), FIXTURE_STAMP
        "\"event\":{\"code\":\"1\",\"kind\":\"event\",\"severity\":3,\"provider\":\"etwship\","
        "\"action\":\"gap\",\"dataset\":\"etw.events\",\"sequence\":10},"
        "\"log\":{\"level\":\"warning\"},"
        "\"winlog\":{\"provider_guid\":\"{5DB7DE6B-6094-54A0-E757-044329F62F6D}\","
        "\"level\":\"Warning\",\"level_raw\":3},"
        "\"etw\":{\"gap\":{\"stage\":\"file\",\"reason\":\"unknown\",\"unit\":\"buffers\","
        "\"count\":1,\"exact\":false}},"
        "\"message\":\"1 buffers lost at stage file (unknown)\"" STREAM "}\n");
    const struct gap unknown = {.stage = "agent", .reason = "not_running", .unit = "events"};
    buf_reset(&f.out);
    event_format_ecs.gap(f.writer, &unknown, FIXTURE_TIME, 10, &f.out);
    static const char end[] =
        "\"count\":0,\"exact\":false}},"
        "\"message\":\"events may be missing at stage agent (not_running)\"" STREAM "}\n";
    assert_true(f.out.size >= strlen(end));
    assert_span(span_from(buf_span(&f.out), f.out.size - strlen(end)), end);
    const struct gap at_output = {
        .stage = "output", .reason = "rejected", .unit = "events", .count = 3, .output = "main"};
    buf_reset(&f.out);
    event_format_ecs.gap(f.writer, &at_output, FIXTURE_TIME, 0, &f.out);
    assert_span(buf_span(&f.out), FIXTURE_STAMP
        "\"event\":{\"code\":\"1\",\"kind\":\"event\",\"severity\":3,\"provider\":\"etwship\","
        "\"action\":\"gap\",\"dataset\":\"etw.events\"},"
        "\"log\":{\"level\":\"warning\"},"
        "\"winlog\":{\"provider_guid\":\"{5DB7DE6B-6094-54A0-E757-044329F62F6D}\","
        "\"level\":\"Warning\",\"level_raw\":3},"
        "\"etw\":{\"gap\":{\"stage\":\"output\",\"reason\":\"rejected\",\"unit\":\"events\","
        "\"output\":\"main\",\"count\":3,\"exact\":false}},"
        "\"message\":\"3 events lost at output main (rejected)\"" STREAM "}\n");
    fixture_fini(&f);
}

static void a_status_carries_its_counters(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    const struct status status = {
        .counters = span_text("{\"received\":5}"), .message = span_text("5 events")};
    event_format_ecs.status(f.writer, &status, FIXTURE_TIME, 3, &f.out);
    assert_span(buf_span(&f.out), FIXTURE_STAMP
        "\"event\":{\"code\":\"2\",\"kind\":\"event\",\"severity\":4,\"provider\":\"etwship\","
        "\"action\":\"status\",\"dataset\":\"etw.events\",\"sequence\":3},"
        "\"log\":{\"level\":\"information\"},"
        "\"winlog\":{\"provider_guid\":\"{5DB7DE6B-6094-54A0-E757-044329F62F6D}\","
        "\"level\":\"Information\",\"level_raw\":4},"
        "\"etw\":{\"status\":{\"received\":5}},\"message\":\"5 events\"" STREAM "}\n");
    fixture_fini(&f);
}

static void what_a_guard_noticed_is_an_event_of_the_agent(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    const struct guard_report report = fixture_report(&f);
    event_format_ecs.guard(f.writer, &report, &f.out);
    assert_span(buf_span(&f.out), FIXTURE_STAMP
        "\"event\":{\"code\":\"3\",\"kind\":\"event\",\"severity\":3,\"provider\":\"etwship\","
        "\"action\":\"guard\",\"dataset\":\"etw.events\"},"
        "\"log\":{\"level\":\"warning\"},"
        "\"winlog\":{\"provider_guid\":\"{5DB7DE6B-6094-54A0-E757-044329F62F6D}\","
        "\"level\":\"Warning\",\"level_raw\":3},"
        "\"etw\":{\"guard\":" GUARD_OBJECT "}," GUARD_MESSAGE END "\n");
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gap_is_an_event_of_the_agent),
        cmocka_unit_test(a_status_carries_its_counters),
        cmocka_unit_test(what_a_guard_noticed_is_an_event_of_the_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
