#include "input/windows/etw_loss.h"

#include "support/test.h"

enum { FROM = 1000, TO = 2000 };

static struct etw_session_state counters(uint32_t events, uint32_t log, uint32_t real_time)
{
    return (struct etw_session_state){
        .events_lost = events, .log_buffers_lost = log, .real_time_buffers_lost = real_time};
}

static void what_the_counters_grew_by_is_lost_exactly_and_once(void **state)
{
    (void)state;
    struct etw_session_state before = counters(5, 1, 2);
    struct etw_session_state after = counters(105, 1, 4);
    struct etw_loss loss;
    struct gap gaps[ETW_LOSS_GAPS];
    struct trace_info trace = {.pointer_size = 8};
    etw_loss_begin(&loss, &before, FROM);
    assert_int_equal(etw_loss_look(&loss, &before, FROM + 1, &trace, gaps), 0);
    assert_int_equal(etw_loss_look(&loss, &after, TO, &trace, gaps), 2);
    assert_string_equal(gaps[0].stage, "etw");
    assert_string_equal(gaps[0].reason, "events_lost");
    assert_string_equal(gaps[0].unit, "events");
    assert_int_equal(gaps[0].count, 100);
    assert_true(gaps[0].exact);
    assert_int_equal(gaps[0].from, FROM + 1);
    assert_int_equal(gaps[0].to, TO);
    assert_ptr_equal(gaps[0].trace, &trace);
    assert_string_equal(gaps[1].reason, "realtime_buffers_lost");
    assert_string_equal(gaps[1].unit, "buffers");
    assert_int_equal(gaps[1].count, 2);
    assert_int_equal(etw_loss_look(&loss, &after, TO + 1, &trace, gaps), 0);
}

static void counters_wrap(void **state)
{
    (void)state;
    struct etw_session_state before = counters(UINT32_MAX - 9, UINT32_MAX, 0);
    struct etw_session_state after = counters(10, 0, 0);
    struct etw_loss loss;
    struct gap gaps[ETW_LOSS_GAPS];
    etw_loss_begin(&loss, &before, FROM);
    assert_int_equal(etw_loss_look(&loss, &after, TO, NULL, gaps), 2);
    assert_int_equal(gaps[0].count, 20);
    assert_string_equal(gaps[1].reason, "log_buffers_lost");
    assert_int_equal(gaps[1].count, 1);
}

static void a_mark_narrows_the_time_and_is_not_counted_again(void **state)
{
    (void)state;
    struct etw_session_state before = counters(0, 0, 0);
    struct etw_session_state after = counters(7, 0, 0);
    struct etw_loss loss;
    struct gap gaps[ETW_LOSS_GAPS];
    etw_loss_begin(&loss, &before, FROM);
    etw_loss_note(&loss, ETW_LOSS_MARK_EVENT, 3, FROM + 400);
    etw_loss_note(&loss, ETW_LOSS_MARK_BUFFER, 1, FROM + 300);
    assert_int_equal(etw_loss_look(&loss, &after, TO, NULL, gaps), 1);
    assert_int_equal(gaps[0].count, 7);
    assert_int_equal(gaps[0].from, FROM);
    assert_int_equal(gaps[0].to, FROM + 400);
    assert_int_equal(etw_loss_look(&loss, &after, TO + 1, NULL, gaps), 0);
}

static void without_counters_marks_are_all_there_is(void **state)
{
    (void)state;
    struct etw_loss loss;
    struct gap gaps[ETW_LOSS_GAPS];
    etw_loss_begin(&loss, NULL, FROM);
    etw_loss_note(&loss, ETW_LOSS_MARK_EVENT, 2, FROM + 1);
    etw_loss_note(&loss, ETW_LOSS_MARK_BUFFER, 1, FROM + 2);
    assert_int_equal(etw_loss_look(&loss, NULL, TO, NULL, gaps), 2);
    assert_string_equal(gaps[0].reason, "rt_lost_event");
    assert_int_equal(gaps[0].count, 2);
    assert_false(gaps[0].exact);
    assert_string_equal(gaps[1].reason, "rt_lost_buffer");
    assert_int_equal(etw_loss_look(&loss, NULL, TO, NULL, gaps), 0);

    /* Counters that become readable later begin at their first value. */
    struct etw_session_state late = counters(50, 0, 0);
    assert_int_equal(etw_loss_look(&loss, &late, TO, NULL, gaps), 0);
    late.events_lost = 51;
    assert_int_equal(etw_loss_look(&loss, &late, TO, NULL, gaps), 1);
    assert_int_equal(gaps[0].count, 1);
}

static void marks_before_the_first_counters_are_told(void **state)
{
    (void)state;
    struct etw_session_state first = counters(50, 0, 0);
    struct etw_loss loss;
    struct gap gaps[ETW_LOSS_GAPS];
    etw_loss_begin(&loss, NULL, FROM);
    etw_loss_note(&loss, ETW_LOSS_MARK_EVENT, 2, FROM + 1);
    assert_int_equal(etw_loss_look(&loss, &first, TO, NULL, gaps), 1);
    assert_string_equal(gaps[0].reason, "rt_lost_event");
    assert_int_equal(gaps[0].count, 2);
    assert_false(gaps[0].exact);
    assert_int_equal(etw_loss_look(&loss, &first, TO, NULL, gaps), 0);
}

static void a_lost_playback_file_is_told_whatever_the_counters_say(void **state)
{
    (void)state;
    struct etw_session_state same = counters(0, 0, 0);
    struct etw_loss loss;
    struct gap gaps[ETW_LOSS_GAPS];
    etw_loss_begin(&loss, &same, FROM);
    etw_loss_note(&loss, ETW_LOSS_MARK_FILE, 1, FROM + 1);
    assert_int_equal(etw_loss_look(&loss, &same, TO, NULL, gaps), 1);
    assert_string_equal(gaps[0].reason, "rt_lost_file");
    assert_false(gaps[0].exact);
}

static void a_clock_that_is_set_back_makes_no_gap_run_backwards(void **state)
{
    (void)state;
    struct etw_session_state before = counters(0, 0, 0);
    struct etw_session_state after = counters(1, 0, 0);
    struct etw_loss loss;
    struct gap gaps[ETW_LOSS_GAPS];
    etw_loss_begin(&loss, &before, TO);
    assert_int_equal(etw_loss_look(&loss, &after, FROM, NULL, gaps), 1);
    assert_true(gaps[0].from <= gaps[0].to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_counters_grew_by_is_lost_exactly_and_once),
        cmocka_unit_test(counters_wrap),
        cmocka_unit_test(a_mark_narrows_the_time_and_is_not_counted_again),
        cmocka_unit_test(without_counters_marks_are_all_there_is),
        cmocka_unit_test(marks_before_the_first_counters_are_told),
        cmocka_unit_test(a_lost_playback_file_is_told_whatever_the_counters_say),
        cmocka_unit_test(a_clock_that_is_set_back_makes_no_gap_run_backwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
