/* Providers of the simulated Windows: enabling, callbacks, groups, and registrations
 * (enabletraceex2, provider-traits). */
#include "sim_provider_rig.h"
#include "support/etl_put.h"
#include "support/etw_sim/etw_sim_rig.h"

/* ---- level, keyword -------------------------------------------------------------------------- */

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
        {5, 0x6, 0, ETW_ENABLE_IGNORE_KEYWORD_0, 4, 0, false}, /* unless this property is set */
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
    /* an update is no second session */
    assert_int_equal(rig_enable(sim, session, &guid_a, 4, 0, 0), 0);
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

/* MatchAnyKeyword 0 is every keyword for providers of manifests and TraceLogging, and
 * MatchAllKeyword is not used then (enabletraceex2). A classic provider gets its flags as they
 * are. */
static void callbacks_are_told_every_keyword_where_a_session_names_none(void **state)
{
    (void)state;
    struct etw_sim_provider *p = add((struct etw_sim_provider_options){.guid = guid_a});
    struct etw_sim_provider *classic = add(
        (struct etw_sim_provider_options){.guid = guid_b, .kind = ETW_SIM_CLASSIC});
    struct etw_sim_provider_state seen;
    uint64_t s = rig_start(sim, "s", 64, 0);
    uint64_t t = rig_start(sim, "t", 64, 0);
    rig_enable(sim, s, &guid_a, 4, 0, 0x10);
    etw_sim_provider_get(p, &seen);
    assert_int_equal(seen.any, UINT64_MAX);
    assert_int_equal(seen.all, 0);
    rig_enable(sim, t, &guid_a, 4, 0x4, 0x4);
    etw_sim_provider_get(p, &seen);
    assert_int_equal(seen.any, UINT64_MAX);
    assert_int_equal(seen.all, 0);
    rig_stop(sim, "s");
    etw_sim_provider_get(p, &seen);
    assert_int_equal(seen.any, 0x4);
    assert_int_equal(seen.all, 0x4);
    rig_enable(sim, t, &guid_b, 4, 0, 0);
    etw_sim_provider_get(classic, &seen);
    assert_true(seen.enabled);
    assert_int_equal(seen.any, 0);
}

/* TraceLoggingProvider.h compares level and keyword with the values that the callback got, and only
 * then calls EventWriteTransfer. */
