#include <stdio.h>

#include "event/write/event_edits.h"
#include "event/write/event_file.h"
#include "event/write/event_formats.h"
#include "event/write/event_path_ids.h"
#include "event/write/event_process.h"
#include "support/json_check.h"
#include "unit/event/writer_fixture.h"

/*
 * Whole events that the mapping knows. Expected is the text between the members that every event
 * has: the event object after its severity, the process, and the part after winlog.
 */

struct expected {
    const char *event; /* of the event object, after `"severity":0` and up to the dataset */
    const char *late;  /* of the event object, after the sequence */
    const char *process;
    const char *rest; /* after winlog, up to the host */
};

static void assert_holds(struct span line, const char *part, const char *file, int line_number)
{
    char text[8192];
    snprintf(text, sizeof(text), "%.*s", SPAN_ARG(line));
    if (!strstr(text, part)) {
        print_error("%s:%d: %s\nis not in %s\n", file, line_number, part, text);
        fail();
    }
}

/* ${winlog}: of that object, after the payload. */
static void assert_mapped_at(struct writer_fixture *f, const char *winlog,
    const struct expected *expected, const char *file, int line)
{
    char text[4096];
    size_t at;
    buf_reset(&f->out);
    event_format_ecs.event(f->writer, &f->event, &f->out);
    struct span written = buf_span(&f->out);
    assert_null(json_check(span_first(written, written.size - 1), &at));
    snprintf(text, sizeof(text), "\"severity\":0%s,\"dataset\":\"etw.events\",\"sequence\":7%s}",
        expected->event, expected->late);
    assert_holds(written, text, file, line);
    snprintf(text, sizeof(text), "\"log\":{\"level\":\"information\"}%s,\"winlog\":{",
        expected->process);
    assert_holds(written, text, file, line);
    snprintf(text, sizeof(text), "}%s}%s,\"host\":{", winlog, expected->rest);
    assert_holds(written, text, file, line);
}

#define assert_mapped_with(f, winlog, ...) \
    assert_mapped_at((f), winlog, &(const struct expected){__VA_ARGS__}, __FILE__, __LINE__)
#define assert_mapped(f, ...) assert_mapped_with(f, "", __VA_ARGS__)

static struct guid guid_of(const char *text)
{
    struct guid guid;
    assert_true(guid_parse(span_text(text), &guid));
    return guid;
}

/* An event of a manifest provider, by process 1234 and thread 5678. */
static void init(struct writer_fixture *f, const char *provider, uint16_t id,
    const struct piece *pieces, size_t count)
{
    fixture_init(f, RECORD_EVENT, SCHEMA_MANIFEST);
    f->record.provider = guid_of(provider);
    f->record.descriptor.id = id;
    f->record.present = RECORD_HAS_PROCESS | RECORD_HAS_THREAD;
    f->record.process_id = 1234;
    f->record.thread_id = 5678;
    fixture_set_fields(f, pieces, count);
}

#define DNS FIXTURE_GUID
#define KERNEL_PROCESS "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716"
#define KERNEL_REGISTRY "70eb4f03-c1de-4f73-a051-33d13d5413bd"
#define KERNEL_FILE "edd08927-9cc4-4e65-b970-c2560fb5c289"
#define SECURITY "54849625-5478-4994-a5ba-3e3b0328c30d"
#define LOGON_FAILURE ",\"logon\":{\"failure\":{\"status\":\"STATUS_LOGON_FAILURE\""
#define AUDIT_FAILURE UINT64_C(0x8010000000000000)
#define OWN_PROCESS ",\"process\":{\"pid\":1234,\"thread\":{\"id\":5678}}"

static const struct piece answer[] = {
    {"QueryName", IN_UNICODE_STRING, 0, "L'a.example'", NULL},
    {"QueryType", IN_UINT32, 0, "01000000", NULL},
    {"QueryOptions", IN_UINT64, 0, "0000000000000000", NULL},
    {"QueryStatus", IN_UINT32, 0, "00000000", NULL},
    {"QueryResults", IN_UNICODE_STRING, 0, "L'type:  5 b.example;192.0.2.1;'", NULL},
};
#define ANSWER_EVENT \
    ",\"action\":\"dns-answer\",\"category\":[\"network\"],\"type\":[\"protocol\",\"end\"]"
