#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "event/record.h"
#include "input/evt_options.h"
#include "input/input.h"
#include "platform/plat_system.h"
#include "platform/plat_thread.h"
#include "support/evt_sim.h"
#include "support/test.h"

/* Sessions of channels on a simulated Windows Event Log, up to what the pipeline is given. */

extern const struct input_ops input_eventlog;

enum { MAX_GIVEN = 4096, MAX_GAPS = 16, MAX_NOTES = 32 };

struct given {
    uint64_t record_id;
    uint16_t event_id;
    char host[64];
    char message[64];
};

struct rig {
    struct plat_mutex mutex;
    struct plat_cond changed;
    struct evt_channel_settings channels[4];
    struct evt_settings settings;
    void *input;
    struct plat_thread *thread;
    enum input_end end;
    struct error error;
    uint64_t number;
    struct given given[MAX_GIVEN];
    size_t count;
    struct gap gaps[MAX_GAPS];
    size_t gap_count;
    size_t notes;
    size_t pauses;
    uint64_t paused_at; /* the number then */
    size_t damage;
    size_t stop_after; /* the sink wants no more than this; 0: all */
};

static struct rig rig;

static bool on_record(void *self, const struct event_record *record)
{
    (void)self;
    plat_mutex_lock(&rig.mutex);
    bool takes = !rig.stop_after || rig.count < rig.stop_after;
    if (takes) {
        struct given *given = &rig.given[rig.count++];
        *given = (struct given){
            .record_id = record->log_record_id, .event_id = record->descriptor.id};
        snprintf(given->host, sizeof(given->host), "%.*s", SPAN_ARG(record->trace->host_name));
        snprintf(
            given->message, sizeof(given->message), "%.*s", SPAN_ARG(record_log_message(record)));
        rig.number++;
    }
    plat_cond_broadcast(&rig.changed);
    plat_mutex_unlock(&rig.mutex);
    return takes;
}

static void on_gap(void *self, const struct gap *gap)
{
    (void)self;
    plat_mutex_lock(&rig.mutex);
    assert_true(rig.gap_count < MAX_GAPS);
    rig.gaps[rig.gap_count++] = *gap;
    rig.number++;
    plat_cond_broadcast(&rig.changed);
    plat_mutex_unlock(&rig.mutex);
}

static bool on_pause(void *self)
{
    (void)self;
    plat_mutex_lock(&rig.mutex);
    rig.pauses++;
    rig.paused_at = rig.number;
    plat_cond_broadcast(&rig.changed);
    plat_mutex_unlock(&rig.mutex);
    return true;
}

static void on_damage(void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    (void)self;
    (void)trace;
    (void)offset;
    (void)what;
    rig.damage++;
}

static void on_note(void *self, enum input_note level, const char *text)
{
    (void)self;
    (void)level;
    (void)text;
    rig.notes++;
}

static void run(void *self)
{
    (void)self;
    static const struct input_sink sink = {.record = on_record,
        .gap = on_gap,
        .pause = on_pause,
        .number = &rig.number,
        .damage = on_damage};
    rig.end = input_eventlog.run(rig.input, &sink, &rig.error);
}

/* A new process: what it gave before is forgotten, but for what the caller has kept. */
static void start(const char *channel, int from, struct span state)
{
    static const struct input_env env = {.name = "test", .note = on_note};
    rig.channels[0].name = channel;
    rig.settings.channels.items = rig.channels;
    rig.settings.channels.count = 1;
    rig.settings.start = from;
    rig.settings.max_age_ns = CONFIG_NEVER;
    rig.count = rig.gap_count = rig.notes = rig.pauses = 0;
    rig.number = 0;
    rig.input = input_eventlog.create(&rig.settings, &env, &rig.error);
    assert_non_null(rig.input);
    input_eventlog.restore(rig.input, state);
    rig.thread = plat_thread_start("test", run, NULL, &rig.error);
    assert_non_null(rig.thread);
}

static void end(void)
{
    input_eventlog.stop(rig.input);
    plat_thread_join(rig.thread);
    input_eventlog.destroy(rig.input);
    rig.input = NULL;
}

static void await_count(size_t count)
{
    uint64_t until = plat_monotonic_ns() + UINT64_C(20000000000);
    bool in_time = true;
    plat_mutex_lock(&rig.mutex);
    while (rig.count < count && in_time) {
        in_time = plat_cond_wait_until(&rig.changed, &rig.mutex, until);
    }
    plat_mutex_unlock(&rig.mutex);
    assert_true(in_time);
}

