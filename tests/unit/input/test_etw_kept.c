#include "input/windows/etw_kept.h"

#include <stdio.h>

#include "support/temp_folder.h"
#include "support/test.h"

static char folder[TEMP_FOLDER_BYTES];

static int set_up(void **state)
{
    (void)state;
    return temp_folder_make(folder, "kept");
}

static int tear_down(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static void what_is_left_is_found_again(void **state)
{
    (void)state;
    struct etw_kept kept = {.fingerprint = {{1, 2, 3}},
        .handle = 0xfedcba9876543210,
        .look = {{9, 8, 7}},
        .events_lost = UINT32_MAX,
        .log_buffers_lost = 5,
        .real_time_buffers_lost = 6};
    struct etw_kept found;
    struct error err;
    assert_false(etw_kept_load(folder, "a", &found));
    assert_true(etw_kept_save(folder, "a", &kept, &err));
    assert_true(etw_kept_load(folder, "a", &found));
    assert_true(guid_equal(&found.fingerprint, &kept.fingerprint));
    assert_true(found.handle == kept.handle);
    assert_true(guid_equal(&found.look, &kept.look));
    assert_int_equal(found.events_lost, kept.events_lost);
    assert_int_equal(found.log_buffers_lost, kept.log_buffers_lost);
    assert_int_equal(found.real_time_buffers_lost, kept.real_time_buffers_lost);
    kept.events_lost = 7;
    assert_true(etw_kept_save(folder, "a", &kept, &err));
    assert_true(etw_kept_load(folder, "a", &found));
    assert_int_equal(found.events_lost, 7);
    assert_false(etw_kept_load(folder, "b", &found));
    etw_kept_delete(folder, "a");
    assert_false(etw_kept_load(folder, "a", &found));
    etw_kept_delete(folder, "a");
}

static void without_a_folder_nothing_is_known(void **state)
{
    (void)state;
    struct etw_kept kept = {.handle = 1};
    assert_true(etw_kept_save(NULL, "a", &kept, NULL));
    assert_false(etw_kept_load(NULL, "a", &kept));
    etw_kept_delete(NULL, "a");
    assert_false(etw_kept_save("/nowhere/at/all", "a", &kept, NULL));
}

static void a_damaged_file_is_as_good_as_none(void **state)
{
    (void)state;
    static const char good[] = "2 01020304-0000-0000-0000-000000000000 0x1 "
                               "05060708-0000-0000-0000-000000000000 2 3 4 end\n";
    for (size_t size = 0; size <= strlen(good); size++) {
        char path[TEMP_FOLDER_BYTES + 16];
        struct etw_kept found;
        snprintf(path, sizeof(path), "%s/etw-x.kept", folder);
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(good, 1, size, file), size);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(etw_kept_load(folder, "x", &found), size >= strlen(good) - 1);
    }
}

static void a_look_has_only_what_the_start_of_a_session_decides(void **state)
{
    (void)state;
    const struct etw_session_state one = {.handle = 1, .clock = 1, .buffer_kb = 64, .mode = 0x100};
    struct guid look = etw_kept_look(&one);
    struct etw_session_state aged = one;
    aged.buffers = 9;
    aged.free_buffers = 3;
    aged.buffers_written = 1000;
    aged.events_lost = 7;
    aged.max_buffers = 99;
    aged.flush_ms = 7000;
    struct guid same = etw_kept_look(&aged);
    assert_true(guid_equal(&same, &look));
    struct etw_session_state others[7];
    for (size_t i = 0; i < 7; i++) {
        others[i] = one;
    }
    others[0].guid.bytes[15] = 1;
    others[1].clock = 2;
    others[2].buffer_kb = 128;
    others[3].min_buffers = 4;
    others[4].mode = 0x08000100;
    others[5].enable_flags = 1;
    strcpy(others[6].file, "a.etl");
    for (size_t i = 0; i < 7; i++) {
        struct guid other = etw_kept_look(&others[i]);
        assert_false(guid_equal(&other, &look));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_is_found_again),
        cmocka_unit_test(without_a_folder_nothing_is_known),
        cmocka_unit_test(a_damaged_file_is_as_good_as_none),
        cmocka_unit_test(a_look_has_only_what_the_start_of_a_session_decides),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
