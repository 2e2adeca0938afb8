#include "decode/decode.h"

#include <stdio.h>

#include "support/decode_json.h"
#include "unit/decode/schema_fixture.h"

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))
/* ---- single values --------------------------------------------------------------------------- */

/* Each is followed by a UInt8 T, which shows how many bytes were consumed. */
static void every_in_type_takes_its_bytes(void **state)
{
    (void)state;
    static const struct {
        uint16_t in_type;
        uint16_t out_type;
        const char *payload;
        const char *json; /* of V */
    } cases[] = {
        {IN_UNICODE_STRING, 0, "L'ab' 0000", "\"ab\""},
        {IN_UNICODE_STRING, 0, "0000", "\"\""},
        {IN_ANSI_STRING, 0, "'a' e9 00", "\"a\xc3\xa9\""},
        {IN_ANSI_STRING, OUT_UTF8, "c3a9 00", "\"\xc3\xa9\""},
        {IN_INT8, 0, "80", "-128"},
        {IN_UINT8, 0, "80", "128"},
        {IN_INT16, 0, "0080", "-32768"},
        {IN_UINT16, 0, "0080", "32768"},
        {IN_INT32, 0, "00000080", "-2147483648"},
        {IN_UINT32, 0, "00000080", "2147483648"},
        {IN_INT64, 0, "0000000000000080", "-9223372036854775808"},
        {IN_UINT64, 0, "0000000000000080", "9223372036854775808"},
        {IN_FLOAT, 0, "0000c03f", "1.5"},
        {IN_DOUBLE, 0, "000000000000f83f", "1.5"},
        {IN_BOOLEAN, 0, "01000000", "true"},
        {IN_GUID, 0, "000102030405060708090a0b0c0d0e0f",
            "\"03020100-0504-0706-0809-0a0b0c0d0e0f\""},
        {IN_POINTER, 0, "efbeadde 00000000", "\"0xdeadbeef\""},
        {IN_FILETIME, 0, "0000000000000000", "\"1601-01-01T00:00:00.0000000Z\""},
        {IN_SYSTEMTIME, 0, "e807 0200 0400 1d00 0c00 2200 3800 4e00",
            "\"2024-02-29T12:34:56.078\""},
        {IN_SID, 0, "0102000000000005 20000000 20020000", "\"S-1-5-32-544\""},
        {IN_HEX_INT32, 0, "ff000000", "\"0xff\""},
        {IN_HEX_INT64, 0, "ff00000000000000", "\"0xff\""},
        {IN_MANIFEST_COUNTED_STRING, 0, "0400 L'ab'", "\"ab\""},
        {IN_MANIFEST_COUNTED_ANSI_STRING, 0, "0200 'ab'", "\"ab\""},
        {IN_MANIFEST_COUNTED_BINARY, 0, "0300 010203", "\"010203\""},
        {IN_COUNTED_STRING, 0, "0400 L'ab'", "\"ab\""},
        {IN_COUNTED_ANSI_STRING, 0, "0200 'ab'", "\"ab\""},
        {IN_REVERSED_COUNTED_STRING, 0, "0004 L'ab'", "\"ab\""},
        {IN_REVERSED_COUNTED_ANSI_STRING, 0, "0002 'ab'", "\"ab\""},
        {IN_UNICODE_CHAR, 0, "4100", "\"A\""},
        {IN_ANSI_CHAR, 0, "41", "\"A\""},
        {IN_SIZE_T, 0, "10000000 00000000", "\"0x10\""},
        {IN_HEX_DUMP, 0, "02000000 abcd", "\"abcd\""},
        {IN_WMI_TIME, 0, "0000000000000000", "\"2019-04-17T18:40:00.0000000Z\""},
        {IN_BINARY, OUT_IPV6, "00000000000000000000000000000001", "\"::1\""},
        {IN_BINARY, OUT_SOCKET_ADDRESS, "0200 01bb 7f000001 0000000000000000",
            "{\"address\":\"127.0.0.1\",\"port\":443,\"family\":2}"},
        {IN_BINARY, OUT_SOCKET_ADDRESS,
            "1700 01bb 00000000 00000000000000000000000000000001 00000000",
            "{\"address\":\"::1\",\"port\":443,\"family\":23}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct schema_field fields[] = {
            {NAME("V"), .in_type = cases[i].in_type, .out_type = cases[i].out_type},
            {NAME("T"), .in_type = IN_UINT8},
        };
        char payload[256];
        char json[256];
        snprintf(payload, sizeof(payload), "%s 07", cases[i].payload);
        snprintf(json, sizeof(json), "{\"V\":%s,\"T\":7}", cases[i].json);
        assert_decodes(SCHEMA(fields), payload, 8, json);
    }
}

