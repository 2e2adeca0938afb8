#include "input/windows/etw_record.h"

#include "support/test.h"

/* Records as event_header and event_record on learn.microsoft.com describe them. */

static const struct trace_info trace = {.pointer_size = 8,
    .clock = {.type = TRACE_CLOCK_QPC,
        .start_time = 134397270000000000,
        .start_raw = 1000,
        .frequency = 10000000}};

static struct guid guid_of(const char *text)
{
    struct guid guid;
    assert_true(guid_parse(span_text(text), &guid));
    return guid;
}

static int64_t previous_raw;

static struct event_record read(const struct etw_event_record *from)
{
    static struct extended_item items[RECORD_MAX_EXTENDED];
    struct event_record record;
    etw_record_read(from, &trace, previous_raw, items, &record);
    return record;
}

static struct etw_event_record classic(const char *class_guid, uint8_t type)
{
    return (struct etw_event_record){.header = {.flags = EVENT_FLAG_CLASSIC,
                                         .provider_id = guid_of(class_guid),
                                         .descriptor = {.opcode = type, .version = 3, .level = 4}}};
}

static void a_manifest_event_keeps_all_of_its_header(void **state)
{
    (void)state;
    uint8_t payload[] = {1, 2, 3};
    uint8_t sid[] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0};
    struct etw_extended_item items[] = {
        {.ext_type = EXTENDED_SID, .data_size = sizeof(sid), .data = (uint64_t)(uintptr_t)sid},
        {.ext_type = EXTENDED_TS_ID, .data_size = 4, .data = 0} /* no data: left out */};
    struct etw_event_record from = {
        .header = {.size = 96,
            .flags = EVENT_FLAG_64_BIT | EVENT_FLAG_PROCESSOR_INDEX,
            .event_property = 1,
            .thread_id = 8,
            .process_id = 4,
            .time_stamp = 1000 + 10000000,
            .provider_id = guid_of("1c95126e-7eea-49a9-a3fe-a378b03ddb4d"),
            .descriptor = {3008, 1, 16, 4, 2, 7, 0x8000000000000001},
            .kernel_time = 3,
            .user_time = 5,
            .activity_id = guid_of("00000100-0000-0003-193d-42fb30bbcb01")},
        .processor_index = 300,
        .extended_data_count = 2,
        .extended_data = items,
        .user_data = payload,
        .user_data_length = 3};
    struct event_record r = read(&from);
    assert_int_equal(etw_record_role(&from), ETW_RECORD_EVENT);
    assert_int_equal(r.kind, RECORD_EVENT);
    assert_int_equal(r.header_type, 19);
    assert_int_equal(r.pointer_size, 8);
    assert_int_equal(
        r.present, RECORD_HAS_TIME | RECORD_HAS_PROCESS | RECORD_HAS_THREAD | RECORD_HAS_CPU_TIMES);
    assert_int_equal(r.cpu, 300);
    assert_int_equal(r.process_id, 4);
    assert_int_equal(r.thread_id, 8);
    assert_int_equal(r.kernel_ticks, 3);
    assert_int_equal(r.user_ticks, 5);
    assert_int_equal(r.time, 134397270010000000);
    assert_int_equal(r.time_raw, 10001000);
    assert_int_equal(r.event_property, 1);
    assert_int_equal(r.descriptor.id, 3008);
    assert_int_equal(r.descriptor.version, 1);
    assert_int_equal(r.descriptor.channel, 16);
    assert_int_equal(r.descriptor.level, 4);
    assert_int_equal(r.descriptor.opcode, 2);
    assert_int_equal(r.descriptor.task, 7);
    assert_true(r.descriptor.keyword == 0x8000000000000001);
    assert_true(guid_equal(&r.activity_id, &from.header.activity_id));
    assert_int_equal(r.extended_count, 1);
    assert_int_equal(r.extended[0].type, EXTENDED_SID);
    assert_int_equal(r.extended[0].data.size, sizeof(sid));
    assert_ptr_equal(r.payload.data, payload);
    assert_int_equal(r.payload.size, 3);
    assert_ptr_equal(r.trace, &trace);
}

