#include "etl_record_rig.h"

/* Records of TraceMessage. */

static void message_fields_follow_their_flags(void **state)
{
    (void)state;
    static const struct {
        uint16_t flags;
        size_t bytes;
        uint16_t present;
    } rows[] = {
        {0x00, 0, RECORD_TIME_OF_BUFFER},
        {0x01, 4, RECORD_HAS_SEQUENCE | RECORD_TIME_OF_BUFFER},
        {0x02, 16, RECORD_TIME_OF_BUFFER},
        {0x04, 4, RECORD_HAS_COMPONENT | RECORD_TIME_OF_BUFFER},
        {0x06, 4, RECORD_HAS_COMPONENT | RECORD_TIME_OF_BUFFER}, /* both: the component id wins */
        {0x08, 8, RECORD_HAS_TIME},
        {0x10, 0, RECORD_TIME_OF_BUFFER},
        {0x20, 8, RECORD_HAS_THREAD | RECORD_HAS_PROCESS | RECORD_TIME_OF_BUFFER},
        {0x2b, 36, RECORD_HAS_SEQUENCE | RECORD_HAS_TIME | RECORD_HAS_THREAD | RECORD_HAS_PROCESS},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct etl_scope scope = scope_new();
        size_t size = 8 + rows[i].bytes + 3;
        begin(0, size, false);
        bytes[3] = 0x90;
        store_le16(bytes + 4, 10);
        store_le16(bytes + 6, rows[i].flags);
        size_t at = 8;
        if (rows[i].flags & 1) {
            store_le32(bytes + at, 7);
            at += 4;
        }
        if (rows[i].flags & 4) {
            store_le32(bytes + at, 99);
            at += 4;
        } else if (rows[i].flags & 2) {
            memcpy(bytes + at, guid_bytes, 16);
            at += 16;
        }
        if (rows[i].flags & 8) {
            store_le64(bytes + at, 600);
            at += 8;
        }
        if (rows[i].flags & 0x20) {
            store_le32(bytes + at, 22);
            store_le32(bytes + at + 4, 11);
        }
        assert_null(read_bytes(bytes, size, &scope));
        assert_int_equal(record.kind, RECORD_MESSAGE);
        assert_int_equal(record.header_type, 15);
        assert_int_equal(record.descriptor.id, 10);
        assert_int_equal(record.message_flags, rows[i].flags);
        assert_int_equal(record.present, rows[i].present | RECORD_HAS_MESSAGE_FLAGS);
        assert_int_equal(record.message_sequence, rows[i].flags & 1 ? 7 : 0);
        assert_int_equal(record.message_component, rows[i].flags & 4 ? 99 : 0);
        assert_int_equal(guid_is_zero(&record.provider), (rows[i].flags & 6) != 2);
        assert_int_equal(record.thread_id, rows[i].flags & 0x20 ? 22 : 0);
        assert_int_equal(record.process_id, rows[i].flags & 0x20 ? 11 : 0);
        assert_int_equal(record.time, rows[i].flags & 8 ? 1000100 : 1000000);
        assert_span(record.payload, "ppp");
    }
}

static void message_pointers_are_as_wide_as_flagged(void **state)
{
    (void)state;
    static const uint8_t rows[][2] = {{0x40, 4}, {0x80, 8}, {0x00, 8}};
    for (size_t i = 0; i < 3; i++) {
        struct etl_scope scope = scope_new();
        begin(0, 11, false);
        bytes[3] = 0x90;
        bytes[6] = rows[i][0];
        assert_null(read_bytes(bytes, 11, &scope));
        assert_int_equal(record.pointer_size, rows[i][1]);
    }
}

static void a_message_cut_short_keeps_its_bytes(void **state)
{
    (void)state;
    for (size_t size = 8; size < 8 + 36; size++) {
        struct etl_scope scope = scope_new();
        begin(0, size < 11 ? 11 : size, false);
        bytes[3] = 0x90;
        bytes[6] = 0x2b;
        store_le16(bytes, (uint16_t)size);
        assert_non_null(read_bytes(bytes, size, &scope));
        assert_int_equal(record.present, RECORD_HAS_MESSAGE_FLAGS | RECORD_TIME_OF_BUFFER);
        assert_int_equal(record.payload.size, size - 8);
    }
}

static void records_without_time_take_the_one_before(void **state)
{
    (void)state;
    struct etl_scope scope = scope_new();
    begin(19, 0x53, false);
    store_le64(bytes + 0x10, 900);
    read_bytes(bytes, 0x53, &scope);
    begin(0, 11, false);
    bytes[3] = 0x90;
    read_bytes(bytes, 11, &scope);
    assert_int_equal(record.time_raw, 900);
    assert_int_equal(record.time, 1000400);
    assert_int_equal(
        record.present, RECORD_HAS_TIME | RECORD_HAS_MESSAGE_FLAGS | RECORD_TIME_OF_BUFFER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_fields_follow_their_flags),
        cmocka_unit_test(message_pointers_are_as_wide_as_flagged),
        cmocka_unit_test(a_message_cut_short_keeps_its_bytes),
        cmocka_unit_test(records_without_time_take_the_one_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
