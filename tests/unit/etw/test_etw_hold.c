#include <stdatomic.h>

#include "etw/etw_hold.h"
#include "platform/plat_thread.h"
#include "support/test.h"

static void our_sessions_are_known_by_their_names(void **state)
{
    static const struct {
        const char *name;
        bool is_ours;
    } rows[] = {
        {"etwship-security", true},
        {"ETWSHIP-x", true},
        {"etwship-", false},
        {"etwship", false},
        {"xetwship-a", false},
        {"NT Kernel Logger", false},
        {"", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(etw_hold_is_ours(rows[i].name), rows[i].is_ours);
    }
}

static void a_session_is_held_by_one_at_a_time(void **state)
{
    struct error err;
    (void)state;
    assert_false(etw_hold_is_held("etwship-test-hold"));
    struct etw_hold *hold = etw_hold_take("etwship-test-hold", &err);
    assert_non_null(hold);
    assert_true(etw_hold_is_held("etwship-test-hold"));
    assert_true(etw_hold_is_held("ETWSHIP-Test-Hold")); /* names have no case */
    assert_false(etw_hold_is_held("etwship-test-hold2"));
    assert_null(etw_hold_take("Etwship-test-hold", &err));
    assert_int_equal(err.code, ERR_STOPPED);
    assert_non_null(strstr(err.text, "Etwship-test-hold"));
    struct etw_hold *other = etw_hold_take("etwship-test-hold2", &err);
    assert_non_null(other);
    etw_hold_drop(hold);
    assert_false(etw_hold_is_held("etwship-test-hold"));
    assert_true(etw_hold_is_held("etwship-test-hold2"));
    hold = etw_hold_take("etwship-test-hold", &err);
    assert_non_null(hold);
    etw_hold_drop(hold);
    etw_hold_drop(other);
    etw_hold_drop(NULL);
}

static atomic_int inside;
static atomic_int most_inside;

static void take_and_drop(void *self)
{
    (void)self;
    for (int i = 0; i < 500; i++) {
        struct etw_hold *hold = etw_hold_take("etwship-test-threads", NULL);
        if (hold) {
            int now = atomic_fetch_add(&inside, 1) + 1;
            if (now > atomic_load(&most_inside)) {
                atomic_store(&most_inside, now);
            }
            atomic_fetch_sub(&inside, 1);
            etw_hold_drop(hold);
        }
    }
}

static void threads_hold_a_session_one_at_a_time(void **state)
{
    struct plat_thread *threads[4];
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        threads[i] = plat_thread_start("hold", take_and_drop, NULL, NULL);
        assert_non_null(threads[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        plat_thread_join(threads[i]);
    }
    assert_int_equal(most_inside, 1);
    assert_false(etw_hold_is_held("etwship-test-threads"));
}

static void names_may_hold_what_names_of_objects_may_not(void **state)
{
    struct error err;
    (void)state;
    struct etw_hold *hold = etw_hold_take("etwship-test\\a/b\xc3\xa9", &err);
    assert_non_null(hold);
    assert_true(etw_hold_is_held("etwship-test\\a/b\xc3\xa9"));
    etw_hold_drop(hold);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_sessions_are_known_by_their_names),
        cmocka_unit_test(a_session_is_held_by_one_at_a_time),
        cmocka_unit_test(threads_hold_a_session_one_at_a_time),
        cmocka_unit_test(names_may_hold_what_names_of_objects_may_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
