#include "event/model/event.h"
#include "event/model/schema.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))
#define NAME(text) .name = {(const uint8_t *)(text), sizeof(text) - 1}

static struct arena arena;

static int make_arena(void **state)
{
    (void)state;
    arena_init(&arena, 1 << 24);
    return 0;
}

static int free_arena(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static bool finish(struct event_schema *schema, const struct schema_field *fields, size_t count,
    size_t top_count, struct error *err)
{
    *schema = (struct event_schema){.has_layout = true};
    schema->fields = arena_alloc_array(&arena, count, sizeof(*fields));
    assert_non_null(schema->fields);
    if (count) {
        memcpy(schema->fields, fields, count * sizeof(*fields));
    }
    schema->field_count = (uint16_t)count;
    schema->top_count = (uint16_t)top_count;
    return schema_finish(schema, &arena, err);
}

static void assert_fails(
    const struct schema_field *fields, size_t count, size_t top_count, const char *text)
{
    struct event_schema schema;
    struct error err = {0};
    assert_false(finish(&schema, fields, count, top_count, &err));
    assert_string_equal(err.text, text);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void names_become_unique_keys(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("A"), .in_type = IN_UINT8},
        {NAME("A"), .in_type = IN_UINT8},
        {NAME("A"), .in_type = IN_UINT8},
        {NAME("b.c"), .in_type = IN_UINT8},
        {NAME("b_c"), .in_type = IN_UINT8},
        {NAME(""), .in_type = IN_UINT8},
        {NAME(""), .in_type = IN_UINT8},
        {NAME("A_2"), .in_type = IN_UINT8},
        {NAME("quote\"\n"), .in_type = IN_UINT8},
        {NAME("a"), .in_type = IN_UINT8},
    };
    static const char *const keys[] = {
        ",\"A\":", ",\"A_2\":", ",\"A_3\":", ",\"b_c\":", ",\"b_c_2\":", ",\"field_5\":",
        ",\"field_6\":", ",\"A_2_2\":", ",\"quote\\\"\\n\":", ",\"a\":"};
    struct event_schema schema;
    assert_true(finish(&schema, fields, COUNT_OF(fields), COUNT_OF(fields), NULL));
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        assert_span(schema.fields[i].json_key, keys[i]);
        assert_int_equal(schema.fields[i].name_key.size, 0);
    }
    assert_span(schema.fields[1].name, "A_2");
}

static void members_have_names_of_their_own(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("A"), .in_type = IN_UINT8},
        {NAME("S"), .flags = FIELD_STRUCT, .struct_start = 2, .struct_members = 2},
        {NAME("A"), .in_type = IN_UINT8},
        {NAME("A"), .in_type = IN_UINT8},
    };
    struct event_schema schema;
    assert_true(finish(&schema, fields, COUNT_OF(fields), 2, NULL));
    assert_span(schema.fields[0].json_key, ",\"A\":");
    assert_span(schema.fields[2].json_key, ",\"A\":");
    assert_span(schema.fields[3].json_key, ",\"A_2\":");
}

static void a_generated_name_gives_way_to_a_real_property(void **state)
{
    (void)state;
    static const struct schema_map map = {.kind = MAP_VALUE};
    static const struct schema_field fields[] = {
        {NAME("A"), .in_type = IN_UINT8, .map = &map},
        {NAME("B"), .in_type = IN_UINT8, .map = &map},
        {NAME("A_name"), .in_type = IN_UINT8},
        {NAME("S"), .in_type = IN_UINT32, .out_type = OUT_NTSTATUS},
        {NAME("W"), .in_type = IN_UINT32, .out_type = OUT_WIN32_ERROR},
        {NAME("H"), .in_type = IN_INT32, .out_type = OUT_HRESULT},
        {NAME("F"), .in_type = IN_FLOAT},
        {NAME("D"), .in_type = IN_DOUBLE},
        {NAME("I"), .in_type = IN_UINT32},
        {NAME("T"), .in_type = IN_UNICODE_STRING, .map = &map},
        {NAME("B_raw"), .in_type = IN_UINT8},
    };
    static const char *const keys[] = {"", ",\"B_name\":", "",
        ",\"S_name\":", ",\"W_name\":", ",\"H_name\":", ",\"F_name\":", ",\"D_name\":", "", "", ""};
    static const char *const raw_keys[] = {
        ",\"A_raw\":", "", "", ",\"S_raw\":", ",\"W_raw\":", ",\"H_raw\":", "", "", "", "", ""};
    struct event_schema schema;
    assert_true(finish(&schema, fields, COUNT_OF(fields), COUNT_OF(fields), NULL));
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        assert_span(schema.fields[i].name_key, keys[i]);
        assert_span(schema.fields[i].raw_key, raw_keys[i]);
    }
    /* Strings cannot be looked up: their bytes are no number. */
    assert_null(schema.fields[9].map);
}

