#include <stdio.h>

#include "event/formats/event_format.h"
#include "support/json_check.h"
#include "unit/event/format_ecs_rig.h"
#include "unit/event/writer_fixture.h"

/* Lines written by hand from agent/event/ecs.tsv and the rules of docs/reference/events.md. */

static const struct piece one_number[] = {{"A", IN_UINT32, 0, "2a000000", NULL}};

/* FIXTURE_GUID in upper case. */
#define UPPER_GUID "{1C95126E-7EEA-49A9-A3FE-A378B03DDB4D}"

/* An EVENT_HEADER event of the fixture: all numbers zero. */
#define EVENT_ZERO                                                                               \
    FIXTURE_STAMP                                                                                \
    "\"event\":{\"code\":\"0\",\"kind\":\"event\",\"severity\":0,"                               \
    "\"dataset\":\"etw.events\",\"sequence\":7},"                                                \
    "\"log\":{\"level\":\"information\"},\"winlog\":{\"provider_guid\":\"" UPPER_GUID            \
    "\",\"keywords_raw\":\"0x0\",\"level_raw\":0,\"opcode\":\"Info\","                           \
    "\"opcode_raw\":0,\"task_raw\":0,\"version\":0,\"flags\":[\"64_BIT_HEADER\"],\"flags_raw\":" \
    "\"0x40\""
#define WITH_DATA(members) EVENT_ZERO ",\"event_data\":{" members "}}" END

static void assert_ecs_at(struct writer_fixture *f, const char *text, const char *file, int line)
{
    char with_newline[8192];
    snprintf(with_newline, sizeof(with_newline), "%s\n", text);
    assert_written_at(f, &event_format_ecs, with_newline, file, line);
    size_t at;
    assert_null(json_check(span_text(text), &at));
}

#define assert_ecs(f, text) assert_ecs_at((f), (text), __FILE__, __LINE__)

/* ---- one event of each kind of provider ------------------------------------------------------ */

