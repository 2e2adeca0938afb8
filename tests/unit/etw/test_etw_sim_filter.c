/* Which events of a provider of the simulated Windows pass, and their extended items
 * (enable_trace_parameters, event_filter_descriptor). */
#include "sim_provider_rig.h"
#include "support/etl_put.h"
#include "support/etw_sim/etw_sim_payload.h"

/* ---- filters --------------------------------------------------------------------------------- */

static void filters_beyond_their_limits_are_refused(void **state)
{
    (void)state;
    static uint8_t zeros[8192];
    static const uint8_t ids_65[4] = {1, 0, 65, 0};
    static const uint8_t ids_2[6] = {1, 0, 2, 0, 1, 0}; /* claims two ids, has one */
    static const struct {
        uint32_t type, size;
        const uint8_t *data;
        bool good;
    } cases[] = {
        {ETW_FILTER_PID, 32, zeros, true},
        {ETW_FILTER_PID, 36, zeros, false},
        {ETW_FILTER_PID, 6, zeros, false},
        {ETW_FILTER_EXECUTABLE_NAME, 1024, zeros, true},
        {ETW_FILTER_EXECUTABLE_NAME, 1026, zeros, false},
        {ETW_FILTER_EVENT_ID, 4 + 2 * 64, zeros, true},
        {ETW_FILTER_EVENT_ID, 3, zeros, false},
        {ETW_FILTER_EVENT_ID, sizeof(ids_65), ids_65, false},
        {ETW_FILTER_EVENT_ID, sizeof(ids_2), ids_2, false},
        {ETW_FILTER_EVENT_NAME, 4096, zeros, true},
        {ETW_FILTER_EVENT_NAME, 4098, zeros, false},
        {ETW_FILTER_EVENT_NAME, 19, zeros, false},
        {ETW_FILTER_PAYLOAD, 64, zeros, false}, /* not made by TDH */
        {ETW_FILTER_STACKWALK, 4, zeros, true},
        {ETW_FILTER_STACKWALK_LEVEL_KW, 24, zeros, true},
        {ETW_FILTER_STACKWALK_LEVEL_KW, 17, zeros, false},
        {ETW_FILTER_SCHEMATIZED, 1025, zeros, false},
        {ETW_FILTER_PACKAGE_ID, 20, zeros, true},
        {0x80000040, 4, zeros, false},
        {ETW_FILTER_PID, 4, NULL, false},
    };
    uint64_t s = rig_start(sim, "s", 64, 0);
    add((struct etw_sim_provider_options){.guid = guid_a});
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct etw_filter f = {
            (uint64_t)(uintptr_t)cases[i].data, cases[i].size, cases[i].type};
        assert_int_equal(rig_enable_with(sim, s, &guid_a, 0, &f, 1),
            cases[i].good ? 0 : ETW_ERROR_INVALID_PARAMETER);
    }
    const struct etw_filter twice[2] = {{(uint64_t)(uintptr_t)zeros, 4, ETW_FILTER_PID},
        {(uint64_t)(uintptr_t)zeros, 4, ETW_FILTER_PID}};
    assert_int_equal(rig_enable_with(sim, s, &guid_a, 0, twice, 2), ETW_ERROR_INVALID_PARAMETER);
    assert_int_equal(rig_enable_with(sim, s, &guid_a, 0, NULL, 1), ETW_ERROR_INVALID_PARAMETER);
    assert_int_equal(rig_enable_with(sim, s, &guid_a, 0, twice, 9), ETW_ERROR_INVALID_PARAMETER);
}

