/* Kernel events of the simulated Windows (nt-kernel-logger-constants, tracesetinformation,
 * system-providers). */
#include "support/test.h"

#include "etw/session/etw_kernel.h"
#include "event/model/kernel_groups.h"
#include "support/etl_put.h"
#include "support/etw_sim/etw_sim_rig.h"

static struct etw_sim *sim;
static const struct etw_api *api;

static int make(uint32_t build)
{
    sim = etw_sim_create(&(struct etw_sim_options){.os_build = build}, NULL);
    api = sim ? etw_sim_api(sim) : NULL;
    return sim ? 0 : -1;
}

static int setup(void **state)
{
    (void)state;
    return make(19045);
}

static int teardown(void **state)
{
    (void)state;
    etw_sim_destroy(sim);
    sim = NULL;
    return 0;
}

static uint64_t start_system(const char *name, uint32_t flags)
{
    struct rig_block b;
    uint64_t session = 0;
    rig_block_init(&b, NULL);
    b.p.log_file_mode = ETW_MODE_REAL_TIME | ETW_MODE_SYSTEM_LOGGER;
    b.p.enable_flags = flags;
    assert_int_equal(rig_start_block(sim, name, &b, &session), 0);
    return session;
}

static uint64_t logged(const char *name)
{
    struct etw_sim_session_info info;
    assert_true(etw_sim_session_get(sim, name, &info));
    assert_int_equal(info.counts.offered,
        info.counts.filtered + info.counts.withheld + info.counts.events_lost + info.counts.logged);
    return info.counts.logged;
}

static bool gets(const char *name, uint16_t hook)
{
    uint64_t before = logged(name);
    const struct etw_sim_kernel_event event = {
        .hook_id = hook, .process_id = 4, .thread_id = 8, .payload = span_text("kernel")};
    assert_int_equal(etw_sim_kernel_write(sim, &event), 0);
    return logged(name) > before;
}

static void events_go_where_the_flags_cover_them(void **state)
{
    (void)state;
    static const struct {
        uint32_t flag;
        uint16_t in, out;
    } cases[] = {{0x1, 0x0301, 0x0501}, {0x2, 0x0501, 0x0524}, {0x4, 0x030a, 0x0301},
        {0x10, 0x0524, 0x0501}, {0x20, 0x0f42, 0x0f43}, {0x40, 0x0f43, 0x0f42},
        {0x80, 0x0f33, 0x0f2e}, {0x100, 0x010a, 0x010c}, {0x200, 0x0424, 0x044c},
        {0x400, 0x010c, 0x010a}, {0x1000, 0x020c, 0x0220}, {0x2000, 0x0220, 0x020c},
        {0x4000, 0x0262, 0x0220}, {0x10000, 0x060a, 0x090a}, {0x20000, 0x090a, 0x060a},
        {0x100000, 0x1a21, 0x0301}, {0x1000000, 0x0f2e, 0x0f33}, {0x2000000, 0x044c, 0x0424}};
    uint64_t session = start_system("k", 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t mask[8] = {cases[i].flag};
        assert_int_equal(
            api->TraceSetInformation(session, ETW_INFO_SYSTEM_ENABLE_FLAGS, mask, sizeof(mask)), 0);
        assert_true(gets("k", cases[i].in));
        assert_false(gets("k", cases[i].out));
    }
}

static void group_masks_replace_all_words(void **state)
{
    (void)state;
    uint64_t session = start_system("k", 0x3);
    uint32_t mask[8] = {0};
    uint32_t size = 0;
    assert_int_equal(api->TraceQueryInformation(
                         session, ETW_INFO_SYSTEM_ENABLE_FLAGS, mask, sizeof(mask), &size),
        0);
    assert_int_equal(size, 32);
    assert_int_equal(mask[0], 3);
    assert_false(gets("k", 0x0529)); /* SPINLOCK: word 1 */
    mask[0] = 0;
    mask[1] = 0x10000;
    assert_int_equal(
        api->TraceSetInformation(session, ETW_INFO_SYSTEM_ENABLE_FLAGS, mask, sizeof(mask)), 0);
    assert_true(gets("k", 0x0529));
    assert_false(gets("k", 0x0301));
    assert_int_equal(api->TraceSetInformation(session, ETW_INFO_SYSTEM_ENABLE_FLAGS, mask, 4),
        ETW_ERROR_BAD_LENGTH);
    uint64_t other = rig_start(sim, "user", 64, 0);
    assert_int_equal(
        api->TraceSetInformation(other, ETW_INFO_SYSTEM_ENABLE_FLAGS, mask, sizeof(mask)),
        ETW_ERROR_INVALID_PARAMETER);
}

