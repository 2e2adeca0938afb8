/* Consumers of the simulated Windows (opentracew, processtrace, closetrace). */
#include "sim_deliver_rig.h"
#include "support/await.h"
#include "support/etw_sim/etw_sim_rig.h"

static void an_event_arrives_as_it_was_written(void **state)
{
    (void)state;
    struct rig_consumer c;
    uint64_t session = rig_start(sim, "live", 64, 0);
    assert_true(rig_consumer_start(&c, sim, "live", ETW_PROCESS_RAW_TIMESTAMP));
    assert_int_equal(c.open_error, 0);
    assert_int_equal(rig_enable(sim, session, &provider_guid, 5, 0, 0), 0);
    uint64_t before = etw_sim_qpc(sim);
    const struct etw_sim_event event = {
        .descriptor = {.id = 7, .version = 2, .level = 4, .opcode = 1, .task = 9, .keyword = 0x80},
        .process_id = 0x7fffffff,
        .thread_id = 0xfffffffe,
        .cpu = 1,
        .activity = {{0xaa}},
        .payload = span_text("hello")};
    assert_int_equal(etw_sim_write(provider, &event), 0);
    assert_true(etw_sim_settle(sim, 10000));
    assert_int_equal(rig_stop(sim, "live"), 0);
    assert_int_equal(rig_consumer_wait(&c), 0);
    assert_int_equal(c.count, 1);
    assert_int_equal(c.headers, 0); /* files have one, sessions do not */
    const struct rig_event *e = &c.events[0];
    assert_true(guid_equal(&e->header.provider_id, &provider_guid));
    assert_int_equal(e->header.descriptor.id, 7);
    assert_int_equal(e->header.descriptor.task, 9);
    assert_int_equal(e->header.descriptor.keyword, 0x80);
    assert_int_equal(e->header.process_id, 0x7fffffff);
    assert_int_equal(e->header.thread_id, 0xfffffffe);
    assert_int_equal(e->header.activity_id.bytes[0], 0xaa);
    assert_int_equal(e->header.flags, EVENT_FLAG_64_BIT | EVENT_FLAG_PROCESSOR_INDEX);
    assert_int_equal(e->cpu, 1);
    assert_true(e->header.time_stamp == (int64_t)before + 1);
    assert_int_equal(e->payload_size, 5);
    assert_memory_equal(e->payload, "hello", 5);
    assert_int_equal(e->header.size, 80 + 5); /* of the record (EVENT_HEADER), not of the header */
    checked_counts("live");
    rig_consumer_fini(&c);
    assert_int_equal(etw_sim_open_traces(sim), 0);
}

static void what_open_trace_tells_turns_ticks_into_times(void **state)
{
    (void)state;
    for (uint32_t clock = 1; clock <= 3; clock++) {
        struct rig_block b;
        struct rig_consumer c[2];
        uint64_t session = 0;
        rig_block_init(&b, NULL);
        b.p.log_file_mode = ETW_MODE_REAL_TIME;
        b.p.wnode.client_context = clock;
        assert_int_equal(rig_start_block(sim, "clock", &b, &session), 0);
        assert_int_equal(rig_enable(sim, session, &provider_guid, 5, 0, 0), 0);
        assert_true(rig_consumer_start(&c[0], sim, "clock", ETW_PROCESS_RAW_TIMESTAMP));
        assert_true(rig_consumer_start(&c[1], sim, "clock", 0));
        etw_sim_advance(sim, 12345);
        write_id(1, 0);
        uint64_t now = etw_sim_filetime(sim);
        uint64_t ticks = etw_sim_qpc(sim);
        rig_stop(sim, "clock");
        assert_int_equal(rig_consumer_wait(&c[0]), 0);
        assert_int_equal(rig_consumer_wait(&c[1]), 0);
        const struct etw_logfile_header *h = &c[0].header;
        assert_int_equal(h->reserved_flags, clock);
        assert_int_equal(h->number_of_processors, 2);
        assert_int_equal(h->pointer_size, 8);
        assert_true(h->timer_resolution > 0);
        int64_t raw = c[0].events[0].header.time_stamp;
        if (clock == 1) {
            assert_true(raw == (int64_t)ticks);
            assert_true((uint64_t)(h->boot_time + raw * 10000000 / h->perf_freq) == now);
        } else if (clock == 2) {
            assert_true(raw == (int64_t)now);
        } else {
            assert_true(raw == (int64_t)ticks * 240); /* 2400 MHz to 10 MHz */
        }
        assert_true(c[1].events[0].header.time_stamp == (int64_t)now);
        rig_consumer_fini(&c[0]);
        rig_consumer_fini(&c[1]);
    }
}

