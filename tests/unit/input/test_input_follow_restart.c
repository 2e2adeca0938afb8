#include <stdio.h>

#include "support/input_follow_rig.h"

/* The sink itself lets the files grow, and stops the run. Then another input continues. */

static size_t step;

/* Every fifth record adds one more write to each file. */
static void grow_in_turns(size_t count)
{
    if (count % 5 == 0) {
        for (size_t f = 0; f < FILES; f++) {
            if (step < g[f].write_count) {
                growing_write(&g[f], step, paths[f]);
            }
        }
        step++;
    }
}

static void start_files(void)
{
    for (size_t f = 0; f < FILES; f++) {
        plat_path_remove(paths[f], NULL);
        growing_write(&g[f], 0, paths[f]);
        growing_write(&g[f], 1, paths[f]);
    }
    step = 2;
}

/* Run until ${stop_at} records have come, on this thread; keep the state in state_bytes. */
static void run_until(size_t stop_at, bool restore)
{
    run.stop_at = stop_at;
    run.seen.count = 0;
    run.sequence = 0;
    run.ends = run.known_ends;
    make(MILLISECOND);
    run.is_restored = restore;
    if (restore) {
        input_file.restore(run.input, buf_span(&state_bytes));
    }
    assert_int_equal(input_file.run(run.input, &sink, &err), INPUT_STOPPED);
    buf_reset(&state_bytes);
    assert_true(input_file.state(run.input, &state_bytes, &err));
    input_file.destroy(run.input);
}

static void a_restart_gives_the_same_records_in_the_same_order(void **state)
{
    (void)state;
    enum { ALL = FILES * (EVENTS + 1) };
    static struct seen first;
    static struct seen second;
    for (size_t k = 1; k < ALL; k += 3) {
        start_files();
        run.grow = grow_in_turns;
        run_until(k, false);
        first = run.seen;
        /* It grew while no agent read it. */
        for (size_t i = 0; i < 3; i++) {
            grow_in_turns(0);
        }
        size_t middle = k + (ALL - k) / 2;
        run_until(middle, true);
        second = run.seen;
        assert_memory_equal(first.positions, second.positions, k * sizeof(first.positions[0]));
        for (size_t f = 0; f < FILES; f++) {
            write_all(f);
        }
        run.grow = NULL;
        run_until(ALL, true);
        assert_memory_equal(
            second.positions, run.seen.positions, middle * sizeof(second.positions[0]));
        for (size_t f = 0; f < FILES; f++) {
            assert_all_once(f);
        }
        assert_int_equal(run.renumbered, 0);
        assert_int_equal(run.damage, 0);
    }
}

/* Write to a circular trace up to write ${to}, without that write. */
static void write_ring(const struct growing *ring, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        growing_write(ring, i, paths[0]);
    }
}

static void a_circular_trace_goes_on_unless_it_was_overwritten(void **state)
{
    (void)state;
    enum { SLOTS = 8, READ = 30 };
    static struct seen first;
    const struct etl_options options = {
        .buffer_size = 1024, .processors = 1, .circular_buffers = SLOTS};
    struct growing ring;
    growing_init(&ring, &options);
    for (size_t i = 0; i < 20 * 9; i++) {
        growing_put(&ring, 0, 1000 + (int64_t)i * 10, (uint16_t)(i + 1));
    }
    growing_close(&ring);
    for (size_t later = 6; later <= 14; later += 8) {
        plat_path_remove(paths[0], NULL);
        run.damage = 0;
        run.renumbered = 0;
        write_ring(&ring, 0, 6); /* the header and five buffers */
        run_until(READ, false);
        first = run.seen;
        write_ring(&ring, 6, later);
        bool lost = later > 1 + SLOTS;
        size_t there = lost ? SLOTS : later - 1;
        /* The newest buffer waits for the next one, or for a round without change. */
        run_until(1 + there * 9, true);
        assert_int_equal(run.renumbered, lost);
        assert_int_equal(run.damage, lost);
        size_t same = lost ? 1 : READ;
        assert_memory_equal(first.positions, run.seen.positions, same * sizeof(first.positions[0]));
        for (size_t i = 0; i < there * 9; i++) {
            assert_int_equal(run.seen.ids[i + 1], (later - 1 - there) * 9 + i + 1);
        }
    }
    growing_fini(&ring);
}