static void an_extension_block_brings_masks_and_stacks(void **state)
{
    (void)state;
    struct {
        struct rig_block b;
        uint8_t block[4 * 0xff];
    } all;
    struct buf items;
    uint64_t session = 0;
    buf_init(&items, 64);
    etl_put_u16(&items, 1 + 9 + 3);
    etl_put_u16(&items, 2);
    etl_put_u16(&items, 9); /* its length in dwords */
    etl_put_u16(&items, 1); /* ENABLE_FLAGS */
    for (uint32_t i = 0; i < 8; i++) {
        etl_put_u32(&items, i == 0 ? 0x1 : i == 2 ? 0x40 : 0);
    }
    etl_put_u16(&items, 3);
    etl_put_u16(&items, 3); /* STACKWALK_FILTER */
    etl_put_u32(&items, 0x0301);
    etl_put_u32(&items, 0x030a);
    rig_block_init(&all.b, NULL);
    memset(all.block, 0, sizeof(all.block));
    memcpy(all.block, items.data, items.size);
    all.b.p.wnode.buffer_size = sizeof(all);
    all.b.p.log_file_mode = ETW_MODE_REAL_TIME | ETW_MODE_SYSTEM_LOGGER;
    all.b.p.enable_flags = 0x80ff0000 | (uint32_t)offsetof(__typeof__(all), block);
    assert_int_equal(rig_start_block(sim, "k", &all.b, &session), 0);
    struct etw_sim_session_info info;
    etw_sim_session_get(sim, "k", &info);
    assert_int_equal(info.group_mask[0], 1);
    assert_int_equal(info.group_mask[2], 0x40);
    assert_int_equal(info.stack_ids, 2);
    all.b.p.wnode.guid = (struct guid){{0}};
    all.b.p.enable_flags = 0x80ff0000 | (uint32_t)offsetof(__typeof__(all), block);
    all.block[0] = 2; /* the items run out of the block */
    assert_int_equal(rig_start_block(sim, "l", &all.b, &session), ETW_ERROR_INVALID_PARAMETER);
    all.block[0] = 13;
    /* The list is whole, but 0xff dwords are not there. */
    all.b.p.wnode.buffer_size = offsetof(__typeof__(all), block) + sizeof(all.block) - 4;
    assert_int_equal(rig_start_block(sim, "l", &all.b, &session), ETW_ERROR_INVALID_PARAMETER);
    all.b.p.wnode.buffer_size = sizeof(all);
    assert_int_equal(rig_start_block(sim, "l", &all.b, &session), 0);
    buf_fini(&items);
}

static void stacks_follow_the_events_that_are_listed(void **state)
{
    (void)state;
    struct rig_consumer c;
    uint64_t session = start_system("k", 0x3);
    struct etw_classic_event_id ids[2] = {
        {.guid = *kernel_group_class(0x0501), .type = 1}, {.guid = *kernel_group_class(0x0301)}};
    assert_int_equal(
        api->TraceSetInformation(session, ETW_INFO_STACK_TRACING, ids, sizeof(ids)), 0);
    ids[0].guid = *kernel_group_class(0x0301); /* the second call replaces the list */
    assert_int_equal(
        api->TraceSetInformation(session, ETW_INFO_STACK_TRACING, ids, sizeof(ids[0])), 0);
    assert_int_equal(
        api->TraceSetInformation(session, ETW_INFO_STACK_TRACING, ids, 23), ETW_ERROR_BAD_LENGTH);
    assert_true(rig_consumer_start(&c, sim, "k", ETW_PROCESS_RAW_TIMESTAMP));
    gets("k", 0x0501);
    gets("k", 0x0301);
    rig_stop(sim, "k");
    rig_consumer_wait(&c);
    assert_int_equal(c.count, 3);
    assert_true(guid_equal(&c.events[0].header.provider_id, kernel_group_class(0x0501)));
    assert_true(guid_equal(&c.events[1].header.provider_id, kernel_group_class(0x0301)));
    const struct rig_event *stack = &c.events[2];
    assert_true(rig_is(&stack->header.provider_id, "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3"));
    assert_int_equal(stack->header.descriptor.opcode, 32);
    assert_true(load_le64(stack->payload) == (uint64_t)c.events[1].header.time_stamp);
    assert_int_equal(load_le32(stack->payload + 8), 4);
    assert_int_equal(load_le32(stack->payload + 12), 8);
    assert_true(c.events[0].header.flags & EVENT_FLAG_CLASSIC);
    rig_consumer_fini(&c);
}