/* Bytes that are not UTF-8 are shown as U+FFFD. */
static void names_that_are_shown_alike_are_told_apart(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("\xff"), .in_type = IN_UINT8},
        {NAME("\xfe"), .in_type = IN_UINT8},
        {NAME("\xc3\xa4"), .in_type = IN_UINT8},
    };
    static const char *const keys[] = {
        ",\"\xef\xbf\xbd\":", ",\"\xef\xbf\xbd_2\":", ",\"\xc3\xa4\":"};
    struct event_schema schema;
    assert_true(finish(&schema, fields, COUNT_OF(fields), COUNT_OF(fields), NULL));
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        assert_span(schema.fields[i].json_key, keys[i]);
    }
}

static void very_many_equal_names_stay_within_memory(void **state)
{
    (void)state;
    struct schema_field *fields = calloc(SCHEMA_MAX_FIELDS, sizeof(*fields));
    assert_non_null(fields);
    for (size_t i = 0; i < SCHEMA_MAX_FIELDS; i++) {
        fields[i] = (struct schema_field){NAME("Same"), .in_type = IN_UINT8};
    }
    struct event_schema schema;
    assert_true(finish(&schema, fields, SCHEMA_MAX_FIELDS, SCHEMA_MAX_FIELDS, NULL));
    assert_span(schema.fields[SCHEMA_MAX_FIELDS - 1].name, "Same_4096");
    free(fields);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void bad_references_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint16_t flags;
        uint16_t target;
        const char *error;
    } cases[] = {
        {FIELD_PARAM_LENGTH, 4, "property 3 (V): its length is not another integer property"},
        {FIELD_PARAM_LENGTH, 3, "property 3 (V): its length is not another integer property"},
        {FIELD_PARAM_LENGTH, 1, "property 3 (V): its length is not another integer property"},
        {FIELD_PARAM_COUNT, 0xffff, "property 3 (V): its count is not another integer property"},
        {FIELD_PARAM_COUNT, 1, "property 3 (V): its count is not another integer property"},
        {FIELD_PARAM_COUNT, 2, "property 3 (V): its count is not another integer property"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct schema_field fields[] = {
            {NAME("N"), .in_type = IN_UINT32},
            {NAME("S"), .in_type = IN_UNICODE_STRING},
            {NAME("G"), .flags = FIELD_STRUCT, .struct_start = 4, .struct_members = 0},
            {NAME("V"), .in_type = IN_BINARY, .flags = cases[i].flags, .length = cases[i].target,
                .count = cases[i].target},
        };
        assert_fails(fields, COUNT_OF(fields), COUNT_OF(fields), cases[i].error);
    }
}

static void good_references_mark_their_number(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("N"), .in_type = IN_UINT32},
        {NAME("V"), .in_type = IN_BINARY, .flags = FIELD_PARAM_LENGTH, .length = 0},
    };
    struct event_schema schema;
    assert_true(finish(&schema, fields, 2, 2, NULL));
    assert_true(schema.fields[0].flags & FIELD_IS_NUMBER);
    assert_false(schema.fields[1].flags & FIELD_IS_NUMBER);
}

static void structs_out_of_range_shared_or_recursive_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint16_t start[3]; /* of the structs A, B (top) and C (member), two members each */
        const char *error;
    } cases[] = {
        {{3, 5, 0}, "property 2 (C): members out of range"}, /* before itself */
        {{3, 5, 2}, "property 2 (C): members out of range"}, /* itself */
        {{3, 8, 6}, "property 1 (B): members out of range"}, /* beyond the end */
        {{1, 3, 6}, "property 0 (A): members out of range"}, /* top-level ones */
        {{3, 4, 6}, "property 4 (b): member of two structs"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct schema_field fields[] = {
            {NAME("A"), .flags = FIELD_STRUCT, .struct_start = cases[i].start[0],
                .struct_members = 2},
            {NAME("B"), .flags = FIELD_STRUCT, .struct_start = cases[i].start[1],
                .struct_members = 2},
            {NAME("C"), .flags = FIELD_STRUCT, .struct_start = cases[i].start[2],
                .struct_members = 2},
            {NAME("a"), .in_type = IN_UINT8},
            {NAME("b"), .in_type = IN_UINT8},
            {NAME("c"), .in_type = IN_UINT8},
            {NAME("d"), .in_type = IN_UINT8},
            {NAME("e"), .in_type = IN_UINT8},
        };
        assert_fails(fields, COUNT_OF(fields), 2, cases[i].error);
    }
}