static void tracelogging_providers_look_at_what_they_were_told_before_they_write(void **state)
{
    (void)state;
    struct etw_sim_provider *p = add(
        (struct etw_sim_provider_options){.guid = guid_a, .kind = ETW_SIM_TRACELOGGING});
    struct etw_sim_session_info info;
    uint64_t s = rig_start(sim, "s", 64, 0);
    rig_enable(sim, s, &guid_a, 4, 0, 0);
    assert_true(passes_level_keyword(p, 4, 0x1));
    assert_true(passes_level_keyword(p, 4, UINT64_C(1) << 47));
    rig_enable(sim, s, &guid_a, 4, 0x6, 0x2);
    assert_true(passes_level_keyword(p, 4, 0x3));
    assert_true(passes_level_keyword(p, 4, 0));
    assert_false(passes_level_keyword(p, 4, 0x4));
    assert_false(passes_level_keyword(p, 4, 0x1));
    assert_false(passes_level_keyword(p, 5, 0x2));
    assert_true(etw_sim_session_get(sim, "s", &info));
    assert_int_equal(info.counts.offered, 4); /* the others were not written at all */
    rig_enable(sim, s, &guid_a, 0, 0x6, 0);
    assert_true(passes_level_keyword(p, 255, 0x2));
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

/* ---- the functions of providers -------------------------------------------------------------- */

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
    const struct event_descriptor d = {.id = 99, .level = 4};
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
    assert_int_equal(api->EventSetInformation(told.handle, 3, "\1", 1), 0);
    const struct event_descriptor d = {.id = 3, .level = 4, .keyword = 1};
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
    assert_int_equal(e->header.process_id, 4711); /* the registered process */
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

/* The simulator ignores EVENT_DATA_DESCRIPTOR.Type until a provider says that it sets it: others
 * leave meaningless bytes there (event_info_class). */
static void types_of_descriptors_count_once_a_provider_says_so(void **state)
{
    (void)state;
    struct rig_consumer c;
    uint64_t handle = 0;
    uint64_t s = rig_start(sim, "s", 64, 0);
    assert_true(rig_consumer_start(&c, sim, "s", 0));
    rig_enable(sim, s, &guid_a, 5, 0, 0);
    assert_int_equal(api->EventRegister(&guid_a, NULL, NULL, &handle), 0);
    const struct event_descriptor d = {.id = 3, .level = 4};
    const struct etw_data data[] = {{(uint64_t)(uintptr_t) "\x05\x00\x00"
                                                           "e",
                                        5, 1, 0, 0},
        {(uint64_t)(uintptr_t) "\x04\x00n", 4, 2, 0, 0}, {(uint64_t)(uintptr_t) "pay", 3, 0, 0, 0}};
    assert_int_equal(api->EventSetInformation(handle, 3, "\1\0", 2), ETW_ERROR_INVALID_PARAMETER);
    assert_int_equal(api->EventWriteTransfer(handle, &d, NULL, NULL, 3, data), 0);
    assert_int_equal(api->EventSetInformation(handle, 3, "\1", 1), 0);
    assert_int_equal(api->EventWriteTransfer(handle, &d, NULL, NULL, 3, data), 0);
    assert_int_equal(api->EventSetInformation(handle, 3, "\0", 1), 0);
    assert_int_equal(api->EventWriteTransfer(handle, &d, NULL, NULL, 3, data), 0);
    assert_int_equal(api->EventSetInformation(handle, 2, "\x05\x00Nm", 5), 0); /* traits */
    assert_int_equal(api->EventWriteTransfer(handle, &d, NULL, NULL, 3, data), 0);
    assert_int_equal(api->EventWriteTransfer(handle, &d, NULL, NULL, 1, &data[2]), 0);
    rig_stop(sim, "s");
    rig_consumer_wait(&c);
    assert_int_equal(c.count, 5);
    static const struct {
        uint16_t payload, items, first;
    } expected[] = {{12, 0, 0}, {3, 2, EXTENDED_SCHEMA_TL}, {12, 0, 0}, {3, 2, EXTENDED_SCHEMA_TL},
        {3, 1, EXTENDED_PROV_TRAITS}};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(c.events[i].payload_size, expected[i].payload);
        assert_int_equal(c.events[i].item_count, expected[i].items);
        if (expected[i].items) {
            assert_int_equal(c.events[i].item_types[0], expected[i].first);
        }
    }
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
    assert_int_equal(api->EventSetInformation(handle + 1, 2, NULL, 0), ETW_ERROR_INVALID_PARAMETER);
    assert_int_equal(api->EventSetInformation(handle, 4, NULL, 0), ETW_ERROR_NOT_SUPPORTED);
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

/* ---- registrations --------------------------------------------------------------------------- */

static void providers_can_be_enumerated_with_the_sessions_that_enabled_them(void **state)
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
    const struct CMUnitTest tests[] = {
        TEST(levels_and_keywords_pass_as_documented),
        TEST(each_session_has_its_own_and_a_second_enable_replaces),
        TEST(a_manifest_provider_serves_eight_sessions),
        TEST(callbacks_are_told_what_all_sessions_want_together),
        TEST(callbacks_are_told_every_keyword_where_a_session_names_none),
        TEST(tracelogging_providers_look_at_what_they_were_told_before_they_write),
        TEST(enabling_before_the_provider_registers_is_kept),
        TEST(wrong_enables_are_refused),
        TEST(registered_providers_are_told_and_write),
        TEST(types_of_descriptors_count_once_a_provider_says_so),
        TEST(activity_ids_belong_to_threads),
        TEST(groups_enable_their_members_but_those_disallowed),
        TEST(providers_can_be_enumerated_with_the_sessions_that_enabled_them),
        TEST(access_descriptors_are_self_relative),
        TEST(capture_state_runs_by_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
