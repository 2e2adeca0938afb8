#include "event/write/event_file.h"
#include "unit/event/writer_fixture.h"

#define assert_pretty(f, text) \
    assert_written_at((f), &event_format_pretty, text, __FILE__, __LINE__)
#define STAMP "2026-11-21T09:30:00.1234567Z"

static const struct piece pieces[] = {
    {"QueryName", IN_UNICODE_STRING, 0, "L'C:' 5c00 L'a' 2200 L'b'", NULL},
    {"Type", IN_UINT32, 0, "01000000", NULL},
};

static void an_event_is_a_line_and_a_line_per_value(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, pieces, 2);
    f.schema.provider_name = span_text("DNS");
    f.schema.message = span_text("asked for %1%nof %2");
    f.record.descriptor = (struct event_descriptor){.id = 3008, .level = 4};
    f.record.present = RECORD_HAS_PROCESS | RECORD_HAS_THREAD;
    f.record.process_id = 1234;
    f.record.thread_id = 5678;
    assert_pretty(&f, STAMP "  DNS/3008  Information  pid 1234  tid 5678  cpu 3\n"
                            "    asked for C:\\a\"b\\nof 1\n"
                            "    QueryName  C:\\a\"b\n"
                            "    Type       1\n");
    fixture_fini(&f);
}

static void without_names_there_are_numbers(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_KERNEL, SCHEMA_UNKNOWN);
    struct span payload = payload_make("00ff");
    f.event.schema = NULL;
    f.event.status = DECODE_RAW;
    f.record.payload = payload;
    f.record.descriptor.opcode = 36;
    assert_pretty(&f, STAMP "  MSNT_SystemTrace/0x24  cpu 3\n"
                            "    payload  00ff\n");
    f.record.kind = RECORD_EVENT;
    f.record.descriptor.id = 7;
    assert_pretty(&f, STAMP "  " FIXTURE_GUID "/7  cpu 3\n"
                            "    payload  00ff\n");
    payload_free(payload);
    fixture_fini(&f);
}

/* No byte of an event may control the terminal. */
static void control_characters_stay_escaped(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_TRACELOGGING);
    static const struct piece wild[] = {
        {"Te\x1bxt", IN_ANSI_STRING, 0, "1b '[31m' 07 0a 0d 7f '\\u001b'", NULL},
        {"C1\xc2\x9b", IN_UNICODE_STRING, 0, "9b 00 7f 00 00 00", NULL}};
    fixture_set_fields(&f, wild, 2);
    f.schema.provider_name = span_text("P\x1b[0m\x7f");
    f.schema.event_name = span_text("E\r");
    f.schema.message = span_text("M\x1b %1");
    buf_reset(&f.out);
    event_format_pretty.event(f.writer, &f.event, &f.out);
    size_t lines = 0;
    for (size_t i = 0; i < f.out.size; i++) {
        lines += f.out.data[i] == '\n';
        assert_true(f.out.data[i] >= ' ' || f.out.data[i] == '\n');
        assert_true(f.out.data[i] != 0x7f && f.out.data[i] != 0xc2);
    }
    assert_int_equal(lines, 4);
    fixture_fini(&f);
}

static void what_is_wrong_is_told(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    static const uint8_t rest[] = {1, 2};
    f.event.status = DECODE_PARTIAL;
    f.event.rest = span_make(rest, 2);
    f.event.error = "it ends";
    f.event.stack = (const uint64_t[]){1, 2};
    f.event.stack_count = 2;
    assert_pretty(&f, STAMP "  " FIXTURE_GUID "/0  cpu 3\n"
                            "    payload_rest  0102\n"
                            "    decode_error  it ends\n"
                            "    stack  2 frames\n"
                            "        0x1\n"
                            "        0x2\n");
    fixture_fini(&f);
}

/* A disk read has only the file's address. Names come from traces, so they must not control the
 * terminal. */
static void the_file_that_an_event_uses_is_a_line(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    const struct event_file file = {.path = span_text("C:\\new\\a\x1b[0m.dll")};
    const struct event_file unknown = {.path = span_make(NULL, 0)};
    f.event.file = &file;
    assert_pretty(&f, STAMP "  " FIXTURE_GUID "/0  cpu 3\n"
                            "    file.path  C:\\new\\a\\u001b[0m.dll\n");
    buf_reset(&f.out);
    f.event.file = &unknown;
    assert_pretty(&f, STAMP "  " FIXTURE_GUID "/0  cpu 3\n");
    fixture_fini(&f);
}

