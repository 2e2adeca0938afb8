#include "etw/etw_heap.h"
#include "etw/etw_registry.h"
#include "etw/etw_toolkit.h"
#include "etw_session_rig.h"
#include "input/windows/etw_targets.h"
#include "platform/plat_child.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "platform/plat_rights.h"
#include "support/etl_put.h"
#include "support/etw_sim/etw_sim.h"
#include "support/etw_sim/sim_registry.h"
#include "support/temp_folder.h"

/*
 * Sessions of heaps in a simulated Windows. The program that they launch is this one: `test FOLDER`
 * makes the file FOLDER/ran-PID, waits for FOLDER/end, and ends with 5.
 */
enum { TICK_MS = 2, EXIT_CODE = 5 };

#define OPTIONS "SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Image File Execution Options\\"

static char folder[TEMP_FOLDER_BYTES];
static char *program;
static char line[4096];
static const char *image;
static char key[512];
static struct sim_registry *registry;
static struct live_heap settings;
static const char *stacks[] = {"alloc", "realloc"};

static void put_path(const char *name, char path[2 * TEMP_FOLDER_BYTES])
{
    snprintf(path, 2 * TEMP_FOLDER_BYTES, "%s/%s", folder, name);
}

static bool is_file(const char *name)
{
    char path[2 * TEMP_FOLDER_BYTES];
    put_path(name, path);
    return plat_path_kind(path) == PLAT_PATH_FILE;
}

static void make_file(const char *name)
{
    char path[2 * TEMP_FOLDER_BYTES];
    put_path(name, path);
    struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE, NULL);
    assert_non_null(file);
    plat_file_close(file);
}

static void let_it_end(void)
{
    make_file("end");
}

static int set_up(void **state)
{
    (void)state;
    program = plat_rights_program(NULL);
    if (!program || temp_folder_make(folder, "heap") != 0) {
        return -1;
    }
    image = program;
    for (const char *at = program; *at; at++) {
        image = *at == '/' || *at == '\\' ? at + 1 : image;
    }
    snprintf(line, sizeof(line), "\"%s\" \"%s\"", program, folder);
    snprintf(key, sizeof(key), OPTIONS "%s", image);
    registry = sim_registry_create(NULL);
    etw_registry_use(sim_registry_api(registry));
    settings = (struct live_heap){
        .session = {.buffers = {.size_bytes = 65536, .min = 8}, .flush_ns = 1000000},
        .launch = line,
        .folder = folder,
        .stacks = {.items = stacks, .count = 2}};
    return registry ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    etw_registry_use(NULL);
    sim_registry_destroy(registry);
    free(program);
    return temp_folder_remove(folder);
}

static void start_heap(struct rig *rig)
{
    rig_start_as(rig, ETW_PLAN_HEAP, &settings, NULL, 0);
}

static bool is_flagged(struct rig *rig, const void *what)
{
    struct etw_registry_tree tree;
    uint32_t flags = 0;
    (void)rig;
    (void)what;
    etw_registry_init(&tree);
    bool found = etw_registry_read(key, &tree, NULL) &&
                 etw_registry_dword(&tree, "", "TracingFlags", &flags);
    etw_registry_fini(&tree);
    return found && flags == 1;
}

static bool is_not_flagged(struct rig *rig, const void *what)
{
    return !is_flagged(rig, what);
}

static struct etw_sim_session_info info_of(struct rig *rig)
{
    struct etw_sim_session_info info;
    assert_true(etw_sim_session_get(rig->sim, NAME, &info));
    return info;
}

static uint32_t await_launched(struct rig *rig)
{
    rig_await(rig, rig_has_note, "launched");
    return info_of(rig).pids[0];
}

static void allocate(struct rig *rig, uint32_t pid)
{
    struct buf payload;
    buf_init(&payload, 64);
    etl_put_u64(&payload, 0x1f0000); /* HeapHandle */
    etl_put_u64(&payload, 64);       /* Size */
    etl_put_u64(&payload, 0x200040); /* Address */
    etl_put_u32(&payload, 3);        /* Source */
    const struct etw_sim_kernel_event event = {.hook_id = 0x1021,
        .process_id = pid,
        .thread_id = pid + 4,
        .form = 0,
        .payload = buf_span(&payload)};
    assert_int_equal(etw_sim_kernel_write(rig->sim, &event), 0);
    buf_fini(&payload);
}