#define ANSWER_NAME "\"question\":{\"name\":\"a.example\",\"type\":\"A\"}"

static void an_answer_of_dns(void **state)
{
    (void)state;
    struct writer_fixture f;
    init(&f, DNS, 3008, answer, 5);
    assert_mapped(&f, ANSWER_EVENT, ",\"outcome\":\"success\"", OWN_PROCESS,
        ",\"dns\":{\"answers\":[{\"data\":\"b.example\",\"type\":\"CNAME\"},"
        "{\"data\":\"192.0.2.1\",\"type\":\"A\"}]," ANSWER_NAME
        ",\"resolved_ip\":[\"192.0.2.1\"],\"response_code\":\"NOERROR\",\"type\":\"answer\"},"
        "\"network\":{\"protocol\":\"dns\"},\"related\":{\"hosts\":[\"a.example\",\"b.example\"],"
        "\"ip\":[\"192.0.2.1\"]}");
    fixture_fini(&f);
}

static void a_manifest_that_looks_like_an_event_source_s_is_the_provider_s(void **state)
{
    (void)state;
    struct writer_fixture f;
    init(&f, DNS, 3008, answer, 1);
    f.schema.kind = SCHEMA_EVENTSOURCE;
    assert_mapped(&f, ANSWER_EVENT, "", OWN_PROCESS,
        ",\"dns\":{\"question\":{\"name\":\"a.example\"},\"type\":\"answer\"},"
        "\"network\":{\"protocol\":\"dns\"},\"related\":{\"hosts\":[\"a.example\"]}");
    fixture_fini(&f);
}

static void an_error_joins_that_of_decoding(void **state)
{
    (void)state;
    struct writer_fixture f;
    struct piece failed[5];
    memcpy(failed, answer, sizeof(failed));
    failed[3].payload = "2b230000";
    failed[4].payload = "";
    init(&f, DNS, 3008, failed, 5);
    f.event.error = "cut off";
    assert_mapped(&f, ANSWER_EVENT, ",\"outcome\":\"failure\"", OWN_PROCESS,
        ",\"error\":{\"message\":\"cut off\",\"code\":\"9003\"},\"dns\":{" ANSWER_NAME
        ",\"response_code\":\"NXDOMAIN\",\"type\":\"answer\"},\"network\":{\"protocol\":\"dns\"},"
        "\"related\":{\"hosts\":[\"a.example\"]}");
    fixture_fini(&f);
}

/* Fields that a payload lacks, because decoding ended or a rule removed them, have no member. */
static void what_is_not_there_is_left_out(void **state)
{
    (void)state;
    struct writer_fixture f;
    init(&f, DNS, 3008, answer, 5);
    memmove(f.fields, f.fields + 1, 2 * sizeof(f.fields[0]));
    f.fields[0].end = 1;
    f.fields[1].end = 2;
    f.event.field_count = 2;
    assert_mapped(&f, ANSWER_EVENT, "", OWN_PROCESS,
        ",\"dns\":{\"question\":{\"type\":\"A\"},\"type\":\"answer\"},"
        "\"network\":{\"protocol\":\"dns\"}");
    fixture_fini(&f);
}

static const struct piece start[] = {
    {"ProcessID", IN_UINT32, OUT_PID, "d2100000", NULL},
    {"CreateTime", IN_FILETIME, 0, "8727df05ae79dd01", NULL},
    {"ParentProcessID", IN_UINT32, OUT_PID, "61000000", NULL},
    {"ImageName", IN_UNICODE_STRING, 0, "L'\\Device\\H3\\Windows\\cmd.exe'", NULL},
};
#define START_EVENT \
    ",\"action\":\"process-started\",\"category\":[\"process\"],\"type\":[\"start\"]"

