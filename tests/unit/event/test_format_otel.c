#include <stdio.h>

#include "event/model/event_rollup.h"
#include "event/write/event_process.h"
#include "support/json_check.h"
#include "support/otlp_text.h"
#include "unit/event/writer_fixture.h"

/*
 * Log records of OpenTelemetry: the table of ETW in Appendix A of its Logs Data Model, types of
 * values, and the agent's own events. tests/support/otlp_text.c reads the protobuf, which must have
 * the content of the JSON.
 */

/* 2026-11-21T09:30:00.1234567Z since 1970, by Python's datetime. */
#define NANOS "1795253400123456700"

#define RECORD_AT(scope)                                                               \
    "{\"resourceLogs\":[{\"resource\":{\"attributes\":[" WINDOWS "]},\"scopeLogs\":[{" \
    "\"scope\":{\"name\":\"" scope "\"},\"logRecords\":[{\"timeUnixNano\":\"" NANOS "\""
#define WINDOWS TEXT("os.type", "windows")
#define TEXT(key, value) "{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"
#define INT(key, value) "{\"key\":\"" key "\",\"value\":{\"intValue\":\"" value "\"}}"
#define END "]}]}]}]}\n"

/* One event in both encodings. */
static void write_both(struct writer_fixture *f, struct buf *ret_line)
{
    struct buf record;
    struct buf text;
    buf_init(&record, 1 << 24);
    buf_init(&text, 1 << 24);
    static const struct event_writer_settings settings;
    fixture_use_writer(f, &settings);
    event_format_otlp.event(f->writer, &f->event, &record);
    fixture_use_writer(f, &settings);
    event_format_otel.event(f->writer, &f->event, ret_line);
    assert_false(record.failed);
    assert_false(ret_line->failed);
    assert_true(record.size && record.data[record.size - 1] == '\n');
    const char *wrong = otlp_text(span_first(buf_span(&record), record.size - 1), &text);
    if (wrong) {
        fail_msg("%s: %.*s", wrong, SPAN_ARG(buf_span(&text)));
    }
    buf_add_byte(&text, 0);
    assert_span(buf_span(ret_line), (const char *)text.data);
    size_t at;
    assert_null(json_check_line(buf_span(ret_line), &at));
    buf_fini(&text);
    buf_fini(&record);
}

static void assert_otel(struct writer_fixture *f, const char *text)
{
    struct buf line;
    buf_init(&line, 1 << 24);
    write_both(f, &line);
    assert_span(buf_span(&line), text);
    buf_fini(&line);
}

static void assert_otel_has(struct writer_fixture *f, const char *text)
{
    struct buf line;
    buf_init(&line, 1 << 24);
    write_both(f, &line);
    buf_add_byte(&line, 0);
    if (!strstr((const char *)line.data, text)) {
        fail_msg("no %s in %s", text, (const char *)line.data);
    }
    buf_fini(&line);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void a_manifest_event_is_what_the_specification_says(void **state)
{
    (void)state;
    static const struct piece pieces[] = {{"QueryName", IN_UNICODE_STRING, 0, "L'a\"\\'", NULL},
        {"QueryType", IN_UINT32, 0, "1c000000", NULL}};
    static const struct schema_keyword keywords[] = {
        {.mask = UINT64_C(1) << 63, .name = {(const uint8_t *)"Operational", 11}}};
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, pieces, 2);
    f.schema.provider_name = span_text("DNS");
    f.schema.task_name = span_text("T");
    f.schema.keywords = keywords;
    f.schema.keyword_count = 1;
    f.schema.message = span_text("asked for %1");
    f.record.descriptor = (struct event_descriptor){
        .id = 3008, .level = 4, .keyword = UINT64_C(1) << 63, .channel = 16};
    f.schema.descriptor = f.record.descriptor;
    f.schema.channel_name = span_text("DNS/Op");
    f.record.present = RECORD_HAS_PROCESS | RECORD_HAS_THREAD;
    f.record.process_id = 1234;
    f.record.thread_id = 4294967295;
    f.record.activity_id = fixture_guid;
    assert_otel(&f,
        RECORD_AT(
            "DNS") ",\"severityNumber\":9,\"severityText\":\"INFO\",\"eventName\":"
                   "\"etw.3008\",\"attributes\":[" TEXT("etw.provider.id", FIXTURE_GUID) "," TEXT(
                       "etw.provider.name", "DNS") "," TEXT("etw.provider.kind",
                       "manifest") "," INT("etw.event.id", "3008") "," INT("etw.version",
                       "0") "," INT("etw.level", "4") "," INT("etw.task",
                       "0") "," TEXT("etw.task.name", "T") "," INT("etw.opcode",
                       "0") "," TEXT("etw.opcode.name", "Info") "," INT("etw.channel",
                       "16") "," TEXT("etw.channel.name", "DNS/Op") "," INT("etw.keywords",
                       "-9223372036854775808") ","
                                               "{\"key\":\"etw.keywords.names\",\"value\":{"
                                               "\"arrayValue\":{\"values\":[{\"stringValue\":"
                                               "\"Operational\"}]}}}," INT("etw.process.id",
                                                   "1234") "," INT("etw.thread.id",
                                                   "4294967295") "," INT("etw.sequence",
                                                   "7") "," INT("etw.cpu",
                                                   "3") "," TEXT("etw.activity.id",
                                                   FIXTURE_GUID) "," TEXT("QueryName",
                                                   "a\\\"\\\\") "," INT("QueryType",
                                                   "28") "," TEXT("etw.message",
                                                   "asked for a\\\"\\\\") END);
    fixture_fini(&f);
}

