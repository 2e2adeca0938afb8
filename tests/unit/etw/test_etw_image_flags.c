#include "etw/etw_image_flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "registry_rig.h"
#include "support/etw_sim/sim_registry.h"

#define KEY "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Image File Execution Options\\app.exe"
#define NOTE "SOFTWARE\\etwship\\TracingFlags\\app.exe"

enum { CHANGES_MAX = 32 };

/* The value's number; -1: it is not there. */
static int64_t number_of(const char *key, const char *name)
{
    struct etw_registry_tree tree;
    uint32_t number;
    etw_registry_init(&tree);
    bool found = etw_registry_read(key, &tree, NULL) &&
                 etw_registry_dword(&tree, "", name, &number);
    etw_registry_fini(&tree);
    return found ? (int64_t)number : -1;
}

static bool is_there(const char *key)
{
    struct etw_registry_tree tree;
    etw_registry_init(&tree);
    bool there = etw_registry_read(key, &tree, NULL);
    etw_registry_fini(&tree);
    return there;
}

static void flags_come_and_go_without_a_trace(void **state)
{
    (void)state;
    assert_true(etw_image_flags_set("app.exe", "etwship-heap", NULL));
    assert_int_equal(number_of(KEY, "TracingFlags"), 1);
    assert_true(etw_image_flags_restore("app.exe", NULL));
    assert_false(is_there(KEY));
    assert_false(is_there(NOTE));
    assert_false(is_there("SOFTWARE\\etwship\\TracingFlags"));
    assert_true(etw_image_flags_restore("app.exe", NULL));
}

static void what_was_there_is_put_back(void **state)
{
    (void)state;
    registry_put(KEY, "TracingFlags", 6);
    registry_put(KEY, "GlobalFlag", 2);
    assert_true(etw_image_flags_set("app.exe", "etwship-heap", NULL));
    assert_int_equal(number_of(KEY, "TracingFlags"), 7);
    assert_true(etw_image_flags_restore("app.exe", NULL));
    assert_int_equal(number_of(KEY, "TracingFlags"), 6);
    assert_int_equal(number_of(KEY, "GlobalFlag"), 2);
}

static void what_others_have_set_is_left_to_them(void **state)
{
    (void)state;
    registry_put(KEY, "TracingFlags", 1);
    uint32_t before = sim_registry_changes(registry);
    assert_true(etw_image_flags_set("app.exe", "etwship-heap", NULL));
    assert_true(etw_image_flags_restore("app.exe", NULL));
    assert_int_equal(number_of(KEY, "TracingFlags"), 1);
    assert_int_equal(sim_registry_changes(registry), before);
}

static void what_others_change_meanwhile_stays(void **state)
{
    (void)state;
    assert_true(etw_image_flags_set("app.exe", "etwship-heap", NULL));
    registry_put(KEY, "TracingFlags", 4);
    assert_true(etw_image_flags_restore("app.exe", NULL));
    assert_int_equal(number_of(KEY, "TracingFlags"), 4);
    assert_false(is_there(NOTE));

    registry_put(KEY, "TracingFlags", 0);
    assert_true(etw_image_flags_set("app.exe", "etwship-heap", NULL));
    registry_put(KEY, "UseLargePages", 1);
    assert_true(etw_image_flags_restore("app.exe", NULL));
    assert_int_equal(number_of(KEY, "TracingFlags"), 0);
    assert_int_equal(number_of(KEY, "UseLargePages"), 1);
}

static void names_that_are_no_names_never_become_keys(void **state)
{
    static const char *const names[] = {"", "..\\app.exe", "a/b.exe", "C:app.exe", "a*.exe"};
    struct error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_false(etw_image_flags_set(names[i], "etwship-heap", &err));
        assert_int_equal(err.code, ERR_CONFIG);
    }
    assert_int_equal(sim_registry_changes(registry), 0);
}

