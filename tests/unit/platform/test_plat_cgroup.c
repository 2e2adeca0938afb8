#define _GNU_SOURCE

#include "support/test.h"

#include <stdio.h>
#include <unistd.h>

#include "platform/machine/linux/plat_cgroup.h"
#include "platform/plat_file.h"
#include "support/temp_folder.h"

static char folder[TEMP_FOLDER_BYTES];

static int set_up(void **state)
{
    (void)state;
    return temp_folder_make(folder, "cgroup");
}

static int tear_down(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

/* Write ${text} to ${group}/${file} below the folder. */
static void put(const char *group, const char *file, const char *text)
{
    char path[TEMP_FOLDER_BYTES + 256];
    snprintf(path, sizeof(path), "%s/%s", folder, group);
    assert_true(plat_dir_create(path, NULL));
    snprintf(path, sizeof(path), "%s/%s/%s", folder, group, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static struct plat_cgroup read_as(const char *membership)
{
    char path[TEMP_FOLDER_BYTES + 16];
    put("", "self", membership);
    snprintf(path, sizeof(path), "%s/self", folder);
    return plat_cgroup_read(path, folder);
}

static void the_tightest_of_all_groups_counts(void **state)
{
    (void)state;
    put("", "memory.max", "9000\n");
    put("system.slice", "memory.max", "max\n");
    put("system.slice", "cpu.max", "50000 100000\n");
    put("system.slice/a.service", "memory.max", "7000\n");
    put("system.slice/a.service", "cpu.max", "max 100000\n");
    put("system.slice/b.service", "memory.max", "8000\n");
    put("system.slice/b.service", "cpu.max", "30000 200000\n");
    put("other", "memory.max", "1\n");
    struct plat_cgroup a = read_as("0::/system.slice/a.service\n");
    assert_true(a.memory_bytes == 7000 && a.cpus == 0.5);
    struct plat_cgroup b = read_as("4:cpu:/other\n0::/system.slice/b.service\n1:name=systemd:/\n");
    assert_true(b.memory_bytes == 8000 && b.cpus == 0.15);
    struct plat_cgroup top = read_as("0::/\n");
    assert_true(top.memory_bytes == 9000 && top.cpus == 0);
}

static void what_says_nothing_limits_nothing(void **state)
{
    (void)state;
    static const char *const memberships[] = {
        "", "\n", "0::\n", "4:memory:/x\n", "0::/none\n", "0::/../x\n", "0::/x/../..\n"};
    put("x", "memory.max", "5\n");
    put("none", "memory.max", "many\n");
    put("none", "cpu.max", "1 0\n");
    for (size_t i = 0; i < sizeof(memberships) / sizeof(memberships[0]); i++) {
        struct plat_cgroup limits = read_as(memberships[i]);
        assert_true(limits.memory_bytes == UINT64_MAX && limits.cpus == 0);
    }
    struct plat_cgroup limits = plat_cgroup_read("/nowhere/self", folder);
    assert_true(limits.memory_bytes == UINT64_MAX && limits.cpus == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_tightest_of_all_groups_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_says_nothing_limits_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