static void pointers_are_as_wide_as_the_record_says(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("A"), .in_type = IN_POINTER},
        {NAME("B"), .in_type = IN_SIZE_T},
        {NAME("S"), .in_type = IN_UNICODE_STRING},
        {NAME("C"), .in_type = IN_POINTER},
    };
    assert_decodes(SCHEMA(fields), "01000000 02000000 0000 03000000", 4,
        "{\"A\":\"0x1\",\"B\":\"0x2\",\"S\":\"\",\"C\":\"0x3\"}");
    assert_decodes(SCHEMA(fields), "0100000000000000 0200000000000000 0000 0300000000000000", 8,
        "{\"A\":\"0x1\",\"B\":\"0x2\",\"S\":\"\",\"C\":\"0x3\"}");
}

static void the_last_types_take_the_rest(void **state)
{
    (void)state;
    static const struct {
        uint16_t in_type;
        const char *payload;
        const char *json;
    } cases[] = {
        {IN_UNICODE_STRING, "L'ab'", "{\"V\":\"ab\"}"},
        {IN_UNICODE_STRING, "", "{\"V\":\"\"}"},
        {IN_UNICODE_STRING, "L'ab' 63", "{\"V\":\"ab\"} +1"},
        {IN_ANSI_STRING, "'ab'", "{\"V\":\"ab\"}"},
        {IN_ANSI_STRING, "'ab' 00 01", "{\"V\":\"ab\"} +1"},
        {IN_BINARY, "010203", "{\"V\":\"010203\"}"},
        {IN_NON_NUL_TERMINATED_STRING, "L'ab'", "{\"V\":\"ab\"}"},
        {IN_NON_NUL_TERMINATED_ANSI_STRING, "'ab'", "{\"V\":\"ab\"}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct schema_field fields[] = {{NAME("V"), .in_type = cases[i].in_type}};
        assert_decodes(SCHEMA(fields), cases[i].payload, 8, cases[i].json);
    }
}

static void a_binary_without_length_is_an_error_unless_it_is_last(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("V"), .in_type = IN_BINARY}, {NAME("T"), .in_type = IN_UINT8}};
    assert_decodes(SCHEMA(fields), "0102", 8, "{} -2 V: its length is unknown at byte 0 of 2");
}

static void sids_that_are_none_are_errors(void **state)
{
    (void)state;
    static const struct schema_field sid[] = {{NAME("V"), .in_type = IN_SID}};
    static const struct schema_field wbem[] = {
        {NAME("V"), .in_type = IN_WBEM_SID}, {NAME("T"), .in_type = IN_UINT8}};
    assert_decodes(SCHEMA(sid), "0110000000000005", 8, "{} -8 V: not a SID at byte 0 of 8");
    assert_decodes(SCHEMA(sid), "01020000000000", 8, "{} -7 V: the payload ends at byte 0 of 7");
    assert_decodes(SCHEMA(sid), "0102000000000005 00000000", 8,
        "{} -12 V: its length exceeds the payload at byte 0 of 12");
    assert_decodes(SCHEMA(wbem), "000000", 8, "{} -3 V: the payload ends at byte 0 of 3");
    assert_decodes(SCHEMA(wbem), "01000000 02", 8, "{} -5 V: not a SID at byte 0 of 5");
    /* Revision 2, and 16 parts. */
    assert_decodes(SCHEMA(wbem), "01000000 00000000 0201000000000005 12000000", 4,
        "{} -20 V: not a SID at byte 0 of 20");
    assert_decodes(SCHEMA(wbem), "01000000 00000000 0110000000000005 12000000", 4,
        "{} -20 V: not a SID at byte 0 of 20");
}

/* WPP_LOGPSID of the WDK's templates writes "NULL" for a NULL pointer, or for a pointer to an
 * invalid SID. */
