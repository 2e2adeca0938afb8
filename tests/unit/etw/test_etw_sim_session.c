/* Sessions of the simulated Windows: start, query, update, stop, limits (StartTrace,
 * ControlTrace, EVENT_TRACE_PROPERTIES and "Logging Mode Constants" on learn.microsoft.com). */
#include "support/test.h"

#include <stdio.h>

#include "support/etw_sim/etw_sim_rig.h"

static struct etw_sim *sim;

static int setup(void **state)
{
    (void)state;
    sim = etw_sim_create(&(struct etw_sim_options){.processors = 4}, NULL);
    etw_api_use(etw_sim_api(sim));
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

static void a_second_world_is_refused(void **state)
{
    (void)state;
    struct error err = {0};
    assert_null(etw_sim_create(&(struct etw_sim_options){0}, &err));
    assert_int_equal(err.code, ERR_CONFIG);
    assert_ptr_equal(etw_sim_world(), sim);
}

static void a_session_gets_a_handle_and_the_sizes_in_force(void **state)
{
    (void)state;
    struct rig_block b;
    uint64_t session = 0;
    rig_block_init(&b, NULL);
    b.p.log_file_mode = ETW_MODE_REAL_TIME;
    b.p.buffer_size = 64;
    b.p.minimum_buffers = 1;
    assert_int_equal(rig_start_block(sim, "one", &b, &session), 0);
    assert_true(session != 0);
    assert_true(b.p.wnode.historical_context == session);
    assert_int_equal(b.p.buffer_size, 64);
    assert_int_equal(b.p.minimum_buffers, 8); /* two for each of four processors */
    assert_true(b.p.maximum_buffers >= b.p.minimum_buffers);
    assert_true(b.p.number_of_buffers > 0);
    assert_int_equal(b.p.wnode.buffer_size, sizeof(b));
    assert_int_equal(b.p.logger_name_offset, offsetof(struct rig_block, name));
    assert_int_equal(b.p.log_file_name_offset, 0);
    assert_int_equal(b.name[0], 'o');
}

static void one_stream_needs_two_buffers(void **state)
{
    (void)state;
    struct etw_sim_session_info info;
    assert_true(rig_start(sim, "one", 64, ETW_MODE_NO_PER_PROCESSOR_BUFFERING) != 0);
    assert_true(etw_sim_session_get(sim, "one", &info));
    assert_int_equal(info.minimum_buffers, 2);
}

static void a_name_or_guid_that_is_taken_leaves_the_session_alone(void **state)
{
    (void)state;
    struct rig_block b;
    uint64_t first = rig_start(sim, "One", 64, 0);
    uint64_t second = 77;
    rig_block_init(&b, NULL);
    b.p.log_file_mode = ETW_MODE_REAL_TIME;
    assert_int_equal(rig_start_block(sim, "oNE", &b, &second), ETW_ERROR_ALREADY_EXISTS);
    assert_int_equal(second, 77);
    assert_int_equal(rig_control(sim, "one", ETW_CONTROL_QUERY, &b), 0);
    assert_true(b.p.wnode.historical_context == first);
    struct guid guid = b.p.wnode.guid;
    rig_block_init(&b, NULL);
    b.p.log_file_mode = ETW_MODE_REAL_TIME;
    b.p.wnode.guid = guid;
    assert_int_equal(rig_start_block(sim, "two", &b, &second), ETW_ERROR_ALREADY_EXISTS);
    assert_int_equal(etw_sim_session_count(sim), 1);
}

static void a_query_by_handle_and_by_name_says_the_same(void **state)
{
    (void)state;
    struct rig_block by_name;
    struct rig_block by_handle;
    uint64_t session = rig_start(sim, "one", 128, ETW_MODE_INDEPENDENT_SESSION);
    assert_int_equal(rig_control(sim, "ONE", ETW_CONTROL_QUERY, &by_name), 0);
    rig_block_init(&by_handle, NULL);
    by_handle.p.log_file_name_offset = by_name.p.log_file_name_offset;
    const struct etw_api *api = etw_sim_api(sim);
    assert_int_equal(api->ControlTraceW(session, NULL, &by_handle.p, ETW_CONTROL_QUERY), 0);
    assert_memory_equal(&by_name, &by_handle, sizeof(by_name));
    assert_int_equal(by_name.p.log_file_mode, ETW_MODE_REAL_TIME | ETW_MODE_INDEPENDENT_SESSION);
    assert_int_equal(api->ControlTraceW(session + 1, NULL, &by_handle.p, ETW_CONTROL_QUERY),
        ETW_ERROR_WMI_INSTANCE_NOT_FOUND);
    assert_int_equal(
        rig_control(sim, "two", ETW_CONTROL_QUERY, &by_name), ETW_ERROR_WMI_INSTANCE_NOT_FOUND);
}

static void both_versions_of_the_properties_serve(void **state)
{
    (void)state;
    struct rig_block b;
    uint64_t session = 0;
    rig_block_init(&b, NULL);
    b.p.log_file_mode = ETW_MODE_REAL_TIME;
    b.p.wnode.flags |= ETW_WNODE_VERSIONED_PROPERTIES;
    b.p.version = 2;
    b.p.v2_options = 2;
    assert_int_equal(rig_start_block(sim, "v2", &b, &session), 0);
    assert_true(b.p.v2_options == 2);

    struct {
        uint8_t v1[ETW_PROPERTIES_V1_BYTES];
        etw_char name[16];
    } small;
    memset(&small, 0, sizeof(small));
    struct etw_properties *p = (struct etw_properties *)(void *)&small;
    p->wnode.buffer_size = sizeof(small);
    p->wnode.flags = ETW_WNODE_TRACED_GUID;
    p->logger_name_offset = sizeof(small.v1);
    p->log_file_mode = ETW_MODE_REAL_TIME;
    etw_char wide[RIG_TEXT];
    const struct etw_api *api = etw_sim_api(sim);
    assert_int_equal(api->StartTraceW(&session, rig_wide("v1", wide), p), 0);
    assert_int_equal(small.name[0], 'v');
    assert_int_equal(api->ControlTraceW(session, NULL, p, ETW_CONTROL_QUERY), 0);
    assert_int_equal(small.name[1], '1');
}

static void blocks_that_are_wrong_are_refused(void **state)
{
    (void)state;
    struct rig_block b;
    uint64_t session = 0;
    static const struct {
        uint32_t size, flags, name_offset, version, code;
    } cases[] = {
        {119, ETW_WNODE_TRACED_GUID, 120, 0, ETW_ERROR_BAD_LENGTH},
        {143, ETW_WNODE_TRACED_GUID | ETW_WNODE_VERSIONED_PROPERTIES, 144, 2, ETW_ERROR_BAD_LENGTH},
        {4000, ETW_WNODE_TRACED_GUID | ETW_WNODE_VERSIONED_PROPERTIES, 144, 3,
            ETW_ERROR_INVALID_PARAMETER},
        {4000, ETW_WNODE_TRACED_GUID, 119, 0, ETW_ERROR_INVALID_PARAMETER},
        {4000, ETW_WNODE_TRACED_GUID, 4000, 0, ETW_ERROR_INVALID_PARAMETER},
        {4000, ETW_WNODE_TRACED_GUID, 3994, 0, ETW_ERROR_BAD_LENGTH},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rig_block_init(&b, NULL);
        b.p.log_file_mode = ETW_MODE_REAL_TIME;
        b.p.wnode.buffer_size = cases[i].size;
        b.p.wnode.flags = cases[i].flags;
        b.p.logger_name_offset = cases[i].name_offset;
        b.p.version = cases[i].version;
        assert_int_equal(rig_start_block(sim, "name", &b, &session), cases[i].code);
    }
    assert_int_equal(etw_sim_session_count(sim), 0);
}

/* golang-etw says WNODE_FLAG_ALL_DATA, goetw leaves VersionNumber 0, and both run on Windows. No
 * document calls a LoggerNameOffset of 0 invalid (event_trace_properties, starttrace). */
static void blocks_that_are_only_unusual_are_taken(void **state)
{
    (void)state;
    static const struct {
        uint32_t flags, version;
        bool unnamed;
    } cases[] = {{1, 0, false}, {0, 0, false},
        {ETW_WNODE_TRACED_GUID | ETW_WNODE_VERSIONED_PROPERTIES, 0, false},
        {ETW_WNODE_TRACED_GUID, 0, true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig_block b;
        uint64_t session = 0;
        rig_block_init(&b, NULL);
        b.p.log_file_mode = ETW_MODE_REAL_TIME;
        b.p.wnode.flags = cases[i].flags;
        b.p.version = cases[i].version;
        b.p.logger_name_offset = cases[i].unnamed ? 0 : b.p.logger_name_offset;
        assert_int_equal(rig_start_block(sim, "unusual", &b, &session), 0);
        assert_int_equal(b.name[0], cases[i].unnamed ? 0 : 'u');
        assert_int_equal(rig_stop(sim, "unusual"), 0);
    }
}

static void names_that_do_not_fit_are_more_data_but_the_rest_is_told(void **state)
{
    (void)state;
    struct rig_block b;
    uint64_t session = rig_start(sim, "a rather long name", 64, 0);
    rig_block_init(&b, NULL);
    b.p.wnode.buffer_size = offsetof(struct rig_block, name) + 8;
    const struct etw_api *api = etw_sim_api(sim);
    assert_int_equal(
        api->ControlTraceW(session, NULL, &b.p, ETW_CONTROL_QUERY), ETW_ERROR_MORE_DATA);
    assert_int_equal(b.p.buffer_size, 64);
    rig_block_init(&b, NULL);
    b.p.wnode.buffer_size = offsetof(struct rig_block, name) + 8;
    assert_int_equal(
        api->ControlTraceW(session, NULL, &b.p, ETW_CONTROL_STOP), ETW_ERROR_MORE_DATA);
    assert_int_equal(etw_sim_session_count(sim), 0); /* it is stopped all the same */
}

/* Each in memory of exactly its size, so that AddressSanitizer sees what is read beyond. */
static void blocks_that_end_anywhere_are_not_read_beyond(void **state)
{
    (void)state;
    struct {
        uint8_t p[ETW_PROPERTIES_V1_BYTES];
        etw_char name[4];
        uint8_t extension[4 * 0xff];
        etw_char file[4];
    } whole;
    memset(&whole, 0, sizeof(whole));
    struct etw_properties *p = (struct etw_properties *)(void *)&whole;
    p->wnode.flags = ETW_WNODE_TRACED_GUID;
    p->log_file_mode = ETW_MODE_REAL_TIME | ETW_MODE_SYSTEM_LOGGER;
    p->logger_name_offset = offsetof(__typeof__(whole), name);
    p->enable_flags = 0x80ff0000 | (uint32_t)offsetof(__typeof__(whole), extension);
    const uint8_t head[] = {12, 0, 2, 0, 9, 0, 1, 0, 1};
    const uint8_t stacks[] = {2, 0, 3, 0, 1, 3, 0, 0};
    memcpy(whole.extension, head, sizeof(head));
    memcpy(whole.extension + 40, stacks, sizeof(stacks));
    uint32_t started = 0;
    for (uint32_t size = 0; size <= sizeof(whole); size++) {
        for (uint32_t with_file = 0; with_file < 2; with_file++) {
            etw_char wide[RIG_TEXT];
            uint64_t session = 0;
            /* Whatever the result, the caller has the first part. */
            uint32_t room = size < sizeof(struct etw_wnode) ? sizeof(struct etw_wnode) : size;
            uint8_t *block = calloc(1, room);
            memcpy(block, &whole, size);
            struct etw_properties *cut = (struct etw_properties *)(void *)block;
            cut->wnode.buffer_size = size;
            if (with_file && size >= ETW_PROPERTIES_V1_BYTES) {
                cut->log_file_name_offset = offsetof(__typeof__(whole), file);
            }
            const struct etw_api *api = etw_sim_api(sim);
            if (api->StartTraceW(&session, rig_wide("k", wide), cut) == 0) {
                started++;
                assert_int_equal(api->ControlTraceW(session, NULL, cut, ETW_CONTROL_STOP), 0);
            }
            free(block);
        }
    }
    assert_true(started > 0);
}

static void modes_that_exclude_each_other_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t mode, clock, max_size, code;
        const char *file;
    } cases[] = {
        {ETW_MODE_SEQUENTIAL | ETW_MODE_CIRCULAR, 1, 10, 87, "/tmp/never.etl"},
        {ETW_MODE_CIRCULAR | ETW_MODE_NEWFILE, 1, 10, 87, "/tmp/never%d.etl"},
        {ETW_MODE_CIRCULAR, 1, 0, 87, "/tmp/never.etl"},
        {ETW_MODE_APPEND | ETW_MODE_REAL_TIME, 2, 0, 87, "/tmp/never.etl"},
        {ETW_MODE_APPEND, 1, 0, 87, "/tmp/never.etl"},
        {ETW_MODE_NEWFILE, 1, 10, 87, "/tmp/never.etl"},
        {ETW_MODE_NEWFILE, 1, 0, 87, "/tmp/never%d.etl"},
        {ETW_MODE_NEWFILE | ETW_MODE_SYSTEM_LOGGER, 1, 10, 87, "/tmp/never%d.etl"},
        {ETW_MODE_PREALLOCATE, 1, 0, 87, "/tmp/never.etl"},
        {ETW_MODE_REAL_TIME | ETW_MODE_BUFFERING, 1, 0, 87, NULL},
        {ETW_MODE_REAL_TIME | ETW_MODE_PRIVATE_LOGGER, 1, 0, 87, NULL},
        {ETW_MODE_PRIVATE_LOGGER | ETW_MODE_INDEPENDENT_SESSION, 1, 0, 87, "/tmp/never.etl"},
        {ETW_MODE_PRIVATE_LOGGER, 1, 0, ETW_ERROR_NO_SYSTEM_RESOURCES, "/tmp/never.etl"},
        {ETW_MODE_REAL_TIME | ETW_MODE_USE_GLOBAL_SEQUENCE | ETW_MODE_USE_LOCAL_SEQUENCE, 1, 0, 87,
            NULL},
        {ETW_MODE_REAL_TIME | ETW_MODE_SYSTEM_LOGGER | ETW_MODE_USE_PAGED_MEMORY, 1, 0, 87, NULL},
        {ETW_MODE_REAL_TIME | ETW_MODE_NONSTOPPABLE, 1, 0, 87, NULL},
        {ETW_MODE_REAL_TIME, 4, 0, 87, NULL},
        {0, 1, 0, ETW_ERROR_BAD_PATHNAME, NULL},
        {0, 1, 0, ETW_ERROR_PATH_NOT_FOUND, "/tmp/no such folder/x.etl"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig_block b;
        uint64_t session = 0;
        rig_block_init(&b, cases[i].file);
        b.p.log_file_mode = cases[i].mode;
        b.p.wnode.client_context = cases[i].clock;
        b.p.maximum_file_size = cases[i].max_size;
        assert_int_equal(rig_start_block(sim, "modes", &b, &session), cases[i].code);
    }
    assert_int_equal(etw_sim_session_count(sim), 0);
}

static void the_kernel_loggers_guid_and_name_belong_together(void **state)
{
    (void)state;
    struct rig_block b;
    uint64_t session = 0;
    struct guid system;
    guid_parse(span_text("9e814aad-3204-11d2-9a82-006008a86939"), &system);
    rig_block_init(&b, NULL);
    b.p.log_file_mode = ETW_MODE_REAL_TIME;
    b.p.wnode.guid = system;
    assert_int_equal(rig_start_block(sim, "mine", &b, &session), ETW_ERROR_INVALID_PARAMETER);
    b.p.enable_flags = 1;
    assert_int_equal(rig_start_block(sim, "NT Kernel Logger", &b, &session), 0);
    struct etw_sim_session_info info;
    assert_true(etw_sim_session_get(sim, "nt kernel logger", &info));
    assert_true(info.system);
    assert_int_equal(info.group_mask[0], 1);
}

static void the_65th_session_finds_no_slot(void **state)
{
    (void)state;
    char name[16];
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        assert_true(rig_start(sim, name, 4, 0) != 0);
    }
    struct rig_block b;
    uint64_t session = 0;
    rig_block_init(&b, NULL);
    b.p.log_file_mode = ETW_MODE_REAL_TIME;
    assert_int_equal(rig_start_block(sim, "s64", &b, &session), ETW_ERROR_NO_SYSTEM_RESOURCES);
    uint32_t most = 0;
    uint32_t size = 0;
    assert_int_equal(etw_sim_api(sim)->TraceQueryInformation(
                         0, ETW_INFO_MAX_LOGGERS, &most, sizeof(most), &size),
        0);
    assert_int_equal(most, 64);
    assert_int_equal(rig_stop(sim, "s7"), 0);
    assert_int_equal(rig_start_block(sim, "s64", &b, &session), 0);
}

