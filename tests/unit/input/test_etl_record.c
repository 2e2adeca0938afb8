#include "etl_record_rig.h"

static void filler_ends_a_buffer(void **state)
{
    (void)state;
    uint32_t size;
    assert_int_equal(etl_record_frame((const uint8_t[8]){0}, &size), ETL_FRAME_END);
    assert_int_equal(
        etl_record_frame((const uint8_t[8]){0xff, 0xff, 0xff, 0xff}, &size), ETL_FRAME_END);
}

static void records_smaller_than_their_header_are_bad(void **state)
{
    (void)state;
    static const struct {
        uint8_t type;
        uint16_t least;
        bool at_4;
    } rows[] = {
        {1, 0x20, true},
        {2, 0x20, true},
        {3, 0x18, true},
        {4, 0x18, true},
        {10, 0x30, false},
        {20, 0x30, false},
        {11, 0x48, false},
        {21, 0x48, false},
        {16, 0x10, true},
        {17, 0x10, true},
        {18, 0x50, false},
        {19, 0x50, false},
        {12, 8, false},
        {13, 8, false},
        {22, 8, false},
        {5, 8, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t start[8] = {0, 0, rows[i].type, 0xc0};
        uint32_t size = 0;
        store_le16(start + (rows[i].at_4 ? 4 : 0), rows[i].least);
        assert_int_equal(etl_record_frame(start, &size), ETL_FRAME_RECORD);
        assert_int_equal(size, rows[i].least);
        store_le16(start + (rows[i].at_4 ? 4 : 0), (uint16_t)(rows[i].least - 1));
        assert_int_equal(etl_record_frame(start, &size), ETL_FRAME_BAD);
    }
}

static void words_without_a_known_marker_are_bad(void **state)
{
    (void)state;
    static const uint8_t marks[] = {0x01, 0x40, 0x70, 0x80, 0xa0};
    for (size_t i = 0; i < sizeof(marks); i++) {
        uint8_t start[8] = {64, 0, 2, marks[i], 64, 0};
        uint32_t size;
        assert_int_equal(etl_record_frame(start, &size), ETL_FRAME_BAD);
    }
}

static void system_headers_have_hook_ids_and_cpu_times(void **state)
{
    (void)state;
    for (uint8_t type = 1; type <= 2; type++) {
        struct etl_scope scope = scope_new();
        begin(type, 0x23, true);
        store_le16(bytes, 4);
        store_le16(bytes + 6, 0x030a);
        store_le32(bytes + 8, 22);
        store_le32(bytes + 0xc, 11);
        store_le64(bytes + 0x10, 700);
        store_le32(bytes + 0x18, 5);
        store_le32(bytes + 0x1c, 6);
        assert_null(read_bytes(bytes, 0x23, &scope));
        assert_int_equal(record.kind, RECORD_KERNEL);
        assert_int_equal(record.header_type, type);
        assert_int_equal(record.pointer_size, type == 1 ? 4 : 8);
        assert_int_equal(record.hook_id, 0x030a);
        assert_int_equal(record.descriptor.opcode, 10);
        assert_int_equal(record.descriptor.version, 4);
        /* 2cb15d1d-5fc1-11d2-abe1-00a0c911f518: Image, though the hook's group is Process. */
        static const uint8_t image[] = {0x1d, 0x5d, 0xb1, 0x2c, 0xc1, 0x5f, 0xd2, 0x11};
        assert_memory_equal(record.provider.bytes, image, sizeof(image));
        assert_int_equal(record.thread_id, 22);
        assert_int_equal(record.process_id, 11);
        assert_int_equal(record.kernel_ticks, 5);
        assert_int_equal(record.user_ticks, 6);
        assert_int_equal(record.time_raw, 700);
        assert_int_equal(record.time, 1000200);
        assert_int_equal(record.present,
            RECORD_HAS_PROCESS | RECORD_HAS_THREAD | RECORD_HAS_CPU_TIMES | RECORD_HAS_TIME);
        assert_span(record.payload, "ppp");
        assert_int_equal(record.cpu, 3);
        assert_ptr_equal(record.trace, &trace);
        assert_int_equal(record.position.buffer_offset, 4096);
        assert_int_equal(record.position.record_offset, 72);
    }
}

static void compact_headers_lack_cpu_times(void **state)
{
    (void)state;
    for (uint8_t type = 3; type <= 4; type++) {
        struct etl_scope scope = scope_new();
        begin(type, 0x1b, true);
        store_le16(bytes + 6, 0x0524);
        store_le32(bytes + 8, UINT32_MAX);
        store_le32(bytes + 0xc, UINT32_MAX);
        store_le64(bytes + 0x10, 400);
        assert_null(read_bytes(bytes, 0x1b, &scope));
        assert_int_equal(record.kind, RECORD_KERNEL);
        assert_int_equal(record.pointer_size, type == 3 ? 4 : 8);
        assert_int_equal(record.time, 999900);             /* before the start */
        assert_int_equal(record.present, RECORD_HAS_TIME); /* unknown ids are absent */
        assert_span(record.payload, "ppp");
    }
}

static void perfinfo_headers_have_neither_ids_nor_times(void **state)
{
    (void)state;
    struct etl_scope scope = scope_new();
    begin(16, 0x13, true);
    store_le16(bytes, 2);
    store_le16(bytes + 6, 0x1f2e); /* there is no such group */
    store_le64(bytes + 8, 501);
    assert_null(read_bytes(bytes, 0x13, &scope));
    assert_int_equal(record.present, RECORD_HAS_TIME);
    assert_int_equal(record.pointer_size, 4);
    assert_int_equal(record.descriptor.version, 2);
    assert_true(guid_is_zero(&record.provider));
    assert_int_equal(record.extended_count, 0);
    assert_span(record.payload, "ppp");
}

static void full_headers_have_a_class(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct etl_scope scope = scope_new();
        begin(wide ? 20 : 10, 0x33, false);
        bytes[4] = 36;
        bytes[5] = 4;
        store_le16(bytes + 6, 2);
        store_le32(bytes + 8, 22);
        store_le32(bytes + 0xc, UINT32_MAX);
        store_le64(bytes + 0x10, 500);
        memcpy(bytes + 0x18, guid_bytes, 16);
        store_le32(bytes + 0x28, 5);
        store_le32(bytes + 0x2c, 6);
        assert_null(read_bytes(bytes, 0x33, &scope));
        assert_int_equal(record.kind, RECORD_CLASSIC);
        assert_int_equal(record.pointer_size, wide ? 8 : 4);
        assert_int_equal(record.descriptor.opcode, 36);
        assert_int_equal(record.descriptor.level, 4);
        assert_int_equal(record.descriptor.version, 2);
        assert_memory_equal(record.provider.bytes, guid_bytes, 16);
        assert_int_equal(record.time, 1000000);
        assert_int_equal(
            record.present, RECORD_HAS_THREAD | RECORD_HAS_CPU_TIMES | RECORD_HAS_TIME);
        assert_int_equal(record.kernel_ticks, 5);
        assert_int_equal(record.user_ticks, 6);
        assert_span(record.payload, "ppp");

        scope.private_session = true;
        assert_null(read_bytes(bytes, 0x33, &scope));
        assert_int_equal(
            record.present, RECORD_HAS_THREAD | RECORD_HAS_PROCESSOR_TIME | RECORD_HAS_TIME);
        assert_true(record.processor_time == ((uint64_t)6 << 32 | 5));
    }
}