/* Classic and kernel events have no id, but a class. */
static void a_classic_event_has_a_class(void **state)
{
    (void)state;
    static const uint8_t kinds[] = {RECORD_CLASSIC, RECORD_KERNEL};
    for (size_t i = 0; i < sizeof(kinds); i++) {
        struct writer_fixture f;
        fixture_init(&f, kinds[i], SCHEMA_MOF);
        f.schema.task_name = span_text("T");
        f.record.descriptor = (struct event_descriptor){.version = 2, .opcode = 36};
        assert_otel_has(
            &f, TEXT("etw.class.id", FIXTURE_GUID) "," TEXT("etw.task.name", "T") "," INT(
                    "etw.version", "2") "," INT("etw.level", "0") "," INT("etw.opcode", "36"));
        fixture_fini(&f);
    }
}

static void levels_have_their_severities(void **state)
{
    (void)state;
    static const struct {
        uint8_t level;
        const char *text;
    } levels[] = {
        {0, "\",\"severityText\":\"LOG_ALWAYS\",\"eventName"},
        {1, "\",\"severityNumber\":21,\"severityText\":\"CRITICAL\",\"eventName"},
        {2, "\",\"severityNumber\":17,\"severityText\":\"ERROR\",\"eventName"},
        {3, "\",\"severityNumber\":13,\"severityText\":\"WARNING\",\"eventName"},
        {5, "\",\"severityNumber\":5,\"severityText\":\"VERBOSE\",\"eventName"},
        {6, NANOS "\",\"eventName"},
        {15, NANOS "\",\"eventName"},
        {16, "\",\"severityText\":\"own\",\"eventName"},
        {255, "\",\"severityText\":\"own\",\"eventName"},
    };
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        struct writer_fixture f;
        fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
        f.record.descriptor.level = levels[i].level;
        f.schema.descriptor.level = levels[i].level;
        f.schema.level_name = span_text("own");
        assert_otel_has(&f, levels[i].text);
        fixture_fini(&f);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static void values_have_their_types(void **state)
{
    (void)state;
    static const struct {
        struct piece piece;
        const char *value;
    } values[] = {
        {{"v", IN_UINT64, 0, "ffffffffffffff7f", NULL}, "{\"intValue\":\"9223372036854775807\"}"},
        /* Above 63 bits it is a text: "Mapping arbitrary data to OTLP AnyValue". */
        {{"v", IN_UINT64, 0, "0000000000000080", NULL},
            "{\"stringValue\":\"9223372036854775808\"}"},
        {{"v", IN_INT64, 0, "0000000000000080", NULL}, "{\"intValue\":\"-9223372036854775808\"}"},
        {{"v", IN_INT8, 0, "ff", NULL}, "{\"intValue\":\"-1\"}"},
        {{"v", IN_INT16, 0, "0080", NULL}, "{\"intValue\":\"-32768\"}"},
        {{"v", IN_BOOLEAN, 0, "01000000", NULL}, "{\"boolValue\":true}"},
        /* 0x3dcccccd is 0.100000001490116… exactly. */
        {{"v", IN_FLOAT, 0, "cdcccc3d", NULL}, "{\"doubleValue\":0.10000000149011612}"},
        {{"v", IN_DOUBLE, 0, "9a9999999999b93f", NULL}, "{\"doubleValue\":0.1}"},
        {{"v", IN_DOUBLE, 0, "000000000000f87f", NULL}, "{\"doubleValue\":\"NaN\"}"},
        {{"v", IN_DOUBLE, 0, "000000000000f0ff", NULL}, "{\"doubleValue\":\"-Infinity\"}"},
        {{"v", IN_FLOAT, 0, "0000807f", NULL}, "{\"doubleValue\":\"Infinity\"}"},
        {{"v", IN_BINARY, 0, "00ff0a", NULL}, "{\"bytesValue\":\"AP8K\"}"},
        {{"v", IN_POINTER, 0, "0010000000000000", NULL}, "{\"stringValue\":\"0x1000\"}"},
        {{"v", IN_HEX_INT32, 0, "ff000000", NULL}, "{\"stringValue\":\"0xff\"}"},
        {{"v", IN_GUID, 0, "6e12951cea7ea949a3fea378b03ddb4d", NULL},
            "{\"stringValue\":\"" FIXTURE_GUID "\"}"},
        {{"v", IN_SYSTEMTIME, 0, "ffffffffffffffffffffffffffffffff", NULL},
            "{\"bytesValue\":\"/////////////////////w==\"}"},
        {{"v", IN_UNICODE_STRING, 0, "L'a' 0a00 1b00 00d8 L'b'", NULL},
            "{\"stringValue\":\"a\\n\\u001b\xef\xbf\xbd"
            "b\"}"},
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct writer_fixture f;
        char text[200];
        fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
        fixture_set_fields(&f, &values[i].piece, 1);
        snprintf(text, sizeof(text), "{\"key\":\"v\",\"value\":%s}", values[i].value);
        assert_otel_has(&f, text);
        fixture_fini(&f);
    }
}

static void names_of_fields_and_values_are_kept(void **state)
{
    (void)state;
    static const struct schema_map_entry bits[] = {
        {.value = 1, .text = {(const uint8_t *)"READ", 4}},
        {.value = 2, .text = {(const uint8_t *)"WRITE", 5}}};
    static const struct schema_map bit_map = {.kind = MAP_BITS, .entries = bits, .entry_count = 2};
    static const struct piece pieces[] = {{"odd \"name\"", IN_UINT8, 0, "01", NULL},
        {"Access", IN_UINT32, 0, "12000000", &bit_map},
        {"Status", IN_UINT32, OUT_NTSTATUS, "220000c0", NULL}};
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, pieces, 3);
    assert_otel_has(&f,
        INT("odd \\\"name\\\"", "1") "," INT(
            "Access", "18") ","
                            "{\"key\":\"Access_name\",\"value\":{\"arrayValue\":{\"values\":[{"
                            "\"stringValue\":\"WRITE\"},"
                            "{\"stringValue\":\"0x10\"}]}}}," INT("Status", "3221225506") "," TEXT(
                                "Status_name", "STATUS_ACCESS_DENIED") END);
    fixture_fini(&f);
}

