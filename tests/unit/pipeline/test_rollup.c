#include "pipeline/slab/rollup.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

/* The lists of slabs, and windows that get them. Times are seconds. */

static const uint64_t second = 10000000;
static const uint64_t second_ns = 1000000000;

static struct roll_key key_of(uint64_t values, uint64_t time, uint64_t length)
{
    return (struct roll_key){.values = values,
        .begin = roll_window_begin(time * second, length * second),
        .length = length * second};
}

/* An event as a worker treats it: counted, or written and added. */
static void put(
    struct roll_list *list, uint64_t values, uint64_t time, uint64_t length, uint64_t sequence)
{
    struct roll_key key = key_of(values, time, length);
    if (!roll_list_count(list, &key, time * second)) {
        assert_true(roll_list_has_room(list));
        buf_printf(&list->texts.bytes, "{\"n\":%llu}\n", (unsigned long long)sequence);
        assert_true(piece_end_record(&list->texts, sequence));
        roll_list_add(list, &key, sequence, time * second);
    }
}

static struct roll_list *make_list(void)
{
    struct roll_list *list = roll_list_create(0);
    assert_non_null(list);
    return list;
}

/* Add all entries of the list; returns the number of absorbed events. */
static uint64_t add_all(struct rollup *rollup, struct roll_list *list)
{
    uint64_t all = 0;
    for (size_t i = 0; i < list->count; i++) {
        uint64_t absorbed = 99;
        assert_true(rollup_add(rollup, list, i, &absorbed));
        all += absorbed;
    }
    roll_list_destroy(list);
    return all;
}

static void assert_taken(struct rollup *rollup, uint64_t time, uint64_t now_ns, const char *text,
    uint64_t count, uint64_t first, uint64_t last)
{
    struct rollup_record *record = rollup_take(rollup, time, now_ns);
    assert_non_null(record);
    assert_span(buf_span(&record->text.bytes), text);
    assert_int_equal(record->text.count, 1);
    assert_int_equal(record->roll.count, count);
    assert_int_equal(record->roll.times.from, first * second);
    assert_int_equal(record->roll.times.to, last * second);
    rollup_record_destroy(record);
}

static void a_slab_counts_by_values_and_window(void **state)
{
    (void)state;
    struct roll_list *list = make_list();
    put(list, 1, 9, 10, 5);
    put(list, 1, 10, 10, 6); /* the next window */
    put(list, 2, 9, 10, 7);
    put(list, 1, 2, 10, 8);
    put(list, 1, 3, 10, 9);
    put(list, 1, 9, 5, 10); /* of a rule with other windows */
    assert_int_equal(list->count, 4);
    assert_int_equal(list->items[0].count, 3);
    assert_int_equal(list->items[0].sequence, 5);
    assert_int_equal(list->items[0].times.from, 2 * second);
    assert_int_equal(list->items[1].count, 1);
    assert_int_equal(list->items[2].count, 1);
    roll_list_destroy(list);
}

static void a_slab_has_room_for_so_many_keys(void **state)
{
    (void)state;
    struct roll_list *list = make_list();
    for (uint64_t i = 0; i < ROLL_LIST_MAX; i++) {
        put(list, i * 7919, 100, 10, i + 1);
    }
    assert_false(roll_list_has_room(list));
    for (uint64_t i = 0; i < ROLL_LIST_MAX; i++) {
        struct roll_key key = key_of(i * 7919, 100, 10);
        assert_true(roll_list_count(list, &key, 101 * second));
        assert_int_equal(list->items[i].count, 2);
    }
    struct roll_key other = key_of(3, 100, 10);
    assert_false(roll_list_count(list, &other, 100 * second));
    roll_list_destroy(list);
}

static void windows_add_up_over_slabs_and_end_by_event_time(void **state)
{
    (void)state;
    struct rollup *rollup = rollup_create(0, true);
    struct roll_list *list = make_list();
    assert_non_null(rollup);
    assert_true(rollup_hold(rollup) == UINT64_MAX);
    put(list, 1, 11, 10, 5);
    put(list, 1, 12, 10, 6);
    put(list, 2, 13, 10, 7);
    assert_int_equal(add_all(rollup, list), 1);
    assert_int_equal(rollup_hold(rollup), 5);
    list = make_list();
    put(list, 2, 14, 10, 8);
    put(list, 1, 19, 10, 9);
    put(list, 1, 20, 10, 10);
    assert_int_equal(add_all(rollup, list), 2);
    assert_null(rollup_take(rollup, 20 * second - 1, 0));
    assert_taken(rollup, 20 * second, 0, "{\"n\":5}\n", 3, 11, 19);
    assert_int_equal(rollup_hold(rollup), 7);
    assert_taken(rollup, 20 * second, 0, "{\"n\":7}\n", 2, 13, 14);
    assert_null(rollup_take(rollup, 20 * second, 0));
    assert_int_equal(rollup_hold(rollup), 10);
    /* A late event begins another count. */
    list = make_list();
    put(list, 1, 15, 10, 11);
    assert_int_equal(add_all(rollup, list), 0);
    assert_taken(rollup, 20 * second, 0, "{\"n\":11}\n", 1, 15, 15);
    assert_taken(rollup, UINT64_MAX, 0, "{\"n\":10}\n", 1, 20, 20);
    assert_null(rollup_take(rollup, UINT64_MAX, UINT64_MAX));
    assert_true(rollup_hold(rollup) == UINT64_MAX && rollup_due(rollup) == UINT64_MAX);
    rollup_destroy(rollup);
}

