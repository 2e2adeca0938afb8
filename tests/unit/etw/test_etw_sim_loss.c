/* Losses of the simulated Windows, and how it reports them (rt-lostevent). */
#include "sim_deliver_rig.h"
#include "support/etw_sim/etw_sim_rig.h"

static void a_backlog_is_delivered_first(void **state)
{
    (void)state;
    struct rig_consumer c;
    uint64_t session = rig_start(sim, "live", 1, 0);
    rig_enable(sim, session, &provider_guid, 5, 0, 0);
    for (uint16_t i = 0; i < 100; i++) {
        assert_int_equal(write_id(i, 0), 0); /* no consumer reads: it goes to the playback file */
    }
    assert_true(rig_consumer_start(&c, sim, "live", 0));
    write_id(100, 0);
    assert_true(etw_sim_settle(sim, 10000));
    rig_consumer_await(&c, 101);
    for (uint16_t i = 0; i <= 100; i++) {
        assert_int_equal(c.events[i].header.descriptor.id, i);
    }
    assert_int_equal(checked_counts("live").delivered, 101);
    rig_consumer_fini(&c);
}

static void a_full_playback_file_refuses_writes_until_it_is_read(void **state)
{
    (void)state;
    teardown(NULL);
    make(&(struct etw_sim_options){.processors = 1, .playback_kb = 16});
    struct rig_consumer c;
    uint64_t session = rig_start(sim, "live", 4, 0);
    rig_enable(sim, session, &provider_guid, 5, 0, 0);
    uint32_t code = 0;
    uint64_t written = 0;
    for (int i = 0; i < 10000 && code == 0; i++) {
        code = write_id(1, 0);
        written += code == 0;
    }
    assert_int_equal(code, 1502); /* ERROR_LOG_FILE_FULL */
    struct etw_sim_counts counts = checked_counts("live");
    assert_int_equal(counts.buffers_lost, 1);
    assert_int_equal(counts.logged, written);
    assert_int_equal(counts.refused_writes, 1);
    struct rig_block b;
    rig_control(sim, "live", ETW_CONTROL_QUERY, &b);
    assert_int_equal(b.p.real_time_buffers_lost, 1);
    assert_int_equal(b.p.events_lost, 1);
    assert_true(rig_consumer_start(&c, sim, "live", 0));
    assert_true(etw_sim_settle(sim, 10000));
    assert_int_equal(write_id(2, 0), 0);
    rig_stop(sim, "live");
    rig_consumer_wait(&c);
    assert_int_equal(c.lost[1], 1); /* RTLostBuffer before what came after the hole */
    counts = checked_counts("live");
    assert_int_equal(c.count, counts.delivered);
    rig_consumer_fini(&c);
}

static void a_burst_beyond_the_buffers_loses_events(void **state)
{
    (void)state;
    struct rig_consumer c;
    uint64_t session = rig_start(sim, "live", 1, 0);
    rig_enable(sim, session, &provider_guid, 5, 0, 0);
    assert_true(rig_consumer_start(&c, sim, "live", 0));
    etw_sim_hold_logger(sim, true);
    const struct etw_sim_event event = {.descriptor = {.id = 1, .level = 4}};
    uint64_t written = etw_sim_burst(provider, &event, 0, 5000, 0);
    etw_sim_hold_logger(sim, false);
    write_id(2, 0);
    rig_stop(sim, "live");
    assert_int_equal(rig_consumer_wait(&c), 0);
    struct etw_sim_counts counts = checked_counts("live");
    assert_true(counts.events_lost > 0);
    assert_int_equal(counts.events_lost, 5000 - written);
    assert_int_equal(c.count, written + 1);
    assert_true(c.lost[0] > 0);
    assert_int_equal(c.lost[1] + c.lost[2], 0);
    rig_consumer_fini(&c);
}

static void a_logger_with_a_period_takes_full_buffers_when_its_turn_comes(void **state)
{
    (void)state;
    teardown(NULL);
    make(&(struct etw_sim_options){.processors = 1, .logger_period_ms = 10});
    struct rig_block b;
    struct etw_sim_session_info info;
    uint64_t session = rig_start(sim, "live", 1, 0);
    rig_enable(sim, session, &provider_guid, 5, 0, 0);
    etw_sim_session_get(sim, "live", &info);
    uint32_t code = 0;
    uint64_t written = 0;
    while (code == 0) {
        code = write_id(1, 0);
        written += code == 0;
    }
    assert_int_equal(code, ETW_ERROR_NOT_ENOUGH_MEMORY);
    assert_int_equal(written, info.maximum_buffers * ((1024 - 72) / 88));
    rig_control(sim, "live", ETW_CONTROL_QUERY, &b);
    assert_int_equal(b.p.free_buffers, 0);
    assert_int_equal(b.p.buffers_written, 0);
    etw_sim_advance(sim, 11);
    assert_int_equal(write_id(2, 0), 0);
    rig_control(sim, "live", ETW_CONTROL_FLUSH, &b); /* does not wait for its turn */
    assert_int_equal(b.p.buffers_written, info.maximum_buffers + 1);
    assert_int_equal(b.p.free_buffers, b.p.number_of_buffers);
    assert_int_equal(checked_counts("live").events_lost, 1);
}