/* A struct with an array of numbers, twice. */
static void structs_and_arrays_stay_what_they_are(void **state)
{
    (void)state;
    static const struct piece pieces[] = {{"S", IN_UINT8, 0, "01", NULL},
        {"N", IN_UINT16, 0, "01000200", NULL}, {"E", IN_UINT8, 0, "05", NULL}};
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, pieces, 3);
    /* S is a list of one struct with N and E. */
    const struct schema_field *s = &f.schema_fields[0];
    struct field fields[] = {
        {.schema = s, .count = 1, .end = 4, .shape = FIELD_ARRAY},
        {.schema = s, .count = 2, .end = 4, .shape = FIELD_GROUP},
        {.schema = &f.schema_fields[1],
            .data = f.fields[1].data,
            .size = 4,
            .count = 2,
            .end = 3,
            .shape = FIELD_PACKED,
            .value_bytes = 2},
        {.schema = &f.schema_fields[2], .data = f.fields[2].data, .size = 1, .end = 4},
    };
    f.event.fields = fields;
    f.event.field_count = 4;
    assert_otel_has(&f,
        "{\"key\":\"S\",\"value\":{\"arrayValue\":{\"values\":[{\"kvlistValue\":{"
        "\"values\":[{\"key\":\"N\",\"value\":{\"arrayValue\":{\"values\":[{\"intValue\":\"1\"},"
        "{\"intValue\":\"2\"}]}}}," INT("E", "5") "]}}]}}}" END);
    fixture_fini(&f);
}

static void what_cannot_be_decoded_is_bytes(void **state)
{
    (void)state;
    static const struct piece pieces[] = {{"v", IN_UINT8, 0, "0a", NULL}};
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, pieces, 1);
    f.event.status = DECODE_RAW;
    f.event.schema = NULL;
    f.event.error = "no room";
    assert_otel_has(&f, "{\"key\":\"etw.payload\",\"value\":{\"bytesValue\":\"Cg==\"}}," TEXT(
                            "etw.decode_error", "no room") END);
    fixture_fini(&f);
}