static void instance_headers_have_instances(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct etl_scope scope = scope_new();
        begin(wide ? 21 : 11, 0x4b, false);
        store_le32(bytes + 0x30, 100);
        store_le32(bytes + 0x34, 200);
        memcpy(bytes + 0x38, guid_bytes, 16);
        assert_null(read_bytes(bytes, 0x4b, &scope));
        assert_int_equal(record.kind, RECORD_CLASSIC);
        assert_int_equal(record.pointer_size, wide ? 8 : 4);
        assert_true(record.present & RECORD_HAS_INSTANCE);
        assert_int_equal(record.instance_id, 100);
        assert_int_equal(record.parent_instance_id, 200);
        assert_memory_equal(record.parent_guid.bytes, guid_bytes, 16);
        assert_span(record.payload, "ppp");
    }
}

static void event_headers_carry_all_their_fields(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct etl_scope scope = scope_new();
        begin(wide ? 19 : 18, 0x53, false);
        store_le16(bytes + 6, 4);
        store_le32(bytes + 8, 22);
        store_le32(bytes + 0xc, 11);
        store_le64(bytes + 0x10, 510);
        memcpy(bytes + 0x18, guid_bytes, 16);
        static const uint8_t descriptor[16] = {
            0x39, 0x30, 7, 16, 4, 28, 0x11, 0x22, 1, 0, 0, 0, 0, 0, 0, 0x80};
        memcpy(bytes + 0x28, descriptor, 16);
        store_le32(bytes + 0x38, 5);
        store_le32(bytes + 0x3c, 6);
        memcpy(bytes + 0x40, guid_bytes, 16);
        assert_null(read_bytes(bytes, 0x53, &scope));
        assert_int_equal(record.kind, RECORD_EVENT);
        assert_int_equal(record.pointer_size, wide ? 8 : 4);
        assert_int_equal(record.event_property, 4);
        assert_int_equal(record.descriptor.id, 12345);
        assert_int_equal(record.descriptor.version, 7);
        assert_int_equal(record.descriptor.channel, 16);
        assert_int_equal(record.descriptor.level, 4);
        assert_int_equal(record.descriptor.opcode, 28);
        assert_int_equal(record.descriptor.task, 0x2211);
        assert_true(record.descriptor.keyword == 0x8000000000000001);
        assert_memory_equal(record.activity_id.bytes, guid_bytes, 16);
        assert_int_equal(record.time, 1000010);
        assert_int_equal(record.present,
            RECORD_HAS_PROCESS | RECORD_HAS_THREAD | RECORD_HAS_CPU_TIMES | RECORD_HAS_TIME);
        assert_span(record.payload, "ppp");
    }
}