static void a_manifest_event_has_the_layout_of_filebeat(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    const struct event_writer_settings settings = {.session = span_text("security"),
        .tail = span_text(",\"agent\":{\"type\":\"etwship\"},\"tags\":[\"x\"]"),
        .options = {.dataset = span_text("etw.dns"), .data_namespace = span_text("prod")}};
    fixture_use_writer(&f, &settings);
    event_writer_read_at(f.writer, FIXTURE_TIME + 10000000);
    static const struct piece pieces[] = {
        {"QueryName", IN_UNICODE_STRING, 0, "L'example.org'", NULL},
        {"QueryType", IN_UINT32, 0, "01000000", NULL},
        {"QueryOptions", IN_UINT64, 0, "00000000 00800000", NULL},
        {"QueryResults", IN_UNICODE_STRING, 0, "", NULL},
    };
    fixture_set_fields(&f, pieces, 4);
    static const struct schema_keyword keywords[] = {
        {UINT64_C(0x8000000000000000), {(const uint8_t *)"Op", 2}},
        {0x10, {(const uint8_t *)"Not set", 7}}};
    const struct event_descriptor descriptor = {.id = 3008,
        .version = 1,
        .channel = 16,
        .level = 4,
        .opcode = 12,
        .task = 3,
        .keyword = UINT64_C(0x80000000000000ab)};
    f.schema.provider_name = span_text("Microsoft-Windows-DNS-Client");
    f.schema.channel_name = span_text("Microsoft-Windows-DNS-Client/Operational");
    f.schema.task_name = span_text("Lookup");
    f.schema.opcode_name = span_text("Done");
    f.schema.keywords = keywords;
    f.schema.keyword_count = 2;
    f.schema.descriptor = descriptor;
    f.schema.message = span_text("Completed for %1, type %2");
    f.record.descriptor = descriptor;
    f.record.present = RECORD_HAS_PROCESS | RECORD_HAS_THREAD | RECORD_HAS_CPU_TIMES;
    f.record.process_id = 1234;
    f.record.thread_id = 5678;
    f.record.flags = EVENT_FLAG_64_BIT | EVENT_FLAG_EXTENDED_INFO | EVENT_FLAG_PROCESSOR_INDEX;
    f.record.sequence = 481516;
    f.record.activity_id = (struct guid){
        {0, 1, 0, 0, 0, 0, 3, 0, 0x19, 0x3d, 0x42, 0xfb, 0x30, 0xbb, 0xcb, 1}};
    f.trace.path = span_text("C:\\t\\a.etl");
    f.trace.host_name = span_text("PC-0042");
    f.trace.host_id = span_text("6f1c");
    f.trace.host_domain = span_text("corp.example");
    f.trace.host_architecture = span_text("x86_64");
    f.trace.os_name = span_text("Windows 10 Pro");
    f.trace.os_version = span_text("10.0.19041");
    f.trace.os_kernel = span_text("10.0.19041.4291");
    const struct span addresses[] = {span_text("192.0.2.7"), span_text("2001:db8::1")};
    f.trace.host_ips = addresses;
    f.trace.host_ip_count = 2;
    struct span sid = payload_make("0101000000000005 12000000");
    const struct extended_item items[] = {{EXTENDED_SID, sid}};
    f.record.extended = items;
    f.record.extended_count = 1;
    assert_ecs(&f, FIXTURE_STAMP
        "\"event\":{\"code\":\"3008\",\"kind\":\"event\",\"severity\":4,"
        "\"provider\":\"Microsoft-Windows-DNS-Client\",\"action\":\"dns-answer\","
        "\"category\":[\"network\"],\"type\":[\"protocol\",\"end\"],\"dataset\":\"etw.dns\","
        "\"sequence\":481516,\"created\":\"2026-11-21T09:30:01.1234567Z\"},"
        "\"log\":{\"level\":\"information\",\"file\":{\"path\":\"C:\\\\t\\\\a.etl\"}},"
        "\"process\":{\"pid\":1234,\"thread\":{\"id\":5678}},"
        "\"winlog\":{\"provider_guid\":\"" UPPER_GUID "\","
        "\"channel\":\"Microsoft-Windows-DNS-Client/Operational\",\"keywords\":[\"Op\"],"
        "\"keywords_raw\":\"0x80000000000000AB\",\"level\":\"Information\",\"level_raw\":4,"
        "\"opcode\":\"Done\",\"opcode_raw\":12,\"task\":\"Lookup\",\"task_raw\":3,"
        "\"version\":1,\"session\":\"security\",\"process_id\":\"1234\","
        "\"thread_id\":\"5678\",\"activity_id\":\"{00000100-0000-0003-193D-42FB30BBCB01}\","
        "\"flags\":[\"64_BIT_HEADER\",\"EXTENDED_INFO\",\"PROCESSOR_INDEX\"],"
        "\"flags_raw\":\"0x241\","
        "\"event_data\":{\"QueryName\":\"example.org\",\"QueryType\":\"1\","
        "\"QueryOptions\":\"140737488355328\",\"extended_data\":{\"SID\":\"S-1-5-18\"}}},"
        "\"dns\":{\"question\":{\"name\":\"example.org\",\"type\":\"A\"},\"type\":\"answer\"},"
        "\"network\":{\"protocol\":\"dns\"},\"related\":{\"hosts\":[\"example.org\"]},"
        "\"message\":\"Completed for example.org, type 1\","
        "\"host\":{\"os\":{\"type\":\"windows\",\"name\":\"Windows 10 Pro\","
        "\"version\":\"10.0.19041\",\"kernel\":\"10.0.19041.4291\"},"
        "\"name\":\"PC-0042\",\"hostname\":\"PC-0042\",\"domain\":\"corp.example\","
        "\"id\":\"6f1c\",\"ip\":[\"192.0.2.7\",\"2001:db8::1\"],"
        "\"architecture\":\"x86_64\"},"
        "\"data_stream\":{\"type\":\"logs\",\"dataset\":\"etw.dns\",\"namespace\":\"prod\"},"
        "\"ecs\":{\"version\":\"8.17.0\"},\"agent\":{\"type\":\"etwship\"},\"tags\":[\"x\"]}");
    payload_free(sid);
    fixture_fini(&f);
}

