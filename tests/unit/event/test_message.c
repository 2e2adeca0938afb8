#include <stdio.h>

#include "unit/event/writer_fixture.h"

/* Templates and their results, after FormatMessage and message text files on learn.microsoft.com;
 * the texts are in JSON form. */
static const struct schema_map_entry colors[] = {{1, {(const uint8_t *)"red \"one\"", 9}}};
static const struct schema_map color_map = {.kind = MAP_VALUE, .entries = colors, .entry_count = 1};
static const struct schema_map_entry bits[] = {
    {1, {(const uint8_t *)"read", 4}}, {2, {(const uint8_t *)"write", 5}}};
static const struct schema_map bit_map = {.kind = MAP_BITS, .entries = bits, .entry_count = 2};

static const struct piece pieces[] = {
    {"Text", IN_UNICODE_STRING, 0, "L'a' 2200 L'b'", NULL},
    {"Number", IN_INT32, 0, "feffffff", NULL},
    {"Color", IN_UINT32, 0, "01000000", &color_map},
    {"Unnamed", IN_UINT32, 0, "05000000", &color_map},
    {"Bits", IN_UINT32, 0, "03000000", &bit_map},
    {"Hex", IN_HEX_INT32, 0, "ff000000", NULL},
    {"Status", IN_UINT32, OUT_NTSTATUS, "050000c0", NULL},
    {"Flag", IN_BOOLEAN, 0, "01000000", NULL},
    {"Guid", IN_GUID, 0, "6e12951c ea7e a949 a3fea378b03ddb4d", NULL},
    {"Percent", IN_UNICODE_STRING, 0, "L'%1%n'", NULL},
    {"Empty", IN_UNICODE_STRING, 0, "", NULL},
};

enum { PIECES = sizeof(pieces) / sizeof(pieces[0]) };

static void assert_message_in(struct writer_fixture *f, const struct event_format *format,
    struct event_writer *writer, const char *template, const char *message)
{
    for (int i = 0; i < 2; i++) {
        buf_reset(&f->out);
        format->event(writer, &f->event, &f->out);
        assert_false(f->out.failed);
        buf_add_byte(&f->out, 0);
        const char *at = strstr((const char *)f->out.data, ",\"message\":\"");
        assert_non_null(at);
        at += strlen(",\"message\":\"");
        size_t size = strlen(message);
        if (strncmp(at, message, size) != 0 || at[size] != '"') {
            print_error("template %s, format %s\n", template, format->name);
        }
        assert_span(span_first(span_text(at), size), message);
        assert_true(strncmp(at + size, "\"}\n", 3) == 0 || strncmp(at + size, "\",\"", 3) == 0);
    }
}

/* A message is the same in both formats, however they write the values. */
static void assert_message(struct writer_fixture *f, const char *template, const char *message)
{
    static const struct event_writer_settings settings;
    struct event_writer *writer = event_writer_create(&settings, NULL);
    assert_non_null(writer);
    f->schema.message = span_text(template);
    f->schema.serial++; /* another event type */
    assert_message_in(f, &event_format_native, f->writer, template, message);
    if (*message) { /* ecs leaves out an empty one */
        assert_message_in(f, &event_format_ecs, writer, template, message);
    }
    event_writer_destroy(writer);
}

struct message_case {
    const char *template;
    const char *message;
};

static void assert_messages(const struct message_case *cases, size_t count)
{
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, pieces, PIECES);
    for (size_t i = 0; i < count; i++) {
        assert_message(&f, cases[i].template, cases[i].message);
    }
    fixture_fini(&f);
}

