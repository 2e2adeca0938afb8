/* Classic and WPP providers of the simulated Windows (registertraceguids,
 * traceevent, tracemessage). */
#include "sim_provider_rig.h"
#include "support/etl_put.h"
#include "support/etw_sim/etw_sim_rig.h"

/* ---- classic and WPP ------------------------------------------------------------------------- */

static uint32_t classic_calls;
static uint64_t classic_session;

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is that of Windows */
static uint32_t on_classic(uint32_t request, void *context, uint32_t *size, void *buffer)
{
    (void)context;
    (void)size;
    classic_calls++;
    classic_session = request == 4 ? api->GetTraceLoggerHandle(buffer) : 0;
    return 0;
}

static void a_classic_provider_serves_the_last_that_enabled_it(void **state)
{
    (void)state;
    uint64_t handle = 0;
    struct etw_guid_registration classes[1] = {{&guid_b, NULL}};
    classic_calls = 0;
    assert_int_equal(
        api->RegisterTraceGuidsW(on_classic, NULL, &guid_a, 1, classes, NULL, NULL, &handle), 0);
    assert_non_null(classes[0].handle);
    uint64_t s = rig_start(sim, "s", 64, 0);
    uint64_t t = rig_start(sim, "t", 64, 0);
    rig_enable(sim, s, &guid_a, 3, 0xffffffff, 0);
    assert_int_equal(classic_session & 0xffff, s);
    assert_int_equal(api->GetTraceEnableLevel(classic_session), 3);
    assert_int_equal(api->GetTraceEnableFlags(classic_session), 0xffffffff);
    rig_enable(sim, t, &guid_a, 4, 1, 0);
    assert_int_equal(classic_session & 0xffff, t);
    assert_false(etw_sim_enabled(sim, "s", &guid_a, NULL));

    struct rig_consumer c;
    assert_true(rig_consumer_start(&c, sim, "t", 0));
    struct {
        struct etw_classic_header h;
        char payload[8];
    } event = {.h = {.size = sizeof(event), .type = 33, .level = 2, .version = 1, .guid = guid_b},
        .payload = "classic"};
    event.h.processor_time = (uint64_t)ETW_TRACE_TRACED_GUID << 32;
    assert_int_equal(api->TraceEvent(classic_session, &event.h), 0);
    struct etw_instance instance;
    struct etw_instance parent;
    assert_int_equal(etw_sim_CreateTraceInstanceId(classes[0].handle, &parent), 0);
    assert_int_equal(etw_sim_CreateTraceInstanceId(classes[0].handle, &instance), 0);
    struct etw_instance_header ih = {
        .size = sizeof(ih), .type = 34, .flags = ETW_TRACE_TRACED_GUID};
    assert_int_equal(etw_sim_TraceEventInstance(classic_session, &ih, &instance, &parent), 0);
    assert_int_equal(api->TraceEvent(0, &event.h), ETW_ERROR_INVALID_HANDLE);
    event.h.size = 20;
    assert_int_equal(api->TraceEvent(classic_session, &event.h), ETW_ERROR_INVALID_PARAMETER);
    event.h.size = sizeof(event);
    event.h.processor_time = 0;
    assert_int_equal(api->TraceEvent(classic_session, &event.h), 186); /* INVALID_FLAG_NUMBER */
    rig_stop(sim, "t");
    assert_int_equal(classic_session, 0); /* told that it is disabled */
    rig_consumer_wait(&c);
    assert_int_equal(c.count, 2);
    const struct rig_event *e = &c.events[0];
    assert_true(guid_equal(&e->header.provider_id, &guid_b));
    assert_int_equal(e->header.descriptor.opcode, 33);
    assert_true(e->header.flags & EVENT_FLAG_CLASSIC);
    assert_memory_equal(e->payload, "classic", 8);
    assert_int_equal(c.events[1].item_types[0], EXTENDED_INSTANCE_INFO);
    rig_consumer_fini(&c);
    assert_int_equal(api->UnregisterTraceGuids(handle), 0);
    assert_int_equal(api->UnregisterTraceGuids(handle), ETW_ERROR_INVALID_PARAMETER);
}