static void what_a_header_does_not_have_is_not_invented(void **state)
{
    (void)state;
    struct etw_event_record from = {.header = {.flags = EVENT_FLAG_NO_CPUTIME | EVENT_FLAG_32_BIT,
                                        .thread_id = UINT32_MAX,
                                        .process_id = UINT32_MAX},
        .processor_index = 0x0802,
        .user_data_length = 9 /* without data */};
    struct event_record r = read(&from);
    assert_int_equal(r.present, RECORD_HAS_TIME);
    assert_int_equal(r.pointer_size, 4);
    assert_int_equal(r.header_type, 18);
    assert_int_equal(r.cpu, 2); /* the high byte is an alignment */
    assert_int_equal(r.payload.size, 0);
    assert_null(r.extended);
    from.header.flags = EVENT_FLAG_PRIVATE_SESSION;
    from.header.processor_time = 77;
    r = read(&from);
    assert_int_equal(r.present, RECORD_HAS_TIME | RECORD_HAS_PROCESSOR_TIME);
    assert_int_equal(r.processor_time, 77);
    assert_int_equal(r.pointer_size, 8); /* as the machine */
}

static void kernel_events_get_their_hooks_back(void **state)
{
    (void)state;
    static const struct {
        const char *class_guid;
        uint8_t type;
        uint16_t hook; /* ntwmi.h: PERFINFO_LOG_TYPE_*, WMI_LOG_TYPE_* */
    } cases[] = {
        {"3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c", 1, 0x0301},
        {"3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c", 36, 0x0524},
        {"2cb15d1d-5fc1-11d2-abe1-00a0c911f518", 10, 0x030a},
        {"2cb15d1d-5fc1-11d2-abe1-00a0c911f518", 2, 0x1402},
        {"9a280ac0-c8e0-11d1-84e2-00c04fb998a2", 26, 0x061a},
        {"def2fe46-7bd6-4b80-bd94-f57fe20d0ce3", 32, 0x1820},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct etw_event_record from = classic(cases[i].class_guid, cases[i].type);
        struct event_record r = read(&from);
        assert_int_equal(r.kind, RECORD_KERNEL);
        assert_int_equal(r.hook_id, cases[i].hook);
        assert_int_equal(r.header_type, 2);
        assert_int_equal(r.descriptor.opcode, cases[i].type);
        assert_int_equal(r.descriptor.version, 3);
    }
    struct etw_event_record from = classic("11111111-2222-3333-4444-555555555555", 1);
    assert_int_equal(read(&from).kind, RECORD_CLASSIC);
    assert_int_equal(read(&from).header_type, 20);
    /* An event of the other kind is no kernel event, although it has that GUID. */
    from = classic("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c", 1);
    from.header.flags = 0;
    assert_int_equal(read(&from).kind, RECORD_EVENT);
}

static void messages_are_known_by_their_flag(void **state)
{
    (void)state;
    struct etw_event_record from = {
        .header = {.flags = EVENT_FLAG_TRACE_MESSAGE | EVENT_FLAG_64_BIT,
            .process_id = 5,
            .time_stamp = 1000 + 20000000,
            .provider_id = guid_of("a5bbbdd9-73f9-3bed-93aa-521a4c96d934"),
            .descriptor = {.id = 10}}};
    struct event_record r = read(&from);
    assert_int_equal(r.kind, RECORD_MESSAGE);
    assert_int_equal(r.header_type, 15);
    assert_int_equal(r.descriptor.id, 10);
    assert_int_equal(r.process_id, 5);
    assert_int_equal(r.present & RECORD_HAS_CPU_TIMES, 0);
    assert_int_equal(r.present & (RECORD_HAS_MESSAGE_FLAGS | RECORD_HAS_SEQUENCE), 0);
    assert_int_equal(r.present & RECORD_TIME_OF_BUFFER, 0);
    assert_int_equal(r.time, 134397270020000000);
}