static void structs_nest_to_the_limit_and_no_deeper(void **state)
{
    (void)state;
    struct schema_field fields[SCHEMA_MAX_DEPTH + 2];
    for (size_t depth = SCHEMA_MAX_DEPTH; depth <= SCHEMA_MAX_DEPTH + 1; depth++) {
        for (size_t i = 0; i < depth; i++) {
            fields[i] = (struct schema_field){NAME("S"), .flags = FIELD_STRUCT,
                .struct_start = (uint16_t)(i + 1), .struct_members = 1};
        }
        fields[depth] = (struct schema_field){NAME("V"), .in_type = IN_UINT8};
        struct event_schema schema;
        struct error err = {0};
        bool good = finish(&schema, fields, depth + 1, 1, &err);
        assert_int_equal(good, depth == SCHEMA_MAX_DEPTH);
        if (!good) {
            assert_string_equal(err.text, "property 0 (S): structs nested too deep");
        }
    }
}

static void unknown_types_and_too_many_fields_are_refused(void **state)
{
    (void)state;
    static const uint16_t types[] = {IN_NULL, IN_RESERVED24, 26, 299, 311, 0x1ff, 0x201, 0xffff};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        const struct schema_field fields[] = {{NAME("V"), .in_type = types[i]}};
        assert_fails(fields, 1, 1, "property 0 (V): unknown type");
    }
    struct error err = {0};
    struct event_schema schema = {.field_count = SCHEMA_MAX_FIELDS + 1};
    assert_false(schema_finish(&schema, &arena, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    schema = (struct event_schema){.field_count = 1, .top_count = 2};
    assert_false(schema_finish(&schema, &arena, &err));
}

static void a_full_arena_is_an_error(void **state)
{
    (void)state;
    for (size_t max = 0; max < 300; max += 16) {
        struct arena small;
        struct error err = {0};
        struct schema_field fields[] = {
            {NAME("A"), .in_type = IN_UINT8}, {NAME("A"), .in_type = IN_FLOAT}};
        struct event_schema schema = {.fields = fields, .field_count = 2, .top_count = 2};
        arena_init(&small, max);
        if (!schema_finish(&schema, &small, &err)) {
            assert_int_equal(err.code, ERR_MEMORY);
        } else {
            assert_true(max > 150);
        }
        arena_fini(&small);
    }
}

/* ---- forms ----------------------------------------------------------------------------------- */

static void types_become_forms(void **state)
{
    (void)state;
    static const struct {
        uint16_t in_type;
        uint16_t out_type;
        uint8_t form;
        uint8_t fixed_size;
    } cases[] = {
        {IN_UNICODE_STRING, 0, FORM_UTF16, 0},
        {IN_UNICODE_STRING, OUT_JSON, FORM_UTF16, 0},
        {IN_ANSI_STRING, 0, FORM_ANSI, 0},
        {IN_ANSI_STRING, OUT_STRING, FORM_ANSI, 0},
        {IN_ANSI_STRING, OUT_UTF8, FORM_UTF8, 0},
        {IN_ANSI_STRING, OUT_XML, FORM_UTF8, 0},
        {IN_MANIFEST_COUNTED_ANSI_STRING, OUT_JSON, FORM_UTF8, 0},
        {IN_INT8, 0, FORM_INT8, 1},
        {IN_INT8, OUT_STRING, FORM_CHAR8, 1},
        {IN_UINT8, OUT_BOOLEAN, FORM_BOOL8, 1},
        {IN_UINT8, OUT_HEX_INT8, FORM_HEX8, 1},
        {IN_UINT16, OUT_PORT, FORM_PORT, 2},
        {IN_UINT16, OUT_STRING, FORM_CHAR16, 2},
        {IN_UINT16, OUT_HEX_INT16, FORM_HEX16, 2},
        {IN_INT16, 0, FORM_INT16, 2},
        {IN_UINT32, 0, FORM_UINT32, 4},
        {IN_UINT32, OUT_IPV4, FORM_IPV4, 4},
        {IN_UINT32, OUT_PID, FORM_UINT32, 4},
        {IN_UINT32, OUT_NTSTATUS, FORM_NTSTATUS, 4},
        {IN_INT32, OUT_HRESULT, FORM_HRESULT, 4},
        {IN_UINT32, OUT_WIN32_ERROR, FORM_WIN32_ERROR, 4},
        {IN_UINT32, OUT_ERROR_CODE, FORM_HEX32, 4},
        {IN_INT32, OUT_BOOLEAN, FORM_BOOL32, 4},
        {IN_HEX_INT32, 0, FORM_HEX32, 4},
        {IN_HEX_INT32, OUT_NTSTATUS, FORM_NTSTATUS, 4},
        {IN_HEX_INT32, OUT_TID, FORM_UINT32, 4},
        {IN_INT64, 0, FORM_INT64, 8},
        {IN_UINT64, OUT_HEX_INT64, FORM_HEX64, 8},
        {IN_UINT64, OUT_DATETIME, FORM_FILETIME, 8},
        {IN_HEX_INT64, 0, FORM_HEX64, 8},
        {IN_FLOAT, 0, FORM_FLOAT, 4},
        {IN_DOUBLE, OUT_STRING, FORM_DOUBLE, 8},
        {IN_BOOLEAN, 0, FORM_BOOL32, 4},
        {IN_BINARY, 0, FORM_BINARY, 0},
        {IN_BINARY, OUT_IPV6, FORM_IPV6, 0},
        {IN_BINARY, OUT_SOCKET_ADDRESS, FORM_SOCKET_ADDRESS, 0},
        {IN_GUID, 0, FORM_GUID, 16},
        {IN_POINTER, 0, FORM_POINTER, 0},
        {IN_POINTER, OUT_PID, FORM_POINTER_INT, 0},
        {IN_POINTER, OUT_LONG, FORM_POINTER_SINT, 0},
        {IN_SIZE_T, 0, FORM_POINTER, 0},
        {IN_FILETIME, 0, FORM_FILETIME, 8},
        {IN_SYSTEMTIME, 0, FORM_SYSTEMTIME, 16},
        {IN_SYSTEMTIME, OUT_DATETIME_UTC, FORM_SYSTEMTIME_UTC, 16},
        {IN_SID, 0, FORM_SID, 0},
        {IN_WBEM_SID, 0, FORM_SID, 0},
        {IN_WPP_SID, 0, FORM_SID, 0},
        {IN_UNICODE_CHAR, 0, FORM_CHAR16, 2},
        {IN_ANSI_CHAR, 0, FORM_CHAR8, 1},
        {IN_WMI_TIME, 0, FORM_WMI_TIME, 8},
        {IN_UINT32, 999, FORM_UINT32, 4},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct schema_field fields[] = {
            {NAME("V"), .in_type = cases[i].in_type, .out_type = cases[i].out_type}};
        struct event_schema schema;
        assert_true(finish(&schema, fields, 1, 1, NULL));
        if (schema.fields[0].form != cases[i].form) {
            fail_msg("in %d out %d: form %d", cases[i].in_type, cases[i].out_type,
                schema.fields[0].form);
        }
        assert_int_equal(schema.fields[0].fixed_size, cases[i].fixed_size);
        bool pointer = cases[i].in_type == IN_POINTER || cases[i].in_type == IN_SIZE_T;
        assert_int_equal(schema.fields[0].pointer_sized, pointer);
        assert_int_equal(schema.uses_pointers, pointer || cases[i].in_type == IN_WBEM_SID);
    }
}

static void neighbours_of_constant_size_are_a_run(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("A"), .in_type = IN_UINT8},
        {NAME("B"), .in_type = IN_POINTER},
        {NAME("C"), .in_type = IN_GUID},
        {NAME("S"), .in_type = IN_UNICODE_STRING},
        {NAME("D"), .in_type = IN_UINT8},
        {NAME("E"), .in_type = IN_UINT32},
    };
    struct event_schema schema;
    assert_true(finish(&schema, fields, COUNT_OF(fields), COUNT_OF(fields), NULL));
    static const struct {
        size_t first;
        uint16_t length;
        uint32_t bytes[2];
        uintptr_t offsets[2][3];
    } runs[] = {
        {0, 3, {21, 25}, {{0, 1, 5}, {0, 1, 9}}},
        {4, 2, {5, 5}, {{0, 1}, {0, 1}}},
    };
    for (size_t r = 0; r < COUNT_OF(runs); r++) {
        const struct schema_field *first = &schema.fields[runs[r].first];
        for (size_t wide = 0; wide < 2; wide++) {
            const struct schema_run *run = &first->runs[wide];
            assert_int_equal(run->count, runs[r].length);
            assert_int_equal(run->bytes, runs[r].bytes[wide]);
            for (size_t i = 0; i < run->count; i++) {
                assert_int_equal((uintptr_t)run->fields[i].data, runs[r].offsets[wide][i]);
                assert_int_equal(run->fields[i].end, i + 1);
                assert_ptr_equal(run->fields[i].schema, first + i);
            }
        }
    }
    static const size_t others[] = {1, 2, 3, 5};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_null(schema.fields[others[i]].runs);
    }
}