static void all_sessions_are_listed_though_they_are_more_than_64(void **state)
{
    (void)state;
    teardown(NULL);
    sim = etw_sim_create(&(struct etw_sim_options){.max_sessions = 100}, NULL);
    char name[16];
    for (int i = 0; i < 65; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        assert_true(rig_start(sim, name, 4, 0) != 0);
    }
    struct rig_block *blocks = calloc(80, sizeof(*blocks));
    struct etw_properties *list[80];
    for (int i = 0; i < 80; i++) {
        rig_block_init(&blocks[i], NULL);
        list[i] = &blocks[i].p;
    }
    uint32_t count = 0;
    const struct etw_api *api = etw_sim_api(sim);
    assert_int_equal(api->QueryAllTracesW(list, 64, &count), ETW_ERROR_MORE_DATA);
    assert_int_equal(count, 65);
    assert_int_equal(api->QueryAllTracesW(list, 80, &count), 0);
    assert_int_equal(count, 65);
    assert_int_equal(blocks[64].name[0], 's');
    assert_int_equal(api->QueryAllTracesW(list, 0, &count), ETW_ERROR_INVALID_PARAMETER);
    assert_int_equal(api->QueryAllTracesW(list, 101, &count), ETW_ERROR_INVALID_PARAMETER);
    free(blocks);
}