/* MESSAGE_TRACE_HEADER has its fields or lacks them; EVENT_HEADER has room for all of them. */
static void what_a_message_does_not_have_is_not_invented(void **state)
{
    (void)state;
    const struct guid none = {{0}};
    struct etw_event_record from = {
        .header = {.flags = EVENT_FLAG_TRACE_MESSAGE, .descriptor = {.id = 7}}};
    struct event_record r = read(&from); /* the first one of the session */
    assert_int_equal(r.present, RECORD_HAS_TIME | RECORD_TIME_OF_BUFFER);
    assert_int_equal(r.time, trace.clock.start_time);
    assert_true(guid_equal(&r.provider, &none));
    previous_raw = 1000 + 30000000;
    r = read(&from);
    assert_int_equal(r.present, RECORD_HAS_TIME | RECORD_TIME_OF_BUFFER);
    assert_int_equal(r.time, 134397270030000000);
    assert_int_equal(r.time_raw, previous_raw);
    previous_raw = 0;
    from.header.thread_id = 12;
    r = read(&from);
    assert_int_equal(r.present & (RECORD_HAS_PROCESS | RECORD_HAS_THREAD),
        RECORD_HAS_PROCESS | RECORD_HAS_THREAD);
    from.header.provider_id = guid_of("00000123-0000-0000-0000-000000000000");
    r = read(&from);
    assert_true(r.present & RECORD_HAS_COMPONENT);
    assert_int_equal(r.message_component, 0x123);
    assert_true(guid_equal(&r.provider, &none));
    from.header.provider_id = guid_of("00000123-0000-0000-0000-000000000001");
    assert_false(read(&from).present & RECORD_HAS_COMPONENT);
    from.header.flags = 0; /* of no message */
    from.header.thread_id = 0;
    r = read(&from);
    assert_int_equal(r.present & ~RECORD_HAS_CPU_TIMES,
        RECORD_HAS_TIME | RECORD_HAS_PROCESS | RECORD_HAS_THREAD);
}

static void records_of_the_session_itself_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *class_guid;
        uint8_t type;
        enum etw_record_role role;
    } cases[] = {
        {"68fdd900-4a3e-11d1-84f4-0000f80464e3", 0, ETW_RECORD_HEADER},
        {"68fdd900-4a3e-11d1-84f4-0000f80464e3", 32, ETW_RECORD_EVENT},
        {"6a399ae0-4bc6-4de9-870b-3657f8947e7e", 32, ETW_RECORD_LOST},
        {"6a399ae0-4bc6-4de9-870b-3657f8947e7e", 33, ETW_RECORD_LOST_BUFFER},
        {"6a399ae0-4bc6-4de9-870b-3657f8947e7e", 34, ETW_RECORD_LOST_FILE},
        {"6a399ae0-4bc6-4de9-870b-3657f8947e7e", 0, ETW_RECORD_EVENT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct etw_event_record from = classic(cases[i].class_guid, cases[i].type);
        assert_int_equal(etw_record_role(&from), cases[i].role);
    }
    struct etw_event_record other = classic("68fdd900-4a3e-11d1-84f4-0000f80464e3", 0);
    other.header.flags = 0;
    assert_int_equal(etw_record_role(&other), ETW_RECORD_EVENT);
}

static void more_extended_items_than_fit_are_left_out(void **state)
{
    (void)state;
    struct etw_extended_item items[RECORD_MAX_EXTENDED + 5];
    memset(items, 0, sizeof(items));
    struct etw_event_record from = {
        .extended_data_count = RECORD_MAX_EXTENDED + 5, .extended_data = items};
    assert_int_equal(read(&from).extended_count, RECORD_MAX_EXTENDED);
    from.extended_data = NULL;
    assert_int_equal(read(&from).extended_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_event_keeps_all_of_its_header),
        cmocka_unit_test(what_a_header_does_not_have_is_not_invented),
        cmocka_unit_test(kernel_events_get_their_hooks_back),
        cmocka_unit_test(messages_are_known_by_their_flag),
        cmocka_unit_test(what_a_message_does_not_have_is_not_invented),
        cmocka_unit_test(records_of_the_session_itself_are_told_apart),
        cmocka_unit_test(more_extended_items_than_fit_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