static void arrays_structs_and_optional_fields_end_a_run(void **state)
{
    (void)state;
    static const struct schema_field ends[] = {
        {NAME("V"), .in_type = IN_UINT8, .count = 2},
        {NAME("V"), .in_type = IN_UINT8, .flags = FIELD_FIXED_COUNT, .count = 1},
        {NAME("V"), .in_type = IN_UINT8, .flags = FIELD_OPTIONAL},
        {NAME("V"), .flags = FIELD_STRUCT, .struct_start = 3},
        {NAME("V"), .in_type = IN_BINARY, .length = 4},
    };
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        const struct schema_field fields[] = {
            {NAME("A"), .in_type = IN_UINT8}, {NAME("B"), .in_type = IN_UINT8}, ends[i]};
        struct event_schema schema;
        assert_true(finish(&schema, fields, 3, 3, NULL));
        assert_int_equal(schema.fields[0].runs->count, 2);
        assert_null(schema.fields[2].runs);
    }
}

/* ---- maps ------------------------------------------------------------------------------------ */

static void maps_find_exact_values_and_the_first_of_equal_ones(void **state)
{
    (void)state;
    struct schema_map_entry entries[] = {
        {7, span_text("seven")},
        {1, span_text("one")},
        {7, span_text("again")},
        {UINT64_MAX, span_text("max")},
        {0, span_text("")},
        {7, span_text("and again")},
    };
    schema_map_sort(entries, COUNT_OF(entries));
    struct schema_map map = {
        .kind = MAP_VALUE, .entries = entries, .entry_count = COUNT_OF(entries)};
    assert_span(schema_map_find(&map, 7), "seven");
    assert_span(schema_map_find(&map, 1), "one");
    assert_span(schema_map_find(&map, UINT64_MAX), "max");
    assert_non_null(schema_map_find(&map, 0).data);
    assert_null(schema_map_find(&map, 2).data);
    map.entry_count = 0;
    assert_null(schema_map_find(&map, 7).data);
}

