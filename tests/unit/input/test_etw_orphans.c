#define _GNU_SOURCE

#include "input/windows/etw_orphans.h"

#include "etw/etw_hold.h"
#include "etw/etw_image_flags.h"
#include "etw/etw_registry.h"
#include "etw_rig.h"
#include "input/windows/etw_kept.h"
#include "platform/plat_file.h"
#include "support/etw_sim/etw_sim.h"
#include "support/etw_sim/sim_registry.h"
#include "support/temp_folder.h"

#ifdef _WIN32
#include "support/squatter.h"
#endif

static char folder[TEMP_FOLDER_BYTES];

static int set_up(void **state)
{
    (void)state;
    return temp_folder_make(folder, "orphans");
}

static int tear_down(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static bool is_configured(void *self, const char *name)
{
    (void)self;
    return strcmp(name, "security") == 0;
}

static uint64_t add(struct rig *rig, const char *name)
{
    const struct etw_sim_session_options options = {.name = name, .mode = ETW_MODE_REAL_TIME};
    uint64_t handle = etw_sim_session_add(rig->sim, &options, NULL);
    assert_true(handle != 0);
    return handle;
}

static void clean(struct rig *rig, const char *data_dir)
{
    etw_orphans_clean(&(struct etw_orphans_settings){
        .data_dir = data_dir, .is_ours = is_configured, .note = rig_note, .self = rig});
}

static bool runs(struct rig *rig, const char *name)
{
    return etw_sim_session_runs(rig->sim, name);
}

static void an_orphan_is_stopped_and_the_rest_is_reported(void **state)
{
    (void)state;
    struct rig rig;
    struct error err;
    rig_init(&rig, NULL);
    add(&rig, "Somebodys");
    add(&rig, "etwship-security");
    add(&rig, "etwship-watch-4711");
    add(&rig, "etwship-watch-towers");
    add(&rig, "etwship-other");
    struct etw_kept kept = {.handle = add(&rig, "etwship-renamed")};
    assert_true(etw_kept_save(folder, "renamed", &kept, &err));
    add(&rig, "etwship-record-7");
    struct etw_hold *hold = etw_hold_take("etwship-record-7", &err);
    assert_non_null(hold);
    clean(&rig, folder);
    assert_true(runs(&rig, "Somebodys"));
    assert_true(runs(&rig, "etwship-security")); /* the object of its own session decides */
    assert_false(runs(&rig, "etwship-watch-4711"));
    assert_true(rig_has_note(&rig, "- stopped the orphaned session etwship-watch-4711"));
    assert_true(runs(&rig, "etwship-watch-towers"));
    assert_true(rig_has_note(&rig, "! session etwship-watch-towers is orphaned"));
    assert_true(runs(&rig, "etwship-other"));
    assert_true(rig_has_note(&rig, "! session etwship-other is orphaned"));
    assert_false(runs(&rig, "etwship-renamed"));
    assert_false(etw_kept_load(folder, "renamed", &kept));
    assert_true(runs(&rig, "etwship-record-7")); /* another process decides */
    etw_hold_drop(hold);
    rig_fini(&rig);
}

#ifdef _WIN32
static void a_squatter_keeps_no_orphan_alive(void **state)
{
    (void)state;
    for (int hides = 0; hides <= 1; hides++) {
        struct rig rig;
        struct error err;
        rig_init(&rig, NULL);
        add(&rig, "etwship-watch-4294967292"); /* no process has that number */
        struct etw_kept kept = {.handle = add(&rig, "etwship-renamed")};
        assert_true(etw_kept_save(folder, "renamed", &kept, &err));
        add(&rig, "etwship-other");
        HANDLE squatters[] = {squatter_take("etwship-watch-4294967292", hides),
            squatter_take("etwship-renamed", hides), squatter_take("etwship-other", hides)};
        clean(&rig, folder);
        assert_false(runs(&rig, "etwship-watch-4294967292"));
        assert_false(runs(&rig, "etwship-renamed"));
        assert_true(runs(&rig, "etwship-other"));
        assert_true(rig_has_note(&rig, "! session etwship-other may be orphaned: its lock"));
        assert_true(rig_has_note(&rig, hides ? "belongs to an unreadable account" : SQUATTER_SID));
        for (size_t i = 0; i < sizeof(squatters) / sizeof(squatters[0]); i++) {
            CloseHandle(squatters[i]);
        }
        rig_fini(&rig);
    }
}
#endif

static void another_session_of_the_name_is_not_the_one_that_was_kept(void **state)
{
    (void)state;
    struct rig rig;
    struct error err;
    rig_init(&rig, NULL);
    struct etw_kept kept = {.handle = add(&rig, "etwship-renamed") + 1};
    assert_true(etw_kept_save(folder, "renamed", &kept, &err));
    clean(&rig, folder);
    assert_true(runs(&rig, "etwship-renamed"));
    assert_true(etw_kept_load(folder, "renamed", &kept));
    rig_fini(&rig);
}

static void a_command_without_a_folder_only_ends_what_commands_left(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    add(&rig, "etwship-other");
    add(&rig, "etwship-selftest-1");
    clean(&rig, NULL);
    assert_true(runs(&rig, "etwship-other"));
    assert_false(rig_has_note(&rig, "etwship-other"));
    assert_false(runs(&rig, "etwship-selftest-1"));
    rig_fini(&rig);
}

static void names_lead_to_no_other_folder(void **state)
{
    (void)state;
    struct rig rig;
    struct error err;
    char name[TEMP_FOLDER_BYTES + 32];
    rig_init(&rig, NULL);
    struct etw_kept kept = {.handle = add(&rig, "etwship-a/../b")};
    assert_true(etw_kept_save(folder, "b", &kept, &err));
    snprintf(name, sizeof(name), "%s/etw-a", folder); /* then the name would be a path */
    assert_true(plat_dir_create(name, &err));
    clean(&rig, folder);
    assert_true(runs(&rig, "etwship-a/../b"));
    rig_fini(&rig);
}

static void what_cannot_be_stopped_or_listed_ends_nothing(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    add(&rig, "etwship-watch-1");
    etw_sim_fail_control(rig.sim, ETW_CONTROL_STOP, 1, 1, ETW_ERROR_ACCESS_DENIED);
    clean(&rig, folder);
    assert_true(rig_has_note(&rig, "! "));
    assert_true(etw_sim_fail(rig.sim, "QueryAllTracesW", 1, 0, ETW_ERROR_ACCESS_DENIED));
    clean(&rig, folder);
    assert_true(runs(&rig, "etwship-watch-1"));
    rig_fini(&rig);
}

static void flags_without_a_holder_are_restored(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct sim_registry *registry = sim_registry_create(NULL);
    etw_registry_use(sim_registry_api(registry));
    assert_true(etw_image_flags_set("left.exe", "etwship-left", NULL));
    assert_true(etw_image_flags_set("held.exe", "etwship-held", NULL));
    struct etw_hold *hold = etw_hold_take("etwship-held", NULL);
    clean(&rig, NULL);
    assert_true(rig_has_note(&rig, "- restored TracingFlags of "
                                   "left.exe, left by a killed agent"));
    assert_false(rig_has_note(&rig, "held.exe"));
    etw_hold_drop(hold);
    clean(&rig, NULL);
    assert_true(rig_has_note(&rig, "held.exe"));
    etw_registry_use(NULL);
    sim_registry_destroy(registry);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_orphan_is_stopped_and_the_rest_is_reported),
        cmocka_unit_test(another_session_of_the_name_is_not_the_one_that_was_kept),
        cmocka_unit_test(a_command_without_a_folder_only_ends_what_commands_left),
        cmocka_unit_test(names_lead_to_no_other_folder),
        cmocka_unit_test(what_cannot_be_stopped_or_listed_ends_nothing),
        cmocka_unit_test(flags_without_a_holder_are_restored),
#ifdef _WIN32
        cmocka_unit_test(a_squatter_keeps_no_orphan_alive),
#endif
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