static void the_header_event_comes_first_where_a_system_sends_it(void **state)
{
    (void)state;
    for (int with = 0; with < 2; with++) {
        teardown(NULL);
        make(&(struct etw_sim_options){.header_event = with});
        struct rig_consumer c;
        uint64_t session = rig_start(sim, "live", 64, 0);
        rig_enable(sim, session, &provider_guid, 5, 0, 0);
        assert_true(rig_consumer_start(&c, sim, "live", 0));
        write_id(1, 0);
        rig_stop(sim, "live");
        assert_int_equal(rig_consumer_wait(&c), 0);
        assert_int_equal(c.count, 1);
        assert_int_equal(c.headers, with);
        rig_consumer_fini(&c);
    }
}

static void opening_what_is_not_there_says_why(void **state)
{
    (void)state;
    struct rig_consumer c;
    assert_false(rig_consumer_open(&c, sim, "nobody", 0));
    assert_int_equal(c.open_error, ETW_ERROR_WMI_INSTANCE_NOT_FOUND);
    rig_consumer_fini(&c);
    etw_char wide[RIG_TEXT];
    struct etw_logfile logfile = {.log_file_name = rig_wide("/tmp/no such file.etl", wide),
        .process_trace_mode = ETW_PROCESS_EVENT_RECORD};
    const struct etw_api *api = etw_sim_api(sim);
    assert_true(api->OpenTraceW(&logfile) == ETW_INVALID_TRACE);
    assert_int_equal(api->last_error(), ETW_ERROR_FILE_NOT_FOUND);
}

static void the_flush_timer_brings_what_is_in_part_filled_buffers(void **state)
{
    (void)state;
    struct rig_consumer c;
    start_reading(&c);
    write_id(1, 0);
    assert_int_equal(checked_counts("live").pending, 1);
    etw_sim_advance(sim, 999);
    assert_int_equal(checked_counts("live").pending, 1);
    etw_sim_advance(sim, 2);
    rig_consumer_await(&c, 1);
    write_id(2, 0);
    struct rig_block b;
    assert_int_equal(rig_control(sim, "live", ETW_CONTROL_FLUSH, &b), 0);
    rig_consumer_await(&c, 2);
    assert_int_equal(rig_control(sim, "live", ETW_CONTROL_QUERY, &b), 0);
    assert_int_equal(b.p.buffers_written, 2); /* though all is real time */
    rig_consumer_fini(&c);
}

static void stopping_brings_the_rest_and_ends_with_success(void **state)
{
    (void)state;
    struct rig_consumer c;
    struct rig_block b;
    start_reading(&c);
    for (uint16_t i = 0; i < 100; i++) {
        write_id(i, i & 1);
    }
    assert_int_equal(rig_control(sim, "live", ETW_CONTROL_STOP, &b), 0);
    assert_int_equal(b.p.buffers_written, 2);        /* the final statistics */
    assert_true(rig_start(sim, "live", 64, 0) != 0); /* the name is free at once */
    assert_int_equal(rig_consumer_wait(&c), 0);
    assert_int_equal(c.count, 100);
    for (uint16_t i = 0; i < 100; i++) { /* in the order of time, over both processors */
        assert_int_equal(c.events[i].header.descriptor.id, i);
    }
    rig_consumer_fini(&c);
}

static void closing_while_it_runs_is_pending_and_ends_with_success(void **state)
{
    (void)state;
    struct rig_consumer c;
    const struct etw_api *api = etw_sim_api(sim);
    start_reading(&c);
    assert_int_equal(api->CloseTrace(c.trace), ETW_ERROR_CTX_CLOSE_PENDING);
    assert_int_equal(rig_consumer_wait(&c), 0);
    assert_int_equal(api->CloseTrace(c.trace), ETW_ERROR_INVALID_HANDLE);
    assert_true(etw_sim_session_runs(sim, "live"));
    write_id(1, 0); /* stays in the session */
    assert_int_equal(checked_counts("live").pending, 1);
    rig_consumer_fini(&c);
}

static void events_after_a_close_are_counted_as_late(void **state)
{
    (void)state;
    struct rig_consumer c;
    struct rig_block b;
    start_reading(&c);
    rig_consumer_block(&c, true);
    write_id(1, 0);
    rig_control(sim, "live", ETW_CONTROL_FLUSH, &b);
    write_id(2, 0);
    rig_control(sim, "live", ETW_CONTROL_FLUSH, &b);
    assert_int_equal(
        etw_sim_api(sim)->CloseTrace(c.trace), ETW_ERROR_CTX_CLOSE_PENDING); /* never blocks */
    rig_consumer_block(&c, false);
    assert_int_equal(rig_consumer_wait(&c), 0);
    assert_int_equal(c.count, 2);
    assert_true(etw_sim_late_events(sim) >= 1);
    checked_counts("live");
    rig_consumer_fini(&c);
}