static void two_of_the_eight_system_loggers_are_kept_for_names(void **state)
{
    (void)state;
    char name[16];
    for (int i = 0; i < 6; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        assert_true(rig_start(sim, name, 64, ETW_MODE_SYSTEM_LOGGER) != 0);
    }
    struct rig_block b;
    uint64_t session = 0;
    rig_block_init(&b, NULL);
    b.p.log_file_mode = ETW_MODE_REAL_TIME | ETW_MODE_SYSTEM_LOGGER;
    assert_int_equal(rig_start_block(sim, "k6", &b, &session), ETW_ERROR_NO_SYSTEM_RESOURCES);
    assert_true(rig_start(sim, "NT Kernel Logger", 64, 0) != 0);
    assert_true(rig_start(sim, "Circular Kernel Context Logger", 64, ETW_MODE_SYSTEM_LOGGER) != 0);
    assert_int_equal(rig_start_block(sim, "k6", &b, &session), ETW_ERROR_NO_SYSTEM_RESOURCES);
    assert_int_equal(rig_stop(sim, "k0"), 0);
    assert_int_equal(rig_start_block(sim, "k6", &b, &session), 0);
}

static void update_changes_what_it_may(void **state)
{
    (void)state;
    struct rig_block b;
    uint64_t session = rig_start(sim, "one", 64, 0);
    rig_block_init(&b, NULL);
    b.p.log_file_mode = ETW_MODE_REAL_TIME;
    b.p.flush_timer = 7;
    b.p.maximum_buffers = 90;
    b.p.buffer_size = 512; /* not one of the possible sizes */
    const struct etw_api *api = etw_sim_api(sim);
    assert_int_equal(api->ControlTraceW(session, NULL, &b.p, ETW_CONTROL_UPDATE), 0);
    assert_int_equal(b.p.flush_timer, 7);
    assert_int_equal(b.p.maximum_buffers, 90);
    assert_int_equal(b.p.buffer_size, 64);
    struct etw_sim_session_info info;
    etw_sim_session_get(sim, "one", &info);
    assert_int_equal(info.flush_timer_ms, 7000);
}