static bool has_ended(uint32_t pid)
{
    struct error err;
    struct plat_child *child = plat_child_open(pid, &err);
    plat_child_close(child);
    return !child;
}

static bool sees_end(struct rig *rig, const void *pid)
{
    (void)rig;
    return has_ended(*(const uint32_t *)pid);
}

/* ---- what is launched ------------------------------------------------------------------------------- */

static void a_program_is_traced_from_its_start_to_its_end(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    rig.data_dir = folder;
    rig.last_time = 134000000000000000;
    start_heap(&rig);
    uint32_t pid = await_launched(&rig);
    struct etw_sim_session_info info = info_of(&rig);
    assert_int_equal(info.pid_count, 1);
    assert_int_equal(info.stack_ids, 2);
    assert_true(guid_equal(&info.guid, &etw_heap_guid));
    assert_true(is_flagged(&rig, NULL));
    assert_true(is_file("etw-test.launched"));

    allocate(&rig, pid + 1); /* somebody else */
    allocate(&rig, pid);
    assert_true(etw_sim_settle(rig.sim, RIG_WAIT_MS));
    assert_int_equal(rig_events(&rig), 2); /* with its stack */
    rig_await(&rig, is_not_flagged, NULL); /* while it runs still */
    assert_false(has_ended(pid));

    let_it_end();
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    assert_true(rig_has_note(&rig, "has ended with exit code 5"));
    etw_session_destroy(rig.session);
    assert_nothing_left(&rig);
    assert_false(is_file("etw-test.launched"));
    assert_int_equal(rig.gap_count, 0); /* before it nothing is missing */
    rig_fini(&rig);
}

static void what_it_writes_to_the_last_is_read(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &(struct etw_sim_options){.heap_allocs = 1000});
    let_it_end(); /* at once */
    settings.stacks.count = 0;
    start_heap(&rig);
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    assert_int_equal(rig.events, 1000);
    etw_session_destroy(rig.session);
    assert_nothing_left(&rig);
    assert_true(is_not_flagged(&rig, NULL));
    rig_fini(&rig);
}

static void a_stop_leaves_the_program_and_a_restart_goes_on_with_it(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    rig.data_dir = folder;
    start_heap(&rig);
    uint32_t pid = await_launched(&rig);
    rig_stop(&rig);
    assert_int_equal(rig.end, INPUT_STOPPED);
    assert_true(rig_has_note(&rig, "goes on"));
    assert_true(is_not_flagged(&rig, NULL)); /* no event has come */
    assert_nothing_left(&rig);
    assert_false(has_ended(pid));

    start_heap(&rig);
    rig_await(&rig, rig_has_note, "which an earlier run has launched");
    rig_await(&rig, rig_reads, NAME);
    assert_int_equal(info_of(&rig).pids[0], pid);
    assert_true(is_not_flagged(&rig, NULL));
    let_it_end();
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    etw_session_destroy(rig.session);

    /* It has ended: the next start launches it again. */
    start_heap(&rig);
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    etw_session_destroy(rig.session);
    rig_fini(&rig);
}

/* As a reload does. */
static void pass_on(struct rig *rig, struct buf *legacy)
{
    etw_session_pass_on(rig->session);
    etw_session_stop(rig->session);
    rig_join(rig);
    buf_reset(legacy);
    etw_session_legacy(rig->session, legacy);
    etw_session_destroy(rig->session);
    rig->session = NULL;
    rig->legacy = buf_span(legacy);
    buf_reset(&rig->notes);
}

