#include "event/shape/ecs_data.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "event/shape/ecs_value.h"
#include "support/json_check.h"
#include "unit/event/writer_fixture.h"

/* Values of winlog.event_data in the form of TdhFormatProperty. */

static const struct trace_clock clock_10mhz = {
    .type = TRACE_CLOCK_QPC, .start_time = 132000000000000000, .frequency = 10000000};
static const struct value_context context = {.ansi = &codepage_1252, .clock = &clock_10mhz};

static const struct schema_map_entry entries[] = {
    {0, {(const uint8_t *)"None", 4}},
    {1, {(const uint8_t *)"Re\"ad", 5}},
    {4, {(const uint8_t *)"Write", 5}},
    {5, {(const uint8_t *)"", 0}},
};
static const struct schema_map values = {.kind = MAP_VALUE, .entries = entries, .entry_count = 4};
static const struct schema_map bits = {.kind = MAP_BITS, .entries = entries, .entry_count = 3};
static const struct schema_map bits_without_zero = {
    .kind = MAP_BITS, .entries = entries + 1, .entry_count = 2};

static void assert_data_at(struct writer_fixture *f, const char *json, const char *file, int line)
{
    char text[4096] = "";
    if (*json) {
        snprintf(text, sizeof(text), ",\"event_data\":{%s}", json);
    }
    buf_reset(&f->out);
    ecs_data_add(&context, &f->event, &f->out);
    assert_false(f->out.failed);
    assert_span_at(buf_span(&f->out), text, file, line);
    size_t at;
    size_t key = sizeof(",\"event_data\":") - 1;
    assert_true(*json == '\0' || !json_check(span_from(buf_span(&f->out), key), &at));
}

#define assert_data(f, json) assert_data_at((f), (json), __FILE__, __LINE__)

/* ---- types ----------------------------------------------------------------------------------- */

static const struct {
    uint16_t in_type;
    uint16_t out_type;
    const char *payload;
    const char *json; /* of the value */
} scalars[] = {
    {IN_INT8, 0, "e3", "\"-29\""},
    {IN_UINT8, 0, "e8", "\"232\""},
    {IN_UINT8, OUT_BOOLEAN, "01", "\"true\""},
    {IN_UINT8, OUT_HEX_INT8, "0a", "\"0xA\""},
    {IN_UINT8, OUT_STRING, "41", "\"A\""},
    {IN_INT16, 0, "00 80", "\"-32768\""},
    {IN_UINT16, 0, "ffff", "\"65535\""},
    {IN_UINT16, OUT_PORT, "0050", "\"80\""},
    {IN_INT32, 0, "ffffffff", "\"-1\""},
    {IN_UINT32, 0, "ffffffff", "\"4294967295\""},
    {IN_UINT32, OUT_IPV4, "c0000207", "\"192.0.2.7\""},
    {IN_UINT32, OUT_PID, "04000000", "\"4\""},
    {IN_INT64, 0, "0000000000000080", "\"-9223372036854775808\""},
    {IN_UINT64, 0, "ffffffffffffffff", "\"18446744073709551615\""},
    {IN_UINT64, OUT_HEX_INT64, "ab00000000000080", "\"0x80000000000000AB\""},
    {IN_FLOAT, 0, "142eab42", "\"85.589996\""},
    {IN_FLOAT, 0, "00000000", "\"0.000000\""},
    {IN_FLOAT, 0, "000080ff", "\"-inf\""},
    {IN_DOUBLE, 0, "0000000000001440", "\"5.000000\""},
    {IN_DOUBLE, 0, "000000000000f87f", "\"nan\""},
    {IN_DOUBLE, 0, "000000000000f07f", "\"inf\""},
    {IN_BOOLEAN, 0, "00000000", "\"false\""},
    {IN_BOOLEAN, 0, "01000000", "\"true\""},
    {IN_BINARY, 0, "3eaf0fde", "\"0x3EAF0FDE\""},
    {IN_BINARY, OUT_IPV6, "20010db8000000000000000000000001", "\"2001:db8::1\""},
    {IN_BINARY, OUT_IPV6, "2001", "\"0x2001\""},
    {IN_GUID, 0, "d6510b70 ef54 d345 adf360cad277d1bd",
        "\"{700b51d6-54ef-45d3-adf3-60cad277d1bd}\""},
    {IN_POINTER, 0, "70dea66f00000000", "\"0x6FA6DE70\""},
    {IN_POINTER, 0, "00000000", "\"0x0\""},
    {IN_SIZE_T, OUT_UNSIGNED_LONG, "0a00000000000000", "\"10\""},
    {IN_FILETIME, 0, "87b234e19a79dd01", "\"2026-11-21T09:30:00.123456700Z\""},
    {IN_FILETIME, 0, "ffffffffffffffff", "\"0xFFFFFFFFFFFFFFFF\""},
    {IN_SYSTEMTIME, 0, "e107 0b00 0600 0400 0300 2e00 1600 3101", "\"2017-11-04T03:46:22.305Z\""},
    {IN_SYSTEMTIME, OUT_DATETIME_UTC, "e107 0b00 0600 0400 0300 2e00 1600 3101",
        "\"2017-11-04T03:46:22.305Z\""},
    {IN_SYSTEMTIME, 0, "e107 0d00 0600 0400 0300 2e00 1600 3101",
        "\"0xE1070D000600040003002E0016003101\""},
    {IN_WMI_TIME, 0, "8096980000000000", "\"2019-04-17T18:40:01.000000000Z\""},
    {IN_SID, 0, "0101000000000005 12000000", "\"S-1-5-18\""},
    {IN_SID, 0, "01ff", "\"0x01FF\""},
    {IN_HEX_INT32, 0, "cd19a99e", "\"0x9EA919CD\""},
    {IN_HEX_INT64, 0, "1480283060 49a9aa", "\"0xAAA9496030288014\""},
    {IN_UNICODE_STRING, 0, "L'a\"b'", "\"a\\\"b\""},
    {IN_ANSI_STRING, 0, "'caf' e9", "\"caf\xc3\xa9\""},
    {IN_ANSI_STRING, OUT_UTF8, "c3a9", "\"\xc3\xa9\""},
    {IN_BINARY, OUT_SOCKET_ADDRESS, "0200 0050 c0000207 0000000000000000", "\"192.0.2.7:80\""},
    {IN_BINARY, OUT_SOCKET_ADDRESS, "1700 01bb 00000000 fe800000000000000000000000000001 03000000",
        "\"[fe80::1%3]:443\""},
    {IN_BINARY, OUT_SOCKET_ADDRESS, "1700 01bb 00000000 20010db8000000000000000000000001 00000000",
        "\"[2001:db8::1]:443\""},
    {IN_BINARY, OUT_SOCKET_ADDRESS, "0c00 abcd", "\"0x0C00ABCD\""},
};

