#include "event/value/value_json.h"

#include <stdio.h>

#include "support/payload.h"
#include "support/test.h"

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

/* One field V with the bytes as its value; schema, value and text in one block. */
struct fixture {
    struct arena arena;
    struct event_schema schema;
    struct schema_field field;
    struct field value;
    struct event_record record;
    struct event event;
    struct span payload;
    struct buf out;
};

static const struct trace_clock clock_10mhz = {
    .type = TRACE_CLOCK_QPC, .start_time = 132000000000000000, .frequency = 10000000};
static const struct value_context context = {.ansi = &codepage_1252, .clock = &clock_10mhz};

static void fixture_init(
    struct fixture *f, uint16_t in_type, uint16_t out_type, const struct schema_map *map)
{
    *f = (struct fixture){
        .field = {.name = span_text("V"), .in_type = in_type, .out_type = out_type, .map = map}};
    arena_init(&f->arena, 1 << 20);
    buf_init(&f->out, 1 << 20);
    f->schema = (struct event_schema){.fields = &f->field, .field_count = 1, .top_count = 1};
    assert_true(schema_finish(&f->schema, &f->arena, NULL));
    f->event = (struct event){
        .record = &f->record, .schema = &f->schema, .fields = &f->value, .field_count = 1};
}

static void fixture_fini(struct fixture *f)
{
    payload_free(f->payload);
    arena_fini(&f->arena);
    buf_fini(&f->out);
}

static void give_value(struct fixture *f, const char *payload, uint32_t count, uint8_t value_bytes)
{
    f->payload = payload_make(payload);
    f->record.payload = f->payload;
    f->value = (struct field){.schema = &f->field,
        .data = f->payload.data,
        .size = (uint32_t)f->payload.size,
        .count = count,
        .end = 1,
        .shape = value_bytes ? FIELD_PACKED : FIELD_VALUE,
        .value_bytes = value_bytes};
}

static void assert_value(uint16_t in_type, uint16_t out_type, const struct schema_map *map,
    const char *payload, const char *json)
{
    struct fixture f;
    fixture_init(&f, in_type, out_type, map);
    give_value(&f, payload, 1, 0);
    value_json_object(&context, &f.event, 0, 1, &f.out);
    assert_span(buf_span(&f.out), json);
    fixture_fini(&f);
}

static void assert_array(uint16_t in_type, uint16_t out_type, const struct schema_map *map,
    const char *payload, uint8_t value_bytes, const char *json)
{
    struct fixture f;
    fixture_init(&f, in_type, out_type, map);
    give_value(&f, payload, 0, value_bytes);
    f.value.count = f.value.size / value_bytes;
    value_json_object(&context, &f.event, 0, 1, &f.out);
    assert_span(buf_span(&f.out), json);
    fixture_fini(&f);
}

static void assert_text(uint16_t in_type, uint16_t out_type, const struct schema_map *map,
    const char *payload, const char *text)
{
    struct fixture f;
    fixture_init(&f, in_type, out_type, map);
    give_value(&f, payload, 1, 0);
    value_json_text(&context, &f.event, 0, &f.out);
    assert_span(buf_span(&f.out), text);
    fixture_fini(&f);
}

struct value_case {
    uint16_t in_type;
    uint16_t out_type;
    const char *payload;
    const char *json;
};

