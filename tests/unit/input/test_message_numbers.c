#include "input/record/message_numbers.h"

#include "support/test.h"

/* The tests know the missing numbers beforehand: they leave these numbers out. */
enum { GLOBAL = 0x4000, LOCAL = 0x8000, BUFFER_BYTES = 1024 };

/* 952 bytes after the header; each message takes at least 16. */
static const uint64_t per_buffer = 60;

static struct message_numbers numbers;
static struct message_gap missing;

static void begin(uint32_t mode)
{
    message_numbers_init(&numbers, mode, BUFFER_BYTES);
}

static void note(uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i != last + 1; i++) {
        message_numbers_note(&numbers, i, 1000 + i);
    }
}

static uint64_t cut(void)
{
    bool any = message_numbers_cut(&numbers, &missing);
    assert_int_equal(any, any && missing.count != 0);
    return any ? missing.count : 0;
}

static uint64_t end(void)
{
    return message_numbers_end(&numbers, &missing) ? missing.count : 0;
}

static void holes_are_missing_and_order_is_not(void **state)
{
    (void)state;
    static const uint32_t came[] = {17, 12, 5, 13, 6, 9, 18}; /* 7 8 10 11 14 15 16 are missing */
    begin(LOCAL);
    for (size_t i = 0; i < sizeof(came) / sizeof(came[0]); i++) {
        message_numbers_note(&numbers, came[i], 100 + came[i]);
    }
    assert_int_equal(end(), 7);
    assert_int_equal(missing.from, 105);
    assert_int_equal(missing.to, 118);
    assert_int_equal(end(), 0); /* it is as after its creation */
    note(1, 3);                 /* the session has begun again */
    assert_int_equal(end(), 0);
}

static void sessions_without_numbers_miss_nothing(void **state)
{
    (void)state;
    begin(0); /* each message has the number 0, or whatever a driver writes */
    note(1, 2);
    note(9, 9);
    assert_int_equal(cut() + cut() + end(), 0);
}

static void a_number_may_lie_in_a_buffer_until_the_cut_behind_the_next(void **state)
{
    (void)state;
    begin(LOCAL);
    note(1, 4);
    note(6, 8);
    assert_int_equal(cut(), 0); /* 5 may be on its way */
    note(5, 5);
    note(10, 12);
    assert_int_equal(cut(), 0);
    note(14, 20);
    assert_int_equal(cut(), 1); /* 9, and 13 not yet */
    assert_int_equal(missing.from, 1008);
    assert_int_equal(missing.to, 1012);
    assert_int_equal(cut(), 1);
    assert_int_equal(cut() + end(), 0);
}

static void what_comes_when_it_was_told_counts_against_the_next(void **state)
{
    (void)state;
    begin(LOCAL);
    note(1, 1);
    cut();
    note(5, 6);
    cut();
    assert_int_equal(cut(), 3); /* 2 3 4 */
    note(3, 4);                 /* a processor that paused */
    note(10, 10);
    assert_int_equal(end(), 1); /* 7 8 9, minus two that were reported wrongly */
}

static void the_first_ones_may_come_behind_others(void **state)
{
    (void)state;
    begin(LOCAL);
    note(100, 110);
    assert_int_equal(cut(), 0);
    note(90, 95); /* of another processor */
    assert_int_equal(cut(), 4);
    note(111, 112);
    assert_int_equal(cut() + cut() + end(), 0);
}

static void numbers_begin_again_behind_the_last(void **state)
{
    (void)state;
    begin(LOCAL);
    note(UINT32_MAX - 2, UINT32_MAX);
    note(2, 3); /* 0 and 1 are missing */
    assert_int_equal(cut(), 0);
    note(5, 5);
    assert_int_equal(cut(), 2);
    assert_int_equal(end(), 1);
}

static void what_counters_of_etw_tell_is_not_told_again(void **state)
{
    (void)state;
    static const struct {
        uint64_t events;
        uint64_t buffers;
        uint64_t told; /* of 200 that are missing */
    } cases[] = {{0, 0, 200}, {50, 0, 150}, {200, 0, 0}, {UINT64_MAX, UINT64_MAX, 0}, {0, 1, 140},
        {80, 2, 0}, {79, 2, 1}, {0, 4, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(per_buffer == 60);
        begin(LOCAL);
        note(1, 10);
        note(211, 212);
        message_numbers_explain(&numbers, cases[i].events, cases[i].buffers);
        assert_int_equal(end(), cases[i].told);
    }
}

/* A lost buffer may not have held a single message. */
static void a_loss_explains_what_is_missing_near_it(void **state)
{
    (void)state;
    for (unsigned after = 0; after < 6; after++) {
        begin(LOCAL);
        note(1, 10);
        cut();
        message_numbers_explain(&numbers, 0, 1);
        for (unsigned i = 0; i < after; i++) {
            note(11 + i, 11 + i);
            cut();
        }
        note(31, 31);
        cut();
        uint64_t told = cut();
        /* The loss was counted before the cut with which its part began, or later: it may be the
         * same loss. */
        assert_int_equal(told, after < 2 ? 0 : 30 - (10 + after));
    }
}

static void a_loss_shows_when_the_next_message_comes(void **state)
{
    (void)state;
    begin(LOCAL);
    note(1, 10);
    cut();
    message_numbers_explain(&numbers, 0, 1);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(cut(), 0); /* no program writes */
    }
    note(31, 31);
    assert_int_equal(cut() + cut() + end(), 0);
}