/* ---- processes, labels, times ---------------------------------------------------------------- */

static void processes_and_labels_have_names_of_the_conventions(void **state)
{
    (void)state;
    const struct span labels[] = {
        span_text("host.name"), span_text("mine"), span_text("site"), span_text("b\"")};
    const struct span tags[] = {span_text("x")};
    const struct event_agent agent = {.name = span_text("box"),
        .version = span_text("1.2"),
        .labels = labels,
        .label_count = 2,
        .tags = tags,
        .tag_count = 1};
    const struct event_process process = {.serial = 1,
        .pid = 4,
        .name = span_text("a.exe"),
        .executable = span_text("C:\\a.exe"),
        .command_line = span_text("a \"b\""),
        .start = FIXTURE_TIME,
        .has_parent = true,
        .parent_pid = 1,
        .user_name = span_text("me")};
    const struct event_writer_settings settings = {.agent = &agent};
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_use_writer(&f, &settings);
    f.trace.host_name = span_text("PC");
    f.trace.host_architecture = span_text("x86_64");
    f.record.present = RECORD_HAS_PROCESS;
    f.record.process_id = 4;
    f.event.process = &process;
    event_format_otel.event(f.writer, &f.event, &f.out);
    buf_add_byte(&f.out, 0);
    const char *line = (const char *)f.out.data;
    assert_non_null(
        strstr(line, "\"attributes\":[" TEXT("host.arch", "amd64") "," WINDOWS "," TEXT(
                         "etwship.agent.name", "box") "," TEXT("etwship.agent.version",
                         "1.2") "," TEXT("host.name", "mine") "," TEXT("site",
                         "b\\\"") ",{\"key\":\"etwship.tags\",\"value\":{"
                                  "\"arrayValue\":{\"values\":[{\"stringValue\":\"x\"}]}}}]"));
    assert_non_null(
        strstr(line, INT("etw.process.id", "4") "," INT("process.pid", "4") "," TEXT(
                         "process.executable.name", "a.exe") "," TEXT("process.executable.path",
                         "C:\\\\a.exe") "," TEXT("process.command_line",
                         "a \\\"b\\\"") "," INT("process.parent_pid", "1") "," TEXT("process.owner",
                         "me") "," TEXT("process.creation.time", "2026-11-21T09:30:00.1234567Z")));
    fixture_fini(&f);
}

static void a_time_that_has_no_nanoseconds_is_a_text(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    f.record.time = 1;
    assert_otel_has(&f, "\"timeUnixNano\":\"0\"");
    assert_otel_has(&f, TEXT("etw.timestamp", "1601-01-01T00:00:00.0000001Z"));
    f.record.time = UINT64_MAX;
    assert_otel_has(&f, "\"timeUnixNano\":\"0\"");
    fixture_fini(&f);
}

/* ---- events of the agent --------------------------------------------------------------------- */

static void the_agents_own_events_have_a_body(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    const struct gap gap = fixture_gap(&f);
    event_format_otel.gap(f.writer, &gap, FIXTURE_TIME, 9, &f.out);
    assert_span(buf_span(&f.out),
        "{\"resourceLogs\":[{\"resource\":{\"attributes\":[" WINDOWS
        "]},\"scopeLogs\":[{\"scope\":{\"name\":\"etwship\"},\"logRecords\":[{\"timeUnixNano\":"
        "\"" NANOS "\",\"observedTimeUnixNano\":\"" NANOS
        "\",\"severityNumber\":13,\"severityText\":"
        "\"WARNING\",\"eventName\":\"etwship.gap\",\"body\":{\"stringValue\":\"1234 events lost by "
        "ETW "
        "between 09:29:58.2234567 and 09:30:00.1234567\"},\"attributes\":[" TEXT(
            "etw.provider.id", "5db7de6b-6094-54a0-e757-044329f62f6d") "," TEXT("etw.provider.kind",
            "agent") "," INT("etw.sequence", "9") "," TEXT("etwship.gap.stage",
            "etw") "," TEXT("etwship.gap.reason", "events_lost") "," TEXT("etwship.gap.unit",
            "events") "," INT("etwship.gap.count",
            "1234") ","
                    "{\"key\":\"etwship.gap.exact\",\"value\":{\"boolValue\":true}}," TEXT(
                        "etwship.gap.from",
                        "2026-11-21T09:29:58.2234567Z") "," TEXT("etwship.gap.to",
                        "2026-11-21T09:30:00.1234567Z") END);
    buf_reset(&f.out);
    const struct guard_report report = fixture_report(&f);
    event_format_otel.guard(f.writer, &report, &f.out);
    buf_add_byte(&f.out, 0);
    assert_non_null(
        strstr((const char *)f.out.data, "\"body\":{\"stringValue\":\"etwship-security: it "
                                         "was \\\"off\\\", by process 4242 C:\\\\a\\\\x.exe\"}"));
    assert_non_null(strstr((const char *)f.out.data, TEXT("etwship.guard.action", "repaired") ","));
    buf_reset(&f.out);
    const struct status status = {
        .counters = span_text("{\"a\":1}"), .message = span_text("all \"well\"")};
    event_format_otel.status(f.writer, &status, FIXTURE_TIME, 3, &f.out);
    buf_add_byte(&f.out, 0);
    assert_non_null(
        strstr((const char *)f.out.data, "\"body\":{\"stringValue\":\"all \\\"well\\\"\"}"));
    assert_non_null(strstr((const char *)f.out.data, TEXT("etwship.status", "{\\\"a\\\":1}") END));
    fixture_fini(&f);
}

