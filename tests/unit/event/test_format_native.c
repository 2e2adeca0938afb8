#include <stdio.h>

#include "event/write/event_process.h"
#include "unit/event/writer_fixture.h"

/* Lines written by hand from the rules of docs/reference/events.md. */

static const struct piece one_number[] = {{"A", IN_UINT32, 0, "2a000000", NULL}};

/* ---- whole events ---------------------------------------------------------------------------- */

static void a_manifest_event_has_its_members_in_order(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    static const char tail[] = ",\"agent\":{\"type\":\"etwship\"},\"tags\":[\"x\"]";
    const struct event_writer_settings settings = {
        .session = span_text("security"), .tail = span_text(tail)};
    fixture_use_writer(&f, &settings);
    static const struct piece pieces[] = {
        {"QueryName", IN_UNICODE_STRING, 0, "L'example.org'", NULL},
        {"QueryType", IN_UINT32, 0, "01000000", NULL},
        {"QueryOptions", IN_UINT64, 0, "00000000 00800000", NULL},
    };
    fixture_set_fields(&f, pieces, 3);
    static const struct schema_keyword keywords[] = {
        {UINT64_C(0x8000000000000000), {(const uint8_t *)"Op", 2}},
        {0x10, {(const uint8_t *)"Not set", 7}}};
    const struct event_descriptor descriptor = {
        .id = 3008, .channel = 16, .level = 4, .keyword = UINT64_C(0x8000000000000000)};
    f.schema.provider_name = span_text("Microsoft-Windows-DNS-Client");
    f.schema.channel_name = span_text("Microsoft-Windows-DNS-Client/Operational");
    f.schema.keywords = keywords;
    f.schema.keyword_count = 2;
    f.schema.descriptor = descriptor;
    f.schema.message = span_text("DNS query is completed for the name %1, type %2");
    f.record.descriptor = descriptor;
    f.record.present = RECORD_HAS_PROCESS | RECORD_HAS_THREAD | RECORD_HAS_CPU_TIMES;
    f.record.process_id = 1234;
    f.record.thread_id = 5678;
    f.record.kernel_ticks = 3;
    f.record.user_ticks = 1;
    f.record.sequence = 481516;
    f.record.activity_id = (struct guid){
        {0, 1, 0, 0, 0, 0, 3, 0, 0x19, 0x3d, 0x42, 0xfb, 0x30, 0xbb, 0xcb, 1}};
    f.trace.session_name = span_text("of the trace");
    f.trace.path = span_text("C:\\t\\a.etl");
    f.trace.file = f.trace.path;
    f.trace.host_name = span_text("PC-0042");
    struct span sid = payload_make("0101000000000005 12000000");
    const struct extended_item items[] = {{EXTENDED_SID, sid}};
    f.record.extended = items;
    f.record.extended_count = 1;
    assert_native(&f, FIXTURE_STAMP
        "\"provider\":{\"name\":\"Microsoft-Windows-DNS-Client\",\"guid\":\"" FIXTURE_GUID
        "\",\"kind\":\"manifest\"},"
        "\"event\":{\"code\":3008,\"version\":0,\"level\":4,\"level_name\":\"Information\","
        "\"task\":0,\"opcode\":0,\"opcode_name\":\"Info\",\"channel\":16,"
        "\"channel_name\":\"Microsoft-Windows-DNS-Client/Operational\","
        "\"keywords\":\"0x8000000000000000\",\"keywords_name\":[\"Op\"]},"
        "\"process\":{\"pid\":1234,\"thread\":{\"id\":5678}},"
        "\"etw\":{\"session\":\"security\",\"sequence\":481516,\"cpu\":3,\"kernel_ticks\":3,"
        "\"user_ticks\":1,\"file\":\"C:\\\\t\\\\a.etl\"},"
        "\"activity_id\":\"00000100-0000-0003-193d-42fb30bbcb01\","
        "\"data\":{\"QueryName\":\"example.org\",\"QueryType\":1,"
        "\"QueryOptions\":140737488355328},"
        "\"extended\":{\"sid\":\"S-1-5-18\"},"
        "\"message\":\"DNS query is completed for the name example.org, type 1\","
        "\"host\":{\"name\":\"PC-0042\"},\"agent\":{\"type\":\"etwship\"},\"tags\":[\"x\"]}");
    payload_free(sid);
    fixture_fini(&f);
}