static void update_clears_and_sets_the_kernel_loggers_flags(void **state)
{
    (void)state;
    struct rig_block b;
    struct etw_sim_session_info info;
    uint64_t session = 0;
    rig_block_init(&b, NULL);
    b.p.log_file_mode = ETW_MODE_REAL_TIME;
    b.p.enable_flags = 3;
    assert_int_equal(rig_start_block(sim, "NT Kernel Logger", &b, &session), 0);
    const struct etw_api *api = etw_sim_api(sim);
    for (uint32_t flags = 0; flags < 8; flags += 7) {
        rig_block_init(&b, NULL);
        b.p.log_file_mode = ETW_MODE_REAL_TIME;
        b.p.enable_flags = flags;
        assert_int_equal(api->ControlTraceW(session, NULL, &b.p, ETW_CONTROL_UPDATE), 0);
        etw_sim_session_get(sim, "NT Kernel Logger", &info);
        assert_int_equal(info.group_mask[0], flags);
    }
}

static void flush_timers_count_seconds_or_milliseconds(void **state)
{
    (void)state;
    struct rig_block b;
    struct etw_sim_session_info info;
    uint64_t session = 0;
    rig_start(sim, "default", 64, 0);
    etw_sim_session_get(sim, "default", &info);
    assert_int_equal(info.flush_timer_ms, 1000);
    rig_control(
        sim, "default", ETW_CONTROL_QUERY, &b); /* real time: 0 means a second, and says so */
    assert_int_equal(b.p.flush_timer, 1);
    rig_block_init(&b, NULL);
    b.p.log_file_mode = ETW_MODE_REAL_TIME | ETW_MODE_USE_MS_FLUSH_TIMER;
    b.p.flush_timer = 50;
    assert_int_equal(rig_start_block(sim, "ms", &b, &session), 0);
    etw_sim_session_get(sim, "ms", &info);
    assert_int_equal(info.flush_timer_ms, 50);
    teardown(NULL);
    sim = etw_sim_create(&(struct etw_sim_options){.no_ms_flush_timer = true}, NULL);
    assert_int_equal(rig_start_block(sim, "ms", &b, &session), ETW_ERROR_INVALID_PARAMETER);
}