static void await_gaps(size_t count)
{
    uint64_t until = plat_monotonic_ns() + UINT64_C(20000000000);
    bool in_time = true;
    plat_mutex_lock(&rig.mutex);
    while (rig.gap_count < count && in_time) {
        in_time = plat_cond_wait_until(&rig.changed, &rig.mutex, until);
    }
    plat_mutex_unlock(&rig.mutex);
    assert_true(in_time);
}

/* All that there was is read. */
static void await_pause(void)
{
    uint64_t until = plat_monotonic_ns() + UINT64_C(20000000000);
    bool in_time = true;
    plat_mutex_lock(&rig.mutex);
    while ((rig.pauses == 0 || rig.paused_at != rig.number) && in_time) {
        in_time = plat_cond_wait_until(&rig.changed, &rig.mutex, until);
    }
    plat_mutex_unlock(&rig.mutex);
    assert_true(in_time);
}

static struct span keep(uint64_t number, struct buf *out)
{
    buf_reset(out);
    assert_true(input_eventlog.bookmarks(rig.input, number, out, &rig.error));
    return buf_span(out);
}

static uint64_t write_one(const char *channel, uint16_t id)
{
    const struct evt_sim_event event = {.provider = "Test", .id = id, .level = 4};
    return evt_sim_write(channel, &event);
}

static void write_many(const char *channel, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        write_one(channel, (uint16_t)(i + 1));
    }
}

static int set_up(void **state)
{
    (void)state;
    memset(&rig, 0, sizeof(rig));
    plat_mutex_init(&rig.mutex);
    plat_cond_init(&rig.changed);
    evt_sim_start();
    evt_sim_channel("Security", EVT_CHANNEL_ADMIN, 3000);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    size_t left = evt_sim_end();
    plat_cond_fini(&rig.changed);
    plat_mutex_fini(&rig.mutex);
    return left != 0;
}

static const struct span nothing = {.data = NULL};

static void a_channel_is_read_from_its_oldest_record_and_on(void **state)
{
    (void)state;
    write_many("Security", 100);
    start("Security", EVT_START_OLDEST, nothing);
    await_count(100);
    write_one("Security", 4624);
    await_count(101);
    end();
    assert_int_equal(rig.end, INPUT_STOPPED);
    for (size_t i = 0; i < 101; i++) {
        assert_int_equal(rig.given[i].record_id, i + 1);
    }
    assert_int_equal(rig.given[100].event_id, 4624);
    assert_string_equal(rig.given[0].host, "SIM-PC");
    assert_int_equal(rig.gap_count, 0);
}

static void a_session_that_starts_now_leaves_out_what_was_there(void **state)
{
    (void)state;
    struct buf kept;
    buf_init(&kept, 1 << 20);
    write_many("Security", 3);
    start("Security", EVT_START_NOW, nothing);
    await_pause();
    write_one("Security", 7);
    await_count(1);
    assert_int_equal(rig.given[0].record_id, 4);
    keep(0, &kept); /* as if the process ended before anything was safe */
    end();
    start("Security", EVT_START_NOW, buf_span(&kept));
    await_count(1);
    assert_int_equal(rig.given[0].record_id, 4);
    end();
    buf_fini(&kept);
}

static void each_record_comes_once_over_300_kills(void **state)
{
    (void)state;
    enum { KILLS = 300, PER_LIFE = 7 };
    static uint8_t had[KILLS * PER_LIFE + 2];
    struct buf kept;
    buf_init(&kept, 1 << 20);
    unsigned random = 12345;
    uint64_t last = 0;
    for (int life = 0; life < KILLS; life++) {
        start("Security", EVT_START_OLDEST, buf_span(&kept));
        write_many("Security", PER_LIFE);
        last += PER_LIFE;
        random = random * 1103515245 + 12345;
        size_t wanted = random >> 16 & 7; /* how many are given before the kill, at least */
        uint64_t first = last;            /* records that are not safe yet */
        for (first = 1; first < last && had[first]; first++) {}
        size_t left = had[first] ? 0 : (size_t)(last - first + 1);
        await_count(wanted < left ? wanted : left);
        random = random * 1103515245 + 12345;
        plat_mutex_lock(&rig.mutex);
        /* Not the last one: a record is on its way only when the next one comes, or a pause. */
        uint64_t safe = rig.number ? (random >> 16) % rig.number : 0;
        for (uint64_t i = 0; i < safe; i++) {
            had[rig.given[i].record_id]++;
        }
        plat_mutex_unlock(&rig.mutex);
        keep(safe, &kept);
        end();
        assert_int_equal(rig.gap_count, 0);
    }
    start("Security", EVT_START_OLDEST, buf_span(&kept));
    await_pause();
    for (size_t i = 0; i < rig.count; i++) {
        had[rig.given[i].record_id]++;
    }
    end();
    for (uint64_t id = 1; id <= last; id++) {
        assert_int_equal(had[id], 1);
    }
    buf_fini(&kept);
}