static void a_reload_goes_on_with_the_program_until_it_has_ended(void **state)
{
    (void)state;
    struct rig rig;
    struct buf legacy;
    struct buf last;
    rig_init(&rig, NULL); /* and no folder */
    buf_init(&legacy, 4096);
    buf_init(&last, 4096);
    settings.on_stop = LIVE_ON_STOP_END;
    start_heap(&rig);
    uint32_t pid = await_launched(&rig);
    pass_on(&rig, &legacy);
    assert_false(has_ended(pid));
    assert_nothing_left(&rig);

    start_heap(&rig);
    rig_await(&rig, rig_has_note, "which an earlier configuration has launched");
    rig_await(&rig, rig_reads, NAME);
    assert_int_equal(info_of(&rig).pids[0], pid);
    let_it_end();
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    etw_session_legacy(rig.session, &last);
    etw_session_destroy(rig.session);
    rig.legacy = buf_span(&last);
    buf_reset(&rig.notes);

    start_heap(&rig); /* it is not launched again */
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    assert_false(rig_has_note(&rig, "launched"));
    etw_session_destroy(rig.session);
    settings.on_stop = LIVE_ON_STOP_LEAVE;
    buf_fini(&last);
    buf_fini(&legacy);
    rig_fini(&rig);
}

static void a_program_that_nobody_goes_on_with_ends_as_on_stop_says(void **state)
{
    (void)state;
    struct rig rig;
    struct buf legacy;
    rig_init(&rig, NULL);
    buf_init(&legacy, 4096);
    settings.on_stop = LIVE_ON_STOP_END;
    start_heap(&rig);
    uint32_t pid = await_launched(&rig);
    pass_on(&rig, &legacy);
    assert_false(has_ended(pid));
    etw_targets_renounce(rig.legacy);
    rig_await(&rig, sees_end, &pid);
    settings.on_stop = LIVE_ON_STOP_LEAVE;
    buf_fini(&legacy);
    rig_fini(&rig);
}

static void another_command_line_is_another_program(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    rig.data_dir = folder;
    start_heap(&rig);
    uint32_t pid = await_launched(&rig);
    rig_stop(&rig);
    buf_reset(&rig.notes);
    strcat(line, " ");
    start_heap(&rig);
    assert_true(await_launched(&rig) != pid);
    let_it_end();
    rig_join(&rig);
    etw_session_destroy(rig.session);
    rig_await(&rig, sees_end, &pid);
    rig_fini(&rig);
}

static void on_stop_the_program_can_be_ended(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    rig.data_dir = folder;
    settings.on_stop = LIVE_ON_STOP_END;
    start_heap(&rig);
    uint32_t pid = await_launched(&rig);
    rig_stop(&rig);
    assert_true(rig_has_note(&rig, "as on_stop says"));
    rig_await(&rig, sees_end, &pid);
    assert_false(is_file("etw-test.launched"));
    rig_fini(&rig);
}

static void a_program_that_is_not_there_ends_the_session(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    settings.launch = "/no/such/app.exe";
    snprintf(key, sizeof(key), OPTIONS "app.exe");
    start_heap(&rig);
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_FAILED);
    assert_non_null(strstr(rig.error.text, "launch: /no/such/app.exe: cannot be started"));
    assert_true(is_not_flagged(&rig, NULL));
    etw_session_destroy(rig.session);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void flags_that_cannot_be_set_keep_nothing(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    sim_registry_fail(registry, 1, 5);
    start_heap(&rig);
    await_launched(&rig);
    assert_true(rig_has_note(&rig, "heaps that"));
    let_it_end();
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    etw_session_destroy(rig.session);
    rig_fini(&rig);
}