static void what_is_larger_than_a_buffer_or_64_kb_is_lost(void **state)
{
    (void)state;
    static uint8_t large[70000];
    uint64_t session = rig_start(sim, "live", 4, 0);
    rig_enable(sim, session, &provider_guid, 5, 0, 0);
    static const struct {
        size_t size;
        uint32_t code;
    } cases[] = {{4096 - 72 - 80, 0}, {4096 - 72 - 80 + 1, ETW_ERROR_MORE_DATA},
        {65535 - 80, ETW_ERROR_MORE_DATA}, {65536 - 80, 534}, {70000, 534}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct etw_sim_event event = {
            .descriptor = {.id = 1}, .payload = span_make(large, cases[i].size)};
        assert_int_equal(etw_sim_write(provider, &event), cases[i].code);
    }
    assert_int_equal(checked_counts("live").events_lost, 4);
}

static void lost_buffers_and_files_are_told_in_the_stream(void **state)
{
    (void)state;
    struct rig_consumer c;
    struct rig_block b;
    start_reading(&c);
    write_id(1, 0);
    etw_sim_lose_buffers(sim, "live", 1, true);
    rig_control(sim, "live", ETW_CONTROL_FLUSH, &b);
    write_id(2, 0);
    rig_stop(sim, "live");
    rig_consumer_wait(&c);
    assert_int_equal(c.count, 1);
    assert_int_equal(c.lost[1], 1);
    assert_int_equal(c.lost[2], 1);
    assert_int_equal(checked_counts("live").in_lost_buffers, 1);
    rig_consumer_fini(&c);
}

static void sessions_of_one_provider_stand_or_fall_together_unless_independent(void **state)
{
    (void)state;
    uint64_t small = rig_start(sim, "small", 1, 0);
    uint64_t large = rig_start(sim, "large", 64, 0);
    uint64_t free_one = rig_start(sim, "independent", 64, ETW_MODE_INDEPENDENT_SESSION);
    rig_enable(sim, small, &provider_guid, 5, 0, 0);
    rig_enable(sim, large, &provider_guid, 5, 0, 0);
    rig_enable(sim, free_one, &provider_guid, 5, 0, 0);
    static const uint8_t payload[2000];
    const struct etw_sim_event event = {
        .descriptor = {.id = 1}, .payload = span_make(payload, sizeof(payload))};
    assert_int_equal(etw_sim_write(provider, &event), ETW_ERROR_MORE_DATA);
    assert_int_equal(checked_counts("small").events_lost, 1);
    assert_int_equal(checked_counts("large").withheld, 1);
    assert_int_equal(checked_counts("large").events_lost, 0);
    assert_int_equal(checked_counts("independent").logged, 1);
}

/* 1,000,000 events at the speed that threads reach: all accounted for. */
static void a_million_events_are_accounted_for(void **state)
{
    (void)state;
    static const struct {
        uint32_t buffer_kb, consumer_buffers, playback_kb;
    } cases[] = {{64, 64, 10240}, {64, 4, 1}, {1, 2, 64}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        teardown(NULL);
        make(&(struct etw_sim_options){.processors = 2,
            .consumer_buffers = cases[i].consumer_buffers,
            .playback_kb = cases[i].playback_kb});
        struct rig_consumer c;
        uint64_t session = rig_start(sim, "live", cases[i].buffer_kb, 0);
        rig_enable(sim, session, &provider_guid, 5, 0, 0);
        assert_true(rig_consumer_start(&c, sim, "live", 0));
        const uint64_t count = 1000000 / 3;
        const struct etw_sim_event event = {.descriptor = {.id = 1, .level = 4}};
        uint64_t written = etw_sim_burst(provider, &event, 0, count, 0);
        rig_stop(sim, "live");
        assert_int_equal(rig_consumer_wait(&c), 0);
        struct etw_sim_counts counts = checked_counts("live");
        assert_int_equal(counts.offered, count);
        assert_int_equal(counts.pending, 0);
        assert_int_equal(counts.logged, written);
        assert_int_equal(c.count + counts.in_lost_buffers + counts.events_lost, count);
        rig_consumer_fini(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_backlog_is_delivered_first),
        TEST(a_full_playback_file_refuses_writes_until_it_is_read),
        TEST(a_burst_beyond_the_buffers_loses_events),
        TEST(a_logger_with_a_period_takes_full_buffers_when_its_turn_comes),
        TEST(what_is_larger_than_a_buffer_or_64_kb_is_lost),
        TEST(lost_buffers_and_files_are_told_in_the_stream),
        TEST(sessions_of_one_provider_stand_or_fall_together_unless_independent),
        TEST(a_million_events_are_accounted_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
