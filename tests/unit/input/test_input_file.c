#include "input/file/input_file.h"

#include <stdio.h>
#include <stdlib.h>

#include "input/registry/registry.h"
#include "support/test.h"
#include "unit/input/trace_bytes.h"

/* The input as the pipeline sees it: settings, resume, limits, losses, failures. The tests use
 * files in the current folder and remove them at the end. */

enum { MAX_SEEN = 64 };

struct seen {
    size_t records;
    uint16_t ids[MAX_SEEN];
    size_t trace_ends;
    const struct trace_info *ended[2];
    size_t ended_after[2]; /* records, by trace end */
    size_t metadata;
    size_t damage;
    size_t gaps;
    struct gap last_gap;
    size_t stop_after;
    void *input;
    bool host_seen;
    uint64_t left_out;
    uint64_t newest_left_out;
};

static bool on_record(void *self, const struct event_record *record)
{
    struct seen *seen = self;
    assert_true(seen->records < MAX_SEEN);
    for (size_t i = 0; i < seen->trace_ends; i++) {
        assert_ptr_not_equal(record->trace, seen->ended[i]);
    }
    seen->ids[seen->records++] = record->descriptor.id;
    seen->host_seen = span_is(record->trace->host_name, "there");
    return seen->records != seen->stop_after;
}

/* All records of b, and one buffer of a. */
static bool on_leaves_out(void *self, const struct event_record *record, uint64_t *ret_tag)
{
    (void)self;
    *ret_tag = UINT64_MAX - record->descriptor.id / 100;
    return record->descriptor.id >= 11;
}

static bool on_left_out(void *self, uint64_t tag, uint64_t count, uint64_t newest)
{
    struct seen *seen = self;
    assert_true(tag == UINT64_MAX || tag == UINT64_MAX - 1);
    seen->left_out += count;
    seen->newest_left_out = newest;
    return true;
}

static bool leaves_out;

static void on_metadata(void *self, const struct event_record *record)
{
    struct seen *seen = self;
    assert_true(record_is_metadata(record) && record->kind != RECORD_KERNEL);
    seen->metadata++;
}

static void on_trace_end(void *self, const struct trace_info *trace)
{
    struct seen *seen = self;
    assert_true(seen->trace_ends < 2);
    seen->ended_after[seen->trace_ends] = seen->records;
    seen->ended[seen->trace_ends++] = trace;
}

static void on_gap(void *self, const struct gap *gap)
{
    struct seen *seen = self;
    seen->gaps++;
    seen->last_gap = *gap;
}

static void on_damage(void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    struct seen *seen = self;
    (void)offset;
    assert_true(trace->path.size && what);
    seen->damage++;
}

static struct trace t;
static struct seen seen;
static struct error err;

static const char *const names[] = {"input_file_a.etl", "input_file_b.etl", "input_file_c.etl"};

static void save(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* a: ids 1-3 and 11-13, b: 101-103 and 111-113, interleaved in time; headers have id 0. */
static int setup(void **state)
{
    (void)state;
    for (uint16_t i = 0; i < 2; i++) {
        memset(&t, 0, sizeof(t));
        trace_header(&t,
            (struct trace_options){.events_lost = i ? 0 : 5, .start_time = trace_start_time + i});
        trace_buffer(&t, 0, 1, 2000 + i, 10, (uint16_t)(i * 100 + 1), 3);
        trace_buffer(&t, 1, 2, 2005 + i, 10, (uint16_t)(i * 100 + 11), 3);
        save(names[i], t.bytes, t.size);
    }
    save(names[2], "no trace", 8);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        remove(names[i]);
    }
    return 0;
}

static struct input_file_settings settings_of(size_t files, int merge)
{
    static const char *paths[3];
    memcpy(paths, names, sizeof(paths));
    return (struct input_file_settings){.paths = {paths, files}, .merge = merge};
}

static enum input_end run(const struct input_file_settings *settings)
{
    size_t stop_after = seen.stop_after;
    memset(&seen, 0, sizeof(seen));
    seen.stop_after = stop_after;
    void *input = input_file.create(settings, &(struct input_env){.name = "test"}, &err);
    assert_non_null(input);
    const struct input_sink sink = {
        .self = &seen,
        .metadata = on_metadata,
        .record = on_record,
        .leaves_out = leaves_out ? on_leaves_out : NULL,
        .left_out = leaves_out ? on_left_out : NULL,
        .trace_end = on_trace_end,
        .gap = on_gap,
        .damage = on_damage,
    };
    enum input_end end = input_file.run(input, &sink, &err);
    input_file.destroy(input);
    return end;
}

