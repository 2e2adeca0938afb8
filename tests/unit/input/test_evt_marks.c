#include "input/live/evt_marks.h"

#include "support/test.h"

static struct error err;
static struct buf out;

static struct span write_marks(struct evt_marks *marks, uint64_t number)
{
    buf_reset(&out);
    assert_true(evt_marks_write(marks, number, &out, &err));
    return buf_span(&out);
}

static int set_up(void **state)
{
    *state = evt_marks_create(&err);
    buf_init(&out, 1 << 20);
    return *state == NULL;
}

static int tear_down(void **state)
{
    evt_marks_destroy(*state);
    buf_fini(&out);
    return 0;
}

static void bookmarks_follow_what_is_safe(void **state)
{
    struct evt_marks *marks = *state;
    size_t a = evt_marks_channel(marks, span_text("A"));
    size_t b = evt_marks_channel(marks, span_text("B"));
    assert_int_equal(evt_marks_channel(marks, span_text("a")), a);
    evt_marks_add(marks, a, 100, 1);
    evt_marks_add(marks, a, 101, 2);
    evt_marks_add(marks, b, 7, 3);
    evt_marks_add(marks, a, 102, 4);
    evt_marks_add(marks, a, 110, 4); /* left out by a rule */
    evt_marks_add(marks, a, 111, 5);
    static const uint64_t expected[][2] = {
        {0, 0}, {100, 0}, {101, 0}, {101, 7}, {110, 7}, {111, 7}};
    for (uint64_t number = 0; number < 6; number++) {
        write_marks(marks, number);
        assert_int_equal(evt_marks_bookmark(marks, a), expected[number][0]);
        assert_int_equal(evt_marks_bookmark(marks, b), expected[number][1]);
    }
}

static void a_record_without_an_event_waits_for_those_before_it(void **state)
{
    struct evt_marks *marks = *state;
    size_t a = evt_marks_channel(marks, span_text("A"));
    evt_marks_add(marks, a, 1, 1);
    evt_marks_add(marks, a, 2, 2);
    evt_marks_add(marks, a, 3, 2);
    write_marks(marks, 1);
    assert_int_equal(evt_marks_bookmark(marks, a), 1);
    write_marks(marks, 2);
    assert_int_equal(evt_marks_bookmark(marks, a), 3);
}

static void what_is_written_is_read_again(void **state)
{
    struct evt_marks *marks = *state;
    evt_marks_add(marks, evt_marks_channel(marks, span_text("Security")), UINT64_MAX - 1, 1);
    evt_marks_channel(marks, span_text("Never read"));
    evt_marks_add(marks, evt_marks_channel(marks, span_text("\xc3\x84")), 5, 2);
    struct span bytes = write_marks(marks, 2);
    struct evt_marks *other = evt_marks_create(&err);
    assert_true(evt_marks_read(other, bytes));
    assert_true(evt_marks_bookmark(other, evt_marks_channel(other, span_text("security"))) ==
                UINT64_MAX - 1);
    assert_int_equal(evt_marks_bookmark(other, evt_marks_channel(other, span_text("\xc3\x84"))), 5);
    assert_int_equal(
        evt_marks_bookmark(other, evt_marks_channel(other, span_text("Never read"))), 0);
    evt_marks_destroy(other);
    for (size_t size = 1; size < bytes.size; size++) {
        other = evt_marks_create(&err);
        evt_marks_read(other, span_first(bytes, size)); /* must not crash */
        evt_marks_destroy(other);
    }
    other = evt_marks_create(&err);
    assert_true(evt_marks_read(other, span_make(NULL, 0)));
    assert_false(evt_marks_read(other, span_text("x")));
    evt_marks_destroy(other);
}

/* Against a list of all that was added. */
static void too_many_runs_make_bookmarks_late_and_never_early(void **state)
{
    struct evt_marks *marks = *state;
    enum { CHANNELS = 3, RECORDS = EVT_MARKS_MAX_RUNS + 5000 };
    size_t channels[CHANNELS];
    for (size_t c = 0; c < CHANNELS; c++) {
        const char name[2] = {(char)('A' + (int)c), 0};
        channels[c] = evt_marks_channel(marks, span_text(name));
    }
    for (uint64_t i = 1; i <= RECORDS; i++) {
        assert_true(evt_marks_add(marks, channels[i % CHANNELS], i * 2, i));
    }
    write_marks(marks, RECORDS / 2);
    for (size_t c = 0; c < CHANNELS; c++) { /* the runs up to there were dropped */
        assert_int_equal(evt_marks_bookmark(marks, channels[c]), 0);
    }
    write_marks(marks, RECORDS - 10);
    for (size_t c = 0; c < CHANNELS; c++) {
        assert_true(evt_marks_bookmark(marks, channels[c]) <= (RECORDS - 10) * 2);
    }
    write_marks(marks, RECORDS);
    for (size_t c = 0; c < CHANNELS; c++) {
        assert_true(evt_marks_bookmark(marks, channels[c]) > (RECORDS - CHANNELS) * 2);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(bookmarks_follow_what_is_safe),
        TEST(a_record_without_an_event_waits_for_those_before_it),
        TEST(what_is_written_is_read_again),
        TEST(too_many_runs_make_bookmarks_late_and_never_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
