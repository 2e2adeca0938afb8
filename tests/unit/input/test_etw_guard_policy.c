#include "input/windows/session/etw_guard_policy.h"

#include "support/test.h"

/* A clock of seconds: at most 5 repairs in 10 minutes, and a first pause of 10 s. */
static const uint64_t s = 1000000000;

static struct etw_guard_limits limits(void)
{
    return etw_guard_policy_limits(5, 600 * s, 10 * s);
}

static void a_window_says_how_long_repairs_must_hold(void **state)
{
    (void)state;
    struct etw_guard_limits l = limits();
    assert_int_equal(l.repairs, 5);
    assert_int_equal(l.window_ns, 600 * s);
    assert_int_equal(l.undone_ns, 120 * s);
    assert_int_equal(l.pause_ns, 10 * s);
    assert_int_equal(l.pause_max_ns, 150 * s);
    /* A pause longer than the window allows. */
    assert_int_equal(etw_guard_policy_limits(5, 20 * s, 10 * s).pause_ns, 5 * s);
}

static void what_breaks_first_is_repaired_at_once(void **state)
{
    (void)state;
    struct etw_guard_bound bound = {0};
    struct etw_guard_limits l = limits();
    etw_guard_policy_whole(&bound, &l, 1 * s);
    assert_int_equal(etw_guard_policy_broken(&bound, &l, 2 * s), ETW_GUARD_REPAIR);
    etw_guard_policy_repaired(&bound, &l, true, 2 * s);
    assert_int_equal(bound.repairs, 1);
}

/* Repairs hold for two minutes each, then another program undoes them. */
static void a_window_has_so_many_repairs_and_no_more(void **state)
{
    (void)state;
    struct etw_guard_bound bound = {0};
    struct etw_guard_limits l = limits();
    l.undone_ns = 10 * s;
    uint64_t now = 100 * s;
    for (uint32_t i = 0; i < 5; i++, now += 100 * s) {
        assert_int_equal(etw_guard_policy_broken(&bound, &l, now), ETW_GUARD_REPAIR);
        etw_guard_policy_repaired(&bound, &l, true, now);
        etw_guard_policy_whole(&bound, &l, now + 90 * s);
    }
    assert_int_equal(now, 600 * s);
    assert_int_equal(etw_guard_policy_broken(&bound, &l, now), ETW_GUARD_GIVE_UP);
    assert_false(bound.contested);
    assert_int_equal(bound.repairs, 5);
    assert_int_equal(etw_guard_policy_broken(&bound, &l, now + 50 * s), ETW_GUARD_LEAVE);
    assert_int_equal(bound.window_until_ns, 700 * s);
    assert_int_equal(etw_guard_policy_broken(&bound, &l, 700 * s - 1), ETW_GUARD_LEAVE);
    assert_int_equal(etw_guard_policy_broken(&bound, &l, 700 * s), ETW_GUARD_REPAIR);
    etw_guard_policy_repaired(&bound, &l, true, 700 * s);
    assert_int_equal(bound.repairs, 1);
}

static void a_repair_that_is_undone_twice_is_not_repeated(void **state)
{
    (void)state;
    struct etw_guard_bound bound = {0};
    struct etw_guard_limits l = limits();
    assert_int_equal(etw_guard_policy_broken(&bound, &l, 1 * s), ETW_GUARD_REPAIR);
    etw_guard_policy_repaired(&bound, &l, true, 1 * s);
    assert_int_equal(etw_guard_policy_broken(&bound, &l, 11 * s), ETW_GUARD_REPAIR);
    etw_guard_policy_repaired(&bound, &l, true, 11 * s);
    etw_guard_policy_whole(&bound, &l, 20 * s); /* for a moment */
    assert_int_equal(etw_guard_policy_broken(&bound, &l, 31 * s), ETW_GUARD_GIVE_UP);
    assert_true(bound.contested);
    assert_int_equal(bound.repairs, 2);
    etw_guard_policy_whole(&bound, &l, 40 * s);
    assert_int_equal(etw_guard_policy_broken(&bound, &l, 600 * s), ETW_GUARD_LEAVE);
    assert_int_equal(etw_guard_policy_broken(&bound, &l, 601 * s), ETW_GUARD_REPAIR);
    assert_false(bound.contested);
}