static void run_cases(const struct value_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_value(cases[i].in_type, cases[i].out_type, NULL, cases[i].payload, cases[i].json);
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void integers_are_numbers_of_their_sign(void **state)
{
    (void)state;
    static const struct value_case cases[] = {
        {IN_INT8, 0, "ff", "{\"V\":-1}"},
        {IN_UINT8, 0, "ff", "{\"V\":255}"},
        {IN_INT16, 0, "feff", "{\"V\":-2}"},
        {IN_UINT16, 0, "feff", "{\"V\":65534}"},
        {IN_INT32, 0, "fdffffff", "{\"V\":-3}"},
        {IN_UINT32, 0, "fdffffff", "{\"V\":4294967293}"},
        {IN_INT64, 0, "ffffffffffffffff", "{\"V\":-1}"},
        {IN_UINT64, 0, "ffffffffffffffff", "{\"V\":18446744073709551615}"},
        {IN_UINT32, OUT_PID, "04000000", "{\"V\":4}"},
        {IN_HEX_INT32, OUT_TID, "ff000000", "{\"V\":255}"},
        {IN_UINT32, OUT_INT, "ffffffff", "{\"V\":-1}"},
        {IN_INT32, OUT_UNSIGNED_INT, "ffffffff", "{\"V\":4294967295}"},
        {IN_UINT16, OUT_PORT, "01bb", "{\"V\":443}"},
        {IN_POINTER, OUT_PID, "0400000000000000", "{\"V\":4}"},
        {IN_POINTER, OUT_LONG, "ffffffff", "{\"V\":-1}"},
        {IN_POINTER, OUT_LONG, "feffffffffffffff", "{\"V\":-2}"},
    };
    run_cases(cases, COUNT_OF(cases));
}

static void hexadecimal_is_lower_case_text_without_padding(void **state)
{
    (void)state;
    static const struct value_case cases[] = {
        {IN_HEX_INT32, 0, "00000000", "{\"V\":\"0x0\"}"},
        {IN_HEX_INT32, 0, "0000c0de", "{\"V\":\"0xdec00000\"}"},
        {IN_HEX_INT64, 0, "ffffffffffffffff", "{\"V\":\"0xffffffffffffffff\"}"},
        {IN_UINT64, OUT_HEX_INT64, "0100000000000000", "{\"V\":\"0x1\"}"},
        {IN_UINT8, OUT_HEX_INT8, "0a", "{\"V\":\"0xa\"}"},
        {IN_UINT16, OUT_HEX_INT16, "cd0a", "{\"V\":\"0xacd\"}"},
        {IN_UINT32, OUT_ERROR_CODE, "05000780", "{\"V\":\"0x80070005\"}"},
        {IN_POINTER, 0, "80503412", "{\"V\":\"0x12345080\"}"},
        {IN_POINTER, 0, "80503412 80e0ffff", "{\"V\":\"0xffffe08012345080\"}"},
        {IN_SIZE_T, 0, "00100000", "{\"V\":\"0x1000\"}"},
    };
    run_cases(cases, COUNT_OF(cases));
}

static void floats_carry_a_point_or_an_exponent(void **state)
{
    (void)state;
    static const struct value_case cases[] = {
        {IN_DOUBLE, 0, "0000000000001440", "{\"V\":5.0}"},
        {IN_DOUBLE, 0, "9a9999999999b93f", "{\"V\":0.1}"},
        {IN_DOUBLE, 0, "0000000000000080", "{\"V\":-0.0}"},
        {IN_DOUBLE, 0, "9c7500883ce4377e", "{\"V\":1e+300}"},
        {IN_FLOAT, 0, "cdcccc3d", "{\"V\":0.1}"},
        {IN_FLOAT, 0, "0000a040", "{\"V\":5.0}"},
        {IN_DOUBLE, 0, "000000000000f07f", "{\"V\":null,\"V_name\":\"Infinity\"}"},
        {IN_DOUBLE, 0, "000000000000f0ff", "{\"V\":null,\"V_name\":\"-Infinity\"}"},
        {IN_DOUBLE, 0, "000000000000f87f", "{\"V\":null,\"V_name\":\"NaN\"}"},
        {IN_DOUBLE, 0, "010000000000f0ff", "{\"V\":null,\"V_name\":\"NaN\"}"},
        {IN_FLOAT, 0, "0000807f", "{\"V\":null,\"V_name\":\"Infinity\"}"},
        {IN_FLOAT, 0, "000080ff", "{\"V\":null,\"V_name\":\"-Infinity\"}"},
        {IN_FLOAT, 0, "0100807f", "{\"V\":null,\"V_name\":\"NaN\"}"},
    };
    run_cases(cases, COUNT_OF(cases));
    assert_array(IN_FLOAT, 0, NULL, "0000a040 0000c07f", 4,
        "{\"V\":[5.0,null],\"V_name\":[\"5.0\",\"NaN\"]}");
}

static void booleans_are_true_for_every_bit(void **state)
{
    (void)state;
    static const struct value_case cases[] = {
        {IN_BOOLEAN, 0, "00000000", "{\"V\":false}"},
        {IN_BOOLEAN, 0, "00000001", "{\"V\":true}"},
        {IN_UINT8, OUT_BOOLEAN, "02", "{\"V\":true}"},
        {IN_UINT16, OUT_BOOLEAN, "0001", "{\"V\":true}"},
        {IN_UINT32, OUT_BOOLEAN, "00000000", "{\"V\":false}"},
    };
    run_cases(cases, COUNT_OF(cases));
}

/* ---- times ----------------------------------------------------------------------------------- */

static void times_are_iso_8601(void **state)
{
    (void)state;
    static const struct value_case cases[] = {
        {IN_FILETIME, 0, "0000000000000000", "{\"V\":\"1601-01-01T00:00:00.0000000Z\"}"},
        {IN_FILETIME, 0, "00803ed5deb19d01", "{\"V\":\"1970-01-01T00:00:00.0000000Z\"}"},
        {IN_FILETIME, 0, "ff3f59f26e5dc824", "{\"V\":\"0x24c85d6ef2593fff\"}"},
        {IN_FILETIME, 0, "ffffffffffffff7f", "{\"V\":\"0x7fffffffffffffff\"}"},
        {IN_UINT64, OUT_DATETIME, "00803ed5deb19d01", "{\"V\":\"1970-01-01T00:00:00.0000000Z\"}"},
        {IN_SYSTEMTIME, 0, "e807 0200 0400 1d00 0c00 2200 3800 4e00",
            "{\"V\":\"2024-02-29T12:34:56.078\"}"},
        {IN_SYSTEMTIME, OUT_DATETIME_UTC, "e807 0200 0400 1d00 0c00 2200 3800 4e00",
            "{\"V\":\"2024-02-29T12:34:56.078Z\"}"},
        {IN_SYSTEMTIME, 0, "e807 0d00 0400 1d00 0c00 2200 3800 4e00",
            "{\"V\":\"e8070d0004001d000c00220038004e00\"}"},
        {IN_WMI_TIME, 0, "8096980000000000", "{\"V\":\"2019-04-17T18:40:01.0000000Z\"}"},
    };
    run_cases(cases, COUNT_OF(cases));
}

/* ---- identities and addresses ---------------------------------------------------------------- */

static void guids_sids_and_binaries_are_text(void **state)
{
    (void)state;
    static const struct value_case cases[] = {
        {IN_GUID, 0, "33221100554477668899aabbccddeeff",
            "{\"V\":\"00112233-4455-6677-8899-aabbccddeeff\"}"},
        {IN_SID, 0, "0101000000000005 12000000", "{\"V\":\"S-1-5-18\"}"},
        {IN_BINARY, 0, "00ff10", "{\"V\":\"00ff10\"}"},
        {IN_BINARY, 0, "", "{\"V\":\"\"}"},
    };
    run_cases(cases, COUNT_OF(cases));
}

static void a_sid_that_is_not_there_has_no_member(void **state)
{
    (void)state;
    assert_value(IN_WBEM_SID, 0, NULL, "", "{}");
}

static void ip_addresses_are_in_network_order(void **state)
{
    (void)state;
    static const struct value_case cases[] = {
        {IN_UINT32, OUT_IPV4, "c0000207", "{\"V\":\"192.0.2.7\"}"},
        {IN_BINARY, OUT_IPV6, "20010db8000000000000000000000001", "{\"V\":\"2001:db8::1\"}"},
        {IN_BINARY, OUT_IPV6, "00000000000000000000000000000000", "{\"V\":\"::\"}"},
        {IN_BINARY, OUT_IPV6, "00000000000000000000ffffc0000207", "{\"V\":\"::ffff:192.0.2.7\"}"},
        {IN_BINARY, OUT_IPV6, "20010db8000000010001000100010001",
            "{\"V\":\"2001:db8:0:1:1:1:1:1\"}"},
        {IN_BINARY, OUT_IPV6, "20010db8000000000001000000000001", "{\"V\":\"2001:db8::1:0:0:1\"}"},
        {IN_BINARY, OUT_IPV6, "c0000207", "{\"V\":\"c0000207\"}"},
        {IN_BINARY, OUT_IPV6, "", "{\"V\":\"\"}"},
    };
    run_cases(cases, COUNT_OF(cases));
}

static void socket_addresses_are_objects(void **state)
{
    (void)state;
    static const struct value_case cases[] = {
        {IN_BINARY, OUT_SOCKET_ADDRESS, "0200 01bb c0000207 0000000000000000",
            "{\"V\":{\"address\":\"192.0.2.7\",\"port\":443,\"family\":2}}"},
        {IN_BINARY, OUT_SOCKET_ADDRESS, "0200 01bb c0000207",
            "{\"V\":{\"address\":\"192.0.2.7\",\"port\":443,\"family\":2}}"},
        {IN_BINARY, OUT_SOCKET_ADDRESS,
            "1700 0050 00000000 fe800000000000000000000000000001 05000000",
            "{\"V\":{\"address\":\"fe80::1\",\"port\":80,\"family\":23,\"scope_id\":5}}"},
        {IN_BINARY, OUT_SOCKET_ADDRESS,
            "1700 0050 00000000 20010db8000000000000000000000001 00000000",
            "{\"V\":{\"address\":\"2001:db8::1\",\"port\":80,\"family\":23}}"},
        {IN_BINARY, OUT_SOCKET_ADDRESS, "2100 0102",
            "{\"V\":{\"family\":33,\"raw\":\"21000102\"}}"},
        {IN_BINARY, OUT_SOCKET_ADDRESS, "0200 01bb c00002",
            "{\"V\":{\"family\":2,\"raw\":\"020001bbc00002\"}}"},
        {IN_BINARY, OUT_SOCKET_ADDRESS, "1700 0050",
            "{\"V\":{\"family\":23,\"raw\":\"17000050\"}}"},
        {IN_BINARY, OUT_SOCKET_ADDRESS, "02", "{\"V\":{\"family\":2,\"raw\":\"02\"}}"},
        {IN_BINARY, OUT_SOCKET_ADDRESS, "", "{\"V\":{}}"},
    };
    run_cases(cases, COUNT_OF(cases));
}

/* ---- text ------------------------------------------------------------------------------------ */

static void strings_end_at_their_first_nul_and_are_escaped(void **state)
{
    (void)state;
    static const struct value_case cases[] = {
        {IN_COUNTED_STRING, 0, "L'a' 0000 L'b'", "{\"V\":\"a\"}"},
        {IN_UNICODE_STRING, 0, "L'q\"\\' 0900 0100", "{\"V\":\"q\\\"\\\\\\t\\u0001\"}"},
        {IN_UNICODE_STRING, 0, "3dd8 00de", "{\"V\":\"\xf0\x9f\x98\x80\"}"},
        {IN_UNICODE_STRING, 0, "3dd8", "{\"V\":\"\xef\xbf\xbd\"}"},
        {IN_UNICODE_STRING, 0, "", "{\"V\":\"\"}"},
        {IN_COUNTED_ANSI_STRING, 0, "'a' e4 80 00 'b'", "{\"V\":\"a\xc3\xa4\xe2\x82\xac\"}"},
        {IN_COUNTED_ANSI_STRING, OUT_UTF8, "c3a4 00 'b'", "{\"V\":\"\xc3\xa4\"}"},
        {IN_ANSI_STRING, OUT_UTF8, "ff", "{\"V\":\"\xef\xbf\xbd\"}"},
        {IN_UNICODE_CHAR, 0, "e400", "{\"V\":\"\xc3\xa4\"}"},
        {IN_UNICODE_CHAR, 0, "0000", "{\"V\":\"\"}"},
        {IN_ANSI_CHAR, 0, "41", "{\"V\":\"A\"}"},
        {IN_UINT8, OUT_STRING, "41", "{\"V\":\"A\"}"},
    };
    run_cases(cases, COUNT_OF(cases));
}

static void characters_side_by_side_are_one_text(void **state)
{
    (void)state;
    assert_array(IN_ANSI_CHAR, 0, NULL, "'abc' 00 'd'", 1, "{\"V\":\"abc\"}");
    assert_array(IN_UINT16, OUT_STRING, NULL, "L'ab'", 2, "{\"V\":\"ab\"}");
}

static void arrays_of_values_are_lists(void **state)
{
    (void)state;
    assert_array(IN_UINT16, 0, NULL, "0100 0200", 2, "{\"V\":[1,2]}");
    assert_array(IN_UINT16, 0, NULL, "", 2, "{\"V\":[]}");
    assert_array(IN_POINTER, 0, NULL, "01000000 02000000", 4, "{\"V\":[\"0x1\",\"0x2\"]}");
    assert_array(IN_UINT8, OUT_BOOLEAN, NULL, "00 01", 1, "{\"V\":[false,true]}");
}

/* ---- names of values ------------------------------------------------------------------------- */

static void status_codes_have_names_where_they_are_known(void **state)
{
    (void)state;
    static const struct value_case cases[] = {
        {IN_UINT32, OUT_NTSTATUS, "050000c0",
            "{\"V\":3221225477,\"V_name\":\"STATUS_ACCESS_VIOLATION\"}"},
        {IN_UINT32, OUT_NTSTATUS, "00000000", "{\"V\":0,\"V_name\":\"STATUS_SUCCESS\"}"},
        {IN_UINT32, OUT_NTSTATUS, "efbeadde", "{\"V\":3735928559}"},
        {IN_UINT32, OUT_WIN32_ERROR, "05000000", "{\"V\":5,\"V_name\":\"ERROR_ACCESS_DENIED\"}"},
        {IN_UINT32, OUT_WIN32_ERROR, "efbeadde", "{\"V\":3735928559}"},
        {IN_INT32, OUT_HRESULT, "05400080", "{\"V\":-2147467259,\"V_name\":\"E_FAIL\"}"},
        {IN_UINT32, OUT_HRESULT, "05400080", "{\"V\":2147500037,\"V_name\":\"E_FAIL\"}"},
        {IN_INT32, OUT_HRESULT, "efbeadde", "{\"V\":-559038737}"},
    };
    run_cases(cases, COUNT_OF(cases));
}

static const struct schema_map_entry values[] = {
    {1, {(const uint8_t *)"one", 3}},
    {2, {(const uint8_t *)"t\"wo", 4}},
};
static const struct schema_map value_map = {
    .kind = MAP_VALUE, .entries = values, .entry_count = COUNT_OF(values)};

static const struct schema_map_entry bits[] = {
    {0x4, {(const uint8_t *)"four", 4}},
    {0x3, {(const uint8_t *)"both", 4}},
    {0x1, {(const uint8_t *)"low", 3}},
    {0, {(const uint8_t *)"none", 4}},
};
static const struct schema_map bit_map = {
    .kind = MAP_BITS, .entries = bits, .entry_count = COUNT_OF(bits)};

static void value_maps_name_exact_values(void **state)
{
    (void)state;
    assert_value(IN_UINT32, 0, &value_map, "01000000", "{\"V\":1,\"V_name\":\"one\"}");
    assert_value(IN_UINT8, 0, &value_map, "02", "{\"V\":2,\"V_name\":\"t\\\"wo\"}");
    assert_value(IN_UINT32, 0, &value_map, "03000000", "{\"V\":3}");
    assert_value(IN_HEX_INT32, 0, &value_map, "01000000", "{\"V\":\"0x1\",\"V_name\":\"one\"}");
    assert_value(
        IN_POINTER, 0, &value_map, "0100000000000000", "{\"V\":\"0x1\",\"V_name\":\"one\"}");
}

static void bit_maps_are_always_lists_with_leftover_bits_in_hex(void **state)
{
    (void)state;
    assert_value(IN_UINT32, 0, &bit_map, "04000000", "{\"V\":4,\"V_name\":[\"four\"]}");
    assert_value(IN_UINT32, 0, &bit_map, "03000000", "{\"V\":3,\"V_name\":[\"both\",\"low\"]}");
    assert_value(IN_UINT32, 0, &bit_map, "02000000", "{\"V\":2,\"V_name\":[\"0x2\"]}");
    assert_value(
        IN_UINT32, 0, &bit_map, "f5000000", "{\"V\":245,\"V_name\":[\"four\",\"low\",\"0xf0\"]}");
    assert_value(IN_UINT8, 0, &bit_map, "00", "{\"V\":0,\"V_name\":[\"none\"]}");
}

static void arrays_with_a_map_have_as_many_names_as_values(void **state)
{
    (void)state;
    assert_array(IN_UINT8, 0, &value_map, "01 07 02", 1,
        "{\"V\":[1,7,2],\"V_name\":[\"one\",\"7\",\"t\\\"wo\"]}");
    assert_array(IN_UINT8, 0, &value_map, "07 08", 1, "{\"V\":[7,8]}");
    assert_array(IN_HEX_INT32, 0, &value_map, "01000000 0a000000", 4,
        "{\"V\":[\"0x1\",\"0xa\"],\"V_name\":[\"one\",\"0xa\"]}");
    assert_array(IN_UINT8, 0, &bit_map, "01 04", 1, "{\"V\":[1,4]}");
}

static void a_map_on_text_reads_nothing_behind_it(void **state)
{
    (void)state;
    assert_value(IN_ANSI_STRING, 0, &value_map, "'one'", "{\"V\":\"one\"}");
    assert_value(IN_BINARY, 0, &bit_map, "010203", "{\"V\":\"010203\"}");
    assert_array(
        IN_UINT8, OUT_STRING, &value_map, "01 02 'xyz'", 1, "{\"V\":\"\\u0001\\u0002xyz\"}");
}

/* ---- objects --------------------------------------------------------------------------------- */

static void structs_are_objects_and_their_arrays_lists(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 1 << 16);
    struct schema_field fields[] = {
        {.name = span_text("S"),
            .flags = FIELD_STRUCT,
            .count = 2,
            .struct_start = 1,
            .struct_members = 2},
        {.name = span_text("A"), .in_type = IN_UINT8},
        {.name = span_text("B"), .in_type = IN_UINT8, .count = 2},
    };
    struct event_schema schema = {.fields = fields, .field_count = 3, .top_count = 1};
    assert_true(schema_finish(&schema, &arena, NULL));
    static const uint8_t data[] = {1, 2, 3, 4, 5, 6};
    const struct field tree[] = {
        {&fields[0], data, 6, 2, 7, FIELD_ARRAY, 0},
        {&fields[0], data, 3, 2, 4, FIELD_GROUP, 0},
        {&fields[1], data, 1, 1, 3, FIELD_VALUE, 1},
        {&fields[2], data + 1, 2, 2, 4, FIELD_PACKED, 1},
        {&fields[0], data + 3, 3, 2, 7, FIELD_GROUP, 0},
        {&fields[1], data + 3, 1, 1, 6, FIELD_VALUE, 1},
        {&fields[2], data + 4, 2, 2, 7, FIELD_PACKED, 1},
    };
    struct event event = {.schema = &schema, .fields = tree, .field_count = 7};
    struct buf out;
    buf_init(&out, 4096);
    value_json_object(&context, &event, 0, 7, &out);
    assert_span(buf_span(&out), "{\"S\":[{\"A\":1,\"B\":[2,3]},{\"A\":4,\"B\":[5,6]}]}");
    buf_reset(&out);
    value_json_object(&context, &event, 0, 0, &out);
    assert_span(buf_span(&out), "{}");
    buf_reset(&out);
    value_json_text(&context, &event, 3, &out);
    assert_span(buf_span(&out), "[2,3]");
    buf_reset(&out);
    value_json_text(&context, &event, 1, &out);
    assert_span(buf_span(&out), "{\\\"A\\\":1,\\\"B\\\":[2,3]}");
    buf_fini(&out);
    arena_fini(&arena);
}