static void a_sid_of_wpp_may_be_the_text_null(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("V"), .in_type = IN_WPP_SID}, {NAME("T"), .in_type = IN_UINT8}};
    assert_decodes(SCHEMA(fields), "'NULL'00 07", 8, "{\"T\":7}");
    assert_decodes(
        SCHEMA(fields), "0101000000000005 12000000 07", 8, "{\"V\":\"S-1-5-18\",\"T\":7}");
    assert_decodes(SCHEMA(fields), "'NULL'", 8, "{} -4 V: the payload ends at byte 0 of 4");
    assert_decodes(SCHEMA(fields), "'NULLS'00 0000", 8, "{} -8 V: not a SID at byte 0 of 8");
}

static void a_null_sid_has_no_member_and_takes_4_bytes(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("V"), .in_type = IN_WBEM_SID}, {NAME("T"), .in_type = IN_UINT8}};
    for (uint8_t width = 4; width <= 8; width = (uint8_t)(width + 4)) {
        assert_decodes(SCHEMA(fields), "00000000 07", width, "{\"T\":7}");
    }
    assert_decodes(SCHEMA(fields), "f0000000 aabbccdd 0101000000000005 12000000 07", 4,
        "{\"V\":\"S-1-5-18\",\"T\":7}");
    assert_decodes(SCHEMA(fields), "0000000000000000 0000000000000000 0101000000000005 12000000 07",
        8, "{\"V\":\"S-1-5-18\",\"T\":7}");
}

static void an_optional_field_is_there_only_if_bytes_remain(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("A"), .in_type = IN_UINT8},
        {NAME("B"), .in_type = IN_UINT16, .flags = FIELD_OPTIONAL},
        {NAME("C"), .in_type = IN_UNICODE_STRING, .flags = FIELD_OPTIONAL},
    };
    assert_decodes(SCHEMA(fields), "01", 8, "{\"A\":1}");
    assert_decodes(SCHEMA(fields), "01 0200", 8, "{\"A\":1,\"B\":2}");
    assert_decodes(SCHEMA(fields), "01 0200 L'x' 0000", 8, "{\"A\":1,\"B\":2,\"C\":\"x\"}");
    assert_decodes(SCHEMA(fields), "01 02", 8, "{\"A\":1} -1 B: the payload ends at byte 1 of 2");
}

/* ---- lengths and counts ---------------------------------------------------------------------- */

static void lengths_count_units_and_may_be_zero(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("W"), .in_type = IN_UNICODE_STRING, .length = 3},
        {NAME("A"), .in_type = IN_ANSI_STRING, .length = 2},
        {NAME("B"), .in_type = IN_BINARY, .length = 1},
        {NAME("Z"), .in_type = IN_UNICODE_STRING, .flags = FIELD_FIXED_LENGTH},
        {NAME("I"), .in_type = IN_UINT8, .length = 4},
    };
    assert_decodes(SCHEMA(fields), "L'abc' 'de' ff 07", 8,
        "{\"W\":\"abc\",\"A\":\"de\",\"B\":\"ff\",\"Z\":\"\",\"I\":7}");
    assert_decodes(SCHEMA(fields), "L'a' 0000 L'c' 'de' ff 07", 8,
        "{\"W\":\"a\",\"A\":\"de\",\"B\":\"ff\",\"Z\":\"\",\"I\":7}");
}

static void lengths_come_from_integers_of_every_width(void **state)
{
    (void)state;
    static const struct {
        uint16_t in_type;
        const char *payload;
    } cases[] = {{IN_INT8, "02"}, {IN_UINT8, "02"}, {IN_UINT16, "0200"}, {IN_UINT32, "02000000"},
        {IN_HEX_INT32, "02000000"}, {IN_UINT64, "0200000000000000"},
        {IN_POINTER, "0200000000000000"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct schema_field fields[] = {
            {NAME("N"), .in_type = cases[i].in_type},
            {NAME("S"), .in_type = IN_UNICODE_STRING, .flags = FIELD_PARAM_LENGTH, .length = 0},
            {NAME("B"), .in_type = IN_BINARY, .flags = FIELD_PARAM_LENGTH, .length = 0},
        };
        const char *number = cases[i].in_type == IN_HEX_INT32 || cases[i].in_type == IN_POINTER
                                 ? "\"0x2\""
                                 : "2";
        char payload[128];
        char json[128];
        snprintf(payload, sizeof(payload), "%s L'ab' 0102", cases[i].payload);
        snprintf(json, sizeof(json), "{\"N\":%s,\"S\":\"ab\",\"B\":\"0102\"}", number);
        assert_decodes(SCHEMA(fields), payload, 8, json);
    }
}

static void a_length_of_zero_is_an_empty_value(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("N"), .in_type = IN_UINT8},
        {NAME("S"), .in_type = IN_UNICODE_STRING, .flags = FIELD_PARAM_LENGTH, .length = 0},
        {NAME("A"), .in_type = IN_BINARY, .out_type = OUT_IPV6, .flags = FIELD_PARAM_LENGTH,
            .length = 0},
        {NAME("T"), .in_type = IN_UINT8},
    };
    assert_decodes(SCHEMA(fields), "00 07", 8, "{\"N\":0,\"S\":\"\",\"A\":\"\",\"T\":7}");
}