static void a_repair_that_held_forgives_those_before(void **state)
{
    (void)state;
    struct etw_guard_bound bound = {0};
    struct etw_guard_limits l = limits();
    uint64_t now = s;
    /* each repair holds, so the next change does not answer it */
    for (int i = 0; i < 4; i++, now += 121 * s) {
        assert_int_equal(etw_guard_policy_broken(&bound, &l, now), ETW_GUARD_REPAIR);
        assert_int_equal(bound.undone, 0);
        etw_guard_policy_repaired(&bound, &l, true, now);
        etw_guard_policy_whole(&bound, &l, now + 120 * s);
    }
}

static void pauses_grow_between_repairs(void **state)
{
    (void)state;
    static const uint64_t pauses[] = {10, 20, 40, 80, 150, 150};
    struct etw_guard_bound bound = {0};
    struct etw_guard_limits l = limits();
    l.repairs = 6;
    l.window_ns = 3600 * s;
    uint64_t now = s;
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(etw_guard_policy_broken(&bound, &l, now), ETW_GUARD_REPAIR);
        /* the repair fails, so no program has undone it */
        etw_guard_policy_repaired(&bound, &l, false, now);
        assert_int_equal(bound.next_ns, now + pauses[i] * s);
        if (i < 5) {
            assert_int_equal(
                etw_guard_policy_broken(&bound, &l, bound.next_ns - 1), ETW_GUARD_WAIT);
        }
        now = bound.next_ns;
    }
    assert_int_equal(etw_guard_policy_broken(&bound, &l, now), ETW_GUARD_GIVE_UP);
    assert_false(bound.contested);
}

static void without_repairs_it_is_told_once_in_a_window(void **state)
{
    (void)state;
    struct etw_guard_bound bound = {0};
    struct etw_guard_limits l = etw_guard_policy_limits(0, 600 * s, 10 * s);
    assert_int_equal(etw_guard_policy_broken(&bound, &l, 1 * s), ETW_GUARD_GIVE_UP);
    assert_int_equal(etw_guard_policy_broken(&bound, &l, 2 * s), ETW_GUARD_LEAVE);
    assert_int_equal(etw_guard_policy_broken(&bound, &l, 600 * s), ETW_GUARD_LEAVE);
    assert_int_equal(etw_guard_policy_broken(&bound, &l, 601 * s), ETW_GUARD_GIVE_UP);
}

/* Two guards that want different settings of one session; each looks every 10 s. */
static void two_guards_do_not_take_turns_for_ever(void **state)
{
    (void)state;
    struct etw_guard_bound bounds[2] = {{0}, {0}};
    struct etw_guard_limits l = limits();
    int wanted_by = 0; /* the guard that changed it last */
    int repairs = 0;
    for (uint64_t now = 10 * s; now < 600 * s; now += 5 * s) {
        int who = (int)(now / (5 * s) % 2);
        if (wanted_by == who) {
            etw_guard_policy_whole(&bounds[who], &l, now);
        } else if (etw_guard_policy_broken(&bounds[who], &l, now) == ETW_GUARD_REPAIR) {
            etw_guard_policy_repaired(&bounds[who], &l, true, now);
            wanted_by = who;
            repairs++;
        }
    }
    assert_true(repairs <= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_says_how_long_repairs_must_hold),
        cmocka_unit_test(what_breaks_first_is_repaired_at_once),
        cmocka_unit_test(a_window_has_so_many_repairs_and_no_more),
        cmocka_unit_test(a_repair_that_is_undone_twice_is_not_repeated),
        cmocka_unit_test(a_repair_that_held_forgives_those_before),
        cmocka_unit_test(pauses_grow_between_repairs),
        cmocka_unit_test(without_repairs_it_is_told_once_in_a_window),
        cmocka_unit_test(two_guards_do_not_take_turns_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
