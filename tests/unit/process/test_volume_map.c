#include "process/volume_map.h"

#include <stdio.h>

#include "support/test.h"

/* Device paths of several machines. For other spellings of paths: test_file_names.c. */

static bool add(struct volume_map *map, uint64_t machine, const char *device, const char *drive)
{
    return volume_map_add(map, machine, span_text(device), span_text(drive));
}

static void expect(
    const struct volume_map *map, uint64_t machine, const char *path, const char *expected)
{
    struct buf out;
    buf_init(&out, 1 << 12);
    volume_map_translate(map, machine, span_text(path), &out);
    assert_span(buf_span(&out), expected);
    buf_fini(&out);
}

static void each_machine_has_drives_of_its_own(void **state)
{
    (void)state;
    struct volume_map map = {.list = NULL};
    assert_true(add(&map, 1, "\\Device\\HarddiskVolume3\\", "C:\\"));
    assert_true(add(&map, 2, "\\Device\\HarddiskVolume3", "D:"));
    expect(&map, 1, "\\Device\\HarddiskVolume3\\a", "C:\\a");
    expect(&map, 2, "\\device\\harddiskvolume3\\a", "D:\\a");
    expect(&map, 3, "\\Device\\HarddiskVolume3\\a", "\\Device\\HarddiskVolume3\\a");
    expect(&map, 1, "\\Device\\HarddiskVolume30\\a", "\\Device\\HarddiskVolume30\\a");
    volume_map_fini(&map);
}

static void what_is_told_again_replaces_what_was_told(void **state)
{
    (void)state;
    struct volume_map map = {.list = NULL};
    assert_true(add(&map, 1, "\\Device\\HarddiskVolume3", "C:"));
    assert_false(add(&map, 1, "\\device\\HarddiskVolume3", "C:")); /* nothing new */
    assert_true(add(&map, 1, "\\Device\\HarddiskVolume3", "E:"));
    assert_int_equal(map.count, 1);
    expect(&map, 1, "\\Device\\HarddiskVolume3\\a", "E:\\a");
    volume_map_fini(&map);
}

static void there_is_room_for_so_many(void **state)
{
    (void)state;
    struct volume_map map = {.list = NULL};
    char device[32];
    for (int i = 0; i <= 128; i++) {
        snprintf(device, sizeof(device), "\\Device\\V%d", i);
        assert_int_equal(add(&map, 1, device, "C:"), i < 128);
    }
    assert_false(add(&map, 1, "Device", "C:")); /* no device */
    assert_false(add(&map, 1, "\\Device\\V1", ""));
    volume_map_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_machine_has_drives_of_its_own),
        cmocka_unit_test(what_is_told_again_replaces_what_was_told),
        cmocka_unit_test(there_is_room_for_so_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