static void a_block_can_serve_again_after_the_stop(void **state)
{
    (void)state;
    struct rig_block b;
    uint64_t session = 0;
    rig_block_init(&b, NULL);
    b.p.log_file_mode = ETW_MODE_REAL_TIME;
    for (int i = 0; i < 200; i++) {
        assert_int_equal(rig_start_block(sim, "again", &b, &session), 0);
        const struct etw_api *api = etw_sim_api(sim);
        assert_int_equal(api->ControlTraceW(session, NULL, &b.p, ETW_CONTROL_STOP), 0);
        /* The values that ETW wrote into it are still there: the GUID, the session's old handle. */
        assert_true(b.p.wnode.historical_context == session);
        assert_int_equal(api->ControlTraceW(session, NULL, &b.p, ETW_CONTROL_QUERY),
            ETW_ERROR_WMI_INSTANCE_NOT_FOUND);
    }
    assert_int_equal(etw_sim_session_count(sim), 0);
}

static void an_account_without_rights_gets_nothing(void **state)
{
    (void)state;
    teardown(NULL);
    sim = etw_sim_create(&(struct etw_sim_options){.not_administrator = true}, NULL);
    struct rig_block b;
    uint64_t session = 0;
    rig_block_init(&b, NULL);
    b.p.log_file_mode = ETW_MODE_REAL_TIME;
    assert_int_equal(rig_start_block(sim, "one", &b, &session), ETW_ERROR_ACCESS_DENIED);
    etw_sim_session_add(
        sim, &(struct etw_sim_session_options){.name = "theirs", .mode = ETW_MODE_REAL_TIME}, NULL);
    assert_int_equal(rig_stop(sim, "theirs"), ETW_ERROR_ACCESS_DENIED);
    struct rig_consumer c;
    assert_false(rig_consumer_open(&c, sim, "theirs", 0));
    assert_int_equal(c.open_error, ETW_ERROR_ACCESS_DENIED);
    rig_consumer_fini(&c);
}