static void an_eventsource_event_has_its_name_as_action(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_EVENTSOURCE);
    fixture_set_fields(&f, one_number, 1);
    f.schema.provider_name = span_text("My-Source");
    f.schema.event_name = span_text("Started");
    f.schema.task_name = span_text("Started");
    f.record.descriptor = (struct event_descriptor){.id = 1, .level = 5, .opcode = 1};
    assert_ecs(&f, FIXTURE_STAMP
        "\"event\":{\"code\":\"1\",\"kind\":\"event\",\"severity\":5,\"provider\":\"My-Source\","
        "\"action\":\"Started\",\"dataset\":\"etw.events\",\"sequence\":7},"
        "\"log\":{\"level\":\"verbose\"},\"winlog\":{\"provider_guid\":\"" UPPER_GUID "\","
        "\"keywords_raw\":\"0x0\",\"level\":\"Verbose\",\"level_raw\":5,\"opcode\":\"Start\","
        "\"opcode_raw\":1,\"task\":\"Started\",\"task_raw\":0,\"version\":0,"
        "\"flags\":[\"64_BIT_HEADER\"],\"flags_raw\":\"0x40\",\"event_data\":{\"A\":\"42\"}}" END);
    fixture_fini(&f);
}

/* TDH shows the name of a TraceLogging event as its task. */
static void a_tracelogging_event_has_its_name_as_task(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_TRACELOGGING);
    f.schema.provider_name = span_text("Atum-Hw3d");
    f.schema.event_name = span_text("WinMain");
    f.record.descriptor = (struct event_descriptor){.channel = 11, .level = 1};
    struct span schema = payload_make("0b00 ff");
    const struct extended_item items[] = {{EXTENDED_SCHEMA_TL, schema}};
    f.record.extended = items;
    f.record.extended_count = 1;
    assert_ecs(&f, FIXTURE_STAMP
        "\"event\":{\"code\":\"0\",\"kind\":\"event\",\"severity\":1,\"provider\":\"Atum-Hw3d\","
        "\"action\":\"WinMain\",\"dataset\":\"etw.events\",\"sequence\":7},"
        "\"log\":{\"level\":\"critical\"},\"winlog\":{\"provider_guid\":\"" UPPER_GUID "\","
        "\"keywords_raw\":\"0x0\",\"level\":\"Critical\",\"level_raw\":1,\"opcode\":\"Info\","
        "\"opcode_raw\":0,\"task\":\"WinMain\",\"task_raw\":0,\"version\":0,"
        "\"flags\":[\"64_BIT_HEADER\"],\"flags_raw\":\"0x40\","
        "\"event_data\":{\"extended_data\":{\"EVENT_SCHEMA_TL\":\"0x0B00FF\"}}}" END);
    payload_free(schema);
    fixture_fini(&f);
}

