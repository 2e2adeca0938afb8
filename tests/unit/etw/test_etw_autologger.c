#include "etw/etw_autologger.h"

#include <stdio.h>

#include "etw/etw_types.h"
#include "registry_rig.h"
#include "support/etw_sim/sim_registry.h"

#define A ETW_AUTOLOGGER_ROOT "\\etwship-a"
#define B ETW_AUTOLOGGER_ROOT "\\etwship-b"

/* By the recipe of TraceLogging: SHA-1 over the namespace and the name in upper case, UTF-16BE. */
static const char guid_a[] = "{1cf19512-ef2a-53a7-e4a5-50828fd62e43}";

static struct etw_autologger items[2];

static int set_up(void **state)
{
    items[0].name = "etwship-a";
    items[1].name = "etwship-b";
    for (size_t i = 0; i < 2; i++) {
        char guid[ETW_AUTOLOGGER_GUID_SIZE];
        struct etw_registry_tree *tree = &items[i].tree;
        etw_registry_init(tree);
        etw_autologger_guid(items[i].name, guid);
        etw_registry_put_text(tree, "", "Guid", guid);
        etw_registry_put_dword(tree, "", "Start", 1);
        etw_registry_put_dword(tree, "{p}", "Enabled", 1);
        etw_registry_put_dword(tree, "{p}\\Filters", "Enabled", 1);
    }
    return registry_set_up(state);
}

static int tear_down(void **state)
{
    etw_registry_fini(&items[0].tree);
    etw_registry_fini(&items[1].tree);
    return registry_tear_down(state);
}

static void put_text(const char *key, const char *name, const char *text)
{
    struct etw_registry_tree tree;
    etw_registry_init(&tree);
    etw_registry_put_text(&tree, "", name, text);
    assert_true(etw_registry_write(key, &tree, NULL));
    etw_registry_fini(&tree);
}

static struct buf dump(void)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    sim_registry_dump(registry, &text);
    assert_false(text.failed);
    return text;
}

static bool has(const char *line)
{
    struct buf text = dump();
    buf_add_byte(&text, 0);
    bool found = strstr((const char *)text.data, line) != NULL;
    buf_fini(&text);
    return found;
}

static void an_autologger_of_ours_is_known_by_its_guid(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *guid; /* NULL: that of the name */
        enum etw_autologger_owner owner;
    } rows[] = {
        {"etwship-a", NULL, ETW_AUTOLOGGER_OURS},
        {"ETWSHIP-a", NULL, ETW_AUTOLOGGER_OURS},
        {"etwship-a", "{9e814aad-3204-11d2-9a82-006008a86939}", ETW_AUTOLOGGER_FOREIGN},
        {"etwship-a", "", ETW_AUTOLOGGER_FOREIGN},
        {"other-a", NULL, ETW_AUTOLOGGER_FOREIGN},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char key[256];
        char guid[ETW_AUTOLOGGER_GUID_SIZE];
        struct etw_registry_tree tree;
        enum etw_autologger_owner owner = ETW_AUTOLOGGER_ABSENT;
        snprintf(key, sizeof(key), ETW_AUTOLOGGER_ROOT "\\%s", rows[i].name);
        etw_autologger_guid(rows[i].name, guid);
        put_text(key, "Guid", rows[i].guid ? rows[i].guid : guid);
        etw_registry_init(&tree);
        assert_true(etw_autologger_read(rows[i].name, &tree, &owner, NULL));
        assert_int_equal(owner, rows[i].owner);
        assert_int_equal(
            etw_autologger_remove(rows[i].name, NULL), rows[i].owner == ETW_AUTOLOGGER_OURS);
        etw_registry_fini(&tree);
    }
}

static void an_installation_writes_all_of_it(void **state)
{
    (void)state;
    struct error err = {0};
    assert_true(etw_autologger_install(items, 2, &err));
    assert_true(has(A " Start=1\n"));
    assert_true(has(A "\\{p}\\Filters Enabled=1\n"));
    assert_true(has(B " Start=1\n"));
}