static void sessions_of_others_can_refuse_control_and_be_read(void **state)
{
    (void)state;
    const struct etw_sim_session_options options = {.name = "EventLog-Security",
        .mode = ETW_MODE_REAL_TIME,
        .control_error = ETW_ERROR_ACCESS_DENIED};
    assert_true(etw_sim_session_add(sim, &options, NULL) != 0);
    struct rig_block b;
    assert_int_equal(
        rig_control(sim, "EventLog-Security", ETW_CONTROL_QUERY, &b), ETW_ERROR_ACCESS_DENIED);
    struct rig_consumer c;
    assert_true(rig_consumer_open(&c, sim, "EventLog-Security", 0));
    assert_int_equal(c.open_error, 0);
    rig_consumer_fini(&c);
}

static void calls_fail_when_they_are_told_to(void **state)
{
    (void)state;
    struct rig_block b;
    assert_true(etw_sim_fail(sim, "StartTraceW", 2, 1, ETW_ERROR_DISK_FULL));
    assert_false(etw_sim_fail(sim, "NoSuchFunction", 1, 1, 5));
    assert_true(rig_start(sim, "a", 64, 0) != 0);
    assert_true(rig_start(sim, "b", 64, 0) == 0);
    assert_true(rig_start(sim, "c", 64, 0) != 0);
    assert_int_equal(etw_sim_calls(sim, "StartTraceW"), 3);
    etw_sim_fail_control(sim, ETW_CONTROL_STOP, 1, 0, ETW_ERROR_ACCESS_DENIED);
    assert_int_equal(rig_control(sim, "a", ETW_CONTROL_QUERY, &b), 0);
    assert_int_equal(rig_stop(sim, "a"), ETW_ERROR_ACCESS_DENIED);
    assert_int_equal(rig_stop(sim, "a"), ETW_ERROR_ACCESS_DENIED);
    assert_true(etw_sim_session_runs(sim, "a"));
    assert_true(etw_sim_remove(sim, "QueryAllTracesW"));
    assert_null(etw_sim_api(sim)->QueryAllTracesW);
    assert_false(etw_sim_remove(sim, "EventWrite"));
}