static void classes_and_opcodes_name_hooks(void **state)
{
    (void)state;
    start_system("k", 0x4);
    const struct etw_sim_kernel_event load = {
        .class_guid = *kernel_group_class(0x1402), .opcode = 10};
    etw_sim_kernel_write(sim, &load);
    assert_int_equal(logged("k"), 1);
}

static void system_providers_switch_groups_on_newer_systems(void **state)
{
    (void)state;
    struct guid process;
    struct guid io;
    guid_parse(span_text("151f55dc-467d-471f-83b5-5f889d46ff66"), &process);
    guid_parse(span_text("3d5c43e3-0f1c-4202-b817-174c0070dc79"), &io);
    for (uint32_t build = 19045; build <= 22621; build += 22621 - 19045) {
        teardown(NULL);
        make(build);
        uint64_t session = start_system("k", 0);
        assert_int_equal(rig_enable(sim, session, &process, 0, 0x1801, 0), 0);
        assert_int_equal(rig_enable(sim, session, &io, 0, 0x200, 0), 0);
        bool newer = build > 20000;
        assert_int_equal(gets("k", 0x0301), newer);
        assert_int_equal(gets("k", 0x0501), newer);
        assert_int_equal(gets("k", 0x030a), newer);
        assert_int_equal(gets("k", 0x060a), newer);
        assert_false(gets("k", 0x010a));
        api->EnableTraceEx2(session, &process, ETW_PROVIDER_DISABLE, 0, 0, 0, 0, NULL);
        assert_false(gets("k", 0x0301));
        assert_int_equal(gets("k", 0x060a), newer);
    }
}

static const struct guid io_provider = {{0xe3, 0x43, 0x5c, 0x3d, 0x1c, 0x0f, 0x02, 0x42, 0xb8, 0x17,
    0x17, 0x4c, 0x00, 0x70, 0xdc, 0x79}}; /* 3d5c43e3-0f1c-4202-b817-174c0070dc79 */

/* A session with a flag, a group of word 1 and a system provider. */
static uint64_t start_with_all(uint32_t flags)
{
    uint64_t session = start_system("k", flags);
    uint32_t mask[8] = {flags, 0x10000};
    assert_int_equal(
        api->TraceSetInformation(session, ETW_INFO_SYSTEM_ENABLE_FLAGS, mask, sizeof(mask)), 0);
    assert_int_equal(rig_enable(sim, session, &io_provider, 0, 0x200, 0), 0);
    assert_true(gets("k", 0x0301) && gets("k", 0x0529) && gets("k", 0x060a));
    return session;
}

static void an_update_switches_off_what_it_does_not_name(void **state)
{
    (void)state;
    teardown(NULL);
    make(22621);
    uint64_t session = start_with_all(0x1);
    for (uint32_t flags = 0; flags < 2; flags++) {
        struct rig_block b;
        rig_block_init(&b, NULL);
        b.p.log_file_mode = ETW_MODE_REAL_TIME;
        b.p.enable_flags = flags;
        assert_int_equal(api->ControlTraceW(session, NULL, &b.p, ETW_CONTROL_UPDATE), 0);
        assert_int_equal(gets("k", 0x0301), flags == 1);
        assert_false(gets("k", 0x0529));
        assert_false(gets("k", 0x060a));
    }
    assert_int_equal(rig_enable(sim, session, &io_provider, 0, 0x200, 0), 0);
    assert_true(gets("k", 0x060a));
}

/* The agent's own UPDATE, with the groups that it knows and with those that Windows reports. */
static void the_agents_update_leaves_kernel_events_on(void **state)
{
    (void)state;
    const struct etw_groups own = {.words = {0x1, 0x10000}};
    for (int with_own = 0; with_own < 2; with_own++) {
        teardown(NULL);
        make(22621);
        etw_api_use(api);
        uint64_t session = start_with_all(0x1);
        struct etw_session_state after;
        const struct etw_session_change change = {
            .set_flush = true, .flush_ms = 5000, .groups = with_own ? &own : NULL};
        assert_true(etw_control_update("k", &change, &after, NULL));
        assert_int_equal(after.flush_ms, 5000);
        assert_true(gets("k", 0x0301));
        assert_true(gets("k", 0x0529));
        assert_int_equal(
            gets("k", 0x060a), !with_own); /* the program that has enabled it enables it again */
        const struct etw_session_change flags = {.set_enable_flags = true, .enable_flags = 0x2};
        assert_true(etw_control_update("k", &flags, &after, NULL));
        assert_false(gets("k", 0x0301));
        assert_true(gets("k", 0x0501));
        assert_true(gets("k", 0x0529));
        assert_int_equal(api->ControlTraceW(session, NULL,
                             &(struct etw_properties){.wnode.buffer_size = 120}, ETW_CONTROL_STOP),
            0);
        etw_api_use(NULL);
    }
}