static void a_session_that_is_stopped_by_others_comes_again_for_the_same_program(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    start_heap(&rig);
    uint32_t pid = await_launched(&rig);
    uint64_t first = info_of(&rig).handle;
    assert_true(etw_control_stop(NAME, NULL, NULL));
    rig_await(&rig, rig_has_gap, "session_stopped");
    rig_await(&rig, rig_reads, NAME);
    assert_true(info_of(&rig).handle != first);
    assert_int_equal(info_of(&rig).pids[0], pid);
    let_it_end();
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    etw_session_destroy(rig.session);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

/* ---- what windows refuses --------------------------------------------------------------------------- */

static void while_there_is_another_heap_session_nothing_is_launched(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct etw_session_state theirs;
    const struct etw_session_spec spec = {
        .name = "Theirs", .guid = etw_heap_guid, .mode = ETW_MODE_REAL_TIME, .buffer_kb = 64};
    const uint32_t pid = 4;
    assert_true(etw_heap_start(
        &spec, &(struct etw_heap_request){.pids = &pid, .pid_count = 1}, &theirs, NULL));
    start_heap(&rig);
    rig_await(&rig, rig_has_note, "go to one session at a time, and that is 'Theirs'");
    assert_true(rig_has_note(&rig, "trying again"));
    assert_false(rig_has_note(&rig, "launched"));
    assert_true(etw_control_stop("Theirs", NULL, NULL));
    await_launched(&rig);
    let_it_end();
    rig_join(&rig);
    assert_int_equal(rig.end, INPUT_DONE);
    etw_session_destroy(rig.session);
    rig_fini(&rig);
}

static void refusals_are_told_and_tried_again(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    etw_sim_fail(rig.sim, "StartTraceW", 1, 1, 14);
    start_heap(&rig);
    rig_await(&rig, rig_has_note, "no memory for 8 to 16 buffers of 64 KB");
    await_launched(&rig);
    let_it_end();
    rig_join(&rig);
    etw_session_destroy(rig.session);
    rig_fini(&rig);
}

static void a_stop_before_it_starts_leaves_no_program(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    etw_sim_fail(rig.sim, "StartTraceW", 1, 0, 5);
    start_heap(&rig);
    rig_await(&rig, rig_has_note, "heaps are traced by administrators");
    rig_stop(&rig);
    assert_int_equal(rig.end, INPUT_STOPPED);
    assert_true(is_not_flagged(&rig, NULL));
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

/* ---- what runs already ------------------------------------------------------------------------------ */

static struct plat_child *run_one(void)
{
    struct plat_child *child = plat_child_launch(line, folder, NULL);
    assert_non_null(child);
    assert_true(plat_child_go(child, NULL));
    return child;
}

static void await_ended(struct plat_child *child)
{
    while (!plat_child_has_ended(child, NULL)) {
        plat_sleep_ms(TICK_MS);
    }
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
    assert_true(rig_has_note(&rig, "no process has the number 2147483632"));
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
    assert_non_null(strstr(rig.error.text, "pids: none of the processes runs"));
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
    rig_await(&rig, rig_has_note, "processes: none of them runs. trying again");
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
            rig_await(&rig, rig_has_note, "keeps its processes");
        }
        rig_stop(&rig);
        plat_child_kill(child);
        plat_child_close(child);
    }
    plat_mutex_fini(&updated.mutex);
    etw_toolkit_use(NULL);
    rig_fini(&rig);
}

/* As the program that is launched. */
static int play(const char *where)
{
    char name[64];
    snprintf(folder, sizeof(folder), "%s", where);
    snprintf(name, sizeof(name), "ran-%u", plat_process_id());
    make_file(name);
    for (int waited = 0; !is_file("end"); waited += TICK_MS) {
        if (waited > RIG_WAIT_MS) {
            return 99;
        }
        plat_sleep_ms(TICK_MS);
    }
    return EXIT_CODE;
}

int main(int argc, char **argv)
{
    plat_process_init(&argc, &argv);
    if (argc == 2) {
        return play(argv[1]);
    }
#define T(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(a_program_is_traced_from_its_start_to_its_end),
        T(what_it_writes_to_the_last_is_read),
        T(a_stop_leaves_the_program_and_a_restart_goes_on_with_it),
        T(a_reload_goes_on_with_the_program_until_it_has_ended),
        T(a_program_that_nobody_goes_on_with_ends_as_on_stop_says),
        T(another_command_line_is_another_program),
        T(on_stop_the_program_can_be_ended),
        T(a_program_that_is_not_there_ends_the_session),
        T(flags_that_cannot_be_set_keep_nothing),
        T(a_session_that_is_stopped_by_others_comes_again_for_the_same_program),
        T(while_there_is_another_heap_session_nothing_is_launched),
        T(refusals_are_told_and_tried_again),
        T(a_stop_before_it_starts_leaves_no_program),
        T(processes_are_traced_by_number_until_all_have_ended),
        T(numbers_that_no_process_has_end_the_session),
        T(processes_are_waited_for_by_name),
        T(processes_that_come_later_are_added_where_windows_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