static void narrow_functions_do_the_same(void **state)
{
    (void)state;
    struct {
        struct etw_properties p;
        char name[64];
        char file[64];
    } b;
    memset(&b, 0, sizeof(b));
    b.p.wnode.buffer_size = sizeof(b);
    b.p.wnode.flags = ETW_WNODE_TRACED_GUID;
    b.p.log_file_mode = ETW_MODE_REAL_TIME;
    b.p.logger_name_offset = sizeof(b.p);
    uint64_t session = 0;
    assert_int_equal(etw_sim_StartTraceA(&session, "narrow", &b.p), 0);
    assert_string_equal(b.name, "narrow");
    assert_int_equal(b.p.wnode.buffer_size, sizeof(b));
    assert_int_equal(etw_sim_QueryTraceA(0, "narrow", &b.p), 0);
    assert_int_equal(etw_sim_StopTraceA(session, NULL, &b.p), 0);
    assert_int_equal(etw_sim_FlushTraceA(session, NULL, &b.p), ETW_ERROR_WMI_INSTANCE_NOT_FOUND);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_second_world_is_refused),
        TEST(a_session_gets_a_handle_and_the_sizes_in_force),
        TEST(one_stream_needs_two_buffers),
        TEST(a_name_or_guid_that_is_taken_leaves_the_session_alone),
        TEST(a_query_by_handle_and_by_name_says_the_same),
        TEST(both_versions_of_the_properties_serve),
        TEST(blocks_that_are_wrong_are_refused),
        TEST(blocks_that_are_only_unusual_are_taken),
        TEST(names_that_do_not_fit_are_more_data_but_the_rest_is_told),
        TEST(blocks_that_end_anywhere_are_not_read_beyond),
        TEST(modes_that_exclude_each_other_are_refused),
        TEST(the_kernel_loggers_guid_and_name_belong_together),
        TEST(the_65th_session_finds_no_slot),
        TEST(all_sessions_are_listed_though_they_are_more_than_64),
        TEST(two_of_the_eight_system_loggers_are_kept_for_names),
        TEST(update_changes_what_it_may),
        TEST(update_clears_and_sets_the_kernel_loggers_flags),
        TEST(flush_timers_count_seconds_or_milliseconds),
        TEST(a_block_can_serve_again_after_the_stop),
        TEST(an_account_without_rights_gets_nothing),
        TEST(sessions_of_others_can_refuse_control_and_be_read),
        TEST(calls_fail_when_they_are_told_to),
        TEST(narrow_functions_do_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
