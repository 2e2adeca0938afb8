#include "input/file/input_schedule.h"

#include "support/test.h"

static const uint8_t a[16] = {0xa};
static const uint8_t b[16] = {0xb};
static const uint8_t c[16] = {0xc};

static struct error err;
static struct buf bytes;
static struct input_schedule schedule;

static int begin(void **state)
{
    (void)state;
    buf_init(&bytes, 1 << 20);
    input_schedule_init(&schedule);
    return 0;
}

static int end(void **state)
{
    (void)state;
    input_schedule_fini(&schedule);
    buf_fini(&bytes);
    return 0;
}

static void assert_entry(
    const struct input_schedule *s, size_t index, uint8_t kind, const uint8_t *id, uint64_t value)
{
    assert_true(index < s->count);
    const struct schedule_entry *entry = &s->entries[s->first + index];
    assert_int_equal(entry->kind, kind);
    assert_memory_equal(s->files[entry->file].id, id, 16);
    assert_true(entry->value == value);
}

static void add_all(void)
{
    input_schedule_add(&schedule, SCHEDULE_WHOLE, a, 1);
    input_schedule_add(&schedule, SCHEDULE_WHOLE, b, 0);
    input_schedule_add(&schedule, SCHEDULE_OPEN, c, 0x188);
    input_schedule_add(&schedule, SCHEDULE_READ, c, 65536);
    input_schedule_add(&schedule, SCHEDULE_READ, c, 131072);
    input_schedule_add(&schedule, SCHEDULE_FLUSH, c, 0);
    input_schedule_add(&schedule, SCHEDULE_READ, c, UINT64_MAX);
    input_schedule_add(&schedule, SCHEDULE_HEADER, c, 0x1a0);
    input_schedule_add(&schedule, SCHEDULE_END, c, 1);
}

static void the_number_that_it_begins_behind_reads_back(void **state)
{
    (void)state;
    static const uint8_t written[] = {1, 2, 0xac, 0x02, 0, 0};
    schedule.renumbered_after = 300;
    input_schedule_add(&schedule, SCHEDULE_WHOLE, a, 0);
    assert_true(input_schedule_write(&schedule, &bytes, &err));
    assert_memory_equal(bytes.data, written, sizeof(written));
    for (size_t with_base = 0; with_base < 2; with_base++) {
        struct input_schedule again;
        input_schedule_init(&again);
        assert_true(input_schedule_read(buf_span(&bytes), &again, &err));
        assert_int_equal(again.renumbered_after, 300);
        assert_int_equal(again.count, 1 - with_base);
        assert_int_equal(again.has_base, with_base);
        input_schedule_fini(&again);
        input_schedule_settle(&schedule, a);
        buf_reset(&bytes);
        assert_true(input_schedule_write(&schedule, &bytes, &err));
    }
    static const uint8_t none[] = {1, 2, 0};
    struct input_schedule again;
    input_schedule_init(&again);
    assert_false(input_schedule_read(span_make(none, sizeof(none)), &again, &err));
    input_schedule_fini(&again);
}

static void what_was_written_reads_back(void **state)
{
    (void)state;
    add_all();
    assert_true(input_schedule_write(&schedule, &bytes, &err));
    struct input_schedule again;
    input_schedule_init(&again);
    assert_true(input_schedule_read(buf_span(&bytes), &again, &err));
    assert_int_equal(again.count, 8); /* two readings became one */
    assert_int_equal(again.file_count, 3);
    assert_entry(&again, 0, SCHEDULE_WHOLE, a, 1);
    assert_entry(&again, 1, SCHEDULE_WHOLE, b, 0);
    assert_entry(&again, 2, SCHEDULE_OPEN, c, 0x188);
    assert_entry(&again, 3, SCHEDULE_READ, c, 131072);
    assert_entry(&again, 4, SCHEDULE_FLUSH, c, 0);
    assert_entry(&again, 5, SCHEDULE_READ, c, UINT64_MAX);
    assert_entry(&again, 6, SCHEDULE_HEADER, c, 0x1a0);
    assert_entry(&again, 7, SCHEDULE_END, c, 1);
    assert_false(again.has_base);
    input_schedule_fini(&again);
}