static void a_kernel_event_has_no_code_and_no_level(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_KERNEL, SCHEMA_MOF);
    static const struct piece pieces[] = {
        {"ProcessId", IN_UINT32, OUT_PID, "92100000", NULL},
        {"DirectoryTableBase", IN_POINTER, 0, "00b01a0000000000", NULL},
        {"ImageFileName", IN_ANSI_STRING, 0, "'cmd.exe'", NULL},
        {"CommandLine", IN_UNICODE_STRING, 0, "", NULL},
    };
    fixture_set_fields(&f, pieces, 4);
    assert_true(guid_parse(span_text("9e814aad-3204-11d2-9a82-006008a86939"), &f.schema.provider));
    assert_true(guid_parse(span_text("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"), &f.record.provider));
    f.schema.provider_name = span_text("MSNT_SystemTrace");
    f.schema.event_name = span_text("Process/Start");
    f.schema.task_name = span_text("Process");
    f.schema.opcode_name = span_text("Start");
    f.record.descriptor = (struct event_descriptor){.version = 4, .opcode = 1};
    f.record.hook_id = 0x0301;
    f.record.present = RECORD_HAS_THREAD;
    f.record.thread_id = 912;
    f.event.stack = (const uint64_t[]){UINT64_C(0xfffff80312345678), 0x10};
    f.event.stack_count = 2;
    assert_ecs(&f, FIXTURE_STAMP
        "\"event\":{\"kind\":\"event\",\"provider\":\"MSNT_SystemTrace\","
        "\"action\":\"Process/Start\",\"dataset\":\"etw.events\",\"sequence\":7},"
        "\"process\":{\"thread\":{\"id\":912}},"
        "\"winlog\":{\"provider_guid\":\"{9E814AAD-3204-11D2-9A82-006008A86939}\","
        "\"opcode\":\"Start\",\"opcode_raw\":1,\"task\":\"Process\",\"version\":4,"
        "\"thread_id\":\"912\",\"event_data\":{\"ProcessId\":\"4242\","
        "\"DirectoryTableBase\":\"0x1AB000\",\"ImageFileName\":\"cmd.exe\","
        "\"extended_data\":{\"STACK_TRACE64\":[\"18446735290806851192\",\"16\"]}}}" END);
    fixture_fini(&f);
}

static void a_classic_event_that_nothing_describes_has_its_class_as_provider(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_CLASSIC, SCHEMA_MOF);
    struct span payload = payload_make("00ff");
    f.event.schema = NULL;
    f.event.status = DECODE_RAW;
    f.record.payload = payload;
    f.record.descriptor = (struct event_descriptor){.version = 2, .opcode = 36, .level = 3};
    assert_ecs(&f, FIXTURE_STAMP
        "\"event\":{\"kind\":\"event\",\"severity\":3,\"dataset\":\"etw.events\","
        "\"sequence\":7},\"log\":{\"level\":\"warning\"},"
        "\"winlog\":{\"provider_guid\":\"" UPPER_GUID "\",\"level\":\"Warning\","
        "\"level_raw\":3,\"opcode_raw\":36,\"version\":2},\"etw\":{\"payload\":\"0x00FF\"}" END);
    payload_free(payload);
    fixture_fini(&f);
}

static void a_wpp_message_has_its_number_as_code(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_MESSAGE, SCHEMA_WPP);
    f.schema.provider_name = span_text("wpp_provider");
    f.schema.event_name = span_text("main");
    f.schema.message = span_text("value %1");
    fixture_set_fields(&f, one_number, 1);
    f.record.descriptor.id = 10;
    f.record.present = RECORD_HAS_PROCESS | RECORD_HAS_SEQUENCE;
    f.record.process_id = 77;
    assert_ecs(&f, FIXTURE_STAMP
        "\"event\":{\"code\":\"10\",\"kind\":\"event\",\"provider\":\"wpp_provider\","
        "\"action\":\"main\",\"dataset\":\"etw.events\",\"sequence\":7},"
        "\"process\":{\"pid\":77},\"winlog\":{\"provider_guid\":\"" UPPER_GUID "\","
        "\"process_id\":\"77\",\"event_data\":{\"A\":\"42\"}},\"message\":\"value 42\"" END);
    fixture_fini(&f);
}

static void a_string_event_is_its_message(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_STRING);
    static const struct piece pieces[] = {
        {"String", IN_UNICODE_STRING, 0, "L'say ' 2200 L'hi' 2200", NULL}};
    fixture_set_fields(&f, pieces, 1);
    f.schema.message = span_text("%1");
    assert_ecs(&f, EVENT_ZERO "},\"message\":\"say \\\"hi\\\"\"" END);
    /* An empty value has no member. */
    static const struct piece empty[] = {{"String", IN_UNICODE_STRING, 0, "", NULL}};
    fixture_set_fields(&f, empty, 1);
    assert_ecs(&f, EVENT_ZERO "}" END);
    fixture_fini(&f);
}

