#include "etw_heap_rig.h"

#include "etw/etw_toolkit.h"
#include "input/windows/etw_targets.h"
#include "support/etw_sim/etw_sim.h"

/* Sessions of heaps of processes that already run. */

static struct plat_child *run_one(void)
{
    struct plat_child *child = plat_child_launch(line, folder, NULL);
    assert_non_null(child);
    assert_true(plat_child_go(child, NULL));
    return child;
}

static void await_ended(struct plat_child *child)
{
    AWAIT(plat_child_has_ended(child, NULL));
    plat_child_close(child);
}

static void processes_are_traced_by_number_until_all_have_ended(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct plat_child *child = run_one();
    char texts[2][16];
    const char *pids[] = {texts[0], texts[1]};
    snprintf(texts[0], sizeof(texts[0]), "%u", plat_child_pid(child));
    snprintf(texts[1], sizeof(texts[1]), "0x7ffffff0"); /* none has it */
    settings.launch = NULL;
    settings.pids = (struct config_strings){.items = pids, .count = 2};
    start_heap(&rig);
    rig_await(&rig, rig_reads, NAME);
    assert_true(rig_has_note(&rig, "no process has the id 2147483632"));
    assert_int_equal(info_of(&rig).pid_count, 1);
    assert_int_equal(info_of(&rig).pids[0], plat_child_pid(child));
    allocate(&rig, plat_child_pid(child));
    let_it_end();
    await_ended(child);
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    assert_int_equal(rig.events, 2);
    assert_true(is_not_flagged(&rig, NULL));
    etw_session_destroy(rig.session);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void numbers_that_no_process_has_end_the_session(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    const char *pids[] = {"0x7ffffff0"};
    settings.launch = NULL;
    settings.pids = (struct config_strings){.items = pids, .count = 1};
    start_heap(&rig);
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_FAILED);
    assert_non_null(strstr(rig.error.text, "pids: none of the processes is running"));
    etw_session_destroy(rig.session);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void processes_are_waited_for_by_name(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    const char *names[] = {"no-such-program.exe"};
    settings.launch = NULL;
    settings.processes = (struct config_strings){.items = names, .count = 1};
    start_heap(&rig);
    rig_await(&rig, rig_has_note, "processes: none of them is running. trying again");
    rig_stop(&rig);
    assert_int_equal(rig.end, INPUT_STOPPED);

    names[0] = image; /* this one */
    start_heap(&rig);
    rig_await(&rig, rig_reads, NAME);
    struct etw_sim_session_info info = info_of(&rig);
    bool found = false;
    for (uint32_t i = 0; i < info.pid_count && i < 8; i++) {
        found = found || info.pids[i] == plat_process_id();
    }
    assert_true(found);
    rig_stop(&rig);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static struct {
    struct plat_mutex mutex;
    uint32_t pids[ETW_MAX_HEAP_PROCESSES];
    uint32_t count;
} updated;

static uint32_t update_heap_trace(struct etw_properties *properties, const etw_char *name,
    const uint32_t *pids, uint32_t count, const struct etw_classic_event_id *events,
    uint32_t event_count)
{
    (void)properties;
    (void)name;
    (void)events;
    (void)event_count;
    plat_mutex_lock(&updated.mutex);
    memcpy(updated.pids, pids, count * sizeof(*pids));
    updated.count = count;
    plat_mutex_unlock(&updated.mutex);
    return 0;
}

static bool is_updated_with(struct rig *rig, const void *pid)
{
    bool found = false;
    (void)rig;
    plat_mutex_lock(&updated.mutex);
    for (uint32_t i = 0; i < updated.count; i++) {
        found = found || updated.pids[i] == *(const uint32_t *)pid;
    }
    plat_mutex_unlock(&updated.mutex);
    return found;
}

static void processes_that_come_later_are_added_where_windows_can(void **state)
{
    static const struct etw_toolkit_api without;
    static const struct etw_toolkit_api with = {.UpdateHeapTrace = update_heap_trace};
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    const char *names[] = {image};
    settings.launch = NULL;
    settings.processes = (struct config_strings){.items = names, .count = 1};
    plat_mutex_init(&updated.mutex);
    for (int can = 0; can < 2; can++) {
        etw_toolkit_use(can ? &with : &without);
        start_heap(&rig);
        rig_await(&rig, rig_reads, NAME);
        struct plat_child *child = run_one();
        uint32_t pid = plat_child_pid(child);
        if (can) {
            rig_await(&rig, is_updated_with, &pid);
        } else {
            rig_await(&rig, rig_has_note, "new ones are traced after the next start");
        }
        rig_stop(&rig);
        plat_child_kill(child);
        plat_child_close(child);
    }
    plat_mutex_fini(&updated.mutex);
    etw_toolkit_use(NULL);
    rig_fini(&rig);
}

int main(int argc, char **argv)
{
    plat_process_init(&argc, &argv);
    if (argc == 2) {
        return play(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        HEAP_TEST(processes_are_traced_by_number_until_all_have_ended),
        HEAP_TEST(numbers_that_no_process_has_end_the_session),
        HEAP_TEST(processes_are_waited_for_by_name),
        HEAP_TEST(processes_that_come_later_are_added_where_windows_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
