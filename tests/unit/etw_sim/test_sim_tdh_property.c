#define _GNU_SOURCE
#include "sim_tdh_rig.h"
#include "support/etw_sim/sim_tdh.h"

/* Single properties of an event, and their texts. */

/* ---- properties ------------------------------------------------------------------------------ */

static uint32_t get(struct etw_event_record *record, const char *name, uint32_t index,
    const char *member, uint8_t *ret_bytes, uint32_t *ret_size)
{
    struct etw_property_path path[2] = {{.name = (uintptr_t)wide(name), .array_index = index},
        {.name = (uintptr_t)wide(member ? member : ""), .array_index = ETW_PROPERTY_ALL}};
    uint32_t code = etw_sim_TdhGetPropertySize(record, 0, NULL, member ? 2 : 1, path, ret_size);
    if (code == 0 && *ret_size) {
        assert_int_equal(
            etw_sim_TdhGetProperty(record, 0, NULL, member ? 2 : 1, path, *ret_size - 1, ret_bytes),
            INSUFFICIENT);
    }
    return code ? code
                : etw_sim_TdhGetProperty(
                      record, 0, NULL, member ? 2 : 1, path, *ret_size, ret_bytes);
}

static void put_dns_call(struct buf *out)
{
    buf_init(out, 1024);
    etl_put_u64(out, 5);
    etl_put_utf16z(out, "host.example");
    etl_put_u32(out, 1);
    etl_put_u16(out, 3);
    etl_put_u32(out, 2);
    etl_put_u32(out, 0x04030201);
    etl_put_u32(out, 0x08070605);
}

static void properties_are_found_by_name_and_index(void **state)
{
    (void)state;
    struct buf payload;
    put_dns_call(&payload);
    struct etw_event_record record = event_of(
        &etl_mix_schema_dns.guid, 3006, 0, buf_span(&payload));
    uint8_t bytes[64];
    uint32_t size = 0;
    assert_int_equal(get(&record, "Sequence", ETW_PROPERTY_ALL, NULL, bytes, &size), 0);
    assert_int_equal(size, 8);
    assert_int_equal(load_le64(bytes), 5);
    assert_int_equal(get(&record, "QueryName", ETW_PROPERTY_ALL, NULL, bytes, &size), 0);
    assert_int_equal(size, 26);
    assert_wide(bytes, "host.example");
    assert_int_equal(get(&record, "Servers", ETW_PROPERTY_ALL, NULL, bytes, &size), 0);
    assert_int_equal(size, 8);
    assert_int_equal(get(&record, "Servers", 1, NULL, bytes, &size), 0);
    assert_int_equal(size, 4);
    assert_int_equal(load_le32(bytes), 0x08070605);
    assert_int_equal(get(&record, "Servers", 2, NULL, bytes, &size), NOT_FOUND);
    assert_int_equal(get(&record, "NoSuch", 0, NULL, bytes, &size), NOT_FOUND);
    record.user_data_length = (uint16_t)(payload.size - 1);
    assert_int_equal(get(&record, "Servers", ETW_PROPERTY_ALL, NULL, bytes, &size), INVALID_DATA);
    buf_fini(&payload);
}

