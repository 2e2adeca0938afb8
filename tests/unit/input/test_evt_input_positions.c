#include "base/bytes.h"
#include "unit/input/evt_rig.h"

/* Which records sessions of channels read again, leave out and report as lost: over restarts, and
 * where logs lose records. */

static void a_session_that_starts_now_leaves_out_what_was_there(void **state)
{
    (void)state;
    struct buf kept;
    buf_init(&kept, 1 << 20);
    write_many("Security", 3);
    start("Security", EVT_START_NOW, nothing);
    await_all_read();
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
        size_t wanted = random >> 16 & 7; /* the kill comes after at least so many records */
        uint64_t first = last;            /* records that are not safe yet */
        for (first = 1; first < last && had[first]; first++) {}
        size_t left = had[first] ? 0 : (size_t)(last - first + 1);
        await_count(wanted < left ? wanted : left);
        random = random * 1103515245 + 12345;
        plat_mutex_lock(&rig.mutex);
        /* Not the last one: the session gives a record only when the next one or a pause comes. */
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
    await_all_read();
    for (size_t i = 0; i < rig.count; i++) {
        had[rig.given[i].record_id]++;
    }
    end();
    for (uint64_t id = 1; id <= last; id++) {
        assert_int_equal(had[id], 1);
    }
    buf_fini(&kept);
}

static void what_was_overwritten_between_two_runs_is_told_once(void **state)
{
    (void)state;
    struct buf kept;
    buf_init(&kept, 1 << 20);
    evt_sim_channel("Small", EVT_CHANNEL_OPERATIONAL, 10);
    write_many("Small", 5);
    start("Small", EVT_START_OLDEST, nothing);
    await_count(5);
    await_all_read();
    keep(5, &kept);
    end();
    write_many("Small", 30); /* 26 to 35 are left */
    start("Small", EVT_START_OLDEST, buf_span(&kept));
    await_count(10);
    await_all_read();
    assert_int_equal(rig.gap_count, 1);
    assert_string_equal(rig.gaps[0].stage, "eventlog");
    assert_string_equal(rig.gaps[0].reason, "overwritten");
    assert_int_equal(rig.gaps[0].count, 20);
    assert_int_equal(rig.given[0].record_id, 26);
    keep(1, &kept); /* only the gap is safe */
    end();
    start("Small", EVT_START_OLDEST, buf_span(&kept));
    await_count(10);
    await_all_read();
    assert_int_equal(rig.gap_count, 0);
    assert_int_equal(rig.given[0].record_id, 26);
    end();
    buf_fini(&kept);
}

/* The session selects only event 9. */
static void select_nine(void)
{
    static const char *nine[] = {"9"};
    rig.channels[0].ids = (struct config_strings){.items = nine, .count = 1};
}

/* Wait until the bookmark of the only channel is record ${id}. */
static void await_bookmark(uint64_t id, struct buf *kept)
{
    for (;;) {
        keep(rig.number, kept);
        struct span state = buf_span(kept);
        if (state.size > 8 && load_le64(state.data + state.size - 8) >= id) {
            return;
        }
        plat_mutex_lock(&rig.mutex);
        size_t pauses = rig.pauses;
        plat_mutex_unlock(&rig.mutex);
        await_rig(has_pauses, pauses + 1);
    }
}

static void what_a_query_leaves_out_is_no_loss_once_it_was_examined(void **state)
{
    (void)state;
    struct buf kept;
    buf_init(&kept, 1 << 20);
    evt_sim_channel("Small", EVT_CHANNEL_OPERATIONAL, 5);
    select_nine();
    start("Small", EVT_START_OLDEST, nothing);
    write_one("Small", 9);
    await_count(1);
    write_many("Small", 4);
    await_bookmark(5, &kept);
    end();
    assert_int_equal(rig.gap_count, 0);
    write_many("Small", 4); /* 5 to 9 are left */
    start("Small", EVT_START_OLDEST, buf_span(&kept));
    write_one("Small", 9);
    await_count(1);
    await_all_read();
    end();
    assert_int_equal(rig.gap_count, 0);
    assert_int_equal(rig.given[0].record_id, 10);
    buf_fini(&kept);
}

/* The query selected no record so far. The overwritten ones may have had some that it selects. */
static void what_was_overwritten_is_told_though_nothing_was_selected_before(void **state)
{
    (void)state;
    struct buf kept;
    buf_init(&kept, 1 << 20);
    evt_sim_channel("Small", EVT_CHANNEL_OPERATIONAL, 10);
    select_nine();
    write_many("Small", 5);
    start("Small", EVT_START_OLDEST, nothing);
    await_bookmark(5, &kept);
    end();
    write_many("Small", 30); /* 26 to 35 are left, with event 9 as record 14 */
    start("Small", EVT_START_OLDEST, buf_span(&kept));
    await_all_read();
    end();
    assert_int_equal(rig.gap_count, 1);
    assert_string_equal(rig.gaps[0].reason, "overwritten");
    assert_int_equal(rig.gaps[0].count, 0); /* unknown */
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
    await_all_read();
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
    evt_sim_fail_next(EVT_ERROR_QUERY_RESULT_STALE, 1);
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
    await_all_read();
    keep(4, &kept);
    end();
    evt_sim_clear("Security");
    start("Security", EVT_START_OLDEST, buf_span(&kept)); /* the bookmarked record is gone */
    await_all_read();
    write_one("Security", 5);
    await_count(1);
    assert_int_equal(rig.given[0].record_id, 5);
    assert_int_equal(rig.gap_count, 0);
    await_all_read();
    keep(1, &kept);
    end();
    write_many("Security", 4);
    evt_sim_clear("Security");
    write_one("Security", 1102);
    start("Security", EVT_START_OLDEST, buf_span(&kept));
    await_count(1);
    await_all_read();
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
    await_all_read();
    keep(30, &kept);
    end();
    evt_sim_recreate("Security");
    write_many("Security", 2);
    start("Security", EVT_START_OLDEST, buf_span(&kept));
    await_count(2);
    await_all_read();
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
    await_all_read();
    keep(1, &kept);
    end();
    start("ForwardedEvents", EVT_START_OLDEST, buf_span(&kept));
    await_count(1);
    await_all_read();
    assert_int_equal(rig.count, 1);
    assert_int_equal(rig.given[0].record_id, 17);
    assert_int_equal(rig.gap_count, 0);
    end();
    buf_fini(&kept);
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
    await_all_read();
    end();
    assert_int_equal(rig.count, 6);
    assert_int_equal(rig.given[0].record_id, 5);
    buf_fini(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_session_that_starts_now_leaves_out_what_was_there),
        TEST(each_record_comes_once_over_300_kills),
        TEST(what_was_overwritten_between_two_runs_is_told_once),
        TEST(what_a_query_leaves_out_is_no_loss_once_it_was_examined),
        TEST(what_was_overwritten_is_told_though_nothing_was_selected_before),
        TEST(results_that_went_stale_are_replaced_and_told),
        TEST(stale_results_without_a_hole_are_told_without_a_number),
        TEST(a_log_that_is_cleared_is_followed),
        TEST(a_log_that_was_made_anew_is_read_from_its_first_record),
        TEST(forwarded_events_go_by_the_numbers_of_their_own_log),
        TEST(what_the_sink_did_not_take_comes_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