static const struct event_process known = {.serial = 1,
    .pid = 1234,
    .name = {(const uint8_t *)"explorer.exe", 12},
    .executable = {(const uint8_t *)"C:\\explorer.exe", 15},
    .has_parent = true,
    .parent_pid = 77,
    .user_id = {(const uint8_t *)"S-1-5-21-7", 10}};

static void the_process_is_the_one_that_was_started(void **state)
{
    (void)state;
    struct writer_fixture f;
    init(&f, KERNEL_PROCESS, 1, start, 4);
    f.event.process = &known;
    assert_mapped(&f, START_EVENT, "",
        ",\"process\":{\"executable\":\"\\\\Device\\\\H3\\\\Windows\\\\cmd.exe\","
        "\"name\":\"cmd.exe\",\"parent\":{\"pid\":97},\"pid\":4306,"
        "\"start\":\"2026-11-21T11:47:02.0764039Z\"}",
        "");
    fixture_fini(&f);
}

static void the_creator_is_what_is_known_of_the_process(void **state)
{
    (void)state;
    struct writer_fixture f;
    struct piece by_own[4];
    memcpy(by_own, start, sizeof(by_own));
    by_own[2].payload = "d2040000";
    init(&f, KERNEL_PROCESS, 1, by_own, 4);
    f.event.process = &known;
    assert_mapped(&f, START_EVENT, "",
        ",\"process\":{\"executable\":\"\\\\Device\\\\H3\\\\Windows\\\\cmd.exe\","
        "\"name\":\"cmd.exe\",\"parent\":{\"executable\":\"C:\\\\explorer.exe\","
        "\"name\":\"explorer.exe\",\"pid\":1234},\"pid\":4306,"
        "\"start\":\"2026-11-21T11:47:02.0764039Z\"}",
        "");
    /* A process that started before the trace may have a parent whose pid another process has
     * now. */
    f.record.descriptor.id = 15;
    assert_mapped(&f,
        ",\"action\":\"process-rundown\",\"category\":[\"process\"],\"type\":[\"info\"]", "",
        ",\"process\":{\"executable\":\"\\\\Device\\\\H3\\\\Windows\\\\cmd.exe\","
        "\"name\":\"cmd.exe\",\"parent\":{\"pid\":1234},\"pid\":4306,"
        "\"start\":\"2026-11-21T11:47:02.0764039Z\"}",
        "");
    fixture_fini(&f);
}

static const struct event_process started = {.serial = 2,
    .pid = 4306,
    .name = {(const uint8_t *)"cmd.exe", 7},
    .executable = {(const uint8_t *)"C:\\Windows\\CMD.EXE", 18},
    .command_line = {(const uint8_t *)"cmd /c dir", 10},
    .start_key = 0x1000000000007,
    .has_parent = true,
    .parent_pid = 1234,
    .parent_name = {(const uint8_t *)"explorer.exe", 12},
    .user_id = {(const uint8_t *)"S-1-5-21-8", 10}};

static const struct event_process *find_started(
    void *self, const struct event_record *record, uint32_t pid)
{
    (void)self;
    assert_non_null(record);
    return pid == 4306 ? &started : NULL;
}

/* The started process has its image with a drive; the creator lacks it. The name is that of the
 * payload nevertheless. */