static void what_was_overwritten_while_nobody_read_is_told_once(void **state)
{
    (void)state;
    struct buf kept;
    buf_init(&kept, 1 << 20);
    evt_sim_channel("Small", EVT_CHANNEL_OPERATIONAL, 10);
    write_many("Small", 5);
    start("Small", EVT_START_OLDEST, nothing);
    await_count(5);
    await_pause();
    keep(5, &kept);
    end();
    write_many("Small", 30); /* 26 to 35 are left */
    start("Small", EVT_START_OLDEST, buf_span(&kept));
    await_count(10);
    await_pause();
    assert_int_equal(rig.gap_count, 1);
    assert_string_equal(rig.gaps[0].stage, "eventlog");
    assert_string_equal(rig.gaps[0].reason, "overwritten");
    assert_int_equal(rig.gaps[0].count, 20);
    assert_int_equal(rig.given[0].record_id, 26);
    keep(1, &kept); /* the gap alone is safe */
    end();
    start("Small", EVT_START_OLDEST, buf_span(&kept));
    await_count(10);
    await_pause();
    assert_int_equal(rig.gap_count, 0);
    assert_int_equal(rig.given[0].record_id, 26);
    end();
    buf_fini(&kept);
}

static void results_that_went_stale_are_replaced_and_told(void **state)
{
    (void)state;
    evt_sim_channel("Small", EVT_CHANNEL_OPERATIONAL, 10);
    write_many("Small", 5);
    evt_sim_slow_render(5);
    start("Small", EVT_START_OLDEST, nothing);
    await_count(1);
    write_many("Small", 100);
    await_gaps(1);
    evt_sim_slow_render(0);
    await_pause();
    end();
    assert_string_equal(rig.gaps[0].reason, "overwritten");
    uint64_t missing = 0;
    for (size_t i = 0; i < rig.gap_count; i++) {
        missing += rig.gaps[i].count;
    }
    assert_int_equal(rig.count + missing, 105);
    assert_int_equal(rig.given[rig.count - 1].record_id, 105);
}

static void stale_results_without_a_hole_are_told_without_a_number(void **state)
{
    (void)state;
    write_many("Security", 3);
    start("Security", EVT_START_OLDEST, nothing);
    await_count(3);
    evt_sim_fail_next(EVT_ERROR_QUERY_RESULT_STALE);
    write_one("Security", 9);
    await_count(4);
    end();
    assert_int_equal(rig.gap_count, 1);
    assert_string_equal(rig.gaps[0].reason, "stale");
    assert_int_equal(rig.gaps[0].count, 0);
    assert_int_equal(rig.given[3].record_id, 4);
}

static void a_log_that_is_cleared_is_followed(void **state)
{
    (void)state;
    struct buf kept;
    buf_init(&kept, 1 << 20);
    write_many("Security", 3);
    start("Security", EVT_START_OLDEST, nothing);
    await_count(3);
    evt_sim_clear("Security");
    write_one("Security", 1102);
    await_count(4);
    assert_int_equal(rig.gap_count, 0); /* all had been read */
    await_pause();
    keep(4, &kept);
    end();
    evt_sim_clear("Security");
    start("Security", EVT_START_OLDEST, buf_span(&kept)); /* the bookmarked record is gone */
    await_pause();
    write_one("Security", 5);
    await_count(1);
    assert_int_equal(rig.given[0].record_id, 5);
    assert_int_equal(rig.gap_count, 0);
    await_pause();
    keep(1, &kept);
    end();
    write_many("Security", 4);
    evt_sim_clear("Security");
    write_one("Security", 1102);
    start("Security", EVT_START_OLDEST, buf_span(&kept));
    await_count(1);
    await_pause();
    assert_int_equal(rig.gap_count, 1);
    assert_int_equal(rig.gaps[0].count, 4);
    end();
    buf_fini(&kept);
}

