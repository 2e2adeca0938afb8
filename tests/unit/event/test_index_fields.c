#include "event/model/index_fields.h"

#include <stdio.h>

#include "base/buf.h"
#include "support/test.h"

#define NAME(text) .name = {(const uint8_t *)(text), sizeof(text) - 1}
#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static struct arena arena;
static struct index_fields *set;
static const struct schema_map_entry entries[] = {
    {.value = 1, .text = {(const uint8_t *)"one", 3}}};
static const struct schema_map map = {.kind = MAP_VALUE, .entries = entries, .entry_count = 1};

static void begin(bool is_ecs)
{
    struct error err;
    arena_init(&arena, 1 << 24);
    set = index_fields_create(is_ecs, &err);
    assert_non_null(set);
}

static void end(void)
{
    index_fields_destroy(set);
    arena_fini(&arena);
}

/* One event type, ${id} of ${provider}. */
static void add_tree(const char *provider, uint16_t id, const struct schema_field *fields,
    size_t count, size_t top_count)
{
    struct error err;
    struct event_schema *schema = arena_alloc(&arena, sizeof(*schema));
    assert_non_null(schema);
    *schema = (struct event_schema){.kind = SCHEMA_MANIFEST,
        .has_layout = true,
        .provider_name = span_text(provider),
        .descriptor = {.id = id},
        .fields = arena_alloc_array(&arena, count + 1, sizeof(*fields)),
        .field_count = (uint16_t)count,
        .top_count = (uint16_t)top_count};
    assert_non_null(schema->fields);
    memcpy(schema->fields, fields, count * sizeof(*fields));
    if (!schema_finish(schema, &arena, &err)) {
        fail_msg("%s", err.text);
    }
    index_fields_add(set, schema);
}

static void add_one(const char *provider, uint16_t id, const char *name, uint16_t in, uint16_t out)
{
    const struct schema_field field = {.name = span_text(name), .in_type = in, .out_type = out};
    add_tree(provider, id, &field, 1, 1);
}

static void choose(size_t room)
{
    struct error err;
    assert_true(index_fields_choose(set, room, &err));
}

/* The selected fields as "A:long O:{B:text}", in the order of their names. */
static void write(const struct index_field *field, struct buf *out)
{
    static const char *const words[] = {[INDEX_TEXT] = "text",
        [INDEX_NATURAL] = "natural",
        [INDEX_LONG] = "long",
        [INDEX_UNSIGNED] = "unsigned",
        [INDEX_DOUBLE] = "double",
        [INDEX_BOOLEAN] = "boolean",
        [INDEX_TIME] = "time",
        [INDEX_IP] = "ip"};
    for (const char *blank = ""; field; field = field->next, blank = " ") {
        buf_printf(out, "%s%.*s:", blank, SPAN_ARG(field->name));
        if (field->type == INDEX_OBJECT) {
            buf_add_byte(out, '{');
            write(field->first, out);
            buf_add_byte(out, '}');
        } else {
            buf_add_text(out, words[field->type]);
        }
    }
}

static void assert_chosen(const char *expected)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    write(index_fields_first(set), &out);
    assert_span(buf_span(&out), expected);
    buf_fini(&out);
}

/* ---- types ----------------------------------------------------------------------------------- */

/* From the tables of values in docs/reference/events.md: which values are a number, a string and so
 * on. */
