#define _GNU_SOURCE

#include <stdio.h>
#include <unistd.h>

#include "input/input_file.h"
#include "platform/plat_thread.h"
#include "support/growing.h"
#include "support/temp_folder.h"
#include "support/test.h"

/*
 * The input with `follow: true`, as the pipeline sees it. Where a thread runs it, the test waits for
 * what the sink has counted; else the sink itself makes the files grow, and stops the run.
 */
enum { MAX_SEEN = 4096, FILES = 3, EVENTS = 60 };

struct seen {
    size_t count;
    uint16_t ids[MAX_SEEN];
    uint64_t numbers[MAX_SEEN]; /* as the pipeline counts */
    struct record_position positions[MAX_SEEN];
};

struct run {
    void *input;
    struct plat_mutex mutex;
    struct plat_cond changed;
    struct seen seen;
    uint64_t sequence;
    size_t stop_at; /* records; 0: never */
    size_t ends;
    uint8_t ended[16][16];
    uint64_t ended_at[16];
    size_t known_ends; /* those of an earlier run: is_done */
    size_t skipped;
    size_t renumbered;
    size_t damage;
    char last_damage[256];
    void (*grow)(size_t count); /* called behind each record */
    enum input_end end;
};

static char folder[] = "/tmp/etwship_input_follow_XXXXXX";
static char paths[FILES][64];
static char pattern[64];
static const char *patterns[] = {pattern};
static struct growing g[FILES];
static struct run run;
static struct error err;
static struct buf state_bytes;

static int setup(void **state)
{
    (void)state;
    int result = temp_folder_make(folder);
    snprintf(pattern, sizeof(pattern), "%s/*.etl", folder);
    for (size_t i = 0; i < FILES; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s/%zu.etl", folder, i);
    }
    buf_init(&state_bytes, 1 << 20);
    return result;
}

static int teardown(void **state)
{
    (void)state;
    buf_fini(&state_bytes);
    return temp_folder_remove(folder);
}