static void what_the_registry_refuses_leaves_nothing(void **state)
{
    struct error err = {0};
    (void)state;
    for (uint32_t nth = 1; nth <= 3; nth++) { /* note's key, its values; then the flags */
        sim_registry_fail(registry, nth, 5);
        assert_false(etw_image_flags_set("app.exe", "etwship-heap", &err));
        assert_int_equal(err.os_code, 5);
        sim_registry_fail(registry, 0, 0);
        assert_true(etw_image_flags_restore("app.exe", NULL));
        assert_false(is_there(KEY));
        assert_false(is_there(NOTE));
    }
}

/* ---- kills ----------------------------------------------------------------------------------- */

struct clean {
    const char *abandoned; /* sessions of this name are */
    size_t told;
    size_t failed;
};

static bool is_abandoned(void *self, const char *session)
{
    const struct clean *clean = self;
    return strcmp(session, clean->abandoned) == 0;
}

static void tell(void *self, const char *image, const struct error *err)
{
    struct clean *clean = self;
    assert_string_equal(image, "app.exe");
    clean->told++;
    clean->failed += err != NULL;
}

static void a_kill_at_any_moment_is_cleaned_up(void **state)
{
    (void)state;
    for (uint32_t nth = 1; nth < CHANGES_MAX; nth++) {
        for (int with_value = 0; with_value < 2; with_value++) {
            struct clean clean = {.abandoned = "etwship-heap"};
            registry_tear_down(NULL);
            assert_int_equal(registry_set_up(NULL), 0);
            if (with_value) {
                registry_put(KEY, "TracingFlags", 2);
            }
            sim_registry_cut(registry, nth);
            etw_image_flags_set("app.exe", "etwship-heap", NULL);
            etw_image_flags_restore("app.exe", NULL);
            sim_registry_cut(registry, 0);
            etw_image_flags_clean(is_abandoned, tell, &clean);
            assert_int_equal(clean.failed, 0);
            assert_int_equal(number_of(KEY, "TracingFlags"), with_value ? 2 : -1);
            assert_false(is_there(NOTE));
        }
    }
}

static void flags_of_a_session_with_a_holder_stay(void **state)
{
    struct clean clean = {.abandoned = "etwship-other"};
    (void)state;
    assert_true(etw_image_flags_set("app.exe", "etwship-heap", NULL));
    etw_image_flags_clean(is_abandoned, tell, &clean);
    assert_int_equal(clean.told, 0);
    assert_int_equal(number_of(KEY, "TracingFlags"), 1);
    clean.abandoned = "etwship-heap";
    etw_image_flags_clean(is_abandoned, tell, &clean);
    assert_int_equal(clean.told, 1);
    assert_false(is_there(KEY));
}

static void a_run_after_a_kill_keeps_what_was_there_first(void **state)
{
    (void)state;
    registry_put(KEY, "TracingFlags", 2);
    assert_true(etw_image_flags_set("app.exe", "etwship-heap", NULL));
    /* killed; the next one sets them again */
    assert_true(etw_image_flags_set("app.exe", "etwship-heap", NULL));
    assert_int_equal(number_of(KEY, "TracingFlags"), 3);
    assert_true(etw_image_flags_restore("app.exe", NULL));
    assert_int_equal(number_of(KEY, "TracingFlags"), 2);
}

int main(void)
{
#define T(function) cmocka_unit_test_setup_teardown(function, registry_set_up, registry_tear_down)
    const struct CMUnitTest tests[] = {
        T(flags_come_and_go_without_a_trace),
        T(what_was_there_is_put_back),
        T(what_others_have_set_is_left_to_them),
        T(what_others_change_meanwhile_stays),
        T(names_that_are_no_names_never_become_keys),
        T(what_the_registry_refuses_leaves_nothing),
        T(a_kill_at_any_moment_is_cleaned_up),
        T(flags_of_a_session_with_a_holder_stay),
        T(a_run_after_a_kill_keeps_what_was_there_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