static void the_registry_knows_the_input(void **state)
{
    (void)state;
    assert_ptr_equal(input_registry_find("file"), &input_file);
    assert_null(input_registry_find("fil"));
    assert_null(input_registry_at(1000));
    assert_true(input_file.replayable);
}

static void files_come_one_by_one_or_merged(void **state)
{
    (void)state;
    static const uint16_t each[] = {0, 1, 11, 2, 12, 3, 13, 0, 101, 111, 102, 112, 103, 113};
    static const uint16_t all[] = {0, 0, 1, 101, 11, 111, 2, 102, 12, 112, 3, 103, 13, 113};
    struct input_file_settings settings = settings_of(2, INPUT_FILE_EACH);
    assert_int_equal(run(&settings), INPUT_DONE);
    assert_int_equal(seen.records, 14);
    assert_memory_equal(seen.ids, each, sizeof(each));
    assert_int_equal(seen.trace_ends, 2);
    assert_int_equal(seen.ended_after[0], 7);
    assert_int_equal(seen.ended_after[1], 14);
    settings.merge = INPUT_FILE_ALL;
    assert_int_equal(run(&settings), INPUT_DONE);
    assert_int_equal(seen.records, 14);
    assert_memory_equal(seen.ids, all, sizeof(all));
    assert_int_equal(seen.trace_ends, 2);
    assert_int_equal(seen.ended_after[0], 14);
}

static void what_the_sink_leaves_out_is_counted(void **state)
{
    (void)state;
    static const uint16_t expected[] = {0, 0, 1, 2, 3};
    struct input_file_settings settings = settings_of(2, INPUT_FILE_ALL);
    leaves_out = true;
    enum input_end end = run(&settings);
    leaves_out = false;
    assert_int_equal(end, INPUT_DONE);
    assert_int_equal(seen.records, 5);
    assert_memory_equal(seen.ids, expected, sizeof(expected));
    assert_int_equal(seen.left_out, 9);
    assert_true(seen.newest_left_out == trace_start_time + 1 + 2026 - TRACE_START_RAW);
}

static void start_and_end_limit_what_comes(void **state)
{
    (void)state;
    struct input_file_settings settings = settings_of(1, INPUT_FILE_EACH);
    settings.start = trace_start_time + 1005; /* raw 2005: id 11 */
    settings.end = trace_start_time + 1020;   /* raw 2020: id 3, left out */
    assert_int_equal(run(&settings), INPUT_DONE);
    static const uint16_t expected[] = {11, 2, 12};
    assert_int_equal(seen.records, 3);
    assert_memory_equal(seen.ids, expected, sizeof(expected));
    settings.end = settings.start;
    assert_null(input_file.create(&settings, &(struct input_env){.name = "test"}, &err));
    assert_int_equal(err.code, ERR_CONFIG);
}

static void recorded_losses_become_gaps(void **state)
{
    (void)state;
    struct input_file_settings settings = settings_of(2, INPUT_FILE_ALL);
    run(&settings);
    assert_int_equal(seen.gaps, 1);
    assert_string_equal(seen.last_gap.stage, "etw");
    assert_string_equal(seen.last_gap.reason, "events_lost");
    assert_string_equal(seen.last_gap.unit, "events");
    assert_int_equal(seen.last_gap.count, 5);
    assert_true(seen.last_gap.from == trace_start_time);
    assert_true(seen.last_gap.to == trace_start_time + 50000000);
}

/* A trace of messages with these numbers, and with a mode. */
static void save_messages(uint32_t mode, uint32_t lost, const uint32_t *numbers, size_t count)
{
    memset(&t, 0, sizeof(t));
    trace_header(&t, (struct trace_options){.mode = mode, .events_lost = lost});
    trace_begin(&t, 0, 1);
    for (size_t i = 0; i < count; i++) {
        enum { SEQUENCE = 0x01, TIMESTAMP = 0x08 };
        uint8_t *record = trace_place(&t, 20);
        store_le16(record, 20);
        record[3] = 0x90;
        store_le16(record + 6, SEQUENCE | TIMESTAMP);
        store_le32(record + 8, numbers[i]);
        store_le64(record + 12, 2000 + i);
    }
    save(names[2], t.bytes, t.size);
}