static void an_event_that_nothing_describes_keeps_its_payload(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_UNKNOWN);
    struct span payload = payload_make("deadbeef");
    f.event.schema = NULL;
    f.event.status = DECODE_RAW;
    f.record.payload = payload;
    assert_ecs(&f, EVENT_ZERO "},\"etw\":{\"payload\":\"0xDEADBEEF\"}" END);
    f.record.payload.size = 0;
    assert_ecs(&f, EVENT_ZERO "}" END);
    static const uint8_t metadata[] = {5, 0, 0, 'E', 0};
    const struct extended_item item = {EXTENDED_SCHEMA_TL, span_make(metadata, sizeof(metadata))};
    f.record.extended = &item;
    f.record.extended_count = 1;
    buf_reset(&f.out);
    f.record.payload = payload;
    event_format_find(span_text("ecs"))->event(f.writer, &f.event, &f.out);
    buf_add_byte(&f.out, 0);
    assert_non_null(strstr((const char *)f.out.data,
        ",\"etw\":{\"payload\":\"0xDEADBEEF\",\"payload_schema\":\"0x0500004500\"}"));
    payload_free(payload);
    fixture_fini(&f);
}

static void an_unknown_header_has_next_to_nothing(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_OPAQUE, SCHEMA_UNKNOWN);
    f.event.schema = NULL;
    f.event.status = DECODE_RAW;
    f.record.provider = (struct guid){{0}};
    f.record.trace = NULL;
    assert_ecs(&f, FIXTURE_STAMP "\"event\":{\"kind\":\"event\",\"dataset\":\"etw.events\","
                                 "\"sequence\":7}" STREAM "}");
    fixture_fini(&f);
}

static void a_partly_decoded_event_has_the_rest_and_the_reason(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, one_number, 1);
    static const uint8_t rest[] = {0x01, 0xfe};
    f.event.status = DECODE_PARTIAL;
    f.event.rest = span_make(rest, 2);
    f.event.error = "it \"ends\"";
    assert_ecs(&f, EVENT_ZERO ",\"event_data\":{\"A\":\"42\"}},\"error\":{\"message\":"
                              "\"it \\\"ends\\\"\"},\"etw\":{\"payload_rest\":\"0x01FE\"}" END);
    f.event.status = DECODE_RESIDUE;
    f.event.error = NULL;
    assert_ecs(
        &f, EVENT_ZERO ",\"event_data\":{\"A\":\"42\"}},\"etw\":{\"payload_rest\":\"0x01FE\"}" END);
    fixture_fini(&f);
}

/* ---- header ---------------------------------------------------------------------------------- */

static void every_level_has_its_log_level(void **state)
{
    (void)state;
    static const char *const levels[] = {"\"level\":\"information\"", "\"level\":\"critical\"",
        "\"level\":\"error\"", "\"level\":\"warning\"", "\"level\":\"information\"",
        "\"level\":\"verbose\"", NULL};
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    for (uint8_t level = 0; level < 7; level++) {
        f.record.descriptor.level = level;
        buf_reset(&f.out);
        event_format_ecs.event(f.writer, &f.event, &f.out);
        buf_add_byte(&f.out, 0);
        const char *log = strstr((const char *)f.out.data, "\"log\":{");
        assert_int_equal(log != NULL, levels[level] != NULL);
        assert_true(!log || strncmp(log + 7, levels[level], strlen(levels[level])) == 0);
    }
    fixture_fini(&f);
}