static void a_text_cut_short_or_wrong_is_refused(void **state)
{
    (void)state;
    add_all();
    assert_true(input_schedule_write(&schedule, &bytes, &err));
    size_t good = 0;
    for (size_t size = 0; size < bytes.size; size++) {
        struct input_schedule again;
        input_schedule_init(&again);
        bool read = input_schedule_read(span_make(bytes.data, size), &again, &err);
        assert_true(read || (err.code == ERR_FORMAT && again.count == 0));
        good += read; /* between two entries */
        input_schedule_fini(&again);
    }
    assert_int_equal(good, 8);
    static const uint8_t wrong[][12] = {{2}, {1, 2}, {1, 0, SCHEDULE_KINDS}, {1, 0, 0, 1},
        {1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct input_schedule again;
        input_schedule_init(&again);
        assert_false(input_schedule_read(span_make(wrong[i], sizeof(wrong[i])), &again, &err));
        assert_int_equal(err.code, ERR_FORMAT);
        input_schedule_fini(&again);
    }
}

static void readings_in_turns_are_kept_apart(void **state)
{
    (void)state;
    input_schedule_add(&schedule, SCHEDULE_READ, a, 10);
    input_schedule_add(&schedule, SCHEDULE_READ, b, 20);
    input_schedule_add(&schedule, SCHEDULE_READ, a, 30);
    input_schedule_add(&schedule, SCHEDULE_READ, a, 40);
    assert_int_equal(schedule.count, 3);
    assert_entry(&schedule, 2, SCHEDULE_READ, a, 40);
}

static void what_everybody_has_is_forgotten_from_the_start(void **state)
{
    (void)state;
    input_schedule_add(&schedule, SCHEDULE_WHOLE, a, 0);
    input_schedule_add(&schedule, SCHEDULE_WHOLE, b, 0);
    input_schedule_add(&schedule, SCHEDULE_WHOLE, c, 0);
    input_schedule_settle(&schedule, b); /* a comes before it */
    assert_int_equal(schedule.count, 3);
    assert_false(schedule.has_base);
    input_schedule_settle(&schedule, a);
    assert_int_equal(schedule.count, 1);
    assert_entry(&schedule, 0, SCHEDULE_WHOLE, c, 0);
    assert_true(schedule.has_base);
    assert_memory_equal(schedule.base, b, 16);
    assert_true(input_schedule_write(&schedule, &bytes, &err));
    struct input_schedule again;
    input_schedule_init(&again);
    assert_true(input_schedule_read(buf_span(&bytes), &again, &err));
    assert_true(again.has_base);
    assert_memory_equal(again.base, b, 16);
    assert_entry(&again, 0, SCHEDULE_WHOLE, c, 0);
    input_schedule_fini(&again);
    input_schedule_settle(&schedule, c);
    input_schedule_settle(&schedule, c);
    assert_int_equal(schedule.count, 0);
    assert_memory_equal(schedule.base, c, 16);
}

static void files_read_in_turns_are_forgotten_together(void **state)
{
    (void)state;
    input_schedule_add(&schedule, SCHEDULE_OPEN, a, 0);
    input_schedule_add(&schedule, SCHEDULE_OPEN, b, 0);
    input_schedule_add(&schedule, SCHEDULE_END, a, 1);
    input_schedule_add(&schedule, SCHEDULE_END, b, 1);
    input_schedule_add(&schedule, SCHEDULE_SETTLE, a, 0);
    input_schedule_add(&schedule, SCHEDULE_WHOLE, c, 0);
    input_schedule_settle(&schedule, a);
    assert_int_equal(schedule.count, 6);
    input_schedule_settle(&schedule, b);
    assert_int_equal(schedule.count, 1);
    assert_memory_equal(schedule.base, b, 16); /* the one that ended last */
}

static void merged_files_are_forgotten_together(void **state)
{
    (void)state;
    input_schedule_add(&schedule, SCHEDULE_WHOLE, a, 1);
    input_schedule_add(&schedule, SCHEDULE_WHOLE, b, 0);
    input_schedule_settle(&schedule, a);
    assert_int_equal(schedule.count, 2);
    input_schedule_settle(&schedule, b);
    assert_int_equal(schedule.count, 0);
}

static void too_many_entries_are_an_error_when_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < SCHEDULE_MAX_ENTRIES; i++) {
        input_schedule_add(&schedule, SCHEDULE_FLUSH, a, 0);
    }
    assert_false(schedule.incomplete);
    input_schedule_add(&schedule, SCHEDULE_FLUSH, a, 0);
    assert_false(input_schedule_write(&schedule, &bytes, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    schedule.incomplete = false;
    assert_false(input_schedule_write(&schedule, &bytes, &err)); /* the buffer has no room */
    assert_int_equal(err.code, ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_written_reads_back, begin, end),
        cmocka_unit_test_setup_teardown(the_number_that_it_begins_behind_reads_back, begin, end),
        cmocka_unit_test_setup_teardown(a_text_cut_short_or_wrong_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(readings_in_turns_are_kept_apart, begin, end),
        cmocka_unit_test_setup_teardown(what_everybody_has_is_forgotten_from_the_start, begin, end),
        cmocka_unit_test_setup_teardown(files_read_in_turns_are_forgotten_together, begin, end),
        cmocka_unit_test_setup_teardown(merged_files_are_forgotten_together, begin, end),
        cmocka_unit_test_setup_teardown(too_many_entries_are_an_error_when_written, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
