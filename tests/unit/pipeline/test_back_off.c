#include "pipeline/batch/back_off.h"

#include "support/test.h"

enum { DRAWS = 20000 };

/* The longest and the shortest of the n-th waits of many series. */
static void range_of(
    unsigned n, unsigned min_ms, unsigned max_ms, unsigned *ret_least, unsigned *ret_most)
{
    *ret_least = UINT32_MAX;
    *ret_most = 0;
    for (uint64_t seed = 1; seed <= DRAWS; seed++) {
        struct back_off back_off;
        back_off_init(&back_off, min_ms, max_ms, seed * UINT64_C(0x9e3779b97f4a7c15));
        unsigned ms = 0;
        for (unsigned i = 0; i <= n; i++) {
            ms = back_off_next(&back_off, 0);
        }
        *ret_least = ms < *ret_least ? ms : *ret_least;
        *ret_most = ms > *ret_most ? ms : *ret_most;
    }
}

static void the_bound_doubles_from_the_shortest_to_the_longest(void **state)
{
    (void)state;
    static const struct {
        unsigned min_ms, max_ms;
        unsigned bounds[8];
    } cases[] = {{1000, 60000, {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000}},
        {50, 50, {50, 50, 50, 50, 50, 50, 50, 50}}, {100, 50, {50, 50, 50, 50, 50, 50, 50, 50}},
        {0, 0, {100, 200, 400, 800, 1600, 3200, 5000, 5000}}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (unsigned n = 0; n < 8; n++) {
            unsigned least;
            unsigned most;
            range_of(n, cases[i].min_ms, cases[i].max_ms, &least, &most);
            /* Full jitter: between 0 and the bound, and sometimes close to either. */
            assert_true(least >= 1 && least <= 1 + cases[i].bounds[n] / 50);
            assert_true(most <= cases[i].bounds[n]);
            assert_true(most >= cases[i].bounds[n] - cases[i].bounds[n] / 50);
        }
    }
}

static void success_begins_with_the_first_bound_again(void **state)
{
    (void)state;
    struct back_off back_off;
    back_off_init(&back_off, 10, 1000, 7);
    for (int i = 0; i < 20; i++) {
        back_off_next(&back_off, 0);
    }
    back_off_reset(&back_off);
    assert_true(back_off_next(&back_off, 0) <= 10);
    assert_true(back_off_next(&back_off, 0) <= 20);
}

static void what_is_asked_for_is_waited_in_full_and_a_random_part_behind_it(void **state)
{
    (void)state;
    static const struct {
        uint32_t asked;
        uint32_t least;
    } cases[] = {{1, 1}, {30000, 30000}, {3599999, 3599999}, {3600000, 3600000}, {3600001, 3600000},
        {UINT32_MAX, 3600000}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool differ = false;
        unsigned before = 0;
        for (uint64_t seed = 1; seed <= 100; seed++) {
            struct back_off back_off;
            back_off_init(&back_off, 1000, 60000, seed * UINT64_C(0x9e3779b97f4a7c15));
            unsigned ms = back_off_next(&back_off, cases[i].asked);
            assert_true(ms > cases[i].least && ms <= cases[i].least + 1000);
            differ |= before && ms != before;
            before = ms;
        }
        assert_true(differ);
    }
}

static void a_wrong_set_up_is_tried_slowly(void **state)
{
    (void)state;
    static const struct {
        unsigned max_ms;
        uint32_t asked;
        unsigned least, most;
    } cases[] = {{60000, 0, 30000, 60000}, {60000, 10000, 30000, 60000},
        {60000, 45000, 45000, 75000}, {1, 0, 0, 1}, {3, 0, 1, 3}, {0, 0, 2500, 5000},
        {60000, UINT32_MAX, 3600000, 3630000}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct back_off back_off;
        back_off_init(&back_off, 1, cases[i].max_ms, 99);
        for (int k = 0; k < 1000; k++) {
            unsigned ms = back_off_next_slow(&back_off, cases[i].asked);
            assert_true(ms > cases[i].least && ms <= cases[i].most);
        }
    }
}

/* Durations of the configuration go up to a day, and waits must not overflow. */
static void long_waits_stay_long(void **state)
{
    (void)state;
    enum { DAY_MS = 24 * 3600 * 1000 };
    struct back_off back_off;
    back_off_init(&back_off, DAY_MS, DAY_MS, 3);
    for (int i = 0; i < 1000; i++) {
        assert_true(back_off_next(&back_off, UINT32_MAX) > 3600000);
        assert_true(back_off_next_slow(&back_off, 0) > DAY_MS / 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_doubles_from_the_shortest_to_the_longest),
        cmocka_unit_test(success_begins_with_the_first_bound_again),
        cmocka_unit_test(what_is_asked_for_is_waited_in_full_and_a_random_part_behind_it),
        cmocka_unit_test(a_wrong_set_up_is_tried_slowly),
        cmocka_unit_test(long_waits_stay_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