static void ids_filter_in_and_out_but_not_for_tracelogging(void **state)
{
    (void)state;
    struct etw_sim_provider *p = add((struct etw_sim_provider_options){.guid = guid_a});
    uint64_t s = rig_start(sim, "s", 64, 0);
    struct {
        uint8_t in, reserved;
        uint16_t count, ids[2];
    } data = {1, 0, 2, {10, 300}};
    const struct etw_filter f = {(uint64_t)(uintptr_t)&data, sizeof(data), ETW_FILTER_EVENT_ID};
    rig_enable_with(sim, s, &guid_a, 0, &f, 1);
    assert_true(passes_id(p, 10));
    assert_true(passes_id(p, 300));
    assert_false(passes_id(p, 11));
    const struct etw_sim_event self_describing = {.descriptor = {.id = 11, .level = 4},
        .metadata = span_make("\x06\x00\x00"
                              "ab",
            6)};
    assert_true(passes(p, self_describing));
    data.in = 0;
    rig_enable_with(sim, s, &guid_a, 0, &f, 1);
    assert_false(passes_id(p, 10));
    assert_true(passes_id(p, 11));
}

static void names_filter_tracelogging_events(void **state)
{
    (void)state;
    struct etw_sim_provider *p = add(
        (struct etw_sim_provider_options){.guid = guid_a, .kind = ETW_SIM_TRACELOGGING});
    uint64_t s = rig_start(sim, "s", 64, 0);
    struct buf data;
    buf_init(&data, 4096);
    for (uint8_t in = 0; in < 2; in++) {
        buf_reset(&data);
        etl_put_u64(&data, 0x2); /* of events with this keyword */
        etl_put_u64(&data, 0);
        etl_put_u8(&data, 4);
        etl_put_u8(&data, in);
        etl_put_u16(&data, 2);
        etl_put_textz(&data, "Other");
        etl_put_textz(&data, "Wanted");
        const struct etw_filter f = {
            (uint64_t)(uintptr_t)data.data, (uint32_t)data.size, ETW_FILTER_EVENT_NAME};
        assert_int_equal(rig_enable_with(sim, s, &guid_a, 0, &f, 1), 0);
        struct etw_sim_event event = {.descriptor = {.level = 4, .keyword = 2},
            .metadata = span_make("\x0b\x00\x80\x01Wanted\0", 11)}; /* with a two-byte tag */
        assert_int_equal(passes(p, event), in == 1);
        event.metadata = span_make("\x0a\x00\x00Unknown", 11);
        assert_int_equal(passes(p, event), in == 0);
        event.metadata = span_make("\x0a\x00\x00Wanted\0", 10);
        event.descriptor.keyword = 4; /* the filter does not apply to it */
        assert_true(passes(p, event));
        event.descriptor.keyword = 2;
        assert_int_equal(passes(p, event), in == 1);
        store_le64(data.data, 0); /* applies to no event with a keyword */
        assert_int_equal(rig_enable_with(sim, s, &guid_a, 0, &f, 1), 0);
        assert_true(passes(p, event));
        event.descriptor.keyword = 0;
        assert_int_equal(passes(p, event), in == 1);
    }
    buf_fini(&data);
}

/* event_filter_descriptor on learn.microsoft.com: with process ids a provider is enabled in
 * processes, and what a driver has registered is not enabled. */