/* Whichever call fails, the registry then has its previous content: nothing, an older installation,
 * or other programs' keys. */
static void an_installation_that_fails_leaves_nothing(void **state)
{
    (void)state;
    for (int before = 0; before < 2; before++) {
        if (before) {
            char guid[ETW_AUTOLOGGER_GUID_SIZE];
            etw_autologger_guid("etwship-a", guid);
            put_text(A, "Guid", guid);
            registry_put(A, "Start", 0);
            registry_put(A, "Boot", 1);
            registry_put(A "\\{old}", "Enabled", 1);
        } else {
            registry_put(ETW_AUTOLOGGER_ROOT "\\Theirs", "Start", 1);
        }
        struct buf wanted = dump();
        bool failed = true;
        uint32_t calls = 0;
        for (uint32_t nth = 1; failed; nth++) {
            struct error err = {0};
            uint32_t so_far = sim_registry_changes(registry);
            sim_registry_fail(registry, nth, ETW_ERROR_ACCESS_DENIED);
            failed = !etw_autologger_install(items, 2, &err);
            calls = sim_registry_changes(registry) - so_far;
            if (failed) {
                struct buf got = dump();
                assert_true(strstr(err.text, "run as Administrator"));
                assert_true(strstr(err.text, "HKLM\\" ETW_AUTOLOGGER_ROOT));
                assert_true(span_equal(buf_span(&got), buf_span(&wanted)));
                buf_fini(&got);
            } else {
                assert_int_equal(nth, calls + 1); /* each of its calls has failed once */
            }
        }
        sim_registry_fail(registry, 0, 0);
        buf_fini(&wanted);
        assert_true(etw_registry_remove(A, NULL));
        assert_true(etw_registry_remove(B, NULL));
    }
}

static void an_older_installation_is_changed_and_windows_values_stay(void **state)
{
    (void)state;
    struct error err = {0};
    assert_true(etw_autologger_install(items, 1, &err));
    registry_put(A, "FileCounter", 3);
    registry_put(A, "Status", 5);
    registry_put(A, "FileMax", 9);
    registry_put(A "\\{old}", "Enabled", 1);
    registry_put(A "\\{old}\\Filters", "Enabled", 1);
    registry_put(A "\\{p}", "EnableFlags", 1);
    assert_true(etw_autologger_install(items, 1, &err));
    struct buf text = dump();
    char expected[1024];
    snprintf(expected, sizeof(expected), "%s", A " FileCounter=3\n" A " Status=5\n");
    buf_add_byte(&text, 0);
    assert_non_null(strstr((const char *)text.data, expected));
    assert_null(strstr((const char *)text.data, "FileMax"));
    assert_null(strstr((const char *)text.data, "{old}"));
    assert_null(strstr((const char *)text.data, "EnableFlags"));
    buf_fini(&text);
}

static void keys_of_other_programs_are_not_touched(void **state)
{
    (void)state;
    struct error err = {0};
    put_text(B, "Guid", "{9e814aad-3204-11d2-9a82-006008a86939}");
    struct buf before = dump();
    assert_false(etw_autologger_install(items, 2, &err));
    assert_int_equal(err.code, ERR_STOPPED);
    assert_non_null(strstr(err.text, "there is an autologger etwship-b that etwship has not"));
    assert_false(etw_autologger_remove("etwship-b", &err));
    assert_non_null(strstr(err.text, "its name or Guid differs"));
    assert_false(etw_autologger_remove("etwship-none", &err));
    assert_string_equal(err.text, "there is no autologger etwship-none");
    assert_false(etw_autologger_remove("etwship-a\\..\\b", &err));
    assert_int_equal(err.code, ERR_CONFIG);
    struct buf after = dump();
    assert_true(span_equal(buf_span(&before), buf_span(&after)));
    buf_fini(&after);
    buf_fini(&before);
}