static void what_stands_for_several_says_so_in_both_encodings(void **state)
{
    (void)state;
    const struct event_rollup rollup = {.count = 3, .first = FIXTURE_TIME, .last = FIXTURE_TIME};
    static const char added[] = INT("etwship.rollup.count", "3") "," TEXT(
        "etwship.rollup.first", "2026-11-21T09:30:00.1234567Z") "," TEXT("etwship.rollup.last",
        "2026-11-21T09:30:00.1234567Z") END;
    static const struct event_writer_settings settings;
    struct writer_fixture f;
    struct buf text;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    buf_init(&text, 1 << 20);
    event_format_otel.event(f.writer, &f.event, &f.out);
    event_format_otel.rollup(&rollup, &f.out);
    size_t size = sizeof(added) - 1;
    assert_true(f.out.size > size);
    assert_memory_equal(f.out.data + f.out.size - size, added, size);
    fixture_use_writer(&f, &settings);
    struct buf record;
    buf_init(&record, 1 << 20);
    event_format_otlp.event(f.writer, &f.event, &record);
    event_format_otlp.rollup(&rollup, &record);
    assert_null(otlp_text(span_first(buf_span(&record), record.size - 1), &text));
    assert_int_equal(text.size, f.out.size);
    assert_memory_equal(text.data, f.out.data, text.size);
    /* Bytes that are not a record stay unchanged. */
    buf_reset(&record);
    buf_add_text(&record, "{}\n");
    event_format_otlp.rollup(&rollup, &record);
    event_format_otel.rollup(&rollup, &record);
    assert_span(buf_span(&record), "{}\n");
    buf_fini(&record);
    buf_fini(&text);
    fixture_fini(&f);
}

static void a_full_buffer_fails_at_any_length(void **state)
{
    (void)state;
    static const struct piece pieces[] = {
        {"v", IN_UNICODE_STRING, 0, "L'abc'", NULL}, {"b", IN_BINARY, 0, "0102", NULL}};
    const struct event_format *const formats[] = {&event_format_otel, &event_format_otlp};
    for (size_t i = 0; i < 2; i++) {
        struct writer_fixture f;
        fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
        fixture_set_fields(&f, pieces, 2);
        f.schema.message = span_text("it is %1");
        f.event.stack = (const uint64_t[]){1, 2};
        f.event.stack_count = 2;
        formats[i]->event(f.writer, &f.event, &f.out);
        for (size_t max = 0; max < f.out.size; max++) {
            struct buf out;
            buf_init(&out, max);
            formats[i]->event(f.writer, &f.event, &out);
            assert_true(out.failed);
            assert_true(out.size <= max);
            buf_fini(&out);
        }
        fixture_fini(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_event_is_what_the_specification_says),
        cmocka_unit_test(a_classic_event_has_a_class),
        cmocka_unit_test(levels_have_their_severities),
        cmocka_unit_test(values_have_their_types),
        cmocka_unit_test(names_of_fields_and_values_are_kept),
        cmocka_unit_test(structs_and_arrays_stay_what_they_are),
        cmocka_unit_test(what_cannot_be_decoded_is_bytes),
        cmocka_unit_test(processes_and_labels_have_names_of_the_conventions),
        cmocka_unit_test(a_time_that_has_no_nanoseconds_is_a_text),
        cmocka_unit_test(the_agents_own_events_have_a_body),
        cmocka_unit_test(what_stands_for_several_says_so_in_both_encodings),
        cmocka_unit_test(a_full_buffer_fails_at_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