static void processes_filter_user_mode_providers_only(void **state)
{
    (void)state;
    etw_sim_process_start(
        sim, &(struct etw_sim_process){.pid = 0x80000004, .image = "one.exe", .package = "Pack_1"});
    etw_sim_process_start(sim, &(struct etw_sim_process){.pid = 200, .image = "Two.exe"});
    struct etw_sim_provider *user = add((struct etw_sim_provider_options){.guid = guid_a});
    struct etw_sim_provider *kernel = add(
        (struct etw_sim_provider_options){.guid = guid_b, .kernel_mode = true});
    uint64_t s = rig_start(sim, "s", 64, 0);
    const uint32_t pids[] = {0x80000004};
    etw_char images[RIG_TEXT];
    rig_wide("nobody.exe;two.EXE", images);
    etw_char packages[RIG_TEXT];
    rig_wide("Pack_0;pack_1", packages);
    const struct {
        struct etw_filter filter;
        uint32_t in, out;
    } cases[] = {
        {{(uint64_t)(uintptr_t)pids, sizeof(pids), ETW_FILTER_PID}, 0x80000004, 200},
        {{(uint64_t)(uintptr_t)images, 38, ETW_FILTER_EXECUTABLE_NAME}, 200, 0x80000004},
        {{(uint64_t)(uintptr_t)packages, 26, ETW_FILTER_PACKAGE_ID}, 0x80000004, 200},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(rig_enable_with(sim, s, &guid_a, 0, &cases[i].filter, 1), 0);
        assert_int_equal(rig_enable_with(sim, s, &guid_b, 0, &cases[i].filter, 1), 0);
        assert_true(passes(user, (struct etw_sim_event){.process_id = cases[i].in}));
        assert_false(passes(user, (struct etw_sim_event){.process_id = cases[i].out}));
        bool by_id = cases[i].filter.type == ETW_FILTER_PID;
        assert_int_equal(passes(kernel, (struct etw_sim_event){.process_id = cases[i].in}), !by_id);
        assert_int_equal(
            passes(kernel, (struct etw_sim_event){.process_id = cases[i].out}), !by_id);
    }
    /* A process id means the process that ran when the filter was set, not the next one with that
     * id. A program means all its processes. */
    rig_enable_with(sim, s, &guid_a, 0, &cases[0].filter, 1);
    etw_sim_process_start(sim, &(struct etw_sim_process){.pid = 0x80000004, .image = "one.exe"});
    assert_false(passes(user, (struct etw_sim_event){.process_id = 0x80000004}));
    rig_enable_with(sim, s, &guid_a, 0, &cases[1].filter, 1);
    etw_sim_process_start(sim, &(struct etw_sim_process){.pid = 333, .image = "TWO.exe"});
    assert_true(passes(user, (struct etw_sim_event){.process_id = 333}));
}

static void private_browsing_can_be_left_out(void **state)
{
    (void)state;
    uint64_t handle = 0;
    assert_int_equal(api->EventRegister(&guid_a, NULL, NULL, &handle), 0);
    const struct event_descriptor d = {.id = 1, .level = 4};
    uint64_t s = rig_start(sim, "s", 64, 0);
    for (uint32_t exclude = 0; exclude < 2; exclude++) {
        rig_enable_with(sim, s, &guid_a, exclude ? ETW_ENABLE_EXCLUDE_INPRIVATE : 0, NULL, 0);
        for (uint32_t flag = 0; flag <= 2; flag += 2) { /* EVENT_WRITE_FLAG_INPRIVATE */
            uint64_t before = logged("s");
            assert_int_equal(etw_sim_EventWriteEx(handle, &d, 0, flag, NULL, NULL, 0, NULL), 0);
            assert_int_equal(logged("s") - before, exclude && flag ? 0 : 1);
        }
    }
}

