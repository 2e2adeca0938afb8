#include "support/test.h"

#include <string.h>

#include "platform/plat_volumes.h"

struct seen {
    size_t count;
    char system_root[512];
    char drive_c[512]; /* its device */
    bool has_share;
};

static bool is(struct span text, const char *expected)
{
    return text.size == strlen(expected) && memcmp(text.data, expected, text.size) == 0;
}

static void copy(struct span from, char *to, size_t size)
{
    assert_true(from.size < size);
    memcpy(to, from.data, from.size);
    to[from.size] = 0;
}

static void see(void *self, struct span device, struct span place)
{
    struct seen *seen = self;
    seen->count++;
    if (is(device, "\\SystemRoot")) {
        copy(place, seen->system_root, sizeof(seen->system_root));
    } else if (is(device, "\\Device\\Mup")) {
        seen->has_share = is(place, "\\");
    } else if (is(place, "C:")) {
        assert_int_equal(seen->drive_c[0], 0);
        copy(device, seen->drive_c, sizeof(seen->drive_c));
    }
    assert_true(device.size > 0 && device.data[0] == '\\');
    assert_true(device.data[device.size - 1] != '\\');
}

#ifdef _WIN32

#include <windows.h>

static void devices_have_the_places_that_windows_gives_them(void **state)
{
    (void)state;
    struct seen seen = {.count = 0};
    char expected[512];
    plat_volumes_each(see, &seen);
    assert_true(QueryDosDeviceA("C:", expected, sizeof(expected)) > 0);
    assert_string_equal(seen.drive_c, expected);
    assert_true(GetEnvironmentVariableA("SystemRoot", expected, sizeof(expected)) > 0);
    assert_true(_stricmp(seen.system_root, expected) == 0);
    assert_true(seen.has_share);
}

#else

static void linux_has_none(void **state)
{
    (void)state;
    struct seen seen = {.count = 0};
    plat_volumes_each(see, &seen);
    assert_int_equal(seen.count, 0);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef _WIN32
        cmocka_unit_test(devices_have_the_places_that_windows_gives_them),
#else
        cmocka_unit_test(linux_has_none),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