static void lengths_beyond_the_payload_are_errors_that_take_nothing(void **state)
{
    (void)state;
    static const struct {
        uint16_t in_type;
        const char *payload;
        const char *json;
    } cases[] = {
        {IN_MANIFEST_COUNTED_STRING, "0600 L'ab'",
            "{} -6 V: its length exceeds the payload at byte 2 of 6"},
        {IN_REVERSED_COUNTED_STRING, "ffff L'ab'",
            "{} -6 V: its length exceeds the payload at byte 2 of 6"},
        {IN_HEX_DUMP, "ffffffff 00", "{} -5 V: its length exceeds the payload at byte 4 of 5"},
        {IN_MANIFEST_COUNTED_BINARY, "01", "{} -1 V: the payload ends at byte 0 of 1"},
        {IN_HEX_DUMP, "010000", "{} -3 V: the payload ends at byte 0 of 3"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct schema_field fields[] = {{NAME("V"), .in_type = cases[i].in_type}};
        assert_decodes(SCHEMA(fields), cases[i].payload, 8, cases[i].json);
    }
    static const struct schema_field param[] = {
        {NAME("N"), .in_type = IN_UINT32},
        {NAME("S"), .in_type = IN_UNICODE_STRING, .flags = FIELD_PARAM_LENGTH, .length = 0},
    };
    assert_decodes(SCHEMA(param), "ffffffff L'ab'", 8,
        "{\"N\":4294967295} -4 S: its length exceeds the payload at byte 4 of 8");
}

static void arrays_of_fixed_width_are_read_side_by_side(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("N"), .in_type = IN_UINT16},
        {NAME("Plain"), .in_type = IN_UINT16, .count = 2},
        {NAME("One"), .in_type = IN_UINT8, .flags = FIELD_FIXED_COUNT, .count = 1},
        {NAME("None"), .in_type = IN_UINT8, .flags = FIELD_FIXED_COUNT, .count = 0},
        {NAME("Param"), .in_type = IN_GUID, .flags = FIELD_PARAM_COUNT, .count = 0},
        {NAME("Counted"), .in_type = IN_BOOLEAN, .flags = FIELD_COUNTED},
        {NAME("Rest"), .in_type = IN_POINTER, .flags = FIELD_REST_COUNT},
    };
    assert_decodes(SCHEMA(fields),
        "0100 0200 0300 04 00000000000000000000000000000001 0200 01000000 00000000 05000000 "
        "06000000",
        4,
        "{\"N\":1,\"Plain\":[2,3],\"One\":[4],\"None\":[],"
        "\"Param\":[\"00000000-0000-0000-0000-000000000001\"],\"Counted\":[true,false],"
        "\"Rest\":[\"0x5\",\"0x6\"]}");
}

static void arrays_of_strings_are_read_one_by_one(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("Fixed"), .in_type = IN_ANSI_STRING, .count = 2},
        {NAME("Counted"), .in_type = IN_MANIFEST_COUNTED_STRING, .flags = FIELD_COUNTED},
        {NAME("Sids"), .in_type = IN_SID, .flags = FIELD_FIXED_COUNT, .count = 1},
        {NAME("Rest"), .in_type = IN_UNICODE_STRING, .flags = FIELD_REST_COUNT},
    };
    assert_decodes(SCHEMA(fields),
        "'a' 00 'b' 00 0200 0200 L'c' 0000 0101000000000005 12000000 L'd' 0000 0000 L'e'", 8,
        "{\"Fixed\":[\"a\",\"b\"],\"Counted\":[\"c\",\"\"],\"Sids\":[\"S-1-5-18\"],"
        "\"Rest\":[\"d\",\"\",\"e\"]}");
}