/* After an installation or removal was killed, the next one can install or remove. */
static void one_that_was_left_half_way_is_ours(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        bool removes = i & 1;
        bool done = false;
        for (uint32_t nth = 1; !done; nth++) {
            struct error err = {0};
            if (removes) {
                assert_true(etw_autologger_install(items, 1, &err));
            }
            sim_registry_cut(registry, nth);
            done = removes ? etw_autologger_remove("etwship-a", NULL)
                           : etw_autologger_install(items, 1, NULL);
            sim_registry_cut(registry, 0);
            if (!done && i & 2) {
                bool gone = !has(A);
                assert_int_equal(etw_autologger_remove("etwship-a", &err), !gone);
            }
            if (!etw_autologger_install(items, 1, &err)) {
                print_error("cut before call %u: %s\n", nth, err.text);
                fail();
            }
            assert_true(has(A " Start=1\n"));
            assert_true(etw_autologger_remove("etwship-a", &err));
        }
    }
    /* Windows removes the values of a key one by one. */
    assert_true(etw_autologger_install(items, 1, NULL));
    assert_true(etw_registry_remove_value(A, "Guid", NULL));
    assert_true(etw_autologger_remove("etwship-a", NULL));
    assert_false(has(A));
    registry_put(ETW_AUTOLOGGER_ROOT "\\other", "Start", 1);
    assert_false(etw_autologger_remove("other", NULL));
}

static void add_line(void *self, const char *text)
{
    buf_printf(self, "%s\n", text);
}

static void differences_are_told_one_by_one(void **state)
{
    (void)state;
    struct etw_registry_tree have;
    struct buf lines;
    etw_registry_init(&have);
    buf_init(&lines, 1 << 16);
    assert_int_equal(etw_autologger_compare(&items[0].tree, &items[0].tree, add_line, &lines), 0);
    char guid[ETW_AUTOLOGGER_GUID_SIZE];
    etw_autologger_guid("etwship-a", guid);
    for (char *c = guid; *c; c++) {
        *c = *c >= 'a' && *c <= 'f' ? (char)(*c - 32) : *c; /* the same GUID */
    }
    etw_registry_put_text(&have, "", "guid", guid);
    etw_registry_put_dword(&have, "", "Start", 0);
    etw_registry_put_dword(&have, "", "Status", 2);
    etw_registry_put_dword(&have, "", "Boot", 1);
    etw_registry_put_dword(&have, "{q}", "Enabled", 1);
    etw_registry_put_dword(&have, "{q}", "EnableLevel", 1);
    etw_registry_put_dword(&have, "{p}\\Filters", "Enabled", 0);
    assert_int_equal(etw_autologger_compare(&items[0].tree, &have, add_line, &lines), 5);
    assert_span(buf_span(&lines), "Start: 0, configured: 1\n"
                                  "{p}: missing\n"
                                  "{p}\\Filters Enabled: 0, configured: 1\n"
                                  "Boot: 1, configured: none\n"
                                  "{q}: not configured\n");
    buf_fini(&lines);
    etw_registry_fini(&have);
}

static void the_guid_follows_from_the_name(void **state)
{
    (void)state;
    char guid[ETW_AUTOLOGGER_GUID_SIZE];
    char again[ETW_AUTOLOGGER_GUID_SIZE];
    etw_autologger_guid("etwship-a", guid);
    etw_autologger_guid("ETWSHIP-A", again);
    assert_string_equal(guid, again);
    assert_string_equal(guid, guid_a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            an_autologger_of_ours_is_known_by_its_guid, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_installation_writes_all_of_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            an_installation_that_fails_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            an_older_installation_is_changed_and_windows_values_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keys_of_other_programs_are_not_touched, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_was_left_half_way_is_ours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(differences_are_told_one_by_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_guid_follows_from_the_name, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
