#include "schema/events/kernel_names.h"

#include "support/test.h"

/* Classes and types: the MOF classes of the kernel's events on learn.microsoft.com. */
static void events_are_found_by_the_names_that_events_have(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *class_guid;
        uint8_t type;
    } cases[] = {
        {"Process/Start", "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c", 1},
        {"process/end", "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c", 2},
        {"Thread/Start", "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c", 1},
        {"Thread/CSwitch", "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c", 36},
        {"Image/Load", "2cb15d1d-5fc1-11d2-abe1-00a0c911f518", 10},
        {"PerfInfo/SampleProf", "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc", 46},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct guid expected;
        struct guid found;
        uint8_t type;
        assert_true(guid_parse(span_text(cases[i].class_guid), &expected));
        if (!kernel_names_find(span_text(cases[i].name), &found, &type) ||
            !guid_equal(&expected, &found) || type != cases[i].type) {
            print_error("%s\n", cases[i].name);
            fail();
        }
    }
}

static void other_names_are_none(void **state)
{
    (void)state;
    static const char *const names[] = {"", "/", "Process", "Process/", "Process/Begin", "/Start",
        "Procesz/Start", "Process/Start/"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct guid found;
        uint8_t type;
        if (kernel_names_find(span_text(names[i]), &found, &type)) {
            print_error("%s\n", names[i]);
            fail();
        }
    }
}

static void a_misspelt_name_has_a_nearest(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *meant; /* NULL: none */
    } cases[] = {
        {"Process/Strat", "Process/Start"},
        {"thread/cswich", "Thread/CSwitch"},
        {"Proces/Start", "Process/Start"},
        {"", NULL},
        {"/", NULL},
        {"Some/Other", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char meant[KERNEL_NAMES_TEXT_SIZE] = "";
        bool found = kernel_names_meant(span_text(cases[i].name), meant);
        assert_int_equal(found, cases[i].meant != NULL);
        assert_string_equal(meant, found ? cases[i].meant : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_found_by_the_names_that_events_have),
        cmocka_unit_test(other_names_are_none),
        cmocka_unit_test(a_misspelt_name_has_a_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