static void the_profile_interval_is_the_machines(void **state)
{
    (void)state;
    struct etw_profile_interval interval = {0, 5000};
    struct etw_profile_interval now = {0, 0};
    uint32_t size = 0;
    assert_int_equal(
        api->TraceSetInformation(0, ETW_INFO_SAMPLED_PROFILE_INTERVAL, &interval, sizeof(interval)),
        0);
    assert_int_equal(
        api->TraceQueryInformation(0, ETW_INFO_SAMPLED_PROFILE_INTERVAL, &now, sizeof(now), &size),
        0);
    assert_int_equal(now.interval_100ns, 5000);
    now.source = 11; /* the block says which one */
    assert_int_equal(
        api->TraceQueryInformation(0, ETW_INFO_SAMPLED_PROFILE_INTERVAL, &now, sizeof(now), &size),
        0);
    assert_int_equal(now.source, 11);
    assert_int_equal(now.interval_100ns, 65536);
    now.source = 12;
    assert_int_equal(
        api->TraceQueryInformation(0, ETW_INFO_SAMPLED_PROFILE_INTERVAL, &now, sizeof(now), &size),
        ETW_ERROR_INVALID_PARAMETER);
    uint8_t sources[1024];
    assert_int_equal(api->TraceQueryInformation(
                         0, ETW_INFO_PROFILE_SOURCE_LIST, sources, sizeof(sources), &size),
        0);
    assert_true(load_le32(sources) > 24 && load_le32(sources) < size);
    etw_sim_destroy(sim);
    sim = etw_sim_create(&(struct etw_sim_options){.no_profile_privilege = true}, NULL);
    api = etw_sim_api(sim);
    assert_int_equal(
        api->TraceSetInformation(0, ETW_INFO_SAMPLED_PROFILE_INTERVAL, &interval, sizeof(interval)),
        ETW_ERROR_PRIVILEGE_NOT_HELD);
}

static void only_what_is_the_machines_is_told_without_a_session(void **state)
{
    (void)state;
    uint32_t on[2] = {2, 19};
    uint32_t now[4] = {0};
    uint32_t size = 0;
    assert_int_equal(
        api->TraceSetInformation(0, ETW_INFO_PROFILE_SOURCE_CONFIG, on, sizeof(on)), 0);
    assert_int_equal(
        api->TraceQueryInformation(0, ETW_INFO_PROFILE_SOURCE_CONFIG, now, sizeof(now), &size), 0);
    assert_int_equal(size, sizeof(on));
    assert_memory_equal(now, on, sizeof(on));
    on[1] = 20;
    assert_int_equal(api->TraceSetInformation(0, ETW_INFO_PROFILE_SOURCE_CONFIG, on, sizeof(on)),
        ETW_ERROR_INVALID_PARAMETER);
    assert_int_equal(
        api->TraceQueryInformation(0, ETW_INFO_MAX_PMC_COUNTERS, now, sizeof(now), &size), 0);
    assert_int_equal(size, 4);
    assert_int_equal(api->TraceQueryInformation(0, ETW_INFO_VERSION, now, sizeof(now), &size), 0);
    assert_int_equal(size, 8);
    static const uint32_t of_sessions[] = {ETW_INFO_STACK_TRACING, ETW_INFO_SYSTEM_ENABLE_FLAGS,
        ETW_INFO_DISALLOW_LIST_QUERY, ETW_INFO_STREAM_COUNT};
    for (size_t i = 0; i < sizeof(of_sessions) / sizeof(of_sessions[0]); i++) {
        assert_int_equal(api->TraceQueryInformation(0, of_sessions[i], now, sizeof(now), &size),
            ETW_ERROR_INVALID_PARAMETER);
        assert_int_equal(api->TraceQueryInformation(777, of_sessions[i], now, sizeof(now), &size),
            ETW_ERROR_WMI_INSTANCE_NOT_FOUND);
    }
    now[0] = 0;
    assert_int_equal(
        api->EnumerateTraceGuidsEx(ETW_INFO_MAX_LOGGERS, NULL, 0, now, sizeof(now), &size), 0);
    assert_int_equal(now[0], 64);
}

