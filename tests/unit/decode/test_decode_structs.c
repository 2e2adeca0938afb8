#include "decode/decode.h"

#include <stdio.h>

#include "support/decode_json.h"
#include "unit/decode/schema_fixture.h"

/* Structs, and payloads and counts beyond the limits. */

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static void structs_nest_and_repeat(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("N"), .in_type = IN_UINT8},
        {NAME("S"), .flags = FIELD_STRUCT, .struct_start = 3, .struct_members = 2},
        {NAME("A"), .flags = FIELD_STRUCT | FIELD_PARAM_COUNT, .count = 0, .struct_start = 5,
            .struct_members = 2},
        {NAME("X"), .in_type = IN_UINT8},
        {NAME("I"), .flags = FIELD_STRUCT, .struct_start = 7, .struct_members = 1},
        {NAME("K"), .in_type = IN_UINT8},
        {NAME("V"), .in_type = IN_ANSI_STRING},
        {NAME("Y"), .in_type = IN_UINT8},
    };
    const struct event_schema *schema = make_schema(fields, COUNT_OF(fields), 3);
    assert_decodes(schema, "02 03 04 05 'a' 00 06 'b' 00", 8,
        "{\"N\":2,\"S\":{\"X\":3,\"I\":{\"Y\":4}},\"A\":[{\"K\":5,\"V\":\"a\"},{\"K\":6,\"V\":"
        "\"b\"}]}");
    assert_decodes(schema, "00 03 04", 8, "{\"N\":0,\"S\":{\"X\":3,\"I\":{\"Y\":4}},\"A\":[]}");
    /* A group that ends early keeps the fields before that. */
    assert_decodes(schema, "02 03 04 05 'a' 00", 8,
        "{\"N\":2,\"S\":{\"X\":3,\"I\":{\"Y\":4}},\"A\":[{\"K\":5,\"V\":\"a\"},{}]} "
        "-0 K: the payload ends at byte 6 of 6");
}

static void each_element_of_a_struct_array_has_its_own_lengths(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("A"), .flags = FIELD_STRUCT | FIELD_COUNTED, .struct_start = 1, .struct_members = 3},
        {NAME("L"), .in_type = IN_UINT8},
        {NAME("B"), .in_type = IN_BINARY, .flags = FIELD_PARAM_LENGTH, .length = 1},
        {NAME("C"), .in_type = IN_UINT16, .flags = FIELD_PARAM_COUNT, .count = 1},
    };
    assert_decodes(make_schema(fields, COUNT_OF(fields), 1), "0300 01 aa 0100 00 02 bbcc 0200 0300",
        8,
        "{\"A\":[{\"L\":1,\"B\":\"aa\",\"C\":[1]},{\"L\":0,\"B\":\"\",\"C\":[]},"
        "{\"L\":2,\"B\":\"bbcc\",\"C\":[2,3]}]}");
}

static void members_may_use_a_number_outside_of_their_struct(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("L"), .in_type = IN_UINT8},
        {NAME("A"), .flags = FIELD_STRUCT | FIELD_REST_COUNT, .struct_start = 2,
            .struct_members = 1},
        {NAME("B"), .in_type = IN_BINARY, .flags = FIELD_PARAM_LENGTH, .length = 0},
    };
    assert_decodes(make_schema(fields, COUNT_OF(fields), 2), "02 0102 0304", 8,
        "{\"L\":2,\"A\":[{\"B\":\"0102\"},{\"B\":\"0304\"}]}");
}

static void the_first_element_of_an_array_serves_as_a_number(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("N"), .in_type = IN_UINT8, .count = 2},
        {NAME("B"), .in_type = IN_BINARY, .flags = FIELD_PARAM_LENGTH, .length = 0},
    };
    assert_decodes(SCHEMA(fields), "01 09 ff", 8, "{\"N\":[1,9],\"B\":\"ff\"}");
}

/* ---- hostile input --------------------------------------------------------------------------- */

static void check_tree(const struct event *event, uint32_t first, uint32_t end)
{
    const uint8_t *start = event->record->payload.data;
    const uint8_t *stop = start + event->record->payload.size;
    for (uint32_t i = first; i < end; i = event->fields[i].end) {
        const struct field *field = &event->fields[i];
        assert_true(field->end > i && field->end <= end);
        assert_true(
            field->size == 0 || (field->data >= start && field->data + field->size <= stop));
        check_tree(event, i + 1, field->end);
    }
}

static void hostile_counts_end_at_the_field_limit(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("N"), .in_type = IN_UINT32},
        {NAME("A"), .flags = FIELD_STRUCT | FIELD_PARAM_COUNT, .count = 0, .struct_start = 2,
            .struct_members = 1},
        {NAME("B"), .flags = FIELD_STRUCT | FIELD_FIXED_COUNT, .count = 0xffff, .struct_start = 3,
            .struct_members = 0},
    };
    const struct event_schema *schema = make_schema(fields, COUNT_OF(fields), 2);
    struct decoder decoder;
    assert_true(decoder_init(&decoder, NULL));
    struct span payload = payload_make("ffffffff");
    struct event_record record = {.payload = payload};
    struct event event;
    decoder_run(&decoder, &record, schema, 8, &event);
    assert_int_equal(event.status, DECODE_PARTIAL);
    assert_string_equal(event.error, "B: too many values at byte 4 of 4");
    assert_true(event.field_count <= DECODE_MAX_FIELDS);
    check_tree(&event, 0, event.field_count);
    payload_free(payload);
    decoder_fini(&decoder);
}

