#include <stdio.h>

#include "support/input_follow_rig.h"

/* A thread runs the input; the test waits for what the sink has counted. */

static void run_thread(void *self)
{
    (void)self;
    run.end = input_file.run(run.input, &sink, &err);
}

static struct plat_thread *start(uint64_t poll_ns)
{
    make(poll_ns);
    struct plat_thread *thread = plat_thread_start("input", run_thread, NULL, &err);
    assert_non_null(thread);
    return thread;
}

static void finish(struct plat_thread *thread)
{
    input_file.stop(run.input);
    plat_thread_join(thread);
    assert_int_equal(run.end, INPUT_STOPPED);
    input_file.destroy(run.input);
}

static void wait_for(const size_t *what, size_t count)
{
    plat_mutex_lock(&run.mutex);
    while (*what < count) {
        plat_cond_wait(&run.changed, &run.mutex);
    }
    assert_int_equal(*what, count);
    plat_mutex_unlock(&run.mutex);
}

static const uint64_t hour = 3600 * UINT64_C(1000000000);

static void stop_ends_a_wait_at_once(void **state)
{
    (void)state;
    struct plat_thread *thread = start(hour);
    /* whether the input waits already or not: otherwise the test would last an hour */
    finish(thread);
    write_all(0);
    thread = start(hour);
    wait_for(&run.ends, 1);
    finish(thread);
    make(hour);
    input_file.stop(run.input);
    assert_int_equal(input_file.run(run.input, &sink, &err), INPUT_STOPPED);
    input_file.destroy(run.input);
    assert_int_equal(run.damage, 0);
}

static void new_files_are_found_and_growing_ones_read_on(void **state)
{
    (void)state;
    struct plat_thread *thread = start(MILLISECOND);
    write_all(1);
    wait_for(&run.seen.count, EVENTS + 1);
    wait_for(&run.ends, 1);
    for (size_t i = 0; i < g[0].write_count; i++) {
        growing_write(&g[0], i, paths[0]);
        growing_write(&g[2], i, paths[2]);  /* two at once: neither waits for the other's end */
        if (i >= 1 && i * 9 < EVENTS - 9) { /* full buffers; the last two are not */
            wait_for(&run.seen.count, EVENTS + 1 + 2 * (1 + 9 * i));
        }
    }
    wait_for(&run.ends, 3);
    finish(thread);
    assert_int_equal(run.seen.count, 3 * (EVENTS + 1));
    for (size_t f = 0; f < FILES; f++) {
        assert_all_once(f);
    }
    assert_int_equal(run.damage, 0);
}

static void a_file_replaced_by_another_is_followed_by_it(void **state)
{
    (void)state;
    if (temp_system_is_wine()) { /* Wine does not replace open files */
        skip();
    }
    struct plat_thread *thread = start(MILLISECOND);
    growing_write(&g[0], 0, paths[0]);
    growing_write(&g[0], 1, paths[0]);
    wait_for(&run.seen.count, 1 + 9);
    char other[sizeof(paths[0]) + 16];
    snprintf(other, sizeof(other), "%s.new", paths[0]);
    for (size_t i = 0; i < g[1].write_count; i++) {
        growing_write(&g[1], i, other);
    }
    assert_true(plat_path_rename(other, paths[0], &err));
    wait_for(&run.ends, 2);
    assert_int_equal(run.seen.count, 1 + 9 + 1 + EVENTS);
    assert_int_equal(run.damage, 0);
    assert_all_once(1);
    /* Likewise if the file is overwritten in place. The input had read all of it, so nothing is
     * lost. */
    assert_true(temp_file_cut(paths[0], 0));
    write_all(2);
    assert_true(plat_path_rename(paths[2], paths[0], &err));
    wait_for(&run.ends, 3);
    finish(thread);
    assert_all_once(2);
}

static void a_file_cut_while_it_grows_is_told(void **state)
{
    (void)state;
    struct plat_thread *thread = start(MILLISECOND);
    for (size_t i = 0; i < 4; i++) {
        growing_write(&g[0], i, paths[0]);
    }
    wait_for(&run.seen.count, 1 + 3 * 9);
    assert_true(temp_file_cut(paths[0], 1024));
    wait_for(&run.damage, 1);
    assert_non_null(strstr(run.last_damage, "overwritten"));
    finish(thread);
    assert_int_equal(run.ends, 0);
}

static void a_renamed_file_keeps_being_followed(void **state)
{
    (void)state;
    struct plat_thread *thread = start(MILLISECOND);
    growing_write(&g[0], 0, paths[0]);
    growing_write(&g[0], 1, paths[0]);
    wait_for(&run.seen.count, 1 + 9);
    for (size_t i = 2; i < g[0].write_count; i++) {
        assert_true(plat_path_rename(paths[i % 2], paths[1 - i % 2], &err));
        growing_write(&g[0], i, paths[1 - i % 2]);
        if (i * 9 < EVENTS - 9) { /* full buffers; the last two are not */
            wait_for(&run.seen.count, 1 + 9 * i);
        }
    }
    wait_for(&run.ends, 1);
    finish(thread);
    assert_all_once(0);
    plat_path_remove(paths[1], NULL);
}

static void what_is_no_trace_is_told_once_and_tried_again_when_it_changes(void **state)
{
    (void)state;
    FILE *file = fopen(paths[0], "wb");
    assert_non_null(file);
    for (int i = 0; i < 500; i++) {
        fputs("no trace ", file);
    }
    fclose(file);
    struct plat_thread *thread = start(MILLISECOND);
    wait_for(&run.damage, 1);
    write_all(1);
    wait_for(&run.ends, 1);
    assert_true(plat_path_remove(paths[0], &err));
    write_all(0);
    wait_for(&run.ends, 2);
    finish(thread);
    assert_true(run.damage <= 2); /* the input may have seen it half written */
    assert_all_once(0);
}