static void members_of_structs_are_found_by_two_names(void **state)
{
    (void)state;
    struct buf blob;
    struct buf payload;
    buf_init(&blob, 4096);
    buf_init(&payload, 4096);
    etl_mix_schema_request_blob(&blob);
    etl_put_u64(&payload, 1);
    etl_put_u16(&payload, 4);
    etl_put_utf16(&payload, "/x");
    etl_put_utf16z(&payload, "me");
    etl_put_u32(&payload, 0x0100007f);
    etl_put_u16(&payload, 0x5000);
    etl_put_u16(&payload, 6);
    etl_put_u16(&payload, 7);
    etl_put_u32(&payload, 200);
    etl_put_double(&payload, 1.5);
    etl_put_u8(&payload, 1);
    etl_put_u16(&payload, 2);
    etl_put_u32(&payload, 10);
    etl_put_u32(&payload, 20);
    etl_put_textz(&payload, "agent");
    const struct guid provider = guid_from_name(span_text(ETL_MIX_TELEMETRY_NAME));
    struct etw_extended_item item = {.ext_type = EXTENDED_SCHEMA_TL,
        .data_size = (uint16_t)blob.size,
        .data = (uintptr_t)blob.data};
    struct etw_event_record record = event_of(&provider, 0, 0, buf_span(&payload));
    record.extended_data = &item;
    record.extended_data_count = 1;
    uint8_t bytes[64];
    uint32_t size = 0;
    assert_int_equal(get(&record, "Client", ETW_PROPERTY_ALL, "Port", bytes, &size), 0);
    assert_int_equal(size, 2);
    assert_int_equal(load_le16(bytes), 0x5000);
    assert_int_equal(get(&record, "ChunkSizes.Count", 0, NULL, bytes, &size), 0);
    assert_int_equal(load_le16(bytes), 2);
    assert_int_equal(get(&record, "ChunkSizes", 1, NULL, bytes, &size), 0);
    assert_int_equal(load_le32(bytes), 20);
    assert_int_equal(get(&record, "Client", 0, "NoSuch", bytes, &size), NOT_FOUND);
    assert_int_equal(get(&record, "Client", 1, "Port", bytes, &size), NOT_FOUND);
    buf_fini(&payload);
    buf_fini(&blob);
}

static void values_become_texts(void **state)
{
    (void)state;
    static const struct {
        uint16_t in_type;
        uint16_t out_type;
        uint16_t length;
        const char *bytes;
        uint16_t size;
        const char *text;
        uint16_t consumed;
    } rows[] = {
        {IN_INT8, OUT_NULL, 1, "\xff", 1, "-1", 1},
        {IN_UINT16, OUT_NULL, 2, "\x34\x12\x00", 3, "4660", 2},
        {IN_UINT16, OUT_PORT, 2, "\x00\x50", 2, "80", 2},
        {IN_UINT32, OUT_HEX_INT32, 4, "\x10\x00\x00\x00", 4, "0x10", 4},
        {IN_HEX_INT64, OUT_NULL, 8, "\xef\xcd\xab\x00\x00\x00\x00\x00", 8, "0xABCDEF", 8},
        {IN_ANSI_STRING, OUT_STRING, 0, "0xabc", 6, "0xabc", 6},
        {IN_BINARY, OUT_IPV6, 16, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 16, "fe80::1", 16},
        {IN_UINT32, OUT_IPV4, 4, "\x0a\x00\x00\x01", 4, "10.0.0.1", 4},
        {IN_BOOLEAN, OUT_NULL, 4, "\x01\x00\x00\x00", 4, "true", 4},
        {IN_POINTER, OUT_NULL, 8, "\x00\x10\x00\x00\x01\x00\x00\x00", 8, "0x100001000", 8},
        {IN_UNICODE_STRING, OUT_STRING, 0, "a\0b\0\0\0c\0", 8, "ab", 6},
        {IN_UNICODE_STRING, OUT_STRING, 0, "a\0b\0", 4, "ab", 4},
        {IN_UNICODE_STRING, OUT_STRING, 0, "", 0, "", 0},
        {IN_UNICODE_STRING, OUT_STRING, 1, "a\0b\0", 4, "a", 2},
        {IN_ANSI_STRING, OUT_STRING, 0, "xyz\0!", 5, "xyz", 4},
        {IN_MANIFEST_COUNTED_STRING, OUT_STRING, 0, "\x02\0a\0b\0", 6, "a", 4},
        {IN_REVERSED_COUNTED_ANSI_STRING, OUT_STRING, 0, "\x00\x02hi", 4, "hi", 4},
        {IN_BINARY, OUT_HEX_BINARY, 2, "\xde\xad\xbe", 3, "DEAD", 2},
        {IN_SID, OUT_STRING, 0, "\x01\x01\x00\x00\x00\x00\x00\x05\x12\x00\x00\x00", 12, "S-1-5-18",
            12},
        {IN_WBEM_SID, OUT_STRING, 0, "\0\0\0\0\x01", 5, "", 4},
        {IN_GUID, OUT_NULL, 16, "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff",
            16, "{33221100-5544-7766-8899-aabbccddeeff}", 16},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t data[32];
        etw_char text[64];
        uint32_t size = 0;
        uint16_t consumed = 0xaaaa;
        memcpy(data, rows[i].bytes, rows[i].size);
        uint32_t code = etw_sim_TdhFormatProperty(data, NULL, 8, rows[i].in_type, rows[i].out_type,
            rows[i].length, rows[i].size, data, &size, text, &consumed);
        assert_int_equal(code, INSUFFICIENT);
        assert_int_equal(consumed, 0xaaaa);
        assert_int_equal(etw_sim_TdhFormatProperty(data, NULL, 8, rows[i].in_type, rows[i].out_type,
                             rows[i].length, rows[i].size, data, &size, text, &consumed),
            0);
        assert_wide(text, rows[i].text);
        assert_int_equal(size, 2 * strlen(rows[i].text) + 2);
        assert_int_equal(consumed, rows[i].consumed);
    }
}