/* EVENT_HEADER on learn.microsoft.com: events of private sessions have ProcessorTime. */
static void flags_and_session_decide_what_the_cpu_times_are(void **state)
{
    (void)state;
    static const struct {
        uint16_t flags;
        bool private_session;
        uint16_t present;
    } rows[] = {
        {0, false, RECORD_HAS_CPU_TIMES},
        {0, true, RECORD_HAS_PROCESSOR_TIME},
        {EVENT_FLAG_PRIVATE_SESSION, false, RECORD_HAS_PROCESSOR_TIME},
        {EVENT_FLAG_NO_CPUTIME, false, 0},
        {EVENT_FLAG_NO_CPUTIME | EVENT_FLAG_PRIVATE_SESSION, true, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct etl_scope scope = scope_new();
        scope.private_session = rows[i].private_session;
        begin(19, 0x53, false);
        store_le16(bytes + 4, rows[i].flags);
        assert_null(read_bytes(bytes, 0x53, &scope));
        assert_int_equal(record.flags, rows[i].flags);
        assert_int_equal(
            record.present & (RECORD_HAS_CPU_TIMES | RECORD_HAS_PROCESSOR_TIME), rows[i].present);
    }
}

static void plain_events_differ_from_records_that_describe_others(void **state)
{
    (void)state;
    static const uint8_t metadata_class[16] = {0xc1, 0xf6, 0xcc, 0xbb, 0xd1, 0x6c, 0xc4, 0x48, 0x80,
        0xff, 0x83, 0x94, 0x82, 0xe3, 0x76, 0x71};
    static const struct {
        uint8_t type;
        uint16_t size;
        bool size_at_4;
        uint16_t at; /* offset of the two bytes to set */
        uint16_t value;
        bool is_plain;
    } rows[] = {
        {1, 0x23, true, 6, 0x030b, true}, {1, 0x23, true, 6, 0x0301, false}, /* a process */
        {2, 0x23, true, 6, 0x0504, false},                                   /* a thread */
        {2, 0x23, true, 6, 0x0524, true},  /* a switch of threads */
        {2, 0x23, true, 6, 0x1403, false}, /* an image */
        {2, 0x23, true, 6, 0x0000, false}, /* the trace header */
        {2, 0x23, true, 6, 0x0b0a, false}, /* SystemConfig, CPU */
        {3, 0x1b, true, 6, 0x1822, false}, /* a stack key */
        {4, 0x1b, true, 6, 0x1820, false}, /* a stack */
        {16, 0x13, true, 6, 0x0f2e, true}, {17, 0x13, true, 6, 0x1820, false},
        {10, 0x33, false, 0x18, 0, false}, {20, 0x33, false, 0x18, 0, false}, /* of a class */
        {19, 0x53, false, 0x28, 7, true},
        {18, 0x53, false, 0x28, 0xfffe, false}, /* perhaps a manifest */
        {12, 0x20, false, 4, 0, true},          /* no public layout */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct etl_scope scope = scope_new();
        begin(rows[i].type, rows[i].size, rows[i].size_at_4);
        if (rows[i].type == 16 || rows[i].type == 17) {
            store_le16(bytes, 2);
        }
        if (rows[i].at != 4) {
            store_le16(bytes + rows[i].at, rows[i].value);
        }
        assert_null(read_bytes(bytes, rows[i].size, &scope));
        assert_int_equal(
            etl_record_is_plain_event(span_make(bytes, rows[i].size)), rows[i].is_plain);
    }
    for (uint8_t type = 10; type <= 11; type++) {
        begin(type, 0x4b, false);
        memcpy(bytes + 0x18, metadata_class, 16);
        assert_false(etl_record_is_plain_event(span_make(bytes, 0x4b)));
    }
}

static void headers_without_layout_are_opaque(void **state)
{
    (void)state;
    static const uint8_t types[] = {0, 5, 9, 12, 13, 14, 22, 255};
    for (size_t i = 0; i < sizeof(types); i++) {
        struct etl_scope scope = scope_new();
        begin(types[i], 14, false);
        assert_null(read_bytes(bytes, 14, &scope));
        assert_int_equal(record.kind, RECORD_OPAQUE);
        assert_int_equal(record.header_type, types[i]);
        assert_int_equal(record.payload.size, 6);
        assert_int_equal(record.present, 0);
    }
    struct etl_scope scope = scope_new();
    begin(0, 14, false);
    bytes[3] = 0xb0;
    assert_null(read_bytes(bytes, 14, &scope));
    assert_int_equal(record.kind, RECORD_OPAQUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filler_ends_a_buffer),
        cmocka_unit_test(records_smaller_than_their_header_are_bad),
        cmocka_unit_test(words_without_a_known_marker_are_bad),
        cmocka_unit_test(system_headers_have_hook_ids_and_cpu_times),
        cmocka_unit_test(compact_headers_lack_cpu_times),
        cmocka_unit_test(perfinfo_headers_have_neither_ids_nor_times),
        cmocka_unit_test(full_headers_have_a_class),
        cmocka_unit_test(instance_headers_have_instances),
        cmocka_unit_test(event_headers_carry_all_their_fields),
        cmocka_unit_test(flags_and_session_decide_what_the_cpu_times_are),
        cmocka_unit_test(plain_events_differ_from_records_that_describe_others),
        cmocka_unit_test(headers_without_layout_are_opaque),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