static void files_that_are_done_are_skipped_and_counted(void **state)
{
    (void)state;
    enum { TWO = 2 * (EVENTS + 1) };
    write_all(0);
    write_all(1);
    run_until(TWO, false);
    assert_int_equal(run.ends, 1); /* stopped at the last record of the second */
    uint8_t first_id[16];
    memcpy(first_id, run.ended[0], 16);
    for (int forget = 0; forget < 2; forget++) {
        run.ends = 1;
        run.known_ends = 1;
        run.skipped = 0;
        if (forget) {
            make(MILLISECOND);
            input_file.restore(run.input, buf_span(&state_bytes));
            input_file.settle_file(run.input, first_id);
            buf_reset(&state_bytes);
            assert_true(input_file.state(run.input, &state_bytes, &err));
            input_file.destroy(run.input);
        }
        assert_true(plat_path_remove(paths[0], &err)); /* it is no longer needed */
        run_until(EVENTS + 1, true);
        assert_int_equal(run.skipped, 1);
        assert_int_equal(run.renumbered, 0);
        assert_int_equal(run.seen.numbers[0], EVENTS + 2);
        assert_int_equal(run.seen.ids[1], 1001);
        write_all(0);
    }
}

static void a_file_that_is_gone_lets_the_others_be_read_again(void **state)
{
    (void)state;
    start_files();
    run.grow = grow_in_turns;
    run_until(60, false);
    run.grow = NULL;
    assert_true(plat_path_remove(paths[1], &err));
    write_all(0);
    write_all(2);
    run_until(2 * (EVENTS + 1), true);
    assert_int_equal(run.renumbered, 1);
    assert_int_equal(run.damage, 1);
    assert_non_null(strstr(run.last_damage, "twice"));
    assert_all_once(0);
    assert_all_once(2);
}

static void a_damaged_state_lets_everything_be_read_again(void **state)
{
    (void)state;
    write_all(0);
    run_until(10, false);
    state_bytes.data[0] ^= 0x40;
    run_until(EVENTS / 2, true);
    assert_int_equal(run.renumbered, 1);
    assert_int_equal(run.damage, 1);
    /* The next run counts as this one did. */
    run_until(EVENTS + 1, true);
    assert_int_equal(run.behind, NEW_BEHIND);
    assert_int_equal(run.renumbered, 1);
    assert_int_equal(run.damage, 1);
    assert_all_once(0);
}

static void a_lost_state_begins_behind_what_outputs_had(void **state)
{
    (void)state;
    write_all(0);
    run_until(10, false);
    buf_reset(&state_bytes);
    run_until(EVENTS / 2, true);
    assert_int_equal(run.renumbered, 1);
    run_until(EVENTS + 1, true);
    assert_int_equal(run.behind, NEW_BEHIND);
    assert_int_equal(run.renumbered, 1);
    assert_all_once(0);
}

static void whole_files_come_in_the_same_order_though_others_came_before_them(void **state)
{
    (void)state;
    for (int merge = 0; merge < 2; merge++) {
        static struct seen first;
        plat_path_remove(paths[0], NULL);
        write_all(1);
        write_all(2);
        run.seen.count = 0;
        run.stop_at = EVENTS + 30;
        settings = settings_of(0);
        settings.follow = false;
        settings.merge = merge ? INPUT_FILE_ALL : INPUT_FILE_EACH;
        run.input = input_file.create(&settings, &(struct input_env){.name = "test"}, &err);
        assert_int_equal(input_file.run(run.input, &sink, &err), INPUT_STOPPED);
        buf_reset(&state_bytes);
        assert_true(input_file.state(run.input, &state_bytes, &err));
        input_file.destroy(run.input);
        first = run.seen;

        write_all(0); /* its name comes first */
        run.seen.count = 0;
        run.stop_at = 0;
        run.input = input_file.create(&settings, &(struct input_env){.name = "test"}, &err);
        input_file.restore(run.input, buf_span(&state_bytes));
        assert_int_equal(input_file.run(run.input, &sink, &err), INPUT_DONE);
        input_file.destroy(run.input);
        assert_memory_equal(
            first.positions, run.seen.positions, first.count * sizeof(first.positions[0]));
        assert_int_equal(run.seen.count, 3 * (EVENTS + 1));
        assert_int_equal(run.seen.ids[2 * (EVENTS + 1) + 1], 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_restart_gives_the_same_records_in_the_same_order, begin, end),
        cmocka_unit_test_setup_teardown(
            a_circular_trace_goes_on_unless_it_was_overwritten, begin, end),
        cmocka_unit_test_setup_teardown(files_that_are_done_are_skipped_and_counted, begin, end),
        cmocka_unit_test_setup_teardown(
            a_file_that_is_gone_lets_the_others_be_read_again, begin, end),
        cmocka_unit_test_setup_teardown(a_damaged_state_lets_everything_be_read_again, begin, end),
        cmocka_unit_test_setup_teardown(a_lost_state_begins_behind_what_outputs_had, begin, end),
        cmocka_unit_test_setup_teardown(
            whole_files_come_in_the_same_order_though_others_came_before_them, begin, end),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