static void colours_only_where_they_are_wanted(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, pieces, 2);
    f.record.descriptor.level = 2;
    event_format_pretty.event(f.writer, &f.event, &f.out);
    assert_null(memchr(f.out.data, 0x1b, f.out.size));
    const struct event_writer_settings settings = {.colors = true};
    fixture_use_writer(&f, &settings);
    buf_reset(&f.out);
    event_format_pretty.event(f.writer, &f.event, &f.out);
    buf_add_byte(&f.out, 0);
    assert_non_null(strstr((const char *)f.out.data, "\x1b[1;31mError\x1b[0m"));
    fixture_fini(&f);
}

/* First the record's own items (evntcons.h: a match id, then addresses), then the joined stack. */
static void every_frame_of_a_stack_is_a_line(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    static const uint8_t wide[24] = {1, [8] = 0x10, 0x20, [15] = 0x80, [16] = 0x30, 0x40};
    static const uint8_t narrow[12] = {[8] = 0x78, 0x56, 0x34, 0x12};
    static const uint64_t joined[] = {0xfffff80012345678};
    struct extended_item items[] = {{.type = EXTENDED_STACK_TRACE64, .data = {wide, sizeof(wide)}},
        {.type = EXTENDED_TS_ID, .data = {wide, 4}},
        {.type = EXTENDED_STACK_TRACE32, .data = {narrow, sizeof(narrow)}}};
    f.record.extended = items;
    f.record.extended_count = 3;
    f.event.stack = joined;
    f.event.stack_count = 1;
    event_format_pretty.event(f.writer, &f.event, &f.out);
    buf_add_byte(&f.out, 0);
    assert_non_null(strstr((const char *)f.out.data,
        "    stack  4 frames\n        0x8000000000002010\n        0x4030\n        0x12345678\n"
        "        0xfffff80012345678\n"));
    fixture_fini(&f);
}

static void what_a_guard_noticed_is_a_line(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    const struct guard_report report = fixture_report(&f);
    event_format_pretty.guard(f.writer, &report, &f.out);
    assert_span(
        buf_span(&f.out), STAMP "  etwship/guard  provider_disabled (repaired): it was \"off\"\n");
    fixture_fini(&f);
}

static void a_gap_is_a_line(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    const struct gap gap = {
        .stage = "etw", .reason = "events_lost", .unit = "events", .count = 5, .trace = &f.trace};
    event_format_pretty.gap(f.writer, &gap, FIXTURE_TIME, 9, &f.out);
    assert_span(
        buf_span(&f.out), STAMP "  etwship/gap  5 events lost at stage etw (events_lost)\n");
    const struct gap at_output = {
        .stage = "output", .reason = "rejected", .unit = "events", .count = 5, .output = "main"};
    buf_reset(&f.out);
    event_format_pretty.gap(f.writer, &at_output, FIXTURE_TIME, 0, &f.out);
    assert_span(buf_span(&f.out),
        STAMP "  etwship/gap  5 events lost at stage output (rejected) of main\n");
    fixture_fini(&f);
}

static void a_status_is_a_line(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    struct status status = {
        .counters = span_text("{\"received\":5}"), .message = span_text("5 events\x1b[2J")};
    event_format_pretty.status(f.writer, &status, FIXTURE_TIME, 9, &f.out);
    assert_span(buf_span(&f.out), STAMP "  etwship/status  5 events\\u001b[2J\n");
    buf_reset(&f.out);
    status.message.size = 0;
    event_format_pretty.status(f.writer, &status, FIXTURE_TIME, 9, &f.out);
    assert_span(buf_span(&f.out), STAMP "  etwship/status  {\"received\":5}\n");
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_is_a_line_and_a_line_per_value),
        cmocka_unit_test(without_names_there_are_numbers),
        cmocka_unit_test(control_characters_stay_escaped),
        cmocka_unit_test(what_is_wrong_is_told),
        cmocka_unit_test(colours_only_where_they_are_wanted),
        cmocka_unit_test(a_gap_is_a_line),
        cmocka_unit_test(the_file_that_an_event_uses_is_a_line),
        cmocka_unit_test(every_frame_of_a_stack_is_a_line),
        cmocka_unit_test(what_a_guard_noticed_is_a_line),
        cmocka_unit_test(a_status_is_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
