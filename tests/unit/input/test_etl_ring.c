#define _GNU_SOURCE

#include "support/follow_rig.h"

/* Circular traces, followed while the writer overwrites their slots. */

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

/* A position never stands for two events, in whichever round and way it was read. */
static void positions_in_a_circular_trace_tell_its_rounds_apart(void **state)
{
    (void)state;
    make_trace(&ring, 200, 0);
    for (size_t i = 0; i < g.write_count; i++) {
        growing_write(&g, i, path);
        struct etl_follow *follow = open_when_ready(NULL);
        if (follow) { /* a new reader at every moment, */
            etl_follow_read(follow, UINT64_MAX, &err);
            etl_follow_destroy(follow);
            struct etl_handles handles = {.open = 0};
            struct etl_file *file = etl_file_open(path, NULL, &handles, &arena, &err);
            assert_non_null(file);
            const struct etl_visitor visitor = {.record = on_record}; /* and one in file order */
            assert_true(etl_file_walk(file, &visitor, &err));
            etl_file_destroy(file);
        }
    }
    bool had[201] = {false};
    for (size_t i = 0; i < seen.count; i++) {
        had[seen.ids[i]] = true;
        for (size_t k = 0; k < i; k++) {
            bool same_place = compare_positions(&seen.positions[i], &seen.positions[k]) == 0;
            assert_int_equal(same_place, seen.ids[i] == seen.ids[k]);
        }
    }
    for (size_t i = 0; i < 201; i++) {
        assert_true(had[i]);
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
    assert_int_equal(
        seen.positions[1].buffer_offset, (uint64_t)(buffers - 3) << 24 | (1 + (buffers - 4) % 4));
    etl_follow_destroy(follow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_circular_trace_is_read_round_after_round, begin, end),
        cmocka_unit_test_setup_teardown(
            positions_in_a_circular_trace_tell_its_rounds_apart, begin, end),
        cmocka_unit_test_setup_teardown(
            what_a_circular_trace_overwrites_unread_is_counted, begin, end),
        cmocka_unit_test_setup_teardown(
            a_circular_trace_found_late_has_lost_nothing_yet, begin, end),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