static void a_tracelogging_event_has_a_name_and_the_header_s_numbers(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_TRACELOGGING);
    fixture_set_fields(&f, one_number, 1);
    f.schema.provider_name = span_text("Atum-Hw3d");
    f.schema.event_name = span_text("WinMain");
    f.schema.descriptor.channel = 11;
    f.record.descriptor = (struct event_descriptor){.channel = 11, .level = 5, .opcode = 1};
    f.record.present = RECORD_HAS_PROCESS | RECORD_HAS_THREAD | RECORD_HAS_PROCESSOR_TIME;
    f.record.process_id = 18252;
    f.record.thread_id = 5644;
    f.record.processor_time = 99;
    assert_native(&f,
        FIXTURE_STAMP "\"provider\":{\"name\":\"Atum-Hw3d\",\"guid\":\"" FIXTURE_GUID
                      "\",\"kind\":\"tracelogging\"},"
                      "\"event\":{\"code\":0,\"version\":0,\"name\":\"WinMain\",\"level\":5,"
                      "\"level_name\":\"Verbose\",\"task\":0,\"opcode\":1,\"opcode_name\":"
                      "\"Start\",\"channel\":11,\"keywords\":\"0x0\"},"
                      "\"process\":{\"pid\":18252,\"thread\":{\"id\":5644}},"
                      "\"etw\":{\"sequence\":7,\"cpu\":3,\"processor_time\":99},"
                      "\"data\":{\"A\":42}}");
    fixture_fini(&f);
}

static void a_kernel_event_has_a_class_and_no_code(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_KERNEL, SCHEMA_MOF);
    fixture_set_fields(&f, one_number, 1);
    assert_true(guid_parse(span_text("9e814aad-3204-11d2-9a82-006008a86939"), &f.schema.provider));
    assert_true(guid_parse(span_text("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"), &f.record.provider));
    f.schema.provider_name = span_text("MSNT_SystemTrace");
    f.schema.event_name = span_text("Process/Start");
    f.schema.task_name = span_text("Process");
    f.schema.opcode_name = span_text("Start");
    f.record.descriptor = (struct event_descriptor){.version = 4, .opcode = 1};
    f.record.hook_id = 0x0301;
    f.record.present = RECORD_HAS_PROCESS | RECORD_HAS_THREAD;
    f.record.process_id = 880;
    f.record.thread_id = 912;
    f.event.stack = (const uint64_t[]){UINT64_C(0xfffff80312345678), 0x10};
    f.event.stack_count = 2;
    assert_native(&f, FIXTURE_STAMP
        "\"provider\":{\"name\":\"MSNT_SystemTrace\",\"guid\":"
        "\"9e814aad-3204-11d2-9a82-006008a86939\",\"kind\":\"mof\"},"
        "\"event\":{\"class_guid\":\"3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c\","
        "\"name\":\"Process/Start\",\"task_name\":\"Process\",\"version\":4,\"opcode\":1,"
        "\"opcode_name\":\"Start\"},\"process\":{\"pid\":880,\"thread\":{\"id\":912}},"
        "\"etw\":{\"sequence\":7,\"cpu\":3},\"data\":{\"A\":42},"
        "\"extended\":{\"stack\":[\"0xfffff80312345678\",\"0x10\"]}}");
    fixture_fini(&f);
}