static void each_type_has_its_spelling(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    for (size_t i = 0; i < sizeof(scalars) / sizeof(scalars[0]); i++) {
        const struct piece piece = {
            "V", scalars[i].in_type, scalars[i].out_type, scalars[i].payload, NULL};
        fixture_set_fields(&f, &piece, 1);
        char json[256];
        snprintf(json, sizeof(json), "\"V\":%s", scalars[i].json);
        assert_data(&f, json);
    }
    fixture_fini(&f);
}

static void the_largest_numbers_fit(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    static const struct piece pieces[] = {
        {"V", IN_DOUBLE, 0, "ffffffffffffefff", NULL}, {"W", IN_FLOAT, 0, "ffff7fff", NULL}};
    fixture_set_fields(&f, pieces, 2);
    ecs_data_add(&context, &f.event, &f.out);
    buf_add_byte(&f.out, 0);
    const char *text = (const char *)f.out.data;
    /* -(2^53 - 1) * 2^971 and -(2^24 - 1) * 2^104. */
    const char *digits = strstr(text, "\"V\":\"-17976931348623157");
    assert_non_null(digits);
    assert_int_equal(strspn(digits + 6, "0123456789"), 309);
    assert_non_null(strstr(text, "\"W\":\"-340282346638528859811704183484516925440.000000\""));
    fixture_fini(&f);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 11 ^ *state << 31;
}

/* Floats have printf's form, whatever their bits. */
static void assert_six_decimals(uint16_t form, double value, const void *bytes, size_t size)
{
    const struct schema_field field = {.form = (uint8_t)form};
    uint8_t text[512];
    char expected[512];
    int length = snprintf(expected, sizeof(expected), "\"%f\"", value);
    uint8_t *end = ecs_value_put(&context, text, &field, span_make(bytes, size));
    assert_int_equal(end - text, length);
    assert_memory_equal(text, expected, (size_t)length);
}

static void floats_have_six_decimals(void **state)
{
    (void)state;
    static const double edges[] = {0.0, -0.0, 0.5e-6, 1.5e-6, 2.5e-6, 0.0000005, 0.9999995,
        1.9999999999, 4.0000005, -7.00000049999, 1.0 / 64, 3.0 / 128, 5.0 / 8388608,
        1125899906842623.5, 1125899906842624.0, 1e15, 1e300, 5e-324, 4503599627370495.5,
        65535.99999999999};
    enum { EDGES = sizeof(edges) / sizeof(edges[0]), RANDOM = 200000 };
    uint64_t random = 1;
    for (size_t i = 0; i < EDGES + RANDOM; i++) {
        /* Numbers such as measurements have; every third has random bits. */
        uint64_t number = next_random(&random);
        double value = i % 2 ? (double)(int64_t)number / 0x1p48 : (double)(int32_t)number / 1000;
        if (i < EDGES) {
            value = edges[i];
        } else if (i % 3 == 0) {
            memcpy(&value, &number, sizeof(value));
        }
        if (fabs(value) <= DBL_MAX) {
            assert_six_decimals(FORM_DOUBLE, value, &value, sizeof(value));
        }
        if (fabs(value) <= (double)FLT_MAX) {
            float single = (float)value;
            assert_six_decimals(FORM_FLOAT, (double)single, &single, sizeof(single));
        }
    }
}