static void what_is_known_of_another_process_joins(void **state)
{
    (void)state;
    static const struct event_processes others = {.find = find_started};
    struct writer_fixture f;
    struct piece by_own[4];
    memcpy(by_own, start, sizeof(by_own));
    by_own[2].payload = "d2040000";
    init(&f, KERNEL_PROCESS, 1, by_own, 4);
    f.event.process = &known;
    f.event.others = &others;
    assert_mapped(&f, START_EVENT, "",
        ",\"process\":{\"command_line\":\"cmd /c dir\",\"entity_id\":\"281474976710663\","
        "\"executable\":\"C:\\\\Windows\\\\CMD.EXE\",\"name\":\"cmd.exe\","
        "\"parent\":{\"executable\":\"C:\\\\explorer.exe\",\"name\":\"explorer.exe\","
        "\"pid\":1234},\"pid\":4306,\"start\":\"2026-11-21T11:47:02.0764039Z\"}",
        ",\"user\":{\"id\":\"S-1-5-21-8\"}");
    /* Rules that remove it from the event's own process also remove it from others. */
    struct event_edits edits = {
        .process_removed = event_edits_process_bit(PATH_PROCESS_PARENT_EXECUTABLE)};
    f.event.edits = &edits;
    assert_mapped(&f, START_EVENT, "",
        ",\"process\":{\"executable\":\"\\\\Device\\\\H3\\\\Windows\\\\cmd.exe\","
        "\"name\":\"cmd.exe\",\"parent\":{\"executable\":\"C:\\\\explorer.exe\","
        "\"name\":\"explorer.exe\",\"pid\":1234},\"pid\":4306,"
        "\"start\":\"2026-11-21T11:47:02.0764039Z\"}",
        "");
    fixture_fini(&f);
}

/* The process of the header loads an image: the known facts of that process go with it. */
static void what_is_known_of_the_process_joins(void **state)
{
    (void)state;
    struct writer_fixture f;
    static const struct piece load[] = {
        {"ProcessID", IN_UINT32, OUT_PID, "d2040000", NULL},
        {"ImageName", IN_UNICODE_STRING, 0, "L'C:\\a.dll'", NULL},
    };
    init(&f, KERNEL_PROCESS, 5, load, 2);
    f.event.process = &known;
    assert_mapped(&f,
        ",\"action\":\"image-loaded\",\"category\":[\"library\"],\"type\":[\"start\"]", "",
        ",\"process\":{\"thread\":{\"id\":5678},\"executable\":\"C:\\\\explorer.exe\","
        "\"name\":\"explorer.exe\",\"parent\":{\"pid\":77},\"pid\":1234}",
        ",\"dll\":{\"name\":\"a.dll\",\"path\":\"C:\\\\a.dll\"},\"user\":{\"id\":\"S-1-5-21-7\"}");
    fixture_fini(&f);
}

static const struct piece opened[] = {
    {"FileName", IN_UNICODE_STRING, 0, "L'\\Device\\HarddiskVolume2\\x\\a.txt'", NULL},
};
static const struct piece written[] = {{"IOSize", IN_UINT32, 0, "00100000", NULL}};
#define FILE_OPENED ",\"action\":\"file-opened\",\"category\":[\"file\"],\"type\":[\"access\"]"
#define FILE_WRITTEN ",\"action\":\"file-written\",\"category\":[\"file\"],\"type\":[\"change\"]"
#define FILE_OF(path)                                                                      \
    ",\"file\":{\"directory\":\"" path "\\\\x\",\"extension\":\"txt\",\"name\":\"a.txt\"," \
    "\"path\":\"" path "\\\\x\\\\a.txt\"}"