/* Three traces of two processors; ids are 1000 * file + 1 and up. Not yet on the disk. */
static int begin(void **state)
{
    (void)state;
    memset(&run, 0, sizeof(run));
    plat_mutex_init(&run.mutex);
    plat_cond_init(&run.changed);
    buf_reset(&state_bytes);
    for (size_t f = 0; f < FILES; f++) {
        const struct etl_options options = {
            .buffer_size = 1024, .processors = 2, .start_time = UINT64_C(134397270000000000) + f};
        unlink(paths[f]);
        growing_init(&g[f], &options);
        for (size_t i = 0; i < EVENTS; i++) {
            growing_put(&g[f], i % 3 == 0, 1000 + (int64_t)i * 10, (uint16_t)(f * 1000 + i + 1));
        }
        growing_close(&g[f]);
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (size_t f = 0; f < FILES; f++) {
        growing_fini(&g[f]);
    }
    plat_cond_fini(&run.changed);
    plat_mutex_fini(&run.mutex);
    return 0;
}

static bool on_record(void *self, const struct event_record *record)
{
    (void)self;
    plat_mutex_lock(&run.mutex);
    struct seen *seen = &run.seen;
    assert_true(seen->count < MAX_SEEN);
    seen->ids[seen->count] = record->kind == RECORD_EVENT ? record->descriptor.id : 0;
    seen->positions[seen->count] = record->position;
    seen->numbers[seen->count++] = ++run.sequence;
    size_t count = seen->count;
    plat_cond_broadcast(&run.changed);
    plat_mutex_unlock(&run.mutex);
    if (run.grow) {
        run.grow(count);
    }
    return count != run.stop_at;
}

static void on_damage(void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    (void)self;
    assert_true(trace->path.size > 0);
    assert_true(offset == INPUT_WHOLE_FILE); /* the traces themselves are sound */
    assert_null(strstr(what, folder));
    plat_mutex_lock(&run.mutex);
    run.damage++;
    snprintf(run.last_damage, sizeof(run.last_damage), "%s", what);
    plat_cond_broadcast(&run.changed);
    plat_mutex_unlock(&run.mutex);
}

static void on_file_end(void *self, const uint8_t id[16])
{
    (void)self;
    plat_mutex_lock(&run.mutex);
    assert_true(run.ends < 16);
    memcpy(run.ended[run.ends], id, 16);
    run.ended_at[run.ends++] = run.sequence;
    plat_cond_broadcast(&run.changed);
    plat_mutex_unlock(&run.mutex);
}

static bool is_done(void *self, const uint8_t id[16])
{
    (void)self;
    for (size_t i = 0; i < run.known_ends; i++) {
        if (memcmp(run.ended[i], id, 16) == 0) {
            return true;
        }
    }
    return false;
}

static void on_skipped(void *self, const uint8_t id[16])
{
    (void)self;
    run.skipped++;
    for (size_t i = 0; i < run.known_ends; i++) {
        if (memcmp(run.ended[i], id, 16) == 0) {
            run.sequence = run.ended_at[i];
        }
    }
}

static void on_renumber(void *self)
{
    (void)self;
    run.renumbered++;
}

static const struct input_sink sink = {
    .record = on_record,
    .damage = on_damage,
    .file_end = on_file_end,
    .is_done = is_done,
    .skipped = on_skipped,
    .renumber = on_renumber,
};

static struct input_file_settings settings_of(uint64_t poll_ns)
{
    return (struct input_file_settings){.paths = {patterns, 1}, .follow = true, .poll_ns = poll_ns};
}

static struct input_file_settings settings;

static void make(uint64_t poll_ns)
{
    settings = settings_of(poll_ns);
    run.input = input_file.create(&settings, &(struct input_env){.name = "test"}, &err);
    assert_non_null(run.input);
}

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

static void write_all(size_t file)
{
    for (size_t i = 0; i < g[file].write_count; i++) {
        growing_write(&g[file], i, paths[file]);
    }
}

static size_t count_id(uint16_t id)
{
    size_t count = 0;
    for (size_t i = 0; i < run.seen.count; i++) {
        count += run.seen.ids[i] == id;
    }
    return count;
}

static void assert_all_once(size_t file)
{
    for (size_t i = 0; i < EVENTS; i++) {
        assert_int_equal(count_id((uint16_t)(file * 1000 + i + 1)), 1);
    }
}

enum { MILLISECOND = 1000000 };
static const uint64_t hour = 3600 * UINT64_C(1000000000);

static void stop_ends_a_wait_at_once(void **state)
{
    (void)state;
    struct plat_thread *thread = start(hour);
    finish(thread); /* whether it waits already or not: else the test would last an hour */
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
    struct plat_thread *thread = start(MILLISECOND);
    growing_write(&g[0], 0, paths[0]);
    growing_write(&g[0], 1, paths[0]);
    wait_for(&run.seen.count, 1 + 9);
    char other[80];
    snprintf(other, sizeof(other), "%s.new", paths[0]);
    for (size_t i = 0; i < g[1].write_count; i++) {
        growing_write(&g[1], i, other);
    }
    assert_int_equal(rename(other, paths[0]), 0);
    wait_for(&run.ends, 2);
    assert_int_equal(run.seen.count, 1 + 9 + 1 + EVENTS);
    assert_int_equal(run.damage, 0);
    assert_all_once(1);
    /* The same with the file written over in place; it was whole, so nothing of it is lost. */
    assert_int_equal(truncate(paths[0], 0), 0);
    write_all(2);
    assert_int_equal(rename(paths[2], paths[0]), 0);
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
    assert_int_equal(truncate(paths[0], 1024), 0);
    wait_for(&run.damage, 1);
    assert_non_null(strstr(run.last_damage, "other bytes"));
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
        assert_int_equal(rename(paths[i % 2], paths[1 - i % 2]), 0);
        growing_write(&g[0], i, paths[1 - i % 2]);
        if (i * 9 < EVENTS - 9) { /* full buffers; the last two are not */
            wait_for(&run.seen.count, 1 + 9 * i);
        }
    }
    wait_for(&run.ends, 1);
    finish(thread);
    assert_all_once(0);
    unlink(paths[1]);
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
    assert_int_equal(unlink(paths[0]), 0);
    write_all(0);
    wait_for(&run.ends, 2);
    finish(thread);
    assert_true(run.damage <= 2); /* it may have been looked at half written */
    assert_all_once(0);
}