static void maps_of_any_size_and_order_are_sorted_without_changing_equals(void **state)
{
    (void)state;
    static uint8_t places[300];
    for (size_t count = 0; count < COUNT_OF(places); count++) {
        struct schema_map_entry entries[COUNT_OF(places)];
        for (size_t i = 0; i < count; i++) {
            entries[i] = (struct schema_map_entry){(i * 7919) % 13, span_make(&places[i], 1)};
        }
        schema_map_sort(entries, count);
        for (size_t i = 1; i < count; i++) {
            assert_true(entries[i - 1].value < entries[i].value ||
                        (entries[i - 1].value == entries[i].value &&
                            entries[i - 1].text.data < entries[i].text.data));
        }
    }
}

static void predefined_names_are_those_of_winmeta(void **state)
{
    (void)state;
    assert_null(schema_level_name(0));
    assert_string_equal(schema_level_name(4), "Information");
    assert_null(schema_level_name(6));
    assert_string_equal(schema_opcode_name(0), "Info");
    assert_string_equal(schema_opcode_name(3), "DC_Start");
    assert_string_equal(schema_opcode_name(9), "Send");
    assert_null(schema_opcode_name(10));
    assert_string_equal(schema_opcode_name(240), "Receive");
    assert_string_equal(schema_kind_name(SCHEMA_MOF), "mof");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_become_unique_keys),
        cmocka_unit_test(members_have_names_of_their_own),
        cmocka_unit_test(a_generated_name_gives_way_to_a_real_property),
        cmocka_unit_test(names_that_are_shown_alike_are_told_apart),
        cmocka_unit_test(very_many_equal_names_stay_within_memory),
        cmocka_unit_test(bad_references_are_refused),
        cmocka_unit_test(good_references_mark_their_number),
        cmocka_unit_test(structs_out_of_range_shared_or_recursive_are_refused),
        cmocka_unit_test(structs_nest_to_the_limit_and_no_deeper),
        cmocka_unit_test(unknown_types_and_too_many_fields_are_refused),
        cmocka_unit_test(a_full_arena_is_an_error),
        cmocka_unit_test(types_become_forms),
        cmocka_unit_test(neighbours_of_constant_size_are_a_run),
        cmocka_unit_test(arrays_structs_and_optional_fields_end_a_run),
        cmocka_unit_test(maps_find_exact_values_and_the_first_of_equal_ones),
        cmocka_unit_test(maps_of_any_size_and_order_are_sorted_without_changing_equals),
        cmocka_unit_test(predefined_names_are_those_of_winmeta),
    };
    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