/* The payload's own path is used, unless only the table knows the drive. */
static void the_file_is_the_one_that_is_used(void **state)
{
    (void)state;
    static const struct event_file of_drive = {.path = {(const uint8_t *)"C:\\x\\a.txt", 10}};
    static const struct event_file other = {.path = {(const uint8_t *)"\\Device\\y\\b", 11}};
    static const struct event_file cut = {
        .path = {(const uint8_t *)"C:\\x\\a.txt", 8}, .is_edited = true};
    struct writer_fixture f;
    init(&f, KERNEL_FILE, 12, opened, 1);
    assert_mapped(&f, FILE_OPENED, "", OWN_PROCESS, FILE_OF("\\\\Device\\\\HarddiskVolume2"));
    f.event.file = &other;
    assert_mapped(&f, FILE_OPENED, "", OWN_PROCESS, FILE_OF("\\\\Device\\\\HarddiskVolume2"));
    f.event.file = &of_drive;
    assert_mapped(&f, FILE_OPENED, "", OWN_PROCESS, FILE_OF("C:"));
    f.event.file = &cut;
    assert_mapped(&f, FILE_OPENED, "", OWN_PROCESS, ",\"file\":{\"path\":\"C:\\\\x\\\\a.t\"}");
    /* A rule that removes it also removes the payload's value, but no process. */
    struct event_edits edits = {.process_removed = event_edits_process_bit(PATH_FILE_PATH)};
    f.event.edits = &edits;
    f.event.file = NULL;
    assert_mapped(&f, FILE_OPENED, "", OWN_PROCESS, "");
    fixture_fini(&f);

    init(&f, KERNEL_FILE, 16, written, 1);
    assert_mapped(&f, FILE_WRITTEN, "", OWN_PROCESS, "");
    f.event.file = &of_drive;
    assert_mapped(&f, FILE_WRITTEN, "", OWN_PROCESS, FILE_OF("C:"));
    fixture_fini(&f);
}

/* A logon: the process is another one, and the user is not that of the reporting process. */
static void a_user_is_not_mixed_with_another(void **state)
{
    (void)state;
    struct writer_fixture f;
    static const struct piece logon[] = {
        {"TargetUserSid", IN_SID, 0, "0101000000000000 00000000", NULL},
        {"TargetUserName", IN_UNICODE_STRING, 0, "L'smith'", NULL},
        {"TargetDomainName", IN_UNICODE_STRING, 0, "L'-'", NULL},
        {"Status", IN_HEX_INT32, 0, "6d0000c0", NULL},
        {"SubStatus", IN_HEX_INT32, 0, "00000000", NULL},
        {"ProcessId", IN_POINTER, 0, "0500000000000000", NULL},
        {"IpAddress", IN_UNICODE_STRING, 0, "L'::ffff:192.0.2.9'", NULL},
        {"IpPort", IN_UNICODE_STRING, 0, "L'0'", NULL},
    };
    init(&f, SECURITY, 4625, logon, 8);
    f.record.descriptor.keyword = AUDIT_FAILURE;
    f.event.process = &known;
    assert_mapped_with(&f, LOGON_FAILURE "}}",
        ",\"action\":\"logon-failed\",\"category\":[\"authentication\"],\"type\":[\"start\"]",
        ",\"outcome\":\"failure\"", ",\"process\":{\"pid\":5}",
        ",\"error\":{\"code\":\"0xc000006d\"},\"related\":{\"ip\":[\"192.0.2.9\"],"
        "\"user\":[\"smith\"]},\"source\":{\"ip\":\"192.0.2.9\"},\"user\":{\"name\":\"smith\"}");
    fixture_fini(&f);
}

/* Candidates for one field, in the order of the table: the first that has a value counts. */
static void the_first_source_with_a_value_counts(void **state)
{
    (void)state;
    struct writer_fixture f;
    static const struct piece failed[] = {
        {"Status", IN_HEX_INT32, 0, "6d0000c0", NULL},
        {"SubStatus", IN_HEX_INT32, 0, "640000c0", NULL},
    };
    init(&f, SECURITY, 4625, failed, 2);
    f.record.descriptor.keyword = AUDIT_FAILURE;
    assert_mapped_with(&f, LOGON_FAILURE ",\"sub_status\":\"STATUS_NO_SUCH_USER\"}}",
        ",\"action\":\"logon-failed\",\"category\":[\"authentication\"],\"type\":[\"start\"]",
        ",\"outcome\":\"failure\"", OWN_PROCESS, ",\"error\":{\"code\":\"0xc0000064\"}");
    fixture_fini(&f);
}