static void flags_have_sorted_names_and_unknown_ones_a_number(void **state)
{
    (void)state;
    static const struct {
        uint16_t flags;
        const char *json;
    } cases[] = {
        {0x5e, ",\"flags\":[\"64_BIT_HEADER\",\"NO_CPUTIME\",\"PRIVATE_SESSION\","
               "\"STRING_ONLY\",\"TRACE_MESSAGE\"],\"flags_raw\":\"0x5E\"}"},
        {0x240, ",\"flags\":[\"64_BIT_HEADER\",\"PROCESSOR_INDEX\"],\"flags_raw\":\"0x240\"}"},
        {0x1a1, ",\"flags\":[\"32_BIT_HEADER\",\"CLASSIC_HEADER\",\"DECODE_GUID\","
                "\"EXTENDED_INFO\"],\"flags_raw\":\"0x1A1\"}"},
        {0x8440, ",\"flags\":[\"64_BIT_HEADER\",\"UNKNOWN(0x8400)\"],\"flags_raw\":\"0x8440\"}"},
        {0x5e, ",\"flags\":[\"64_BIT_HEADER\",\"NO_CPUTIME\","},
        {0xffff, "\"TRACE_MESSAGE\",\"UNKNOWN(0xFC00)\"],\"flags_raw\":\"0xFFFF\"}"},
    };
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        f.record.flags = cases[i].flags;
        buf_reset(&f.out);
        event_format_ecs.event(f.writer, &f.event, &f.out);
        buf_add_byte(&f.out, 0);
        assert_non_null(strstr((const char *)f.out.data, cases[i].json));
    }
    fixture_fini(&f);
}

/* In a file the type of a record's header says it, 18 or 19 (EVENT_HEADER32, EVENT_HEADER64). For a
 * live record Windows has made a flag of it. */
static void the_width_of_a_header_is_a_flag_wherever_it_comes_from(void **state)
{
    (void)state;
    static const struct {
        uint8_t pointer_size;
        uint16_t flags;
        const char *json;
    } cases[] = {
        {8, 0, ",\"flags\":[\"64_BIT_HEADER\"],\"flags_raw\":\"0x40\"}"},
        {4, 0, ",\"flags\":[\"32_BIT_HEADER\"],\"flags_raw\":\"0x20\"}"},
        {4, 1, ",\"flags\":[\"32_BIT_HEADER\",\"EXTENDED_INFO\"],\"flags_raw\":\"0x21\"}"},
        {8, 0x20, ",\"flags\":[\"32_BIT_HEADER\"],\"flags_raw\":\"0x20\"}"},
        {4, 0x40, ",\"flags\":[\"64_BIT_HEADER\"],\"flags_raw\":\"0x40\"}"},
    };
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        f.record.pointer_size = cases[i].pointer_size;
        f.record.flags = cases[i].flags;
        buf_reset(&f.out);
        event_format_ecs.event(f.writer, &f.event, &f.out);
        buf_add_byte(&f.out, 0);
        assert_non_null(strstr((const char *)f.out.data, cases[i].json));
    }
    fixture_fini(&f);
}

static void two_traces_in_turns_keep_their_session_and_file(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    struct trace_info other = f.trace;
    f.trace.session_name = span_text("one");
    other.path = span_text("two.etl");
    for (int i = 0; i < 4; i++) {
        f.record.trace = i % 2 ? &other : &f.trace;
        buf_reset(&f.out);
        event_format_ecs.event(f.writer, &f.event, &f.out);
        buf_add_byte(&f.out, 0);
        const char *line = (const char *)f.out.data;
        assert_int_equal(strstr(line, ",\"session\":\"one\"") != NULL, i % 2 == 0);
        assert_int_equal(strstr(line, ",\"file\":{\"path\":\"two.etl\"}}") != NULL, i % 2 == 1);
    }
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
    f.event.stack = (const uint64_t[]){1, 2};
    f.event.stack_count = 2;
    event_format_ecs.event(f.writer, &f.event, &f.out);
    size_t whole = f.out.size;
    for (size_t max = 0; max < whole; max++) {
        struct buf out;
        buf_init(&out, max);
        event_format_ecs.event(f.writer, &f.event, &out);
        assert_true(out.failed);
        assert_true(out.size <= max);
        buf_fini(&out);
    }
    fixture_fini(&f);
}