static void a_buffer_callback_stops_after_its_buffer(void **state)
{
    (void)state;
    struct rig_consumer c;
    struct rig_block b;
    uint64_t session = rig_start(sim, "live", 64, 0);
    rig_enable(sim, session, &provider_guid, 5, 0, 0);
    assert_true(rig_consumer_open(&c, sim, "live", 0));
    c.stop_after = 2;
    c.thread = plat_thread_start("consumer", rig_run, &c, NULL);
    for (uint16_t i = 0; i < 9; i++) {
        write_id(i, 0);
        if (i % 3 == 2) {
            rig_control(sim, "live", ETW_CONTROL_FLUSH, &b);
        }
    }
    assert_int_equal(rig_consumer_wait(&c), ETW_ERROR_CANCELLED);
    assert_int_equal(c.count, 6);
    assert_int_equal(c.buffers_read, 2);
    assert_int_equal(c.filled, 72 + 3 * 88);
    rig_consumer_fini(&c);
}

static void a_call_takes_one_live_handle(void **state)
{
    (void)state;
    struct rig_consumer a;
    struct rig_consumer b;
    const struct etw_api *api = etw_sim_api(sim);
    rig_start(sim, "a", 64, 0);
    rig_start(sim, "b", 64, 0);
    assert_true(rig_consumer_open(&a, sim, "a", 0));
    assert_true(rig_consumer_open(&b, sim, "b", 0));
    const uint64_t both[] = {a.trace, b.trace};
    assert_int_equal(api->ProcessTrace(both, 2, NULL, NULL), ETW_ERROR_WMI_ALREADY_ENABLED);
    assert_int_equal(api->ProcessTrace(both, 0, NULL, NULL), ETW_ERROR_BAD_LENGTH);
    assert_int_equal(api->ProcessTrace(both, 65, NULL, NULL), ETW_ERROR_BAD_LENGTH);
    assert_int_equal(api->ProcessTrace(NULL, 1, NULL, NULL), ETW_ERROR_INVALID_PARAMETER);
    const uint64_t wrong = 1;
    assert_int_equal(api->ProcessTrace(&wrong, 1, NULL, NULL), ETW_ERROR_INVALID_HANDLE);
    rig_stop(sim, "a");
    assert_int_equal(api->ProcessTrace(&a.trace, 1, NULL, NULL), ETW_ERROR_WMI_INSTANCE_NOT_FOUND);
    rig_consumer_fini(&a);
    rig_consumer_fini(&b);
}

static void what_a_processor_flushes_later_comes_later(void **state)
{
    (void)state;
    struct rig_consumer c;
    uint64_t session = rig_start(sim, "live", 1, 0);
    rig_enable(sim, session, &provider_guid, 5, 0, 0);
    assert_true(rig_consumer_start(&c, sim, "live", ETW_PROCESS_RAW_TIMESTAMP));
    write_id(0, 1); /* waits in the buffer of a quiet processor */
    for (uint16_t i = 1; i <= 20; i++) {
        write_id(i, 0);
    }
    rig_consumer_await(&c, 10); /* what full buffers brought */
    rig_stop(sim, "live");
    rig_consumer_wait(&c);
    assert_int_equal(c.count, 21);
    assert_int_equal(c.events[0].header.descriptor.id, 1);
    uint64_t oldest = 0;
    for (uint64_t i = 0; i < c.count; i++) {
        oldest = c.events[i].header.descriptor.id == 0 ? i : oldest;
    }
    assert_true(oldest >= 10);
    assert_true(c.events[oldest].header.time_stamp < c.events[0].header.time_stamp);
    rig_consumer_fini(&c);
}

static void a_pointer_size_of_4_can_be_told_for_8(void **state)
{
    (void)state;
    teardown(NULL);
    make(&(struct etw_sim_options){.odd_pointer_size = true});
    struct rig_consumer c;
    rig_start(sim, "live", 64, 0);
    assert_true(rig_consumer_open(&c, sim, "live", 0));
    assert_int_equal(c.header.pointer_size, 4);
    rig_consumer_fini(&c);
}

static void raw_buffers_come_whole(void **state);

struct raw_seen {
    uint64_t buffers;
    uint32_t filled;
    uint16_t logger_id;
    uint32_t size;
};

static uint32_t on_raw(
    const void *buffer, uint32_t bytes, const struct etw_buffer_info *info, void *context)
{
    struct raw_seen *seen = context;
    const uint8_t *b = buffer;
    seen->buffers = info->buffers_read;
    seen->filled = load_le32(b + 0x30);
    seen->logger_id = load_le16(b + 0x2a);
    seen->size = bytes;
    return load_le32(b) == bytes;
}