static void other_events_and_providers_have_nothing(void **state)
{
    (void)state;
    struct writer_fixture f;
    init(&f, DNS, 60000, answer, 5);
    assert_mapped(&f, "", "", OWN_PROCESS, "");
    fixture_fini(&f);
    init(&f, "00000000-0000-0000-0000-000000000001", 3008, answer, 5);
    assert_mapped(&f, "", "", OWN_PROCESS, "");
    fixture_fini(&f);
    /* A provider may use its GUID also for TraceLogging. */
    init(&f, DNS, 3008, answer, 5);
    f.schema.kind = SCHEMA_TRACELOGGING;
    f.record.descriptor.level = 0;
    assert_mapped(&f, "", "", OWN_PROCESS, "");
    fixture_fini(&f);
}

static void a_path_without_a_hive_is_none(void **state)
{
    (void)state;
    struct writer_fixture f;
    static const struct piece set[] = {
        {"Status", IN_HEX_INT32, 0, "00000000", NULL},
        {"KeyName", IN_UNICODE_STRING, 0, "L'Software\\Run'", NULL},
        {"ValueName", IN_UNICODE_STRING, 0, "L'x'", NULL},
    };
    init(&f, KERNEL_REGISTRY, 5, set, 3);
#define SET_EVENT \
    ",\"action\":\"registry-value-set\",\"category\":[\"registry\"],\"type\":[\"change\"]"
    assert_mapped(
        &f, SET_EVENT, ",\"outcome\":\"success\"", OWN_PROCESS, ",\"registry\":{\"value\":\"x\"}");
    struct piece whole[3];
    memcpy(whole, set, sizeof(whole));
    whole[1].payload = "L'\\REGISTRY\\MACHINE\\Run'";
    fixture_set_fields(&f, whole, 3);
    assert_mapped(&f, SET_EVENT, ",\"outcome\":\"success\"", OWN_PROCESS,
        ",\"registry\":{\"hive\":\"HKLM\",\"key\":\"Run\",\"path\":\"HKLM\\\\Run\","
        "\"value\":\"x\"}");
    fixture_fini(&f);
}

static void a_connection_of_the_kernel_logger(void **state)
{
    (void)state;
    struct writer_fixture f;
    static const struct piece connect[] = {
        {"PID", IN_UINT32, OUT_PID, "d2100000", NULL},
        {"size", IN_UINT32, 0, "00000000", NULL},
        {"daddr", IN_UINT32, OUT_IPV4, "c6336407", NULL},
        {"saddr", IN_UINT32, OUT_IPV4, "c0000207", NULL},
        {"dport", IN_UINT16, OUT_PORT, "01bb", NULL},
        {"sport", IN_UINT16, OUT_PORT, "c350", NULL},
    };
    fixture_init(&f, RECORD_KERNEL, SCHEMA_MOF);
    f.schema.class_guid = guid_of("9a280ac0-c8e0-11d1-84e2-00c04fb998a2");
    f.record.descriptor.opcode = 12;
    f.record.descriptor.version = 2;
    fixture_set_fields(&f, connect, 6);
    buf_reset(&f.out);
    event_format_ecs.event(f.writer, &f.event, &f.out);
    assert_holds(buf_span(&f.out),
        "\"action\":\"tcp-connected\",\"category\":[\"network\"],\"type\":[\"connection\","
        "\"start\"],\"dataset\":\"etw.events\",\"sequence\":7},\"process\":{\"pid\":4306},",
        __FILE__, __LINE__);
    assert_holds(buf_span(&f.out),
        "}},\"destination\":{\"ip\":\"198.51.100.7\",\"port\":443},\"network\":{\"direction\":"
        "\"egress\",\"transport\":\"tcp\",\"type\":\"ipv4\"},\"related\":{\"ip\":[\"192.0.2.7\","
        "\"198.51.100.7\"]},\"source\":{\"ip\":\"192.0.2.7\",\"port\":50000},\"host\":{",
        __FILE__, __LINE__);
    fixture_fini(&f);
}