static void inserts_are_what_a_person_reads(void **state)
{
    (void)state;
    static const struct message_case cases[] = {
        {"plain", "plain"},
        {"%1", "a\\\"b"},
        {"[%1][%2]", "[a\\\"b][-2]"},
        {"%2%2 %1", "-2-2 a\\\"b"},
        {"%3", "red \\\"one\\\""},
        {"%4", "5"},
        {"%5", "3"}, /* names of bits are a list, so the number is shown */
        {"%6 %8", "0xff true"},
        {"%7", "STATUS_ACCESS_VIOLATION"},
        {"%9", FIXTURE_GUID},
        {"%10", "%1%n"}, /* an insert's value is not a template */
        {"<%11>", "<>"},
        {"say \"%2\"\\", "say \\\"-2\\\"\\\\"},
        {"line\r\nnext\t.", "line\\r\\nnext\\t."},
        {"\xc3\xa9%1\xe2\x82\xac", "\xc3\xa9"
                                   "a\\\"b"
                                   "\xe2\x82\xac"},
        /* A format has no effect here. */
        {"%2!d!", "-2"},
        {"%2!08x!|%1!s!", "-2|a\\\"b"},
        {"%2!unclosed", "-2!unclosed"},
        {"%2!", "-2!"},
        /* At most two digits; a number without a property stays. */
        {"%100", "%1%n0"},
        {"%12 of %99", "%12 of %99"},
    };
    assert_messages(cases, sizeof(cases) / sizeof(cases[0]));
}

/* Formats spell these differently in their data. */
static void values_of_each_type_read_alike(void **state)
{
    (void)state;
    static const struct piece each[] = {
        {"Time", IN_FILETIME, 0, "87b234e19a79dd01", NULL},
        {"Double", IN_DOUBLE, 0, "0000000000000440", NULL},
        {"Bytes", IN_BINARY, 0, "00ab", NULL},
        {"Sid", IN_SID, 0, "0101000000000005 12000000", NULL},
        {"Pointer", IN_POINTER, 0, "ab00000000000000", NULL},
        {"Address", IN_UINT32, OUT_IPV4, "c0000207", NULL},
        {"Port", IN_UINT16, OUT_PORT, "0050", NULL},
        {"Socket", IN_BINARY, OUT_SOCKET_ADDRESS, "0200 0050 c0000207 0000000000000000", NULL},
        {"Long", IN_UINT64, 0, "ffffffffffffffff", NULL},
        {"Ansi", IN_ANSI_STRING, 0, "'caf' e9", NULL},
        {"Character", IN_UINT8, OUT_STRING, "41", NULL},
        {"Unknown", IN_UINT32, OUT_WIN32_ERROR, "ffffff00", NULL},
    };
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, each, sizeof(each) / sizeof(each[0]));
    assert_message(&f, "%1 %2 %3", "2026-11-21T09:30:00.1234567Z 2.5 00ab");
    assert_message(&f, "%4 %5", "S-1-5-18 0xab");
    assert_message(&f, "%6 %7 %8", "192.0.2.7 80 192.0.2.7:80");
    assert_message(&f, "%9 %10 %11", "18446744073709551615 caf\xc3\xa9 A");
    assert_message(&f, "%12", "16777215");
    fixture_fini(&f);
}

static void escapes_are_those_of_message_files(void **state)
{
    (void)state;
    static const struct message_case cases[] = {
        {"a%nb", "a\\nb"},
        {"a%tb", "a\\tb"},
        {"a%rb", "a\\rb"},
        {"a%bb", "a b"},
        {"a% b", "a b"},
        {"100%%", "100%"},
        {"%%1", "%1"},
        {"%%%1", "%a\\\"b"},
        {"stop%.", "stop."},
        {"wow%!", "wow!"},
        {"%1%!d!", "a\\\"b!d!"},
        {"end%0 not this", "end"},
        {"%0", ""},
        {"%n%2", "\\n-2"},
        {"%n%2!d! %12 %77!x!", "\\n-2 %12 %77!x!"},
        {"at the end %", "at the end %"},
        {"%", "%"},
        {"%\xc3\xa9", "\xc3\xa9"},
    };
    assert_messages(cases, sizeof(cases) / sizeof(cases[0]));
}

/* The two ways through a template must not differ: `%n` turns the short way off. */
static void a_missing_insert_reads_the_same_with_and_without_other_escapes(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, pieces, PIECES);
    assert_message(&f, "%77!x!%n", "%77!x!\\n");
    assert_message(&f, "%77!x!", "%77!x!");
    fixture_fini(&f);
}

