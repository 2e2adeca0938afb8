#define _GNU_SOURCE

#include "support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "platform/plat_clock.h"
#include "platform/plat_self.h"
#include "platform/plat_system.h"

static void filetime_agrees_with_the_c_library(void **state)
{
    (void)state;
    /* 11644473600 s from 1601 to 1970: MS-DTYP section 2.3.3. */
    uint64_t before = ((uint64_t)time(NULL) + 11644473600u) * 10000000u;
    uint64_t now = plat_now_filetime();
    uint64_t after = ((uint64_t)time(NULL) + 11644473600u + 2) * 10000000u;
    /* time() may lag the fine clock by a tick of the kernel, so a second of room below, too. */
    assert_true(now + 10000000u >= before && now <= after);
}

static void clocks_never_go_back(void **state)
{
    (void)state;
    uint64_t monotonic = plat_monotonic_ns();
    uint64_t cpu = plat_cpu_ns();
    assert_true(monotonic > 0);
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t next = plat_monotonic_ns();
        assert_true(next >= monotonic);
        monotonic = next;
        next = plat_cpu_ns();
        assert_true(next >= cpu);
        cpu = next;
    }
}

static void the_peak_follows_what_is_touched(void **state)
{
    (void)state;
    enum { BYTES = 64 << 20 };
    volatile uint8_t *block = malloc(BYTES);
    assert_non_null((void *)block);
    for (size_t i = 0; i < BYTES; i += 4096) {
        block[i] = 1;
    }
    assert_true(plat_peak_rss_bytes() >= BYTES);
    free((void *)block);
}

static void a_host_name_is_cut_to_its_room(void **state)
{
    (void)state;
    char expected[256] = "";
    assert_int_equal(gethostname(expected, sizeof(expected)), 0);
    char name[256];
    plat_host_name(name, sizeof(name));
    assert_string_equal(name, expected);
    memset(name, 'x', sizeof(name));
    plat_host_name(name, 2);
    assert_true(strlen(name) <= 1);
    assert_int_equal(name[2], 'x');
    plat_host_name(name, 0);
}

static void random_bytes_differ(void **state)
{
    (void)state;
    uint8_t a[1000] = {0};
    uint8_t b[1000] = {0};
    assert_true(plat_random(a, sizeof(a), NULL));
    assert_true(plat_random(b, sizeof(b), NULL));
    assert_memory_not_equal(a, b, sizeof(a));
    assert_true(plat_random(NULL, 0, NULL));
}

static void a_file_is_no_terminal(void **state)
{
    (void)state;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_false(plat_is_terminal(fd));
    close(fd);
    assert_false(plat_is_terminal(-1));
}

static void data_lies_where_the_system_keeps_state(void **state)
{
    (void)state;
    if (geteuid() == 0) {
        assert_string_equal(plat_default_data_folder(), "/var/lib/etwship");
        return;
    }
    setenv("HOME", "/people/x", 1);
    setenv("XDG_STATE_HOME", "/state", 1);
    assert_string_equal(plat_default_data_folder(), "/state/etwship");
    setenv("XDG_STATE_HOME", "not/absolute", 1);
    assert_string_equal(plat_default_data_folder(), "/people/x/.local/state/etwship");
    unsetenv("XDG_STATE_HOME");
    assert_string_equal(plat_default_data_folder(), "/people/x/.local/state/etwship");
    unsetenv("HOME");
    assert_null(plat_default_data_folder());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filetime_agrees_with_the_c_library),
        cmocka_unit_test(clocks_never_go_back),
        cmocka_unit_test(the_peak_follows_what_is_touched),
        cmocka_unit_test(a_host_name_is_cut_to_its_room),
        cmocka_unit_test(random_bytes_differ),
        cmocka_unit_test(a_file_is_no_terminal),
        cmocka_unit_test(data_lies_where_the_system_keeps_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