/* ---- codes ----------------------------------------------------------------------------------- */

static const struct {
    uint16_t in_type;
    uint16_t out_type;
    const struct schema_map *map;
    const char *payload;
    const char *json;
} codes[] = {
    {IN_UINT32, 0, &values, "01000000", "\"V\":\"Re\\\"ad\",\"V_raw\":\"1\""},
    {IN_UINT32, 0, &values, "02000000", "\"V\":\"2\",\"V_raw\":\"2\""},
    {IN_UINT8, 0, &values, "05", "\"V_raw\":\"5\""},
    {IN_HEX_INT32, 0, &values, "1f000000", "\"V\":\"0x1F\",\"V_raw\":\"0x1F\""},
    {IN_UINT32, 0, &bits, "05000000", "\"V\":\"Re\\\"ad, Write\",\"V_raw\":\"5\""},
    {IN_UINT32, 0, &bits, "2c000000", "\"V\":\"Write, 0x28\",\"V_raw\":\"44\""},
    {IN_UINT32, 0, &bits, "00000000", "\"V\":\"None\",\"V_raw\":\"0\""},
    {IN_UINT32, 0, &bits_without_zero, "00000000", "\"V\":\"0\",\"V_raw\":\"0\""},
    {IN_UINT32, 0, &bits_without_zero, "08000000", "\"V\":\"8\",\"V_raw\":\"8\""},
    {IN_UINT32, OUT_NTSTATUS, NULL, "050000c0",
        "\"V\":\"STATUS_ACCESS_VIOLATION\",\"V_raw\":\"3221225477\""},
    {IN_UINT32, OUT_NTSTATUS, NULL, "efbeadde",
        "\"V\":\"Unknown NTSTATUS Error code: 0xdeadbeef\",\"V_raw\":\"3735928559\""},
    {IN_UINT32, OUT_WIN32_ERROR, NULL, "05000000", "\"V\":\"ERROR_ACCESS_DENIED\",\"V_raw\":\"5\""},
    {IN_UINT32, OUT_WIN32_ERROR, NULL, "cddd0000",
        "\"V\":\"Unknown Win32 Error code: 0xddcd\",\"V_raw\":\"56781\""},
    {IN_INT32, OUT_HRESULT, NULL, "05000780", "\"V\":\"E_ACCESSDENIED\",\"V_raw\":\"-2147024891\""},
    {IN_INT32, OUT_HRESULT, NULL, "cddd0000",
        "\"V\":\"Unknown HResult Error code: 0xddcd\",\"V_raw\":\"56781\""},
};

static void texts_for_numbers_have_the_number_beside_them(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        const struct piece piece = {
            "V", codes[i].in_type, codes[i].out_type, codes[i].payload, codes[i].map};
        fixture_set_fields(&f, &piece, 1);
        assert_data(&f, codes[i].json);
    }
    fixture_fini(&f);
}

static void a_number_gives_way_to_a_property_of_its_name(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    static const struct piece pieces[] = {
        {"V", IN_UINT8, 0, "01", &values}, {"V_raw", IN_UINT8, 0, "07", NULL}};
    fixture_set_fields(&f, pieces, 2);
    assert_data(&f, "\"V\":\"Re\\\"ad\",\"V_raw\":\"7\"");
    fixture_fini(&f);
}

/* ---- what is left out ------------------------------------------------------------------------ */

static void empty_strings_are_left_out(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    assert_data(&f, "");
    static const struct piece pieces[] = {
        {"A", IN_UNICODE_STRING, 0, "", NULL},
        {"B", IN_ANSI_STRING, 0, "", NULL},
        {"C", IN_BINARY, 0, "", NULL},
        {"D", IN_SID, 0, "", NULL},
        {"E", IN_COUNTED_STRING, 0, "0000 4100", NULL},
        {"F", IN_BINARY, OUT_SOCKET_ADDRESS, "", NULL},
    };
    fixture_set_fields(&f, pieces, 6);
    assert_data(&f, "");
    static const struct piece last[] = {
        {"A", IN_UNICODE_STRING, 0, "", NULL}, {"Z", IN_UNICODE_STRING, 0, "L'z'", NULL}};
    fixture_set_fields(&f, last, 2);
    assert_data(&f, "\"Z\":\"z\"");
    fixture_fini(&f);
}