static void empty_strings_without_end_cannot_make_an_array_long(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("N"), .in_type = IN_UINT32},
        {NAME("A"), .in_type = IN_UNICODE_STRING, .flags = FIELD_PARAM_COUNT, .count = 0},
    };
    struct decoder decoder;
    assert_true(decoder_init(&decoder, NULL));
    struct span payload = payload_make("ffffffff");
    struct event_record record = {.payload = payload};
    struct event event;
    decoder_run(&decoder, &record, SCHEMA(fields), 8, &event);
    assert_int_equal(event.status, DECODE_PARTIAL);
    assert_true(event.field_count <= DECODE_MAX_FIELDS);
    payload_free(payload);
    decoder_fini(&decoder);
}

static void a_rest_of_structs_without_bytes_ends(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("A"), .flags = FIELD_STRUCT | FIELD_REST_COUNT, .struct_start = 1,
            .struct_members = 0},
    };
    struct decoder decoder;
    assert_true(decoder_init(&decoder, NULL));
    struct span payload = payload_make("01");
    struct event_record record = {.payload = payload};
    struct event event;
    decoder_run(&decoder, &record, SCHEMA(fields), 8, &event);
    assert_int_equal(event.status, DECODE_PARTIAL);
    payload_free(payload);
    decoder_fini(&decoder);
}

static void truncated_payloads_keep_their_earlier_fields(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("A"), .in_type = IN_UINT32},
        {NAME("P"), .in_type = IN_POINTER},
        {NAME("L"), .in_type = IN_UINT16},
        {NAME("S"), .in_type = IN_UNICODE_STRING},
        {NAME("B"), .in_type = IN_BINARY, .flags = FIELD_PARAM_LENGTH, .length = 2},
        {NAME("U"), .in_type = IN_WBEM_SID},
        {NAME("C"), .in_type = IN_MANIFEST_COUNTED_ANSI_STRING},
        {NAME("G"), .flags = FIELD_STRUCT | FIELD_COUNTED, .struct_start = 10, .struct_members = 2},
        {NAME("X"), .in_type = IN_HEX_DUMP},
        {NAME("T"), .in_type = IN_UINT64, .count = 2},
        {NAME("M"), .in_type = IN_ANSI_STRING},
        {NAME("I"), .in_type = IN_GUID},
    };
    static const char text[] =
        "01000000 0200000000000000 0300 L'ab' 0000 010203 "
        "f000000000000000 0000000000000000 0101000000000005 12000000 0300 'xyz' "
        "0100 'm' 00 000102030405060708090a0b0c0d0e0f 02000000 abcd "
        "0100000000000000 0200000000000000";
    const struct event_schema *schema = make_schema(fields, COUNT_OF(fields), 10);
    struct span whole = payload_make(text);
    struct decoder decoder;
    assert_true(decoder_init(&decoder, NULL));
    uint32_t count_before = 0;
    for (size_t size = 0; size <= whole.size; size++) {
        uint8_t *cut = malloc(size ? size : 1);
        assert_non_null(cut);
        memcpy(cut, whole.data, size);
        for (uint8_t width = 4; width <= 8; width = (uint8_t)(width + 4)) {
            struct event_record record = {.payload = span_make(cut, size)};
            struct event event;
            decoder_run(&decoder, &record, schema, width, &event);
            check_tree(&event, 0, event.field_count);
            if (width == 8) {
                assert_int_equal(
                    event.status, size == whole.size ? DECODE_COMPLETE : DECODE_PARTIAL);
                assert_true(event.field_count >= count_before ||
                            event.fields[event.field_count - 1].size == 0 || size > 14);
                count_before = event.field_count;
                assert_true(size < 4 || event.field_count >= 1);
                assert_true(size < 12 || event.field_count >= 2);
                assert_true(size < 14 || event.field_count >= 3);
            }
        }
        free(cut);
    }
    decoder_fini(&decoder);
    payload_free(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_nest_and_repeat),
        cmocka_unit_test(each_element_of_a_struct_array_has_its_own_lengths),
        cmocka_unit_test(members_may_use_a_number_outside_of_their_struct),
        cmocka_unit_test(the_first_element_of_an_array_serves_as_a_number),
        cmocka_unit_test(hostile_counts_end_at_the_field_limit),
        cmocka_unit_test(empty_strings_without_end_cannot_make_an_array_long),
        cmocka_unit_test(a_rest_of_structs_without_bytes_ends),
        cmocka_unit_test(truncated_payloads_keep_their_earlier_fields),
    };
    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