/* The number of records whose place is that of an earlier one. */
static size_t count_same_places(void)
{
    size_t same = 0;
    for (size_t i = 0; i < run.seen.count; i++) {
        for (size_t k = 0; k < i; k++) {
            const struct record_position *a = &run.seen.positions[i];
            const struct record_position *b = &run.seen.positions[k];
            same += memcmp(a->file_id, b->file_id, 16) == 0 &&
                    a->buffer_offset == b->buffer_offset && a->record_offset == b->record_offset;
        }
    }
    return same;
}

/* The copy is read, and recognised by itself, but its records have the ids of the trace. */
static void a_copy_is_a_file_of_its_own_with_the_records_of_the_trace(void **state)
{
    (void)state;
    write_all(0);
    for (size_t i = 0; i < g[0].write_count; i++) {
        growing_write(&g[0], i, paths[1]);
    }
    struct plat_thread *thread = start(MILLISECOND);
    wait_for(&run.ends, 2);
    finish(thread);
    assert_int_equal(run.seen.count, 2 * (EVENTS + 1));
    assert_memory_not_equal(run.ended[0], run.ended[1], 16);
    assert_int_equal(count_same_places(), EVENTS + 1);

    /* Each is recognised again, also when the first is gone. */
    run.known_ends = 2;
    assert_true(plat_path_remove(paths[0], &err));
    write_all(2);
    thread = start(MILLISECOND);
    wait_for(&run.ends, 3);
    finish(thread);
    assert_int_equal(run.seen.count, 3 * (EVENTS + 1));
}

/* The original is followed, the copy ends early. Then the copy grows, too. */
static void a_copy_of_a_growing_trace_brings_no_record_of_its_own(void **state)
{
    (void)state;
    struct plat_thread *thread = start(MILLISECOND);
    for (size_t i = 0; i < 4; i++) {
        growing_write(&g[0], i, paths[0]);
    }
    wait_for(&run.seen.count, 1 + 3 * 9);
    for (size_t i = 0; i < 3; i++) {
        growing_write(&g[0], i, paths[1]);
    }
    wait_for(&run.seen.count, 1 + 3 * 9 + 1 + 2 * 9);
    assert_int_equal(count_same_places(), 1 + 2 * 9);
    for (size_t i = 3; i < g[0].write_count; i++) {
        growing_write(&g[0], i, paths[1]);
    }
    for (size_t i = 4; i < g[0].write_count; i++) {
        growing_write(&g[0], i, paths[0]);
    }
    wait_for(&run.ends, 2);
    finish(thread);
    assert_int_equal(run.seen.count, 2 * (EVENTS + 1));
    assert_int_equal(count_same_places(), EVENTS + 1);
}

/* Files with the same beginning and different ends: records of one must not count as those of the
 * other. */
static void traces_that_only_begin_alike_have_records_of_their_own(void **state)
{
    (void)state;
    write_all(0);
    for (size_t i = 0; i < g[0].write_count; i++) {
        growing_write(&g[0], i, paths[1]);
    }
    FILE *file = fopen(paths[1], "r+b");
    assert_non_null(file);
    /* In the last buffer but two: a byte of a payload or of its filling. */
    assert_int_equal(fseek(file, -2100, SEEK_END), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, -2100, SEEK_END), 0);
    fputc(byte ^ 1, file);
    fclose(file);
    struct plat_thread *thread = start(MILLISECOND);
    wait_for(&run.ends, 2);
    finish(thread);
    assert_int_equal(count_same_places(), 0);
    assert_memory_not_equal(run.ended[0], run.ended[1], 16);

    /* The file is recognised again, also when the other is gone. */
    run.known_ends = 2;
    assert_true(plat_path_remove(paths[0], &err));
    write_all(2);
    thread = start(MILLISECOND);
    wait_for(&run.ends, 3);
    finish(thread);
    assert_int_equal(run.seen.count, 3 * (EVENTS + 1));
}

static void a_taken_file_with_a_new_name_is_not_read_again(void **state)
{
    (void)state;
    write_all(0);
    struct plat_thread *thread = start(MILLISECOND);
    wait_for(&run.ends, 1);
    assert_true(plat_path_rename(paths[0], paths[1], &err));
    write_all(2);
    wait_for(&run.ends, 2);
    finish(thread);
    assert_int_equal(run.seen.count, 2 * (EVENTS + 1));
    plat_path_remove(paths[1], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stop_ends_a_wait_at_once, begin, end),
        cmocka_unit_test_setup_teardown(new_files_are_found_and_growing_ones_read_on, begin, end),
        cmocka_unit_test_setup_teardown(a_file_replaced_by_another_is_followed_by_it, begin, end),
        cmocka_unit_test_setup_teardown(a_file_cut_while_it_grows_is_told, begin, end),
        cmocka_unit_test_setup_teardown(a_renamed_file_keeps_being_followed, begin, end),
        cmocka_unit_test_setup_teardown(
            what_is_no_trace_is_told_once_and_tried_again_when_it_changes, begin, end),
        cmocka_unit_test_setup_teardown(
            a_copy_is_a_file_of_its_own_with_the_records_of_the_trace, begin, end),
        cmocka_unit_test_setup_teardown(
            a_copy_of_a_growing_trace_brings_no_record_of_its_own, begin, end),
        cmocka_unit_test_setup_teardown(
            traces_that_only_begin_alike_have_records_of_their_own, begin, end),
        cmocka_unit_test_setup_teardown(a_taken_file_with_a_new_name_is_not_read_again, begin, end),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