static void raw_buffers_come_whole(void **state)
{
    (void)state;
    struct raw_seen seen = {0};
    struct etw_sim_session_info info;
    struct etw_logfile_header header;
    etw_char wide[RIG_TEXT];
    uint64_t session = rig_start(sim, "raw", 64, 0);
    rig_enable(sim, session, &provider_guid, 5, 0, 0);
    const struct etw_open_options options = {
        .modes = 1, .buffer_callback = on_raw, .buffer_context = &seen};
    const struct etw_api *api = etw_sim_api(sim);
    struct rig_consumer c = {.sim = sim};
    c.trace = api->OpenTraceFromRealTimeLogger(rig_wide("raw", wide), &options, &header);
    assert_true(c.trace != ETW_INVALID_TRACE);
    assert_int_equal(header.buffer_size, 65536);
    plat_mutex_init(&c.lock);
    plat_cond_init(&c.changed);
    write_id(1, 0);
    struct rig_block b;
    rig_control(sim, "raw", ETW_CONTROL_FLUSH, &b);
    c.thread = plat_thread_start("consumer", rig_run, &c, NULL);
    AWAIT(etw_sim_session_get(sim, "raw", &info) && info.counts.delivered > 0);
    rig_stop(sim, "raw");
    assert_int_equal(rig_consumer_wait(&c), 0);
    assert_int_equal(seen.buffers, 1);
    assert_int_equal(seen.filled, 72 + 88); /* 80 of header and 7 of payload, rounded up to 8 */
    assert_int_equal(seen.size, 65536);
    assert_int_equal(seen.logger_id, info.logger_id);
    rig_consumer_fini(&c);
}

static void the_legacy_callback_gets_event_traces(void **state);

static uint32_t legacy_events;
static uint8_t legacy_opcode;

static void on_legacy(struct etw_event_trace *event)
{
    legacy_events++;
    legacy_opcode = event->header.type;
}

static void on_own(struct etw_event_trace *event)
{
    legacy_events += guid_equal(&event->header.guid, &provider_guid) ? 100 : 0;
}

static void the_legacy_callback_gets_event_traces(void **state)
{
    (void)state;
    etw_char wide[RIG_TEXT];
    const struct etw_api *api = etw_sim_api(sim);
    uint64_t session = rig_start(sim, "old", 64, 0);
    rig_enable(sim, session, &provider_guid, 5, 0, 0);
    struct etw_logfile logfile = {.logger_name = rig_wide("old", wide),
        .process_trace_mode = ETW_PROCESS_REAL_TIME,
        .event_callback = (etw_event_fn *)(void (*)(void))on_legacy};
    struct rig_consumer c = {.sim = sim};
    plat_mutex_init(&c.lock);
    plat_cond_init(&c.changed);
    c.trace = api->OpenTraceW(&logfile);
    legacy_events = 0;
    assert_int_equal(etw_sim_SetTraceCallback(&provider_guid, on_own), 0);
    const struct etw_sim_event event = {.descriptor = {.opcode = 33}};
    etw_sim_write(provider, &event);
    struct rig_block b;
    rig_control(sim, "old", ETW_CONTROL_FLUSH, &b);
    c.thread = plat_thread_start("consumer", rig_run, &c, NULL);
    struct etw_sim_session_info info;
    AWAIT(etw_sim_session_get(sim, "old", &info) && info.counts.delivered > 0);
    rig_stop(sim, "old");
    assert_int_equal(rig_consumer_wait(&c), 0);
    assert_int_equal(legacy_events, 101); /* the event, and the event to its own */
    assert_int_equal(legacy_opcode, 33);
    assert_int_equal(etw_sim_RemoveTraceCallback(&provider_guid), 0);
    assert_int_equal(etw_sim_RemoveTraceCallback(&provider_guid), ETW_ERROR_WMI_GUID_NOT_FOUND);
    rig_consumer_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_event_arrives_as_it_was_written),
        TEST(what_open_trace_tells_turns_ticks_into_times),
        TEST(the_header_event_comes_first_where_a_system_sends_it),
        TEST(opening_what_is_not_there_says_why),
        TEST(the_flush_timer_brings_what_is_in_part_filled_buffers),
        TEST(stopping_brings_the_rest_and_ends_with_success),
        TEST(closing_while_it_runs_is_pending_and_ends_with_success),
        TEST(events_after_a_close_are_counted_as_late),
        TEST(a_buffer_callback_stops_after_its_buffer),
        TEST(a_call_takes_one_live_handle),
        TEST(what_a_processor_flushes_later_comes_later),
        TEST(a_pointer_size_of_4_can_be_told_for_8),
        TEST(raw_buffers_come_whole),
        TEST(the_legacy_callback_gets_event_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