static void message_numbers_that_are_missing_become_a_gap(void **state)
{
    (void)state;
    enum { GLOBAL = 0x4000, LOCAL = 0x8000 };
    static const uint32_t holes[] = {7, 8, 12, 10, 15}; /* 9, 11, 13 and 14 are missing */
    static const uint32_t whole[] = {3, 2, 4};
    static const struct {
        uint32_t mode;
        uint32_t lost;
        const uint32_t *numbers;
        size_t count;
        uint64_t missing;
    } rows[] = {{LOCAL, 0, holes, 5, 4}, {LOCAL, 1, holes, 5, 3}, {LOCAL, 4, holes, 5, 0},
        {GLOBAL, 0, holes, 5, 4}, {0, 0, holes, 5, 0}, {LOCAL, 0, whole, 3, 0},
        {LOCAL, 0, NULL, 0, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        save_messages(rows[i].mode, rows[i].lost, rows[i].numbers, rows[i].count);
        const char *paths[] = {names[2]};
        struct input_file_settings settings = {.paths = {paths, 1}};
        run(&settings);
        assert_int_equal(seen.records, 1 + rows[i].count);
        assert_int_equal(seen.gaps, (rows[i].lost > 0) + (rows[i].missing > 0));
        if (rows[i].missing) {
            /* other sessions may have the missing numbers */
            bool is_global = rows[i].mode == GLOBAL;
            assert_string_equal(
                seen.last_gap.reason, is_global ? "global_message_numbers" : "message_numbers");
            assert_int_equal(seen.last_gap.count, rows[i].missing);
            assert_int_equal(seen.last_gap.exact, !is_global);
        }
    }
    save(names[2], "no trace", 8);
}

static void a_bad_file_does_not_keep_back_the_others(void **state)
{
    (void)state;
    for (int merge = 0; merge < 2; merge++) {
        const char *paths[] = {names[2], "input_file_missing.etl", names[0]};
        struct input_file_settings settings = {.paths = {paths, 3}, .merge = merge};
        assert_int_equal(run(&settings), INPUT_FAILED);
        assert_int_equal(seen.records, 7);
        assert_non_null(strstr(err.text, "missing"));
    }
    const char *paths[] = {names[2]};
    struct input_file_settings settings = {.paths = {paths, 1}};
    assert_int_equal(run(&settings), INPUT_FAILED);
    assert_non_null(strstr(err.text, names[2]));
    assert_non_null(strstr(err.text, "offset 0"));
}

static void the_sink_and_stop_end_it_early(void **state)
{
    (void)state;
    struct input_file_settings settings = settings_of(2, INPUT_FILE_ALL);
    for (size_t i = 1; i <= 3; i++) {
        seen.stop_after = i;
        assert_int_equal(run(&settings), INPUT_STOPPED);
        assert_int_equal(seen.records, i);
    }
    seen.stop_after = 0;
    void *input = input_file.create(&settings, &(struct input_env){.name = "test"}, &err);
    input_file.stop(input);
    const struct input_sink sink = {.self = &seen, .record = on_record};
    assert_int_equal(input_file.run(input, &sink, &err), INPUT_STOPPED);
    input_file.destroy(input);
    input_file.destroy(NULL);
}

static void a_path_named_twice_is_read_once(void **state)
{
    (void)state;
    const char *paths[] = {names[0], "input_file_a*.etl", names[0]};
    struct input_file_settings settings = {.paths = {paths, 3}, .host = "there"};
    assert_int_equal(run(&settings), INPUT_DONE);
    assert_int_equal(seen.records, 7);
    assert_true(seen.host_seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_registry_knows_the_input),
        cmocka_unit_test(files_come_one_by_one_or_merged),
        cmocka_unit_test(what_the_sink_leaves_out_is_counted),
        cmocka_unit_test(start_and_end_limit_what_comes),
        cmocka_unit_test(recorded_losses_become_gaps),
        cmocka_unit_test(message_numbers_that_are_missing_become_a_gap),
        cmocka_unit_test(a_bad_file_does_not_keep_back_the_others),
        cmocka_unit_test(the_sink_and_stop_end_it_early),
        cmocka_unit_test(a_path_named_twice_is_read_once),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