static void feed_one(struct rollup *rollup, uint64_t now, uint64_t values, uint64_t sequence)
{
    struct roll_list *list = make_list();
    rollup_feed(rollup, now * second_ns);
    put(list, values, 5, 10, sequence);
    add_all(rollup, list);
}

static void a_live_window_is_over_by_the_clock_too(void **state)
{
    (void)state;
    struct rollup *rollup = rollup_create(0, false);
    feed_one(rollup, 100, 1, 2);
    feed_one(rollup, 105, 2, 3);
    assert_int_equal(rollup_due(rollup), 110 * second_ns);
    assert_null(rollup_take(rollup, 0, 110 * second_ns - 1));
    feed_one(rollup, 109, 1, 4);
    assert_taken(rollup, 0, 110 * second_ns, "{\"n\":2}\n", 2, 5, 5);
    assert_null(rollup_take(rollup, 0, 110 * second_ns));
    assert_int_equal(rollup_due(rollup), 115 * second_ns);
    rollup_destroy(rollup); /* with an open window */
}

static void a_trace_has_its_time_as_long_as_it_comes(void **state)
{
    (void)state;
    struct rollup *rollup = rollup_create(0, true);
    feed_one(rollup, 100, 1, 2);
    rollup_feed(rollup, 109 * second_ns);
    assert_null(rollup_take(rollup, 0, 118 * second_ns));
    assert_taken(rollup, 0, 119 * second_ns, "{\"n\":2}\n", 1, 5, 5);
    rollup_destroy(rollup);
}

static void no_more_windows_are_open_than_there_is_room_for(void **state)
{
    (void)state;
    struct rollup *rollup = rollup_create(0, true);
    uint64_t absorbed;
    for (uint64_t i = 0; i < ROLLUP_MAX_WINDOWS; i++) {
        feed_one(rollup, 1, i, i + 2);
    }
    struct roll_list *list = make_list();
    put(list, 77, 5, 10, 9000);
    put(list, ROLLUP_MAX_WINDOWS, 5, 10, 9001);
    assert_true(rollup_add(rollup, list, 0, &absorbed));
    assert_int_equal(absorbed, 1);
    assert_false(rollup_add(rollup, list, 1, &absorbed));
    for (uint64_t i = 0; i < ROLLUP_MAX_WINDOWS; i++) {
        char text[32];
        snprintf(text, sizeof(text), "{\"n\":%llu}\n", (unsigned long long)i + 2);
        assert_taken(rollup, UINT64_MAX, 0, text, i == 77 ? 2 : 1, 5, 5);
    }
    assert_true(rollup_add(rollup, list, 1, &absorbed));
    roll_list_destroy(list);
    rollup_destroy(rollup);
}

static void texts_have_a_bound_of_their_own(void **state)
{
    (void)state;
    enum { BIG = 1024 * 1024 };
    struct rollup *rollup = rollup_create(0, true);
    static char big[BIG];
    memset(big, 'x', BIG);
    uint64_t absorbed;
    for (uint64_t i = 0; i <= ROLLUP_MAX_BYTES / BIG; i++) {
        struct roll_list *list = make_list();
        struct roll_key key = key_of(i, 5, 10);
        assert_true(roll_list_has_room(list));
        buf_add(&list->texts.bytes, big, BIG);
        assert_true(piece_end_record(&list->texts, i + 2));
        roll_list_add(list, &key, i + 2, 5 * second);
        assert_int_equal(rollup_add(rollup, list, 0, &absorbed), i < ROLLUP_MAX_BYTES / BIG);
        roll_list_destroy(list);
    }
    rollup_destroy(rollup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slab_counts_by_values_and_window),
        cmocka_unit_test(a_slab_has_room_for_so_many_keys),
        cmocka_unit_test(windows_add_up_over_slabs_and_end_by_event_time),
        cmocka_unit_test(a_live_window_is_over_by_the_clock_too),
        cmocka_unit_test(a_trace_has_its_time_as_long_as_it_comes),
        cmocka_unit_test(no_more_windows_are_open_than_there_is_room_for),
        cmocka_unit_test(texts_have_a_bound_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