static void mof_fields_and_guid_pointers_are_followed(void **state)
{
    (void)state;
    struct rig_consumer c;
    uint64_t s = rig_start(sim, "s", 64, 0);
    assert_true(rig_consumer_start(&c, sim, "s", 0));
    struct {
        struct etw_classic_header h;
        struct {
            uint64_t data;
            uint32_t length, type;
        } fields[2];
    } event = {.h = {.size = sizeof(event), .type = 1},
        .fields = {{(uint64_t)(uintptr_t) "ab", 2, 0}, {(uint64_t)(uintptr_t) "cde", 3, 0}}};
    event.h.processor_time =
        (uint64_t)(ETW_TRACE_TRACED_GUID | ETW_TRACE_USE_GUID_PTR | ETW_TRACE_USE_MOF_PTR) << 32;
    store_le64(event.h.guid.bytes, (uint64_t)(uintptr_t)&guid_b);
    assert_int_equal(api->TraceEvent(s, &event.h), 0);
    rig_stop(sim, "s");
    rig_consumer_wait(&c);
    assert_int_equal(c.count, 1);
    assert_true(guid_equal(&c.events[0].header.provider_id, &guid_b));
    assert_int_equal(c.events[0].payload_size, 5);
    assert_memory_equal(c.events[0].payload, "abcde", 5);
    rig_consumer_fini(&c);
}

static void messages_have_sequence_numbers_from_one(void **state)
{
    (void)state;
    enum { SEQUENCE = 1, GUID = 2, TIMESTAMP = 8, SYSTEM_INFO = 32 };
    struct rig_consumer c;
    uint64_t kernel = rig_start(sim, "NT Kernel Logger", 64, 0);
    uint64_t s = rig_start(sim, "s", 4, ETW_MODE_USE_LOCAL_SEQUENCE);
    const uint32_t flags = SEQUENCE | GUID | TIMESTAMP | SYSTEM_INFO;
    assert_int_equal(api->TraceMessage(0, flags, &guid_b, 10, NULL), ETW_ERROR_INVALID_HANDLE);
    assert_int_equal(api->TraceMessage(kernel, flags, &guid_b, 10, NULL), ETW_ERROR_INVALID_HANDLE);
    static const uint8_t large[5000];
    assert_int_equal(
        api->TraceMessage(s, flags, &guid_b, 10, large, sizeof(large), NULL), ETW_ERROR_MORE_DATA);
    assert_true(rig_consumer_start(&c, sim, "s", 0));
    const uint32_t value = 42;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            api->TraceMessage(s, flags, &guid_b, 10, &value, sizeof(value), "x", (size_t)1, NULL),
            0);
    }
    rig_stop(sim, "s");
    rig_consumer_wait(&c);
    assert_int_equal(c.count, 3);
    for (int i = 0; i < 3; i++) {
        const struct rig_event *e = &c.events[i];
        assert_true(e->header.flags & EVENT_FLAG_TRACE_MESSAGE);
        assert_true(guid_equal(&e->header.provider_id, &guid_b));
        assert_int_equal(e->header.descriptor.id, 10);
        assert_int_equal(e->payload_size, 5);
        assert_int_equal(e->payload[4], 'x');
    }
    rig_consumer_fini(&c);
}

static const uint8_t *message_at(const uint8_t *buffer, uint32_t number)
{
    const uint8_t *p = buffer + 72;
    while (number--) {
        p += (load_le16(p) + 7u) & ~7u;
    }
    return p;
}

static uint8_t raw_copy[65536];

static uint32_t on_raw(
    const void *buffer, uint32_t bytes, const struct etw_buffer_info *info, void *context)
{
    (void)info;
    memcpy(raw_copy, buffer, bytes);
    *(bool *)context = true;
    return 0;
}

static void sequence_numbers_are_in_the_record(void **state)
{
    (void)state;
    etw_char wide[RIG_TEXT];
    bool seen = false;
    uint64_t s = rig_start(sim, "s", 64, ETW_MODE_USE_GLOBAL_SEQUENCE);
    const uint32_t sequence = 1;
    api->TraceMessage(s, sequence, NULL, 1, NULL);
    api->TraceMessage(s, sequence, NULL, 1, NULL);
    struct rig_block b;
    rig_control(sim, "s", ETW_CONTROL_FLUSH, &b);
    const struct etw_open_options options = {.buffer_callback = on_raw, .buffer_context = &seen};
    uint64_t trace = api->OpenTraceFromRealTimeLogger(rig_wide("s", wide), &options, NULL);
    assert_int_equal(api->ProcessTrace(&trace, 1, NULL, NULL), ETW_ERROR_CANCELLED);
    assert_true(seen);
    assert_int_equal(load_le32(message_at(raw_copy, 0) + 8), 1);
    assert_int_equal(load_le32(message_at(raw_copy, 1) + 8), 2);
    api->CloseTrace(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_classic_provider_serves_the_last_that_enabled_it),
        TEST(mof_fields_and_guid_pointers_are_followed),
        TEST(messages_have_sequence_numbers_from_one),
        TEST(sequence_numbers_are_in_the_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