static void a_wpp_message_says_what_its_header_says(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_MESSAGE, SCHEMA_WPP);
    f.schema.has_layout = false;
    f.event.status = DECODE_RAW;
    f.event.field_count = 0;
    struct span payload = payload_make("00ff10");
    f.record.payload = payload;
    f.record.descriptor.id = 10;
    f.record.message_flags = 0xab;
    f.record.message_sequence = 7;
    f.record.message_component = 12;
    f.record.present = RECORD_HAS_PROCESS | RECORD_HAS_SEQUENCE | RECORD_HAS_MESSAGE_FLAGS;
    f.record.process_id = 77;
    assert_native(&f,
        FIXTURE_STAMP PROVIDER("wpp") "\"event\":{\"code\":10},\"process\":{\"pid\":77},"
                                      "\"etw\":{\"sequence\":7,\"cpu\":3},\"payload\":\"00ff10\","
                                      "\"wpp\":{\"message_number\":10,\"message_flags\":\"0xab\","
                                      "\"sequence\":7}}");
    f.event.schema = NULL;
    f.record.present = RECORD_HAS_THREAD | RECORD_HAS_COMPONENT;
    assert_native(&f,
        FIXTURE_STAMP PROVIDER("wpp") "\"event\":{\"code\":10},\"process\":{\"thread\":{\"id\":0}},"
                                      "\"etw\":{\"sequence\":7,\"cpu\":3},\"payload\":\"00ff10\","
                                      "\"wpp\":{\"message_number\":10,\"component_id\":12}}");
    payload_free(payload);
    fixture_fini(&f);
}

static void a_string_event_is_its_text(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_STRING);
    static const struct piece pieces[] = {
        {"String", IN_UNICODE_STRING, 0, "L'say ' 2200 L'hi' 2200", NULL}};
    fixture_set_fields(&f, pieces, 1);
    f.schema.message = span_text("%1");
    assert_native(&f, PLAIN("string", ",\"data\":{\"String\":\"say \\\"hi\\\"\"},"
                                      "\"message\":\"say \\\"hi\\\"\""));
    fixture_fini(&f);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Names belong to the values of the header, not to those for which the definition was made. */
static void names_follow_the_values_in_the_header(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    f.schema.descriptor = (struct event_descriptor){
        .level = 16, .task = 9, .opcode = 20, .channel = 17, .keyword = 0x8};
    f.schema.level_name = span_text("Own level");
    f.schema.task_name = span_text("Own task");
    f.schema.opcode_name = span_text("Own opcode");
    f.schema.channel_name = span_text("Own channel");
    static const struct schema_keyword keywords[] = {{0, {(const uint8_t *)"Exact", 5}}};
    f.schema.keywords = keywords;
    f.schema.keyword_count = 1;
    f.record.descriptor = f.schema.descriptor;
    assert_native(&f,
        FIXTURE_STAMP PROVIDER("manifest") "\"event\":{\"code\":0,\"version\":0,\"level\":16,"
                                           "\"level_name\":\"Own level\",\"task\":9,"
                                           "\"task_name\":\"Own task\",\"opcode\":20,"
                                           "\"opcode_name\":\"Own opcode\",\"channel\":17,"
                                           "\"channel_name\":\"Own channel\",\"keywords\":\"0x8\","
                                           "\"keywords_name\":[\"Exact\"]},"
                                           "\"etw\":{\"sequence\":7,\"cpu\":3},\"data\":{}}");
    /* An event of that type with another descriptor, right after it: no part of the previous head
     * may stay. */
    f.record.descriptor = (struct event_descriptor){
        .level = 2, .task = 8, .opcode = 240, .channel = 18, .keyword = 0x9};
    assert_native(&f,
        FIXTURE_STAMP PROVIDER("manifest") "\"event\":{\"code\":0,\"version\":0,\"level\":2,"
                                           "\"level_name\":\"Error\",\"task\":8,\"opcode\":240,"
                                           "\"opcode_name\":\"Receive\",\"channel\":18,"
                                           "\"keywords\":\"0x9\"},"
                                           "\"etw\":{\"sequence\":7,\"cpu\":3},\"data\":{}}");
    fixture_fini(&f);
}