static void types_follow_the_values_of_the_native_event(void **state)
{
    static const struct {
        uint16_t in;
        uint16_t out;
        const char *expected;
    } rows[] = {
        {IN_UINT8, OUT_NULL, "A:natural"},
        {IN_INT32, OUT_NULL, "A:long"},
        {IN_UINT32, OUT_NULL, "A:natural"},
        {IN_UINT32, OUT_PID, "A:natural"},
        {IN_INT64, OUT_NULL, "A:long"},
        {IN_UINT64, OUT_NULL, "A:unsigned"},
        {IN_UINT64, OUT_HEX_INT64, "A:text"},
        {IN_HEX_INT32, OUT_NULL, "A:text"},
        {IN_POINTER, OUT_NULL, "A:text"},
        {IN_SIZE_T, OUT_UNSIGNED_LONG, "A:unsigned"},
        {IN_FLOAT, OUT_NULL, "A:double"},
        {IN_DOUBLE, OUT_NULL, "A:double"},
        {IN_BOOLEAN, OUT_NULL, "A:boolean"},
        {IN_UINT8, OUT_BOOLEAN, "A:boolean"},
        {IN_FILETIME, OUT_NULL, "A:time"},
        {IN_SYSTEMTIME, OUT_NULL, "A:time"},
        {IN_INT64, OUT_DATETIME, "A:time"},
        {IN_UINT32, OUT_IPV4, "A:ip"},
        {IN_UINT16, OUT_PORT, "A:natural"},
        {IN_GUID, OUT_NULL, "A:text"},
        {IN_SID, OUT_NULL, "A:text"},
        {IN_UNICODE_STRING, OUT_NULL, "A:text"},
        {IN_ANSI_STRING, OUT_NULL, "A:text"},
        {IN_UINT32, OUT_NTSTATUS, "A:long A_name:text"},
        {IN_UINT32, OUT_WIN32_ERROR, "A:long A_name:text"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        begin(false);
        add_one("P", 1, "A", rows[i].in, rows[i].out);
        choose(100);
        assert_chosen(rows[i].expected);
        end();
    }
}

/* In the ecs event a number with a name is the name. NAME_raw has the number. */
static void types_follow_the_strings_of_the_ecs_event(void **state)
{
    const struct schema_field fields[] = {
        {NAME("Mapped"), .in_type = IN_UINT32, .map = &map},
        {NAME("Plain"), .in_type = IN_UINT32},
        {NAME("extended_data"), .in_type = IN_UINT32},
        {NAME("Socket"), .in_type = IN_BINARY, .out_type = OUT_SOCKET_ADDRESS, .length = 16},
    };
    (void)state;
    begin(true);
    add_tree("P", 1, fields, COUNT_OF(fields), COUNT_OF(fields));
    choose(100);
    assert_chosen("Mapped:text Mapped_raw:natural Plain:natural Socket:text "
                  "extended_data_2:natural");
    end();
    begin(false);
    add_tree("P", 1, fields, COUNT_OF(fields), COUNT_OF(fields));
    choose(100);
    assert_chosen("Mapped:natural Mapped_name:text Plain:natural "
                  "Socket:{address:ip family:natural port:natural raw:text scope_id:natural} "
                  "extended_data:natural");
    end();
}

static void structs_are_objects(void **state)
{
    const struct schema_field fields[] = {
        {NAME("S"), .flags = FIELD_STRUCT, .struct_start = 2, .struct_members = 2},
        {NAME("Z"), .in_type = IN_UINT8},
        {NAME("A"), .in_type = IN_INT8},
        {NAME("B"), .in_type = IN_UNICODE_STRING},
    };
    (void)state;
    begin(false);
    add_tree("P", 1, fields, COUNT_OF(fields), 2);
    choose(100);
    assert_chosen("S:{A:long B:text} Z:natural");
    assert_int_equal(index_fields_counts(set).taken, 4);
    assert_int_equal(index_fields_counts(set).fields, 3);
    end();
}

/* ---- definitions that differ ----------------------------------------------------------------- */

static void a_type_takes_the_values_of_all_definitions(void **state)
{
    static const struct {
        uint16_t first;
        uint16_t second;
        const char *expected;
        bool differs;
    } rows[] = {
        {IN_UINT8, IN_UINT32, "A:natural", false},
        {IN_UINT32, IN_INT64, "A:long", false},
        {IN_UINT32, IN_UINT64, "A:unsigned", false},
        {IN_INT32, IN_UINT64, "A:long", true},
        {IN_INT32, IN_DOUBLE, "A:double", true},
        {IN_UINT32, IN_UNICODE_STRING, "A:text", true},
        {IN_UINT32, IN_HEX_INT32, "A:text", true},
        {IN_UINT32, IN_BOOLEAN, "A:text", true},
        {IN_FILETIME, IN_INT64, "A:text", true},
        {IN_GUID, IN_UNICODE_STRING, "A:text", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        for (int turn = 0; turn < 2; turn++) {
            size_t cursor = 0;
            begin(false);
            add_one("P", 1, "A", turn ? rows[i].second : rows[i].first, OUT_NULL);
            add_one("Q", 7, "A", turn ? rows[i].first : rows[i].second, OUT_NULL);
            choose(100);
            assert_chosen(rows[i].expected);
            const struct index_field *field = index_fields_differing(set, &cursor);
            assert_int_equal(field != NULL, rows[i].differs);
            assert_int_equal(index_fields_counts(set).differ, rows[i].differs);
            end();
        }
    }
}

static void a_conflict_names_an_event_of_each_kind(void **state)
{
    size_t cursor = 0;
    (void)state;
    begin(false);
    add_one("P", 1, "A", IN_UINT32, OUT_NULL);
    add_one("P", 2, "A", IN_UINT32, OUT_NULL);
    add_one("Q", 7, "A", IN_UNICODE_STRING, OUT_NULL);
    choose(100);
    const struct index_field *field = index_fields_differing(set, &cursor);
    assert_non_null(field);
    assert_span(field->path, "A");
    assert_span(field->event_types[INDEX_NATURAL], "P:1:0");
    assert_span(field->event_types[INDEX_TEXT], "Q:7:0");
    assert_null(field->event_types[INDEX_LONG].data);
    assert_null(index_fields_differing(set, &cursor));
    end();
}

/* An index accepts neither in place of the other, whatever its setting for malformed values. */
static void what_is_an_object_here_and_a_value_there_has_no_type(void **state)
{
    const struct schema_field fields[] = {
        {NAME("A"), .flags = FIELD_STRUCT, .struct_start = 1, .struct_members = 1},
        {NAME("B"), .in_type = IN_UINT32},
    };
    (void)state;
    begin(false);
    add_tree("P", 1, fields, 2, 1);
    add_one("Q", 1, "A", IN_UINT32, OUT_NULL);
    add_one("Q", 2, "C", IN_UINT32, OUT_NULL);
    choose(100);
    assert_chosen("C:natural");
    assert_int_equal(index_fields_counts(set).differ, 1);
    end();
}

/* ---- room ------------------------------------------------------------------------------------ */

static void what_ranges_are_for_goes_first_then_what_is_met_most(void **state)
{
    const struct schema_field fields[] = {
        {NAME("S"), .flags = FIELD_STRUCT, .struct_start = 1, .struct_members = 1},
        {NAME("In"), .in_type = IN_UINT32},
    };
    static const char *const expected[] = {"", "Often:natural", "Often:natural Seldom:natural",
        "Often:natural Seldom:natural TextOften:text",
        "Often:natural S:{In:natural} Seldom:natural",
        "Often:natural S:{In:natural} Seldom:natural TextOften:text",
        "Often:natural S:{In:natural} Seldom:natural Text:text TextOften:text"};
    (void)state;
    for (size_t room = 0; room < COUNT_OF(expected); room++) {
        begin(false);
        add_one("P", 1, "Seldom", IN_UINT32, OUT_NULL);
        add_one("P", 2, "Seldom", IN_UINT32, OUT_NULL);
        for (uint16_t id = 3; id < 8; id++) {
            add_one("P", id, "Often", IN_UINT32, OUT_NULL);
            add_one("P", id, "TextOften", IN_UNICODE_STRING, OUT_NULL);
        }
        add_one("P", 9, "Text", IN_UNICODE_STRING, OUT_NULL);
        add_tree("P", 10, fields, 2, 1);
        choose(room);
        assert_chosen(expected[room]);
        assert_true(index_fields_counts(set).taken <= room);
        assert_int_equal(index_fields_counts(set).fields, 5);
        end();
    }
}

static void names_that_no_index_takes_are_counted(void **state)
{
    static const char *const names[] = {" ", " a", "a ", "a*", "a\nb"};
    char long_name[202];
    (void)state;
    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    begin(false);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        add_one("P", 1, names[i], IN_UINT32, OUT_NULL);
    }
    add_one("P", 1, long_name, IN_UINT32, OUT_NULL);
    add_one("P", 1, "a.b", IN_UINT32, OUT_NULL);
    choose(100);
    assert_chosen("a_b:natural");
    assert_int_equal(index_fields_counts(set).unusable, 6);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_follow_the_values_of_the_native_event),
        cmocka_unit_test(types_follow_the_strings_of_the_ecs_event),
        cmocka_unit_test(structs_are_objects),
        cmocka_unit_test(a_type_takes_the_values_of_all_definitions),
        cmocka_unit_test(a_conflict_names_an_event_of_each_kind),
        cmocka_unit_test(what_is_an_object_here_and_a_value_there_has_no_type),
        cmocka_unit_test(what_ranges_are_for_goes_first_then_what_is_met_most),
        cmocka_unit_test(names_that_no_index_takes_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
