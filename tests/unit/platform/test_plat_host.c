#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "platform/plat_host.h"
#include "platform/plat_system.h"

static void the_name_is_that_of_the_system(void **state)
{
    (void)state;
    struct plat_host host;
    char name[PLAT_HOST_NAME_BYTES];
    plat_host_name(name, sizeof(name));
    plat_host_query(&host);
    assert_string_equal(host.name, name);
    assert_true(name[0] != 0);
}

#ifdef _WIN32

#include <windows.h>

/* Compared with the results of other functions of Windows. */
static void a_windows_says_what_it_is(void **state)
{
    (void)state;
    struct plat_host host;
    char guid[64];
    DWORD size = sizeof(guid);
    plat_host_query(&host);
    /* The tests are built for x64, and Wine runs them on it. */
    assert_int_equal(host.architecture, PROCESSOR_ARCHITECTURE_AMD64);
    HKEY key;
    assert_int_equal(RegOpenKeyExA(HKEY_LOCAL_MACHINE, "SOFTWARE\\Microsoft\\Cryptography", 0,
                         KEY_READ | KEY_WOW64_64KEY, &key),
        ERROR_SUCCESS);
    assert_int_equal(
        RegQueryValueExA(key, "MachineGuid", NULL, NULL, (BYTE *)guid, &size), ERROR_SUCCESS);
    RegCloseKey(key);
    assert_string_equal(host.id, guid);
    assert_true(strncmp(host.product, "Windows", 7) == 0 ||
                strncmp(host.product, "Microsoft Windows", 17) == 0);

    char build[32];
    size = sizeof(build);
    assert_int_equal(
        RegGetValueA(HKEY_LOCAL_MACHINE, "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion",
            "CurrentBuildNumber", RRF_RT_REG_SZ, NULL, build, &size),
        ERROR_SUCCESS);
    assert_int_equal(host.build, strtoul(build, NULL, 10));
    assert_true(host.major >= 6);
    for (size_t i = 0; i < host.ip_count; i++) {
        assert_true(strchr(host.ips[i], '.') || strchr(host.ips[i], ':'));
        assert_string_not_equal(host.ips[i], "127.0.0.1");
    }
}

#else

static void linux_has_no_events_of_its_own(void **state)
{
    (void)state;
    struct plat_host host;
    plat_host_query(&host);
    assert_int_equal(host.architecture, PLAT_HOST_NO_ARCHITECTURE);
    assert_int_equal(host.build, 0);
    assert_int_equal(host.ip_count, 0);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_is_that_of_the_system),
#ifdef _WIN32
        cmocka_unit_test(a_windows_says_what_it_is),
#else
        cmocka_unit_test(linux_has_no_events_of_its_own),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