static void a_log_that_was_made_anew_is_read_from_its_first_record(void **state)
{
    (void)state;
    struct buf kept;
    buf_init(&kept, 1 << 20);
    write_many("Security", 30);
    start("Security", EVT_START_OLDEST, nothing);
    await_count(30);
    await_pause();
    keep(30, &kept);
    end();
    evt_sim_recreate("Security");
    write_many("Security", 2);
    start("Security", EVT_START_OLDEST, buf_span(&kept));
    await_count(2);
    await_pause();
    assert_int_equal(rig.gap_count, 1);
    assert_string_equal(rig.gaps[0].reason, "log_made_anew");
    assert_int_equal(rig.given[0].record_id, 1);
    end();
    buf_fini(&kept);
}

static void forwarded_events_go_by_the_numbers_of_their_own_log(void **state)
{
    (void)state;
    struct buf kept;
    buf_init(&kept, 1 << 20);
    evt_sim_channel("ForwardedEvents", EVT_CHANNEL_OPERATIONAL, 100);
    struct evt_sim_event event = {.provider = "Test",
        .id = 1,
        .computer = "other.corp.example",
        .forwarded_id = 900000,
        .message = "It was rendered there."};
    evt_sim_write("ForwardedEvents", &event);
    event.forwarded_id = 17;
    event.computer = "third.corp.example";
    evt_sim_write("ForwardedEvents", &event);
    start("ForwardedEvents", EVT_START_OLDEST, nothing);
    await_count(2);
    assert_int_equal(rig.given[0].record_id, 900000);
    assert_int_equal(rig.given[1].record_id, 17);
    assert_string_equal(rig.given[0].host, "other.corp.example");
    assert_string_equal(rig.given[1].host, "third.corp.example");
    assert_string_equal(rig.given[0].message, "It was rendered there.");
    await_pause();
    keep(1, &kept);
    end();
    start("ForwardedEvents", EVT_START_OLDEST, buf_span(&kept));
    await_count(1);
    await_pause();
    assert_int_equal(rig.count, 1);
    assert_int_equal(rig.given[0].record_id, 17);
    assert_int_equal(rig.gap_count, 0);
    end();
    buf_fini(&kept);
}

static void patterns_find_channels_but_none_that_cannot_be_subscribed_to(void **state)
{
    (void)state;
    evt_sim_channel("Vendor-A/Operational", EVT_CHANNEL_OPERATIONAL, 10);
    evt_sim_channel("Vendor-B/Operational", EVT_CHANNEL_OPERATIONAL, 10);
    evt_sim_channel("Vendor-B/Analytic", EVT_CHANNEL_ANALYTIC, 10);
    write_one("Security", 1);
    write_one("Vendor-A/Operational", 2);
    write_one("Vendor-B/Operational", 3);
    start("vendor-*", EVT_START_OLDEST, nothing);
    await_count(2);
    await_pause();
    end();
    assert_int_equal(rig.count, 2);
    assert_int_equal(rig.given[0].event_id + rig.given[1].event_id, 5);
    assert_int_equal(evt_sim_subscriptions(), 2);
    assert_int_equal(rig.notes, 0);
}

static void windows_is_asked_for_what_is_wanted_alone(void **state)
{
    (void)state;
    static const char *ids[] = {"4624", "4700-4702"};
    rig.channels[0].ids = (struct config_strings){ids, 2};
    write_one("Security", 4624);
    write_one("Security", 4625);
    write_one("Security", 4701);
    start("Security", EVT_START_OLDEST, nothing);
    await_count(2);
    await_pause();
    end();
    assert_int_equal(rig.count, 2);
    assert_int_equal(rig.given[1].event_id, 4701);
    assert_string_equal(
        evt_sim_query(), "*[System[(EventID=4624 or (EventID>=4700 and EventID<=4702))]]");
}

static void a_channel_that_may_not_be_read_is_said_once(void **state)
{
    (void)state;
    evt_sim_set_denied("Security", true);
    start("Security", EVT_START_OLDEST, nothing);
    await_pause();
    end();
    assert_int_equal(rig.end, INPUT_STOPPED);
    assert_int_equal(rig.notes, 1);
}

static void an_event_that_windows_does_not_render_is_a_gap(void **state)
{
    (void)state;
    evt_sim_fail_render(2);
    write_many("Security", 3);
    start("Security", EVT_START_OLDEST, nothing);
    await_count(2);
    await_pause();
    end();
    assert_int_equal(rig.gap_count, 1);
    assert_string_equal(rig.gaps[0].reason, "not_rendered");
    assert_int_equal(rig.gaps[0].count, 1);
    assert_true(rig.gaps[0].exact);
}

