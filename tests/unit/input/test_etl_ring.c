#define _GNU_SOURCE

#include "support/follow_rig.h"

/* Circular traces, followed while their slots are written again. */

static const struct etl_options ring = {
    .buffer_size = 1024, .processors = 2, .circular_buffers = 4};

static void a_circular_trace_is_read_round_after_round(void **state)
{
    (void)state;
    make_trace(&ring, 200, 0);
    struct etl_follow *follow = NULL;
    bool closed = false;
    for (size_t i = 0; i < g.write_count; i++) {
        for (size_t cut = 0x40; cut <= 1024; cut += 0x1e0) { /* torn, then whole */
            growing_write_part(&g, i, 0, cut, path);
            follow = open_when_ready(follow);
            if (follow && g.writes[i].offset) {
                read_on(follow);
            }
        }
        growing_write(&g, i, path);
        if (follow && g.writes[i].offset) {
            read_on(follow);
            read_on(follow); /* it has settled */
        } else if (follow) {
            closed = read_on(follow);
        }
    }
    assert_true(closed);
    etl_follow_destroy(follow);
    assert_int_equal(overwritten, 0);
    assert_int_equal(seen.count, 201);
    bool had[201] = {false};
    for (size_t i = 0; i < seen.count; i++) {
        assert_true(seen.ids[i] <= 200 && !had[seen.ids[i]]);
        had[seen.ids[i]] = true;
        assert_true(i == 0 || compare_positions(&seen.positions[i - 1], &seen.positions[i]) < 0);
    }
}

static void what_a_circular_trace_overwrites_unread_is_counted(void **state)
{
    (void)state;
    make_trace(&ring, 200, 0);
    struct etl_follow *follow = NULL;
    for (size_t i = 0; i < g.write_count; i++) {
        growing_write(&g, i, path);
        if (i == 2 || i == 4 || i == 12) {
            follow = open_when_ready(follow);
            read_on(follow);
            read_on(follow);
        }
    }
    read_on(follow);
    etl_follow_destroy(follow);
    /* Buffers 1 to 4 were read, then 9 to 12, then the last four. */
    size_t data_buffers = g.write_count - 2;
    assert_int_equal(overwritten, 4 + (data_buffers - 12 - 4));
    assert_int_equal(seen.count, 1 + 200 - 9 * overwritten);
}

static void a_circular_trace_found_late_has_lost_nothing_yet(void **state)
{
    (void)state;
    make_trace(&ring, 200, 0);
    for (size_t i = 0; i < g.write_count - 1; i++) {
        growing_write(&g, i, path);
    }
    struct etl_follow *follow = open_when_ready(NULL);
    read_on(follow);
    assert_int_equal(overwritten, 0);
    size_t buffers = g.write_count - 2;
    assert_int_equal(seen.positions[1].buffer_offset, 1024 * (buffers - 3));
    etl_follow_destroy(follow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_circular_trace_is_read_round_after_round, begin, end),
        cmocka_unit_test_setup_teardown(
            what_a_circular_trace_overwrites_unread_is_counted, begin, end),
        cmocka_unit_test_setup_teardown(
            a_circular_trace_found_late_has_lost_nothing_yet, begin, end),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