static void text_for_people_prefers_the_name(void **state)
{
    (void)state;
    assert_text(IN_UINT32, 0, NULL, "07000000", "7");
    assert_text(IN_UINT32, 0, &value_map, "02000000", "t\\\"wo");
    assert_text(IN_UINT32, OUT_WIN32_ERROR, NULL, "05000000", "ERROR_ACCESS_DENIED");
    assert_text(IN_UNICODE_STRING, 0, NULL, "L'a\"b'", "a\\\"b");
    assert_text(IN_UNICODE_STRING, 0, NULL, "", "");
    assert_text(IN_POINTER, 0, NULL, "10000000", "0x10");
    assert_text(IN_WBEM_SID, 0, NULL, "", "");
    assert_text(IN_BINARY, OUT_SOCKET_ADDRESS, NULL, "0200 01bb c0000207", "192.0.2.7:443");
    assert_text(IN_BINARY, OUT_SOCKET_ADDRESS, NULL, "0100 2f00",
        "{\\\"family\\\":1,\\\"raw\\\":\\\"01002f00\\\"}");
    assert_text(IN_BINARY, OUT_SOCKET_ADDRESS, NULL, "", "{}");
}

static void long_names_and_values_are_written_whole(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 1 << 20);
    char name[300];
    memset(name, 'n', sizeof(name));
    static uint8_t text[20000];
    memset(text, 1, sizeof(text));
    struct schema_field field = {.name = span_make(name, sizeof(name)), .in_type = IN_ANSI_STRING};
    struct event_schema schema = {.fields = &field, .field_count = 1, .top_count = 1};
    assert_true(schema_finish(&schema, &arena, NULL));
    const struct field value = {&field, text, sizeof(text), 1, 1, FIELD_VALUE, 0};
    struct event_record record = {.payload = span_make(value.data, value.size)};
    struct event event = {.record = &record, .schema = &schema, .fields = &value, .field_count = 1};
    struct buf out;
    buf_init(&out, 1 << 20);
    value_json_object(&context, &event, 0, 1, &out);
    assert_int_equal(out.size, 2 + 300 + 3 + 2 + sizeof(text) * 6);
    buf_fini(&out);
    buf_init(&out, 1000);
    value_json_object(&context, &event, 0, 1, &out);
    assert_true(out.failed);
    buf_fini(&out);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_numbers_of_their_sign),
        cmocka_unit_test(hexadecimal_is_lower_case_text_without_padding),
        cmocka_unit_test(floats_carry_a_point_or_an_exponent),
        cmocka_unit_test(booleans_are_true_for_every_bit),
        cmocka_unit_test(times_are_iso_8601),
        cmocka_unit_test(guids_sids_and_binaries_are_text),
        cmocka_unit_test(a_sid_that_is_not_there_has_no_member),
        cmocka_unit_test(ip_addresses_are_in_network_order),
        cmocka_unit_test(socket_addresses_are_objects),
        cmocka_unit_test(strings_end_at_their_first_nul_and_are_escaped),
        cmocka_unit_test(characters_side_by_side_are_one_text),
        cmocka_unit_test(arrays_of_values_are_lists),
        cmocka_unit_test(status_codes_have_names_where_they_are_known),
        cmocka_unit_test(value_maps_name_exact_values),
        cmocka_unit_test(bit_maps_are_always_lists_with_leftover_bits_in_hex),
        cmocka_unit_test(arrays_with_a_map_have_as_many_names_as_values),
        cmocka_unit_test(a_map_on_text_reads_nothing_behind_it),
        cmocka_unit_test(structs_are_objects_and_their_arrays_lists),
        cmocka_unit_test(text_for_people_prefers_the_name),
        cmocka_unit_test(long_names_and_values_are_written_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