static void those_of_all_sessions_have_another_name(void **state)
{
    (void)state;
    begin(GLOBAL);
    note(1, 1);
    note(4, 4);
    assert_string_equal(message_numbers_reason(&numbers), "global_message_numbers");
    assert_int_equal(end(), 2);
    begin(LOCAL);
    assert_string_equal(message_numbers_reason(&numbers), "message_numbers");
}

/* A finished trace is not cut, however many messages it has. */
static void a_trace_may_have_more_than_there_are_numbers(void **state)
{
    (void)state;
    enum { CAME = 6000, STEP = 1 << 20, EXPLAINED = 5 };
    const uint64_t lost = (uint64_t)(CAME - 1) * (STEP - 1);
    for (unsigned cuts = 0; cuts < 3; cuts++) {
        uint64_t told = 0;
        begin(LOCAL);
        for (uint32_t i = 0; i < CAME; i++) {
            message_numbers_note(&numbers, i * STEP, 1000 + i);
        }
        message_numbers_explain(&numbers, EXPLAINED, 0);
        for (unsigned i = 0; i < cuts; i++) {
            told += cut();
        }
        told += end();
        assert_int_equal(told, lost - EXPLAINED);
        if (cuts == 0) {
            assert_int_equal(missing.from, 1000);
            assert_int_equal(missing.to, 1000 + CAME - 1);
        }
    }
}

/* Any numbers, because files may have any. */
static void nothing_makes_it_count_more_than_there_are(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (unsigned round = 0; round < 2000; round++) {
        message_numbers_init(&numbers, LOCAL, round % 3 ? round % 97 : 0);
        uint64_t told = 0;
        for (unsigned i = 0; i < 20; i++) {
            random = random * 1664525 + 1013904223;
            message_numbers_note(&numbers, random >> random % 20, random);
            if (random >> 28 == 0) {
                told += cut();
            } else if (random >> 28 == 1) {
                message_numbers_explain(&numbers, random, random);
            }
        }
        told += end();
        assert_true(told < (UINT64_C(1) << 32) * 3);
    }
}

/* Each processor's numbers are in order, the processors in any order, and some are lost: as many as
 * were lost are reported. */
static void as_many_are_told_as_were_lost(void **state)
{
    (void)state;
    enum { PROCESSORS = 4, ROUNDS = 50, MOST = 400 };
    uint32_t random = 7;
    uint32_t next = UINT32_MAX - 1000; /* they start again from 0 on the way */
    uint64_t lost = 0;
    uint64_t told = 0;
    begin(LOCAL);
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint32_t buffers[PROCESSORS][MOST];
        size_t sizes[PROCESSORS] = {0};
        for (unsigned i = 0; i < MOST; i++) {
            random = random * 1664525 + 1013904223;
            unsigned cpu = random >> 30;
            if (round && round + 1 < ROUNDS && (random >> 20 & 15) == 0) {
                lost++;
                next++;
            } else {
                buffers[cpu][sizes[cpu]++] = next++;
            }
        }
        for (unsigned cpu = PROCESSORS; cpu-- > 0;) {
            for (size_t i = 0; i < sizes[cpu]; i++) {
                message_numbers_note(&numbers, buffers[cpu][i], round);
            }
        }
        told += cut(); /* a flush */
    }
    assert_true(lost > 1000);
    assert_int_equal(told + end(), lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holes_are_missing_and_order_is_not),
        cmocka_unit_test(sessions_without_numbers_miss_nothing),
        cmocka_unit_test(a_number_may_lie_in_a_buffer_until_the_cut_behind_the_next),
        cmocka_unit_test(what_comes_when_it_was_told_counts_against_the_next),
        cmocka_unit_test(the_first_ones_may_come_behind_others),
        cmocka_unit_test(numbers_begin_again_behind_the_last),
        cmocka_unit_test(what_counters_of_etw_tell_is_not_told_again),
        cmocka_unit_test(a_loss_explains_what_is_missing_near_it),
        cmocka_unit_test(a_loss_shows_when_the_next_message_comes),
        cmocka_unit_test(those_of_all_sessions_have_another_name),
        cmocka_unit_test(a_trace_may_have_more_than_there_are_numbers),
        cmocka_unit_test(nothing_makes_it_count_more_than_there_are),
        cmocka_unit_test(as_many_are_told_as_were_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