/* The checker of lines, which the fuzz target uses, too. */
static void the_judge_knows_json(void **state)
{
    (void)state;
    static const char *const good[] = {"{}", "[]",
        "{\"a\":[1,-0.5e+3,\"\\u00e9\xc3\xa9\"],\"b\":{}}", "[true,false,null,\"\\\\\\\"\"]",
        "{\"a\":{\"a\":1},\"b\":{\"a\":1}}"};
    static const char *const bad[] = {"", "{", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "[1,]", "[1 2]",
        "{\"a\":1}x", "{\"a\":1,\"a\":2}", "{\"b\":{\"a\":1,\"c\":2,\"a\":3}}", "01", "1.", "nan",
        "\"\n\"", "\"\\x\"", "\"\\u12\"", "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"",
        "\"\xf5\x80\x80\x80\"", "\"\xe2\x82\"", "\"open"};
    size_t at;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_null(json_check(span_text(good[i]), &at));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_non_null(json_check(span_text(bad[i]), &at));
    }
    static const char *const good_lines[] = {
        "{}\n", "{\"a\":\"\\ud83d\\ude00\",\"\\u0041\":1,\"B\":2}\n"};
    static const char *const bad_lines[] = {"", "{}", "[]\n", "{}\n\n", "{\n}\n", "{}{}\n",
        "{\"a\":\"\\ud83d\"}\n", "{\"a\":\"\\ude00\"}\n", "{\"a\":\"\\ud83d\\u0041\"}\n",
        "{\"a\":1,\"\\u0061\":2}\n", "{\"\\n\":1,\"\\u000a\":2}\n",
        "{\"\\u00e9\":1,\"\xc3\xa9\":2}\n", "{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}\n"};
    for (size_t i = 0; i < sizeof(good_lines) / sizeof(good_lines[0]); i++) {
        assert_null(json_check_line(span_text(good_lines[i]), &at));
    }
    for (size_t i = 0; i < sizeof(bad_lines) / sizeof(bad_lines[0]); i++) {
        assert_non_null(json_check_line(span_text(bad_lines[i]), &at));
    }
    assert_null(json_check_utf8(span_text("a\n\xc3\xa9\xc2\xa0"), &at));
    static const char *const bad_texts[] = {"\xff", "\t", "\x7f", "\xc2\x9b", "\xc3"};
    for (size_t i = 0; i < sizeof(bad_texts) / sizeof(bad_texts[0]); i++) {
        assert_non_null(json_check_utf8(span_text(bad_texts[i]), &at));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_event_has_the_layout_of_filebeat),
        cmocka_unit_test(an_eventsource_event_has_its_name_as_action),
        cmocka_unit_test(a_tracelogging_event_has_its_name_as_task),
        cmocka_unit_test(a_kernel_event_has_no_code_and_no_level),
        cmocka_unit_test(a_classic_event_that_nothing_describes_has_its_class_as_provider),
        cmocka_unit_test(a_wpp_message_has_its_number_as_code),
        cmocka_unit_test(a_string_event_is_its_message),
        cmocka_unit_test(an_event_that_nothing_describes_keeps_its_payload),
        cmocka_unit_test(an_unknown_header_has_next_to_nothing),
        cmocka_unit_test(a_partly_decoded_event_has_the_rest_and_the_reason),
        cmocka_unit_test(every_level_has_its_log_level),
        cmocka_unit_test(flags_have_sorted_names_and_unknown_ones_a_number),
        cmocka_unit_test(the_width_of_a_header_is_a_flag_wherever_it_comes_from),
        cmocka_unit_test(two_traces_in_turns_keep_their_session_and_file),
        cmocka_unit_test(a_full_buffer_fails_at_any_length),
        cmocka_unit_test(the_judge_knows_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
