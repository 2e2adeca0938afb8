/* Providers of the simulated Windows: enabling, filters, callbacks, groups, classic and WPP ones
 * (enabletraceex2, enable_trace_parameters, event_filter_descriptor, provider-traits). */
#include "support/test.h"

#include <stdio.h>

#include "support/etl_put.h"
#include "support/etw_sim/etw_sim_payload.h"
#include "support/etw_sim/etw_sim_rig.h"

static const struct guid guid_a = {{0xa, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
static const struct guid guid_b = {{0xb, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
static const struct guid group_guid = {{0xc, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};
static struct etw_sim *sim;
static const struct etw_api *api;

static int setup(void **state)
{
    (void)state;
    sim = etw_sim_create(&(struct etw_sim_options){.processors = 2}, NULL);
    api = sim ? etw_sim_api(sim) : NULL;
    etw_api_use(api);
    return sim ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    etw_api_use(NULL);
    etw_sim_destroy(sim);
    sim = NULL;
    return 0;
}

static struct etw_sim_provider *add(struct etw_sim_provider_options options)
{
    struct etw_sim_provider *p = etw_sim_provider_add(sim, &options);
    assert_non_null(p);
    return p;
}

static uint64_t logged(const char *session)
{
    struct etw_sim_session_info info;
    assert_true(etw_sim_session_get(sim, session, &info));
    const struct etw_sim_counts *c = &info.counts;
    assert_int_equal(c->offered, c->filtered + c->withheld + c->events_lost + c->logged);
    return c->logged;
}

/* Does an event get into session "s"? */
static bool passes(struct etw_sim_provider *p, struct etw_sim_event event)
{
    uint64_t before = logged("s");
    assert_int_equal(etw_sim_write(p, &event), 0);
    return logged("s") > before;
}

static bool passes_level_keyword(struct etw_sim_provider *p, uint8_t level, uint64_t keyword)
{
    return passes(p, (struct etw_sim_event){.descriptor = {.level = level, .keyword = keyword}});
}

static bool passes_id(struct etw_sim_provider *p, uint16_t id)
{
    return passes(p, (struct etw_sim_event){.descriptor = {.id = id, .level = 4}});
}

/* ---- level, keyword --------------------------------------------------------------------------- */

static void levels_and_keywords_pass_as_documented(void **state)
{
    (void)state;
    static const struct {
        uint8_t limit;
        uint64_t any, all;
        uint32_t property;
        uint8_t level;
        uint64_t keyword;
        bool passes;
    } cases[] = {
        {4, 0, 0, 0, 4, 1, true},
        {4, 0, 0, 0, 5, 1, false},
        {0, 0, 0, 0, 255, 1, true}, /* level 0: no limit, like 255 */
        {255, 0, 0, 0, 254, 1, true},
        {1, 0, 0, 0, 0, 1, true}, /* events of level 0 always pass */
        {5, 0x6, 0, 0, 4, 0x2, true},
        {5, 0x6, 0, 0, 4, 0x1, false},
        {5, 0x6, 0x6, 0, 4, 0x2, false},
        {5, 0x6, 0x6, 0, 4, 0x7, true},
        {5, 0x6, 0x6, 0, 4, 0, true},                          /* keyword 0 passes */
        {5, 0, 0x6, 0, 4, 0x1, true},                          /* all means nothing without any */
        {5, 0x6, 0, ETW_ENABLE_IGNORE_KEYWORD_0, 4, 0, false}, /* unless told otherwise */
        {5, 0, 0, ETW_ENABLE_IGNORE_KEYWORD_0, 4, 0, false},
        {5, UINT64_C(1) << 63, 0, 0, 4, UINT64_C(1) << 63, true},
    };
    struct etw_sim_provider *p = add((struct etw_sim_provider_options){.guid = guid_a});
    uint64_t session = rig_start(sim, "s", 64, 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct etw_enable_parameters parameters = {
            .version = 2, .enable_property = cases[i].property};
        assert_int_equal(api->EnableTraceEx2(session, &guid_a, ETW_PROVIDER_ENABLE, cases[i].limit,
                             cases[i].any, cases[i].all, 0, &parameters),
            0);
        assert_int_equal(
            passes_level_keyword(p, cases[i].level, cases[i].keyword), cases[i].passes);
    }
}

static void each_session_has_its_own_and_a_second_enable_replaces(void **state)
{
    (void)state;
    struct etw_sim_provider *p = add((struct etw_sim_provider_options){.guid = guid_a});
    uint64_t s = rig_start(sim, "s", 64, 0);
    uint64_t t = rig_start(sim, "t", 64, 0);
    const struct {
        uint8_t in, reserved;
        uint16_t count, id;
    } ids = {1, 0, 1, 7};
    const struct etw_filter filter = {(uint64_t)(uintptr_t)&ids, sizeof(ids), ETW_FILTER_EVENT_ID};
    assert_int_equal(rig_enable_with(sim, s, &guid_a, 0, &filter, 1), 0);
    assert_int_equal(rig_enable(sim, t, &guid_a, 5, 0, 0), 0);
    assert_false(passes_id(p, 8));
    assert_int_equal(logged("t"), 1);
    assert_int_equal(rig_enable(sim, s, &guid_a, 3, 0xf0, 0), 0); /* no filters any more */
    struct etw_sim_enablement e;
    assert_true(etw_sim_enabled(sim, "s", &guid_a, &e));
    assert_int_equal(e.level, 3);
    assert_int_equal(e.any, 0xf0);
    assert_int_equal(e.filter_count, 0);
    assert_int_equal(e.enables, 2);
    assert_int_equal(api->EnableTraceEx2(s, &guid_a, ETW_PROVIDER_DISABLE, 0, 0, 0, 0, NULL), 0);
    assert_false(etw_sim_enabled(sim, "s", &guid_a, NULL));
    assert_true(etw_sim_enabled(sim, "t", &guid_a, NULL));
    rig_stop(sim, "t"); /* the end of a session disables */
    struct etw_sim_provider_state seen;
    etw_sim_provider_get(p, &seen);
    assert_false(seen.enabled);
}

static void a_manifest_provider_serves_eight_sessions(void **state)
{
    (void)state;
    char name[8];
    uint64_t session = 0;
    add((struct etw_sim_provider_options){.guid = guid_a});
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        session = rig_start(sim, name, 4, 0);
        assert_int_equal(rig_enable(sim, session, &guid_a, 5, 0, 0), 0);
    }
    uint64_t ninth = rig_start(sim, "s8", 4, 0);
    assert_int_equal(rig_enable(sim, ninth, &guid_a, 5, 0, 0), ETW_ERROR_NO_SYSTEM_RESOURCES);
    assert_int_equal(rig_enable(sim, session, &guid_a, 4, 0, 0), 0); /* an update is none more */
}

static void callbacks_are_told_what_all_sessions_want_together(void **state)
{
    (void)state;
    struct etw_sim_provider *p = add((struct etw_sim_provider_options){.guid = guid_a});
    struct etw_sim_provider_state seen;
    uint64_t s = rig_start(sim, "s", 64, 0);
    uint64_t t = rig_start(sim, "t", 64, 0);
    rig_enable(sim, s, &guid_a, 4, 0x3, 0x3);
    etw_sim_provider_get(p, &seen);
    assert_true(seen.enabled);
    assert_int_equal(seen.level, 4);
    assert_int_equal(seen.any, 0x3);
    rig_enable(sim, t, &guid_a, 2, 0x4, 0x1);
    etw_sim_provider_get(p, &seen);
    assert_int_equal(seen.level, 4);
    assert_int_equal(seen.any, 0x7);
    assert_int_equal(seen.all, 0x1);
    assert_int_equal(seen.sessions, 2);
    assert_int_equal(seen.callbacks, 2);
    assert_int_equal(
        api->EnableTraceEx2(s, &guid_a, ETW_PROVIDER_CAPTURE_STATE, 0, 0, 0, 0, NULL), 0);
    etw_sim_provider_get(p, &seen);
    assert_int_equal(seen.capture_states, 1);
    rig_stop(sim, "s");
    etw_sim_provider_get(p, &seen);
    assert_true(seen.enabled);
    assert_int_equal(seen.any, 0x4);
}

static void enabling_before_the_provider_registers_is_kept(void **state)
{
    (void)state;
    uint64_t s = rig_start(sim, "s", 64, 0);
    const struct etw_filter schematized = {(uint64_t)(uintptr_t) "data", 4, ETW_FILTER_SCHEMATIZED};
    struct etw_enable_parameters parameters = {.version = 2,
        .source_id = group_guid,
        .filters = (uint64_t)(uintptr_t)&schematized,
        .filter_count = 1};
    assert_int_equal(
        api->EnableTraceEx2(s, &guid_a, ETW_PROVIDER_ENABLE, 4, 0x10, 0, 0, &parameters), 0);
    struct etw_sim_provider *p = add((struct etw_sim_provider_options){.guid = guid_a});
    struct etw_sim_provider_state seen;
    etw_sim_provider_get(p, &seen);
    assert_true(seen.enabled);
    assert_int_equal(seen.level, 4);
    assert_false(seen.had_filter); /* without source id and filter data */
    assert_true(guid_is_zero(&seen.source_id));
    assert_true(passes_level_keyword(p, 4, 0x10));
    assert_int_equal(
        api->EnableTraceEx2(s, &guid_a, ETW_PROVIDER_ENABLE, 4, 0x10, 0, 0, &parameters), 0);
    etw_sim_provider_get(p, &seen);
    assert_true(seen.had_filter);
    assert_true(guid_equal(&seen.source_id, &group_guid));
}

static void wrong_enables_are_refused(void **state)
{
    (void)state;
    add((struct etw_sim_provider_options){.guid = guid_b, .enable_error = ETW_ERROR_ACCESS_DENIED});
    uint64_t s = rig_start(sim, "s", 64, 0);
    assert_int_equal(rig_enable(sim, 0, &guid_a, 5, 0, 0), ETW_ERROR_INVALID_PARAMETER);
    assert_int_equal(rig_enable(sim, s + 1, &guid_a, 5, 0, 0), ETW_ERROR_WMI_INSTANCE_NOT_FOUND);
    assert_int_equal(rig_enable(sim, s, NULL, 5, 0, 0), ETW_ERROR_INVALID_PARAMETER);
    assert_int_equal(
        api->EnableTraceEx2(s, &guid_a, 3, 5, 0, 0, 0, NULL), ETW_ERROR_INVALID_PARAMETER);
    assert_int_equal(rig_enable(sim, s, &guid_b, 5, 0, 0), ETW_ERROR_ACCESS_DENIED);
    struct etw_enable_parameters parameters = {.version = 3};
    assert_int_equal(api->EnableTraceEx2(s, &guid_a, ETW_PROVIDER_ENABLE, 5, 0, 0, 0, &parameters),
        ETW_ERROR_INVALID_PARAMETER);
    rig_enable(sim, s, &guid_a, 5, 0, 0); /* not registered: its level cannot be updated */
    assert_int_equal(rig_enable(sim, s, &guid_a, 4, 0, 0), ETW_ERROR_INVALID_FUNCTION);
}

/* ---- filters ---------------------------------------------------------------------------------- */

static void filters_beyond_their_limits_are_refused(void **state)
{
    (void)state;
    static uint8_t zeros[8192];
    static const uint8_t ids_65[4] = {1, 0, 65, 0};
    static const uint8_t ids_2[6] = {1, 0, 2, 0, 1, 0}; /* says two, holds one */
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
        {ETW_FILTER_PAYLOAD, 64, zeros, false}, /* none that TDH made */
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
        event.descriptor.keyword = 4;
        assert_int_equal(passes(p, event), in == 0);
    }
    buf_fini(&data);
}

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
        assert_true(passes(kernel, (struct etw_sim_event){.process_id = cases[i].out}));
    }
    /* A pid means the process that ran when it was set, not the next one; a program, all of them. */
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
    const struct etw_event_descriptor d = {.id = 1, .level = 4};
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

/* ---- extended items --------------------------------------------------------------------------- */

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

static void stackwalk_filters_choose_who_gets_a_stack(void **state)
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

/* ---- the functions of providers --------------------------------------------------------------- */

struct told {
    uint32_t calls, code;
    uint8_t level;
    uint64_t any;
    uint64_t handle;
};

static void on_enable(const struct guid *source_id, uint32_t code, uint8_t level, uint64_t any,
    uint64_t all, const struct etw_filter *filter, void *context)
{
    (void)source_id;
    (void)all;
    (void)filter;
    struct told *told = context;
    told->calls++;
    told->code = code;
    told->level = level;
    told->any = any;
    /* Callbacks may write. */
    const struct etw_event_descriptor d = {.id = 99, .level = 4};
    api->EventWriteTransfer(told->handle, &d, NULL, NULL, 0, NULL);
}

static void registered_providers_are_told_and_write(void **state)
{
    (void)state;
    struct told told = {0};
    struct rig_consumer c;
    uint64_t s = rig_start(sim, "s", 64, 0);
    assert_true(rig_consumer_start(&c, sim, "s", 0));
    assert_int_equal(api->EventRegister(&guid_a, on_enable, &told, &told.handle), 0);
    const struct etw_event_descriptor d = {.id = 3, .level = 4, .keyword = 1};
    assert_false(etw_sim_EventEnabled(told.handle, &d));
    assert_int_equal(api->EventWriteTransfer(told.handle, &d, NULL, NULL, 0, NULL), 0);
    rig_enable(sim, s, &guid_a, 4, 0x1, 0);
    assert_int_equal(told.calls, 1);
    assert_int_equal(told.code, ETW_PROVIDER_ENABLE);
    assert_int_equal(told.level, 4);
    assert_int_equal(told.any, 1);
    assert_true(etw_sim_EventEnabled(told.handle, &d));
    assert_false(etw_sim_EventProviderEnabled(told.handle, 5, 1));
    const struct etw_data data[] = {
        {(uint64_t)(uintptr_t) "\x05\x00\x00"
                               "e",
            5, 1, 0, 0},
        {(uint64_t)(uintptr_t) "\x04\x00n", 4, 2, 0, 0},
        {(uint64_t)(uintptr_t) "pay", 3, 0, 0, 0},
        {(uint64_t)(uintptr_t) "load", 4, 0, 0, 0},
    };
    etw_sim_as(555, 666);
    assert_int_equal(api->EventWriteTransfer(told.handle, &d, &guid_b, &group_guid, 4, data), 0);
    const etw_char text[] = {'h', 'i', 0};
    assert_int_equal(etw_sim_EventWriteString(told.handle, 2, 1, text), 0);
    etw_sim_as(0, 0);
    assert_int_equal(api->EventUnregister(told.handle), 0);
    assert_int_equal(api->EventUnregister(told.handle), ETW_ERROR_INVALID_HANDLE);
    assert_int_equal(
        api->EventWriteTransfer(told.handle, &d, NULL, NULL, 0, NULL), ETW_ERROR_INVALID_HANDLE);
    assert_int_equal(etw_sim_registrations(sim), 0);
    rig_stop(sim, "s");
    rig_consumer_wait(&c);
    assert_int_equal(c.count, 3); /* the callback's, the transfer, the text */
    assert_int_equal(c.events[0].header.descriptor.id, 99);
    const struct rig_event *e = &c.events[1];
    assert_int_equal(e->header.process_id, 4711); /* who registered */
    assert_int_equal(e->header.thread_id, 666);
    assert_true(guid_equal(&e->header.activity_id, &guid_b));
    assert_memory_equal(e->payload, "payload", 7);
    assert_int_equal(e->item_count, 3);
    assert_int_equal(e->item_types[1], EXTENDED_SCHEMA_TL);
    assert_int_equal(e->item_types[2], EXTENDED_PROV_TRAITS);
    assert_true(c.events[2].header.flags & EVENT_FLAG_STRING_ONLY);
    assert_int_equal(c.events[2].payload_size, 6);
    rig_consumer_fini(&c);
}

static void activity_ids_belong_to_threads(void **state)
{
    (void)state;
    enum { GET = 1, SET, CREATE, GET_SET, CREATE_SET };
    struct guid id = guid_a;
    assert_int_equal(etw_sim_EventActivityIdControl(SET, &id), 0);
    id = guid_b;
    assert_int_equal(etw_sim_EventActivityIdControl(GET_SET, &id), 0);
    assert_true(guid_equal(&id, &guid_a));
    assert_int_equal(etw_sim_EventActivityIdControl(CREATE_SET, &id), 0);
    assert_true(guid_equal(&id, &guid_b));
    assert_int_equal(etw_sim_EventActivityIdControl(GET, &id), 0);
    assert_false(guid_equal(&id, &guid_b));
    id = (struct guid){{0}};
    assert_int_equal(etw_sim_EventActivityIdControl(SET, &id), 0);
    assert_int_equal(etw_sim_EventActivityIdControl(6, &id), ETW_ERROR_INVALID_PARAMETER);
}

static void groups_enable_their_members_but_those_disallowed(void **state)
{
    (void)state;
    struct etw_sim_provider *a = add(
        (struct etw_sim_provider_options){.guid = guid_a, .group = group_guid});
    uint64_t handle = 0;
    assert_int_equal(api->EventRegister(&guid_b, NULL, NULL, &handle), 0);
    struct buf traits;
    buf_init(&traits, 64);
    etl_put_u16(&traits, 2 + 2 + 3 + 16);
    etl_put_textz(&traits, "b");
    etl_put_u16(&traits, 3 + 16);
    etl_put_u8(&traits, 1);
    etl_put_guid(&traits, &group_guid);
    assert_int_equal(api->EventSetInformation(handle, 2, traits.data, (uint32_t)traits.size), 0);
    assert_int_equal(
        api->EventSetInformation(handle, 2, traits.data, 4), ETW_ERROR_INVALID_PARAMETER);
    buf_fini(&traits);
    uint64_t s = rig_start(sim, "s", 64, 0);
    rig_enable_with(sim, s, &group_guid, ETW_ENABLE_PROVIDER_GROUP, NULL, 0);
    struct etw_sim_provider_state seen;
    etw_sim_provider_get(a, &seen);
    assert_true(seen.enabled);
    assert_true(passes_id(a, 1));
    assert_true(etw_sim_EventProviderEnabled(handle, 4, 1));
    assert_int_equal(api->TraceSetInformation(
                         s, ETW_INFO_SET_DISALLOW_LIST, (void *)(uintptr_t)&guid_a, sizeof(guid_a)),
        0);
    uint64_t before = logged("s");
    etw_sim_write(a, &(struct etw_sim_event){.descriptor = {.id = 1}});
    assert_int_equal(logged("s"), before);
    assert_true(etw_sim_EventProviderEnabled(handle, 4, 1));
}

/* ---- classic and WPP -------------------------------------------------------------------------- */

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

/* ---- who is there ----------------------------------------------------------------------------- */

static void providers_can_be_enumerated_with_who_enabled_them(void **state)
{
    (void)state;
    add((struct etw_sim_provider_options){.guid = guid_a, .pid = 11});
    add((struct etw_sim_provider_options){.guid = guid_a, .pid = 12});
    add((struct etw_sim_provider_options){.guid = guid_b, .kind = ETW_SIM_CLASSIC, .pid = 12});
    uint64_t s = rig_start(sim, "s", 64, 0);
    rig_enable(sim, s, &guid_a, 3, 0x77, 0x7);
    uint8_t out[4096];
    uint32_t size = 0;
    assert_int_equal(api->EnumerateTraceGuidsEx(ETW_INFO_GUID_QUERY_LIST, NULL, 0, NULL, 0, &size),
        ETW_ERROR_INSUFFICIENT_BUFFER);
    assert_int_equal(size, 32);
    uint32_t pid = 11;
    assert_int_equal(api->EnumerateTraceGuidsEx(
                         ETW_INFO_GUID_QUERY_PROCESS, &pid, sizeof(pid), out, sizeof(out), &size),
        0);
    assert_int_equal(size, 16);
    struct guid wanted = guid_a;
    assert_int_equal(api->EnumerateTraceGuidsEx(ETW_INFO_GUID_QUERY_INFO, &wanted, sizeof(wanted),
                         out, sizeof(out), &size),
        0);
    assert_int_equal(size, 8 + 2 * (16 + 32));
    assert_int_equal(load_le32(out), 2);
    assert_int_equal(load_le32(out + 8), 48);     /* NextOffset */
    assert_int_equal(load_le32(out + 12), 1);     /* EnableCount */
    assert_int_equal(load_le32(out + 16), 11);    /* Pid */
    assert_int_equal(load_le32(out + 24), 1);     /* IsEnabled */
    assert_int_equal(out[28], 3);                 /* Level */
    assert_int_equal(load_le16(out + 30), s);     /* LoggerId */
    assert_int_equal(load_le64(out + 40), 0x77);  /* MatchAnyKeyword */
    assert_int_equal(load_le32(out + 8 + 48), 0); /* the last */
    wanted = guid_b;
    assert_int_equal(api->EnumerateTraceGuidsEx(ETW_INFO_GUID_QUERY_INFO, &wanted, sizeof(wanted),
                         out, sizeof(out), &size),
        0);
    assert_int_equal(load_le32(out + 20), 1); /* legacy */
    wanted.bytes[1] = 0xee;
    assert_int_equal(api->EnumerateTraceGuidsEx(ETW_INFO_GUID_QUERY_INFO, &wanted, sizeof(wanted),
                         out, sizeof(out), &size),
        ETW_ERROR_WMI_GUID_NOT_FOUND);
}

static void access_descriptors_are_self_relative(void **state)
{
    (void)state;
    uint8_t out[512];
    uint32_t size = 0;
    assert_int_equal(etw_sim_EventAccessQuery(&guid_a, NULL, &size), ETW_ERROR_MORE_DATA);
    assert_true(size > 20 && size < sizeof(out));
    assert_int_equal(etw_sim_EventAccessQuery(&guid_a, out, &size), 0);
    assert_int_equal(out[0], 1);
    assert_int_equal(load_le16(out + 2) & 0x8004, 0x8004);
    uint32_t dacl = load_le32(out + 16);
    assert_int_equal(load_le16(out + dacl + 2), size - dacl);
    assert_int_equal(load_le16(out + dacl + 4), 3);
    uint8_t everyone[] = {1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0};
    assert_int_equal(etw_sim_EventAccessControl(&guid_a, 2, everyone, 0x80, 1), 0);
    size = sizeof(out);
    assert_int_equal(etw_sim_EventAccessQuery(&guid_a, out, &size), 0);
    assert_int_equal(load_le16(out + dacl + 4), 4);
    assert_int_equal(etw_sim_EventAccessRemove(&guid_a), 0);
    size = sizeof(out);
    assert_int_equal(etw_sim_EventAccessQuery(&guid_a, out, &size), 0);
    assert_int_equal(load_le16(out + dacl + 4), 3);
}

static void capture_state_runs_by_the_clock(void **state)
{
    (void)state;
    struct etw_sim_provider *p = add((struct etw_sim_provider_options){.guid = guid_a});
    uint64_t s = rig_start(sim, "s", 64, 0);
    rig_enable(sim, s, &guid_a, 5, 0, 0);
    struct {
        struct etw_periodic_capture head;
        struct guid guid;
    } list = {{.seconds = 10, .provider_count = 1}, guid_a};
    assert_int_equal(
        api->TraceSetInformation(s, ETW_INFO_PERIODIC_CAPTURE_STATE_LIST, &list, sizeof(list)), 0);
    etw_sim_advance(sim, 35000);
    struct etw_sim_provider_state seen;
    etw_sim_provider_get(p, &seen);
    assert_int_equal(seen.capture_states, 3);
    list.head.seconds = 0;
    api->TraceSetInformation(s, ETW_INFO_PERIODIC_CAPTURE_STATE_LIST, &list, sizeof(list));
    etw_sim_advance(sim, 35000);
    etw_sim_provider_get(p, &seen);
    assert_int_equal(seen.capture_states, 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(levels_and_keywords_pass_as_documented),
        TEST(each_session_has_its_own_and_a_second_enable_replaces),
        TEST(a_manifest_provider_serves_eight_sessions),
        TEST(callbacks_are_told_what_all_sessions_want_together),
        TEST(enabling_before_the_provider_registers_is_kept),
        TEST(wrong_enables_are_refused),
        TEST(filters_beyond_their_limits_are_refused),
        TEST(ids_filter_in_and_out_but_not_for_tracelogging),
        TEST(names_filter_tracelogging_events),
        TEST(processes_filter_user_mode_providers_only),
        TEST(private_browsing_can_be_left_out),
        TEST(payloads_are_looked_at),
        TEST(payload_predicates_compare),
        TEST(properties_bring_extended_items),
        TEST(stackwalk_filters_choose_who_gets_a_stack),
        TEST(registered_providers_are_told_and_write),
        TEST(activity_ids_belong_to_threads),
        TEST(groups_enable_their_members_but_those_disallowed),
        TEST(a_classic_provider_serves_the_last_that_enabled_it),
        TEST(mof_fields_and_guid_pointers_are_followed),
        TEST(messages_have_sequence_numbers_from_one),
        TEST(sequence_numbers_are_in_the_record),
        TEST(providers_can_be_enumerated_with_who_enabled_them),
        TEST(access_descriptors_are_self_relative),
        TEST(capture_state_runs_by_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