/* Sources of event logs without a GUID are known by their names. */
static void a_source_without_a_guid_is_known_by_its_name(void **state)
{
    (void)state;
    struct writer_fixture f;
    static const struct piece engine[] = {
        {"param1", IN_UNICODE_STRING, 0, "L'Available'", NULL},
        {"param2", IN_UNICODE_STRING, 0, "L'None'", NULL},
        {"param3", IN_UNICODE_STRING, 0,
            "0900 L'NewEngineState=Available' 0d000a00 0900 L'PreviousEngineState=None' 0d000a00 "
            "0900 L'HostName=ConsoleHost' 0d000a00 0900 L'HostApplication=powershell -c x'",
            NULL},
    };
    init(&f, "00000000-0000-0000-0000-000000000000", 400, engine, 3);
    f.schema.kind = SCHEMA_EVENTLOG;
    f.schema.provider_name = span_text("PowerShell");
    f.schema.provider = f.record.provider;
    buf_reset(&f.out);
    event_format_ecs.event(f.writer, &f.event, &f.out);
    assert_holds(buf_span(&f.out),
        "\"process\":{\"pid\":1234,\"thread\":{\"id\":5678},\"args\":[\"powershell\",\"-c\",\"x\"],"
        "\"args_count\":3,\"command_line\":\"powershell -c x\",\"title\":\"ConsoleHost\"}",
        __FILE__, __LINE__);
    assert_holds(buf_span(&f.out),
        "\"powershell\":{\"engine\":{\"new_state\":\"Available\",\"previous_state\":\"None\"}}",
        __FILE__, __LINE__);
    fixture_fini(&f);
}

/* The UserData of an event log is one element that contains all others. */
static void members_of_user_data_are_found(void **state)
{
    (void)state;
    struct writer_fixture f;
    static const struct piece cleared[] = {
        {"LogFileCleared", IN_UNICODE_STRING, 0, "", NULL},
        {"SubjectUserName", IN_UNICODE_STRING, 0, "L'smith'", NULL},
    };
    init(&f, "fc65ddd8-d6ef-4962-83d5-6e5cfe9ce148", 1102, cleared, 2);
    f.schema.kind = SCHEMA_EVENTLOG;
    f.schema_fields[0] = (struct schema_field){.name = span_text("LogFileCleared"),
        .flags = FIELD_STRUCT,
        .struct_start = 1,
        .struct_members = 1,
        .count = 1};
    f.schema.top_count = 1;
    struct error err = {0};
    assert_true(schema_finish(&f.schema, &f.arena, &err));
    f.fields[0].shape = FIELD_GROUP;
    f.fields[0].count = 1;
    f.fields[0].end = 2;
    buf_reset(&f.out);
    event_format_ecs.event(f.writer, &f.event, &f.out);
    assert_holds(buf_span(&f.out),
        "\"event_data\":{\"LogFileCleared\":{\"SubjectUserName\":\"smith\"}}", __FILE__, __LINE__);
    assert_holds(buf_span(&f.out),
        "\"related\":{\"user\":[\"smith\"]},\"user\":{\"name\":\"smith\"}", __FILE__, __LINE__);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_of_dns),
        cmocka_unit_test(a_manifest_that_looks_like_an_event_source_s_is_the_provider_s),
        cmocka_unit_test(an_error_joins_that_of_decoding),
        cmocka_unit_test(what_is_not_there_is_left_out),
        cmocka_unit_test(the_process_is_the_one_that_was_started),
        cmocka_unit_test(the_creator_is_what_is_known_of_the_process),
        cmocka_unit_test(what_is_known_of_another_process_joins),
        cmocka_unit_test(what_is_known_of_the_process_joins),
        cmocka_unit_test(the_file_is_the_one_that_is_used),
        cmocka_unit_test(a_user_is_not_mixed_with_another),
        cmocka_unit_test(the_first_source_with_a_value_counts),
        cmocka_unit_test(other_events_and_providers_have_nothing),
        cmocka_unit_test(a_path_without_a_hive_is_none),
        cmocka_unit_test(a_connection_of_the_kernel_logger),
        cmocka_unit_test(a_source_without_a_guid_is_known_by_its_name),
        cmocka_unit_test(members_of_user_data_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