/* Traces whose first records are the same are not mistaken for each other. */
static void a_copy_of_a_trace_is_a_trace_of_its_own(void **state)
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

    /* Each is known again, also when the first is gone. */
    run.known_ends = 2;
    assert_int_equal(unlink(paths[0]), 0);
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
    assert_int_equal(rename(paths[0], paths[1]), 0);
    write_all(2);
    wait_for(&run.ends, 2);
    finish(thread);
    assert_int_equal(run.seen.count, 2 * (EVENTS + 1));
    unlink(paths[1]);
}

/* ---- restarts -------------------------------------------------------------------------------------- */

static size_t step;

/* Every fifth record, one more write to each file. */
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
        unlink(paths[f]);
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
        /* It went on growing while nobody read. */
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

/* Write to a circular trace up to, and without, write ${to}. */
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
        unlink(paths[0]);
        run.damage = 0;
        run.renumbered = 0;
        write_ring(&ring, 0, 6); /* the header and five buffers */
        run_until(READ, false);
        first = run.seen;
        write_ring(&ring, 6, later);
        bool lost = later > 1 + SLOTS;
        size_t there = lost ? SLOTS : later - 1;
        /* The newest buffer waits for the one behind it, or for a round without change. */
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
            input_file.forget(run.input, first_id);
            buf_reset(&state_bytes);
            assert_true(input_file.state(run.input, &state_bytes, &err));
            input_file.destroy(run.input);
        }
        assert_int_equal(unlink(paths[0]), 0); /* nobody needs it any more */
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
    assert_int_equal(unlink(paths[1]), 0);
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
    run_until(EVENTS + 1, true);
    assert_int_equal(run.renumbered, 1);
    assert_int_equal(run.damage, 1);
    assert_all_once(0);
}

static void whole_files_come_in_the_same_order_though_others_came_before_them(void **state)
{
    (void)state;
    for (int merge = 0; merge < 2; merge++) {
        static struct seen first;
        unlink(paths[0]);
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
        cmocka_unit_test_setup_teardown(stop_ends_a_wait_at_once, begin, end),
        cmocka_unit_test_setup_teardown(new_files_are_found_and_growing_ones_read_on, begin, end),
        cmocka_unit_test_setup_teardown(a_file_replaced_by_another_is_followed_by_it, begin, end),
        cmocka_unit_test_setup_teardown(a_file_cut_while_it_grows_is_told, begin, end),
        cmocka_unit_test_setup_teardown(a_renamed_file_keeps_being_followed, begin, end),
        cmocka_unit_test_setup_teardown(
            what_is_no_trace_is_told_once_and_tried_again_when_it_changes, begin, end),
        cmocka_unit_test_setup_teardown(a_copy_of_a_trace_is_a_trace_of_its_own, begin, end),
        cmocka_unit_test_setup_teardown(a_taken_file_with_a_new_name_is_not_read_again, begin, end),
        cmocka_unit_test_setup_teardown(
            a_restart_gives_the_same_records_in_the_same_order, begin, end),
        cmocka_unit_test_setup_teardown(
            a_circular_trace_goes_on_unless_it_was_overwritten, begin, end),
        cmocka_unit_test_setup_teardown(files_that_are_done_are_skipped_and_counted, begin, end),
        cmocka_unit_test_setup_teardown(
            a_file_that_is_gone_lets_the_others_be_read_again, begin, end),
        cmocka_unit_test_setup_teardown(a_damaged_state_lets_everything_be_read_again, begin, end),
        cmocka_unit_test_setup_teardown(
            whole_files_come_in_the_same_order_though_others_came_before_them, begin, end),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