static void more_parts_than_fit_are_no_limit(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, pieces, PIECES);
    char template[1024] = "";
    char message[1024] = "";
    for (int i = 0; i < 100; i++) {
        assert_message(&f, *template ? template : "x", *message ? message : "x");
        strcat(template, "-%2");
        strcat(message, "--2");
    }
    fixture_fini(&f);
}

static void inserts_beyond_the_64th_are_found(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    struct piece many[FIXTURE_MAX_FIELDS];
    char names[FIXTURE_MAX_FIELDS][8];
    char payloads[FIXTURE_MAX_FIELDS][4];
    for (unsigned i = 0; i < FIXTURE_MAX_FIELDS; i++) {
        snprintf(names[i], sizeof(names[i]), "F%u", i + 1);
        snprintf(payloads[i], sizeof(payloads[i]), "%02x", (i + 1) & 0xff);
        many[i] = (struct piece){names[i], IN_UINT8, 0, payloads[i], NULL};
    }
    fixture_set_fields(&f, many, FIXTURE_MAX_FIELDS);
    assert_message(&f, "%1 %63 %64 %65 %66 %70 %71", "1 63 64 65 66 70 %71");
    assert_message(&f, "%n%1 %63 %64 %65 %66 %70 %71", "\\n1 63 64 65 66 70 %71");
    fixture_fini(&f);
}

/* Only top-level properties count: members of a struct are not inserts. */
static void structs_and_arrays_count_as_one_insert(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    struct schema_field schema_fields[] = {
        {.name = span_text("List"), .in_type = IN_UINT8, .flags = FIELD_FIXED_COUNT, .count = 3},
        {.name = span_text("S"),
            .flags = FIELD_STRUCT,
            .count = 1,
            .struct_start = 3,
            .struct_members = 2},
        {.name = span_text("Last"), .in_type = IN_UINT8, .count = 1},
        {.name = span_text("M"), .in_type = IN_UINT8, .count = 1},
        {.name = span_text("N"), .in_type = IN_UINT8, .count = 1},
    };
    static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6};
    f.schema.fields = schema_fields;
    f.schema.field_count = 5;
    f.schema.top_count = 3;
    assert_true(schema_finish(&f.schema, &f.arena, NULL));
    f.record.payload = span_make(bytes, sizeof(bytes));
    const struct field fields[] = {
        {.schema = &schema_fields[0],
            .data = bytes,
            .size = 3,
            .count = 3,
            .end = 1,
            .shape = FIELD_PACKED,
            .value_bytes = 1},
        {.schema = &schema_fields[1],
            .data = bytes + 3,
            .size = 2,
            .count = 2,
            .end = 4,
            .shape = FIELD_GROUP},
        {.schema = &schema_fields[3], .data = bytes + 3, .size = 1, .count = 1, .end = 3},
        {.schema = &schema_fields[4], .data = bytes + 4, .size = 1, .count = 1, .end = 4},
        {.schema = &schema_fields[2], .data = bytes + 5, .size = 1, .count = 1, .end = 5},
    };
    f.event.fields = fields;
    f.event.field_count = 5;
    assert_message(&f, "last %3, %4", "last 6, %4");
    assert_message(&f, "list %1", "list [1,2,3]");
    assert_message(&f, "struct %2%n", "struct {\\\"M\\\":4,\\\"N\\\":5}\\n");
    fixture_fini(&f);
}

static void a_raw_event_has_no_message(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, pieces, 1);
    f.schema.message = span_text("%1");
    f.event.status = DECODE_RAW;
    f.event.field_count = 0;
    event_format_native.event(f.writer, &f.event, &f.out);
    buf_add_byte(&f.out, 0);
    assert_null(strstr((const char *)f.out.data, "\"message\""));
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inserts_are_what_a_person_reads),
        cmocka_unit_test(values_of_each_type_read_alike),
        cmocka_unit_test(escapes_are_those_of_message_files),
        cmocka_unit_test(a_missing_insert_reads_the_same_with_and_without_other_escapes),
        cmocka_unit_test(more_parts_than_fit_are_no_limit),
        cmocka_unit_test(inserts_beyond_the_64th_are_found),
        cmocka_unit_test(structs_and_arrays_count_as_one_insert),
        cmocka_unit_test(a_raw_event_has_no_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