static void a_property_named_like_the_extended_data_is_renamed(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    static const struct piece pieces[] = {
        {"extended_data", IN_UINT8, 0, "01", &values},
        {"extended_data_2", IN_UINT8, 0, "02", NULL},
    };
    fixture_set_fields(&f, pieces, 2);
    struct span id = payload_make("02000000");
    const struct extended_item items[] = {{EXTENDED_TS_ID, id}};
    f.record.extended = items;
    f.record.extended_count = 1;
    assert_data(&f, "\"extended_data_3\":\"Re\\\"ad\",\"extended_data_raw\":\"1\","
                    "\"extended_data_2\":\"2\",\"extended_data\":{\"TS_ID\":2}");
    payload_free(id);
    fixture_fini(&f);
}

/* ---- arrays and structs ---------------------------------------------------------------------- */

/* The fixture's pieces as the leaves of a tree of fields. */
static void lists_and_structs_stay_what_they_are(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    static const struct piece pieces[] = {
        {"N", IN_UINT8, 0, "0105", &values},
        {"T", IN_UNICODE_STRING, 0, "", NULL},
        {"S", IN_UINT8, 0, "", NULL},
        {"C", IN_ANSI_CHAR, 0, "'abc' 00", NULL},
        {"E", IN_UINT16, 0, "", NULL},
    };
    fixture_set_fields(&f, pieces, 5);
    struct field n = f.fields[0];
    struct field t = f.fields[1];
    struct field c = f.fields[3];
    n.shape = FIELD_PACKED;
    n.count = 2;
    n.value_bytes = 1;
    c.shape = FIELD_PACKED;
    c.count = 4;
    c.value_bytes = 1;
    const struct schema_field *s = f.schema_fields;
    /* S: [{N: [1, 5], T: ""}, {T: ""}], T: [""], C: "abc", E: [] */
    struct field tree[] = {
        {.schema = &s[2], .count = 2, .shape = FIELD_ARRAY, .end = 6},
        {.schema = &s[2], .count = 2, .shape = FIELD_GROUP, .end = 4},
        n,
        t,
        {.schema = &s[2], .count = 1, .shape = FIELD_GROUP, .end = 6},
        t,
        {.schema = &s[1], .count = 1, .shape = FIELD_ARRAY, .end = 8},
        t,
        c,
        {.schema = &s[4], .data = c.data, .shape = FIELD_PACKED, .value_bytes = 2, .end = 10},
    };
    tree[2].end = 3;
    tree[3].end = 4;
    tree[5].end = 6;
    tree[7].end = 8;
    tree[8].end = 9;
    f.event.fields = tree;
    f.event.field_count = 10;
    assert_data(&f, "\"S\":[{\"N\":[\"Re\\\"ad\",\"\"],\"N_raw\":[\"1\",\"5\"],\"T\":\"\"},"
                    "{\"T\":\"\"}],\"T\":[\"\"],\"C\":\"abc\",\"E\":[]");
    /* A struct without members. */
    struct field empty[] = {{.schema = &s[2], .shape = FIELD_GROUP, .end = 1}};
    f.event.fields = empty;
    f.event.field_count = 1;
    assert_data(&f, "\"S\":{}");
    fixture_fini(&f);
}

/* They form one text, however many they are: a map names single numbers. */
static void characters_of_a_list_have_no_names(void **state)
{
    (void)state;
    static const char *const payloads[] = {"", "01", "0100", "414201", "01000000"};
    static const char *const json[] = {
        "", "\"C\":\"\\u0001\"", "\"C\":\"\\u0001\"", "\"C\":\"AB\\u0001\"", "\"C\":\"\\u0001\""};
    for (size_t i = 0; i < sizeof(json) / sizeof(json[0]); i++) {
        struct writer_fixture f;
        fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
        const struct piece piece = {"C", IN_ANSI_CHAR, 0, payloads[i], &values};
        fixture_set_fields(&f, &piece, 1);
        f.fields[0].shape = FIELD_PACKED;
        f.fields[0].count = f.fields[0].size;
        f.fields[0].value_bytes = 1;
        assert_data(&f, json[i]);
        fixture_fini(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_has_its_spelling),
        cmocka_unit_test(the_largest_numbers_fit),
        cmocka_unit_test(floats_have_six_decimals),
        cmocka_unit_test(texts_for_numbers_have_the_number_beside_them),
        cmocka_unit_test(a_number_gives_way_to_a_property_of_its_name),
        cmocka_unit_test(empty_strings_are_left_out),
        cmocka_unit_test(a_property_named_like_the_extended_data_is_renamed),
        cmocka_unit_test(lists_and_structs_stay_what_they_are),
        cmocka_unit_test(characters_of_a_list_have_no_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