static void a_slow_render_does_not_keep_a_session_from_stopping(void **state)
{
    (void)state;
    evt_sim_slow_render(20);
    write_many("Security", 1000);
    start("Security", EVT_START_OLDEST, nothing);
    await_count(1);
    end();
    assert_int_equal(rig.end, INPUT_STOPPED);
    assert_true(rig.count < 1000);
}

static void what_the_sink_did_not_take_comes_again(void **state)
{
    (void)state;
    struct buf kept;
    buf_init(&kept, 1 << 20);
    rig.stop_after = 4;
    write_many("Security", 10);
    start("Security", EVT_START_OLDEST, nothing);
    await_count(4);
    plat_thread_join(rig.thread);
    rig.thread = NULL;
    keep(rig.number, &kept);
    end();
    rig.stop_after = 0;
    start("Security", EVT_START_OLDEST, buf_span(&kept));
    await_count(6);
    await_pause();
    end();
    assert_int_equal(rig.count, 6);
    assert_int_equal(rig.given[0].record_id, 5);
    buf_fini(&kept);
}

static void publishers_say_events_in_words(void **state)
{
    (void)state;
    struct evt_sim_event event = {
        .provider = "Test", .id = 1, .message = "First line.\r\nSecond line.\r\n"};
    rig.settings.messages = true;
    rig.settings.language = "en-US";
    evt_sim_write("Security", &event);
    event.message = "Another.";
    evt_sim_write("Security", &event);
    event.message = NULL;
    evt_sim_write("Security", &event);
    start("Security", EVT_START_OLDEST, nothing);
    await_count(3);
    end();
    assert_string_equal(rig.given[0].message, "First line.\nSecond line.");
    assert_string_equal(rig.given[1].message, "Another.");
    assert_string_equal(rig.given[2].message, "");
    assert_int_equal(evt_sim_opened_publishers(), 1);
    assert_int_equal(evt_sim_locale(), 1033);
}

static void a_missing_publisher_is_said_once(void **state)
{
    (void)state;
    const struct evt_sim_event event = {.provider = "Missing-Provider", .id = 1, .message = "x"};
    rig.settings.messages = true;
    for (int i = 0; i < 5; i++) {
        evt_sim_write("Security", &event);
    }
    start("Security", EVT_START_OLDEST, nothing);
    await_count(5);
    end();
    assert_int_equal(rig.notes, 1);
    assert_int_equal(evt_sim_opened_publishers(), 1);
    assert_string_equal(rig.given[4].message, "");
}

static void more_publishers_than_stay_open_are_opened_again(void **state)
{
    (void)state;
    enum { PUBLISHERS = 300 };
    rig.settings.messages = true;
    for (int i = 0; i < 2 * PUBLISHERS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "P%d", i % PUBLISHERS);
        const struct evt_sim_event event = {.provider = name, .id = 1, .message = name};
        evt_sim_write("Security", &event);
    }
    start("Security", EVT_START_OLDEST, nothing);
    await_count(2 * PUBLISHERS);
    end();
    assert_string_equal(rig.given[PUBLISHERS + 7].message, "P7");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_channel_is_read_from_its_oldest_record_and_on),
        TEST(a_session_that_starts_now_leaves_out_what_was_there),
        TEST(each_record_comes_once_over_300_kills),
        TEST(what_was_overwritten_while_nobody_read_is_told_once),
        TEST(results_that_went_stale_are_replaced_and_told),
        TEST(stale_results_without_a_hole_are_told_without_a_number),
        TEST(a_log_that_is_cleared_is_followed),
        TEST(a_log_that_was_made_anew_is_read_from_its_first_record),
        TEST(forwarded_events_go_by_the_numbers_of_their_own_log),
        TEST(patterns_find_channels_but_none_that_cannot_be_subscribed_to),
        TEST(windows_is_asked_for_what_is_wanted_alone),
        TEST(a_channel_that_may_not_be_read_is_said_once),
        TEST(an_event_that_windows_does_not_render_is_a_gap),
        TEST(a_slow_render_does_not_keep_a_session_from_stopping),
        TEST(what_the_sink_did_not_take_comes_again),
        TEST(publishers_say_events_in_words),
        TEST(a_missing_publisher_is_said_once),
        TEST(more_publishers_than_stay_open_are_opened_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