static void an_array_that_does_not_fit_keeps_the_fields_before(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("N"), .in_type = IN_UINT32},
        {NAME("A"), .in_type = IN_UINT64, .flags = FIELD_PARAM_COUNT, .count = 0},
    };
    assert_decodes(SCHEMA(fields), "ffffffff 0102030405060708", 8,
        "{\"N\":4294967295} -8 A: its length exceeds the payload at byte 4 of 12");
    static const struct schema_field counted[] = {
        {NAME("A"), .in_type = IN_UINT16, .flags = FIELD_COUNTED}};
    assert_decodes(SCHEMA(counted), "02", 8, "{} -1 A: the payload ends at byte 0 of 1");
    assert_decodes(
        SCHEMA(counted), "0200 0100", 8, "{} -4 A: its length exceeds the payload at byte 2 of 4");
}

/* Cut at every byte: the fields are unchanged, as many as fit, and no field lies outside. */
/* ---- states ---------------------------------------------------------------------------------- */

static void without_layout_the_payload_stays_raw(void **state)
{
    (void)state;
    struct decoder decoder;
    assert_true(decoder_init(&decoder, NULL));
    static const uint8_t bytes[3] = {1, 2, 3};
    static const struct event_schema names_only;
    struct event_record record = {.payload = {bytes, sizeof(bytes)}};
    struct event event;
    decoder_run(&decoder, &record, NULL, 8, &event);
    assert_int_equal(event.status, DECODE_RAW);
    assert_int_equal(event.rest.size, 3);
    decoder_run(&decoder, &record, &names_only, 8, &event);
    assert_int_equal(event.status, DECODE_RAW);
    assert_int_equal(event.field_count, 0);
    decoder_fini(&decoder);
}

static void bytes_behind_the_last_field_are_a_residue(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {{NAME("A"), .in_type = IN_UINT8}};
    assert_decodes(SCHEMA(fields), "01", 8, "{\"A\":1}");
    assert_decodes(SCHEMA(fields), "01 0203", 8, "{\"A\":1} +2");
    assert_decodes(make_schema(NULL, 0, 0), "", 8, "{}");
    assert_decodes(make_schema(NULL, 0, 0), "01", 8, "{} +1");
}

static void a_decoder_serves_one_event_after_the_other(void **state)
{
    (void)state;
    static const struct schema_field fields[] = {
        {NAME("N"), .in_type = IN_UINT8},
        {NAME("B"), .in_type = IN_BINARY, .flags = FIELD_PARAM_LENGTH, .length = 0},
    };
    const struct event_schema *schema = SCHEMA(fields);
    struct decoder decoder;
    assert_true(decoder_init(&decoder, NULL));
    for (int i = 0; i < 3; i++) {
        struct span bad = payload_make("05 01");
        struct span good = payload_make("01 01");
        struct event_record record = {.payload = bad};
        struct event event;
        decoder_run(&decoder, &record, schema, 8, &event);
        assert_int_equal(event.status, DECODE_PARTIAL);
        record.payload = good;
        decoder_run(&decoder, &record, schema, 8, &event);
        assert_int_equal(event.status, DECODE_COMPLETE);
        assert_null(event.error);
        payload_free(bad);
        payload_free(good);
    }
    decoder_fini(&decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_in_type_takes_its_bytes),
        cmocka_unit_test(pointers_are_as_wide_as_the_record_says),
        cmocka_unit_test(the_last_types_take_the_rest),
        cmocka_unit_test(a_binary_without_length_is_an_error_unless_it_is_last),
        cmocka_unit_test(sids_that_are_none_are_errors),
        cmocka_unit_test(a_sid_of_wpp_may_be_the_text_null),
        cmocka_unit_test(a_null_sid_has_no_member_and_takes_4_bytes),
        cmocka_unit_test(an_optional_field_is_there_only_if_bytes_remain),
        cmocka_unit_test(lengths_count_units_and_may_be_zero),
        cmocka_unit_test(lengths_come_from_integers_of_every_width),
        cmocka_unit_test(a_length_of_zero_is_an_empty_value),
        cmocka_unit_test(lengths_beyond_the_payload_are_errors_that_take_nothing),
        cmocka_unit_test(arrays_of_fixed_width_are_read_side_by_side),
        cmocka_unit_test(arrays_of_strings_are_read_one_by_one),
        cmocka_unit_test(an_array_that_does_not_fit_keeps_the_fields_before),
        cmocka_unit_test(without_layout_the_payload_stays_raw),
        cmocka_unit_test(bytes_behind_the_last_field_are_a_residue),
        cmocka_unit_test(a_decoder_serves_one_event_after_the_other),
    };
    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