static void payloads_are_looked_at(void **state)
{
    (void)state;
    struct {
        struct etw_sim_payload_blob head;
        struct etw_sim_payload_filter filter;
        struct etw_sim_payload_predicate p[2];
    } blob = {.head = {.magic = ETW_SIM_PAYLOAD_MAGIC, .filters = 1},
        .filter = {.event_id = 7, .predicates = 2, .match_all = 1}};
    blob.p[0] = (struct etw_sim_payload_predicate){.before = {ETW_SIM_FIELD_TEXT16},
        .before_count = 1,
        .field = 4 | ETW_SIM_FIELD_SIGNED,
        .compare_op = ETW_PAYLOAD_BETWEEN,
        .value = {(uint64_t)-5, 10}};
    blob.p[1] = (struct etw_sim_payload_predicate){.field = ETW_SIM_FIELD_TEXT16,
        .compare_op = ETW_PAYLOAD_CONTAINS,
        .text_chars = 2,
        .text = {'e', 'l'}};
    static const struct {
        const char *text;
        int32_t number;
        bool holds;
    } cases[] = {{"hello", -5, true}, {"hello", 10, true}, {"hello", 11, false},
        {"hello", -6, false}, {"help", 0, true}, {"HELLO", 0, false}};
    struct etw_sim_provider *p = add((struct etw_sim_provider_options){.guid = guid_a});
    uint64_t s = rig_start(sim, "s", 64, 0);
    const struct etw_filter f = {(uint64_t)(uintptr_t)&blob, sizeof(blob), ETW_FILTER_PAYLOAD};
    assert_int_equal(rig_enable_with(sim, s, &guid_a, 0, &f, 1), 0);
    struct buf payload;
    buf_init(&payload, 256);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        buf_reset(&payload);
        etl_put_utf16z(&payload, cases[i].text);
        etl_put_u32(&payload, (uint32_t)cases[i].number);
        struct etw_sim_event event = {.descriptor = {.id = 7}, .payload = buf_span(&payload)};
        assert_int_equal(passes(p, event), cases[i].holds);
        event.descriptor.id = 8; /* not named by it */
        assert_true(passes(p, event));
        event.descriptor.id = 7;
        event.payload = span_first(event.payload, 3); /* a field that is not there */
        assert_false(passes(p, event));
    }
    buf_fini(&payload);
    for (size_t size = 0; size < sizeof(blob); size++) {
        assert_false(etw_sim_payload_valid(span_make(&blob, size)));
    }
}

static void payload_predicates_compare(void **state)
{
    (void)state;
    static const struct {
        uint16_t op;
        uint8_t field;
        uint64_t a, b, value;
        bool holds;
    } cases[] = {
        {ETW_PAYLOAD_EQ, 2, 5, 0, 5, true}, {ETW_PAYLOAD_NE, 2, 5, 0, 5, false},
        {ETW_PAYLOAD_LE, 8, 5, 0, 5, true}, {ETW_PAYLOAD_LE, 8, 5, 0, UINT64_MAX, false},
        {ETW_PAYLOAD_LE, 8 | ETW_SIM_FIELD_SIGNED, 5, 0, UINT64_MAX, true},
        {ETW_PAYLOAD_GT, 1, 5, 0, 6, true}, {ETW_PAYLOAD_LT, 1, 5, 0, 5, false},
        {ETW_PAYLOAD_GE, 1, 5, 0, 5, true},
        {ETW_PAYLOAD_GE, 1 | ETW_SIM_FIELD_SIGNED, 5, 0, 0x80, false},
        {ETW_PAYLOAD_NOT_BETWEEN, 4, 5, 9, 7, false}, {ETW_PAYLOAD_NOT_BETWEEN, 4, 5, 9, 10, true},
        {ETW_PAYLOAD_MODULO, 4, 4, 1, 9, true}, {ETW_PAYLOAD_MODULO, 4, 0, 1, 9, false},
        {ETW_PAYLOAD_CONTAINS, 4, 9, 0, 9, false},
        {ETW_PAYLOAD_EQ, 3, 9, 0, 9, false}, /* no number */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct {
            struct etw_sim_payload_blob head;
            struct etw_sim_payload_filter filter;
            struct etw_sim_payload_predicate p;
        } blob = {.head = {.magic = ETW_SIM_PAYLOAD_MAGIC, .filters = 1},
            .filter = {.predicates = 1},
            .p = {.field = cases[i].field,
                .compare_op = cases[i].op,
                .value = {cases[i].a, cases[i].b}}};
        uint8_t payload[8];
        store_le64(payload, cases[i].value);
        const struct event_descriptor any = {.id = 0};
        assert_int_equal(etw_sim_payload_pass(span_make(&blob, sizeof(blob)), &any,
                             span_make(payload, cases[i].field & 0x3f)),
            cases[i].holds);
    }
}

/* ---- extended items -------------------------------------------------------------------------- */