static void every_predefined_level_and_opcode_has_its_name(void **state)
{
    (void)state;
    static const char *const levels[] = {
        NULL, "Critical", "Error", "Warning", "Information", "Verbose", NULL};
    static const char *const opcodes[] = {"Info", "Start", "Stop", "DC_Start", "DC_Stop",
        "Extension", "Reply", "Resume", "Suspend", "Send", NULL};
    for (unsigned i = 0; i < 11; i++) {
        struct writer_fixture f;
        fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
        f.schema.level_name = span_text("other");
        f.schema.opcode_name = span_text("other");
        f.schema.descriptor = (struct event_descriptor){
            .level = (uint8_t)(i + 1), .opcode = (uint8_t)(i + 1)};
        unsigned level = i < 7 ? i : 0;
        f.record.descriptor = (struct event_descriptor){
            .level = (uint8_t)level, .opcode = (uint8_t)i};
        char text[512];
        const char *name = levels[level];
        snprintf(text, sizeof(text),
            FIXTURE_STAMP PROVIDER(
                "manifest") "\"event\":{\"code\":0,\"version\":0,\"level\":%u%s%s%s"
                            ",\"task\":0,\"opcode\":%u%s%s%s,\"channel\":0,"
                            "\"keywords\":\"0x0\"},"
                            "\"etw\":{\"sequence\":7,\"cpu\":3},\"data\":{}}\n",
            level, name ? ",\"level_name\":\"" : "", name ? name : "", name ? "\"" : "", i,
            opcodes[i] ? ",\"opcode_name\":\"" : "", opcodes[i] ? opcodes[i] : "",
            opcodes[i] ? "\"" : "");
        assert_written_at(&f, &event_format_native, text, __FILE__, __LINE__);
        fixture_fini(&f);
    }
}

/* One definition can serve many providers (string events), and must not carry the id of one to
 * another. */
static void events_of_two_providers_with_one_definition_keep_their_provider(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_STRING);
    for (int i = 0; i < 3; i++) {
        f.record.provider = fixture_guid;
        assert_native(&f, PLAIN("string", ",\"data\":{}"));
        f.record.provider.bytes[0] = 0x6f;
        assert_native(&f,
            FIXTURE_STAMP "\"provider\":{\"guid\":\"1c95126f-7eea-49a9-a3fe-"
                          "a378b03ddb4d\",\"kind\":\"string\"}," EVENT_0("}") ",\"data\":{}}");
    }
    fixture_fini(&f);
}

/* ---- traces ---------------------------------------------------------------------------------- */

static void two_traces_in_turns_keep_their_session_file_and_host(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    struct trace_info traces[2 * 64 + 1];
    char names[2 * 64 + 1][16];
    enum { COUNT = sizeof(traces) / sizeof(traces[0]) };
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof(names[i]), "t%zu", i);
        traces[i] = (struct trace_info){.session_name = span_text(names[i]),
            .file = i % 2 ? span_text(names[i]) : span_make(NULL, 0),
            .host_name = i % 3 ? span_text(names[i]) : span_make(NULL, 0)};
    }
    for (size_t n = 0; n < COUNT * 4; n++) {
        size_t i = n % 2 ? n * 5 % COUNT : n % COUNT;
        f.record.trace = &traces[i];
        char file[48] = "";
        char host[48] = "";
        char text[512];
        if (i % 2) {
            snprintf(file, sizeof(file), ",\"file\":\"t%zu\"", i);
        }
        if (i % 3) {
            snprintf(host, sizeof(host), ",\"host\":{\"name\":\"t%zu\"}", i);
        }
        snprintf(text, sizeof(text),
            FIXTURE_STAMP PROVIDER(
                "manifest") "\"event\":{\"code\":0,\"version\":0,\"level\":0,\"task\":0,"
                            "\"opcode\":0,\"opcode_name\":\"Info\",\"channel\":0,\"keywords\":"
                            "\"0x0\"},\"etw\":{\"session\":\"t%zu\",\"sequence\":7,\"cpu\":3%s},"
                            "\"data\":{}%s}\n",
            i, file, host);
        assert_written_at(&f, &event_format_native, text, __FILE__, __LINE__);
    }
    f.record.trace = NULL;
    assert_native(&f, PLAIN("manifest", ",\"data\":{}"));
    fixture_fini(&f);
}