static void values_that_are_cut_are_refused(void **state)
{
    (void)state;
    static const uint16_t types[] = {IN_UINT8, IN_UINT64, IN_GUID, IN_SID, IN_POINTER, IN_HEX_DUMP,
        IN_MANIFEST_COUNTED_BINARY, IN_NULL, 999};
    uint8_t data[16] = {1, 15, 0};
    etw_char text[8];
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        uint32_t size = sizeof(text);
        uint16_t consumed;
        assert_int_equal(etw_sim_TdhFormatProperty(data, NULL, 8, types[i], 0, 0, i ? 4 : 0, data,
                             &size, text, &consumed),
            INVALID_DATA);
    }
}

static void values_are_named_by_their_map(void **state)
{
    (void)state;
    struct etw_event_record record = process_start(span_make(NULL, 0));
    uint8_t map[512];
    uint32_t size = sizeof(map);
    assert_int_equal(
        etw_sim_TdhGetEventMapInformation(&record, wide("ProcessFlags"), map, &size), 0);
    static const struct {
        uint8_t value;
        const char *text;
    } rows[] = {{1, "PackagedProcess"}, {6, "ProtectedProcess | SubsystemProcess"},
        {9, "PackagedProcess | 0x8"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t data[4] = {rows[i].value};
        etw_char text[64];
        uint16_t consumed;
        size = sizeof(text);
        assert_int_equal(etw_sim_TdhFormatProperty(
                             data, map, 8, IN_UINT32, 0, 4, 4, data, &size, text, &consumed),
            0);
        assert_wide(text, rows[i].text);
    }
    /* For a value that is in no map, the text is requested again without the map. */
    uint8_t other[4] = {8};
    etw_char text[64];
    uint16_t consumed = 0;
    size = sizeof(text);
    assert_int_equal(
        etw_sim_TdhFormatProperty(other, map, 8, IN_UINT32, 0, 4, 4, other, &size, text, &consumed),
        INVALID_DATA);
    assert_int_equal(etw_sim_TdhFormatProperty(
                         other, NULL, 8, IN_UINT32, 0, 4, 4, other, &size, text, &consumed),
        0);
    assert_wide(text, "8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_MANIFEST(properties_are_found_by_name_and_index),
        WITH_MANIFEST(members_of_structs_are_found_by_two_names),
        WITH_MANIFEST(values_become_texts),
        WITH_MANIFEST(values_that_are_cut_are_refused),
        WITH_MANIFEST(values_are_named_by_their_map),
    };
    return cmocka_run_group_tests(tests, make_world, drop_world);
}