static void properties_bring_extended_items(void **state)
{
    (void)state;
    static const struct {
        uint32_t property;
        uint16_t item;
    } cases[] = {{ETW_ENABLE_SID, EXTENDED_SID}, {ETW_ENABLE_TS_ID, EXTENDED_TS_ID},
        {ETW_ENABLE_STACK_TRACE, EXTENDED_STACK_TRACE64}, {ETW_ENABLE_PSM_KEY, EXTENDED_PSM_KEY},
        {ETW_ENABLE_EVENT_KEY, EXTENDED_EVENT_KEY},
        {ETW_ENABLE_PROCESS_START_KEY, EXTENDED_PROCESS_START_KEY},
        {ETW_ENABLE_CONTAINER_TRACKING, EXTENDED_CONTAINER_ID}};
    etw_sim_process_start(
        sim, &(struct etw_sim_process){
                 .pid = 77, .image = "x.exe", .package = "Pack", .container = {1, 2}});
    struct etw_sim_provider *p = add((struct etw_sim_provider_options){.guid = guid_a, .pid = 77});
    struct rig_consumer c;
    uint64_t s = rig_start(sim, "s", 64, 0);
    assert_true(rig_consumer_start(&c, sim, "s", 0));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rig_enable_with(sim, s, &guid_a, cases[i].property, NULL, 0);
        etw_sim_write(p,
            &(struct etw_sim_event){.related = i == 0 ? &guid_b : NULL, .payload = span_text("x")});
    }
    rig_enable(sim, s, &guid_a, 5, 0, 0);
    etw_sim_write(p, &(struct etw_sim_event){.payload = span_text("x")});
    rig_stop(sim, "s");
    rig_consumer_wait(&c);
    assert_int_equal(c.count, 8);
    assert_int_equal(c.events[0].item_count, 2);
    assert_int_equal(c.events[0].item_types[0], EXTENDED_RELATED_ACTIVITY_ID);
    for (size_t i = 0; i < 7; i++) {
        const struct rig_event *e = &c.events[i];
        assert_int_equal(e->item_types[e->item_count - 1], cases[i].item);
        assert_true(e->header.flags & EVENT_FLAG_EXTENDED_INFO);
        assert_int_equal(e->payload[0], 'x');
    }
    assert_int_equal(c.events[7].item_count, 0);
    rig_consumer_fini(&c);
}

static void stackwalk_filters_choose_the_events_with_a_stack(void **state)
{
    (void)state;
    struct etw_sim_provider *p = add((struct etw_sim_provider_options){.guid = guid_a});
    struct rig_consumer c;
    uint64_t s = rig_start(sim, "s", 64, 0);
    assert_true(rig_consumer_start(&c, sim, "s", 0));
    const struct {
        uint8_t in, reserved;
        uint16_t count, id;
    } ids = {1, 0, 1, 7};
    const struct etw_filter f = {(uint64_t)(uintptr_t)&ids, sizeof(ids), ETW_FILTER_STACKWALK};
    rig_enable_with(sim, s, &guid_a, ETW_ENABLE_STACK_TRACE, &f, 1);
    assert_true(passes_id(p, 7));
    assert_true(passes_id(p, 8));
    rig_enable_with(sim, s, &guid_a, 0, &f, 1); /* not without the property */
    assert_true(passes_id(p, 7));
    rig_stop(sim, "s");
    rig_consumer_wait(&c);
    assert_int_equal(c.events[0].item_count, 1);
    assert_int_equal(c.events[1].item_count, 0);
    assert_int_equal(c.events[2].item_count, 0);
    rig_consumer_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(filters_beyond_their_limits_are_refused),
        TEST(ids_filter_in_and_out_but_not_for_tracelogging),
        TEST(names_filter_tracelogging_events),
        TEST(processes_filter_user_mode_providers_only),
        TEST(private_browsing_can_be_left_out),
        TEST(payloads_are_looked_at),
        TEST(payload_predicates_compare),
        TEST(properties_bring_extended_items),
        TEST(stackwalk_filters_choose_the_events_with_a_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