static void time_stamps_are_right_in_any_order(void **state)
{
    (void)state;
    static const struct {
        uint64_t time;
        const char *text;
    } cases[] = {
        {FIXTURE_TIME, "2026-11-21T09:30:00.1234567Z"},
        {FIXTURE_TIME + 1, "2026-11-21T09:30:00.1234568Z"},
        {0, "1601-01-01T00:00:00.0000000Z"},
        {9999999, "1601-01-01T00:00:00.9999999Z"},
        {10000000, "1601-01-01T00:00:01.0000000Z"},
        {UINT64_C(116444736000000000), "1970-01-01T00:00:00.0000000Z"},
        {UINT64_C(125963423999999999), "2000-02-29T23:59:59.9999999Z"},
        {UINT64_C(2650467743999999999), "9999-12-31T23:59:59.9999999Z"},
        {UINT64_C(2650467744000000000), "0x24c85a5ed1c04000"},
        {FIXTURE_TIME, "2026-11-21T09:30:00.1234567Z"},
    };
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        f.record.time = cases[i].time;
        char text[512];
        snprintf(text, sizeof(text), "{\"@timestamp\":\"%s\",%s", cases[i].text,
            PROVIDER("manifest") EVENT_0("}") ",\"data\":{}}\n");
        assert_written_at(&f, &event_format_native, text, __FILE__, __LINE__);
    }
    fixture_fini(&f);
}

/* More than a writer keeps texts of, and longer ones than it keeps in all. */
static void events_of_many_processes_have_the_texts_of_their_own(void **state)
{
    (void)state;
    enum { PROCESSES = 6000, EVENTS = 6 * PROCESSES, PAD = 1500 };
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    f.record.present = RECORD_HAS_PROCESS;
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint32_t n = i % PROCESSES;
        char name[32];
        char found[64];
        char line[PAD];
        snprintf(name, sizeof(name), "p%u.exe", n);
        memset(line, 'x', sizeof(line));
        const struct event_process process = {.serial = n + 1,
            .place = n,
            .pid = 4 * n,
            .name = span_text(name),
            .command_line = span_make(line, n % 2 ? sizeof(line) : 1)};
        f.event.process = &process;
        event_process_expect(f.writer, n + 1);
        event_process_expect_next(f.writer, n);
        buf_reset(&f.out);
        event_format_native.event(f.writer, &f.event, &f.out);
        snprintf(found, sizeof(found), ",\"name\":\"%s\",\"command_line\":\"x", name);
        buf_add_byte(&f.out, 0);
        assert_non_null(strstr((const char *)f.out.data, found));
    }
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_event_has_its_members_in_order),
        cmocka_unit_test(a_tracelogging_event_has_a_name_and_the_header_s_numbers),
        cmocka_unit_test(a_kernel_event_has_a_class_and_no_code),
        cmocka_unit_test(a_wpp_message_says_what_its_header_says),
        cmocka_unit_test(a_string_event_is_its_text),
        cmocka_unit_test(names_follow_the_values_in_the_header),
        cmocka_unit_test(every_predefined_level_and_opcode_has_its_name),
        cmocka_unit_test(events_of_two_providers_with_one_definition_keep_their_provider),
        cmocka_unit_test(two_traces_in_turns_keep_their_session_file_and_host),
        cmocka_unit_test(time_stamps_are_right_in_any_order),
        cmocka_unit_test(events_of_many_processes_have_the_texts_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