static void streams_are_as_many_as_processors(void **state)
{
    (void)state;
    uint64_t many = rig_start(sim, "many", 64, 0);
    uint64_t one = rig_start(sim, "one", 64, ETW_MODE_NO_PER_PROCESSOR_BUFFERING);
    uint32_t streams = 0;
    uint32_t size = 0;
    assert_int_equal(
        api->TraceQueryInformation(many, ETW_INFO_STREAM_COUNT, &streams, sizeof(streams), &size),
        0);
    assert_int_equal(streams, 2);
    assert_int_equal(
        api->TraceQueryInformation(one, ETW_INFO_STREAM_COUNT, &streams, sizeof(streams), &size),
        0);
    assert_int_equal(streams, 1);
    assert_int_equal(api->TraceQueryInformation(one, 99, &streams, sizeof(streams), &size),
        ETW_ERROR_NOT_SUPPORTED);
}

static void processes_that_were_there_are_told_at_start_and_end(void **state)
{
    (void)state;
    struct rig_consumer c;
    etw_sim_process_start(sim, &(struct etw_sim_process){.pid = 0x90000001, .image = "one.exe"});
    uint64_t session = start_system("k", 0x1);
    start_system("other", 0x2);
    assert_true(rig_consumer_start(&c, sim, "k", 0));
    struct guid system;
    guid_parse(span_text("9e814aad-3204-11d2-9a82-006008a86939"), &system);
    assert_int_equal(
        api->EnableTraceEx2(session, &system, ETW_PROVIDER_CAPTURE_STATE, 0, 0, 0, 0, NULL), 0);
    rig_stop(sim, "k");
    rig_consumer_wait(&c);
    assert_int_equal(c.count, 3);
    for (int i = 0; i < 3; i++) {
        const struct rig_event *e = &c.events[i];
        assert_true(guid_equal(&e->header.provider_id, kernel_group_class(0x0303)));
        assert_int_equal(e->header.descriptor.opcode, i == 2 ? 4 : 3);
        assert_int_equal(e->header.descriptor.version, 4);
        assert_int_equal(load_le32(e->payload + 8), 0x90000001); /* pids have 32 bits */
        assert_string_equal((const char *)e->payload + 40, "one.exe");
    }
    assert_int_equal(logged("other"), 0);
    rig_consumer_fini(&c);
}

static void a_start_time_of_now_drops_what_was_there_before(void **state)
{
    (void)state;
    static const struct {
        bool with_start;
        uint64_t count;
    } cases[] = {{false, 2}, {true, 1}};
    etw_sim_process_start(sim, &(struct etw_sim_process){.pid = 44, .image = "one.exe"});
    for (size_t i = 0; i < 2; i++) {
        struct rig_block b;
        struct rig_consumer c;
        start_system("k", 0x5);
        assert_true(rig_consumer_open(&c, sim, "k", 0));
        etw_sim_advance(sim, 10);
        int64_t now = (int64_t)etw_sim_filetime(sim);
        gets("k", 0x030a);
        rig_control(sim, "k", ETW_CONTROL_FLUSH, &b);
        assert_int_equal(rig_control(sim, "k", ETW_CONTROL_QUERY, &b), 0);
        c.stop_after = b.p.buffers_written;
        assert_int_equal(api->ProcessTrace(&c.trace, 1, cases[i].with_start ? &now : NULL, NULL),
            ETW_ERROR_CANCELLED);
        assert_int_equal(c.count, cases[i].count); /* the rundown, and the image's load */
        rig_stop(sim, "k");
        rig_consumer_fini(&c);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(events_go_where_the_flags_cover_them),
        TEST(group_masks_replace_all_words),
        TEST(an_extension_block_brings_masks_and_stacks),
        TEST(stacks_follow_the_events_that_are_listed),
        TEST(classes_and_opcodes_name_hooks),
        TEST(system_providers_switch_groups_on_newer_systems),
        TEST(an_update_switches_off_what_it_does_not_name),
        TEST(the_agents_update_leaves_kernel_events_on),
        TEST(the_profile_interval_is_the_machines),
        TEST(only_what_is_the_machines_is_told_without_a_session),
        TEST(streams_are_as_many_as_processors),
        TEST(processes_that_were_there_are_told_at_start_and_end),
        TEST(a_start_time_of_now_drops_what_was_there_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
