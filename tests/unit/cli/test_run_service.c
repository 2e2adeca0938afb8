/* `etwship run --service` with a service manager that the test plays: the reported states, and the
 * waits. */
#include "cli/service/run_service.h"

#include <stdio.h>
#include <stdlib.h>

#include "etw/etw_registry.h"
#include "platform/plat_clock.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "platform/plat_thread.h"
#include "service/service_api.h"
#include "support/await.h"
#include "support/etw_sim/sim_registry.h"
#include "support/service_thread.h"
#include "support/temp_folder.h"
#include "support/test.h"

enum { MAX_EVENTS = 64, EVENT_BYTES = 2048, NEVER_MS = 3600000 };

static char folder[TEMP_FOLDER_BYTES];
static char config[TEMP_FOLDER_BYTES + 16];

/* Everything but `script` is guarded by the mutex. */
static struct {
    struct service_api api;
    struct plat_mutex mutex;
    struct plat_cond changed;
    struct service_status status; /* the last one reported */
    struct {
        enum service_message message;
        char text[EVENT_BYTES];
    } events[MAX_EVENTS];
    size_t event_count;
    const struct service_entry *entry;
    void (*script)(void); /* on the thread of the dispatcher */
    unsigned runs;
    unsigned idle_runs; /* the first ones find no session */
    int exit_codes[4];  /* exit codes of the agent, run by run */
} fake;

/* ---- the service manager --------------------------------------------------------------------- */

static uint32_t dispatch(const struct service_entry *entry)
{
    fake.entry = entry;
    service_thread_run(entry, fake.script);
    return SERVICE_OK;
}

static uint32_t report(const struct service_status *status)
{
    plat_mutex_lock(&fake.mutex);
    fake.status = *status;
    plat_cond_broadcast(&fake.changed);
    plat_mutex_unlock(&fake.mutex);
    return SERVICE_OK;
}

static uint32_t connect_none(bool creates, void **ret_manager)
{
    (void)creates;
    (void)ret_manager;
    return SERVICE_E_ACCESS_DENIED;
}

static uint32_t open_log(const char *source, void **ret_log)
{
    (void)source;
    *ret_log = &fake;
    return SERVICE_OK;
}

static uint32_t write_log(void *log, enum service_message message, const char *text)
{
    (void)log;
    plat_mutex_lock(&fake.mutex);
    if (fake.event_count < MAX_EVENTS) {
        fake.events[fake.event_count].message = message;
        snprintf(fake.events[fake.event_count++].text, EVENT_BYTES, "%s", text);
    }
    plat_cond_broadcast(&fake.changed);
    plat_mutex_unlock(&fake.mutex);
    return SERVICE_OK;
}

static void close_log(void *log)
{
    (void)log;
}

/* ---- scripts --------------------------------------------------------------------------------- */

static size_t count_events(enum service_message message)
{
    size_t count = 0;
    for (size_t i = 0; i < fake.event_count; i++) {
        count += fake.events[i].message == message;
    }
    return count;
}

static void wait_for_event(enum service_message message, size_t count)
{
    plat_mutex_lock(&fake.mutex);
    while (count_events(message) < count) {
        plat_cond_wait(&fake.changed, &fake.mutex);
    }
    plat_mutex_unlock(&fake.mutex);
}

static void wait_for_state(uint32_t state)
{
    plat_mutex_lock(&fake.mutex);
    while (fake.status.state != state) {
        plat_cond_wait(&fake.changed, &fake.mutex);
    }
    plat_mutex_unlock(&fake.mutex);
}

static void wait_for_runs(unsigned count)
{
    plat_mutex_lock(&fake.mutex);
    while (fake.runs < count) {
        plat_cond_wait(&fake.changed, &fake.mutex);
    }
    plat_mutex_unlock(&fake.mutex);
}

static void ask(uint32_t code)
{
    fake.entry->control(fake.entry->self, code);
}

/* Windows replaces and removes no file while it is read, as the service does now and then. If that
 * lasts, the program ends: an assertion here would leave the threads of the service running, and
 * the next test in their way. */
static void await_file_free(uint64_t begun_ns, const struct error *err)
{
    if (!await_pause(begun_ns)) {
        print_error("in vain: %s\n", err->text);
        exit(EXIT_FAILURE);
    }
}

static void put_file(const char *path, const char *text)
{
    struct error err;
    uint64_t begun_ns = plat_monotonic_ns();
    while (!plat_file_replace(path, span_text(text), &err)) {
        await_file_free(begun_ns, &err);
    }
}

static void remove_file(const char *path)
{
    struct error err;
    uint64_t begun_ns = plat_monotonic_ns();
    while (!plat_path_remove(path, &err)) {
        await_file_free(begun_ns, &err);
    }
}

static void put_config(const char *text)
{
    put_file(config, text);
}

/* ---- the service ----------------------------------------------------------------------------- */

/* An agent that ends at once; 0 after it has started, like one whose files are all delivered. */
static int work(
    const struct cli_args *args, const struct agent_keeper *keeper, struct run_service_end *ret_end)
{
    (void)args;
    plat_mutex_lock(&fake.mutex);
    int exit_code = fake.exit_codes[fake.runs < 3 ? fake.runs : 3];
    bool is_idle = fake.runs < fake.idle_runs;
    plat_mutex_unlock(&fake.mutex);
    *ret_end = (struct run_service_end){.stuck = false};
    if (is_idle) {
        ret_end->idle = RUN_SERVICE_NO_SESSION;
    } else if (exit_code == EXIT_DONE) {
        keeper->started(keeper->self);
    }
    plat_mutex_lock(&fake.mutex);
    fake.runs++;
    plat_cond_broadcast(&fake.changed);
    plat_mutex_unlock(&fake.mutex);
    return exit_code;
}

static int serve_with(uint32_t look_ms, void (*script)(void))
{
    const struct run_service_work given = {.run = work, .look_ms = look_ms};
    struct run_service_end end;
    struct cli_args args;
    int exit_code;
    char *argv[] = {(char[]){"run"}, (char[]){"--service"}, (char[]){"-c"}, config};
    fake.script = script;
    assert_true(cli_parse(&cmd_run, 4, argv, &args, &exit_code));
    exit_code = run_service(&args, &given, &end);
    cli_args_fini(&args);
    assert_false(end.stuck);
    return exit_code;
}

static int set_up(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    plat_mutex_init(&fake.mutex);
    plat_cond_init(&fake.changed);
    fake.api = (struct service_api){.connect = connect_none,
        .dispatch = dispatch,
        .report = report,
        .open_log = open_log,
        .write_log = write_log,
        .close_log = close_log};
    service_api_use(&fake.api);
    return plat_path_kind(config) == PLAT_PATH_NONE || plat_path_remove(config, NULL) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    service_api_use(NULL);
    plat_cond_fini(&fake.changed);
    plat_mutex_fini(&fake.mutex);
    return 0;
}

#define service_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

/* ---- without a configuration ----------------------------------------------------------------- */

static void stop_once_it_waits(void)
{
    wait_for_event(SERVICE_MESSAGE_IDLE_NO_CONFIG, 1);
    wait_for_state(SERVICE_STATE_RUNNING);
    ask(SERVICE_ASKS_STOP);
}

static void without_a_configuration_it_runs_and_says_that_it_waits(void **state)
{
    (void)state;
    assert_int_equal(serve_with(NEVER_MS, stop_once_it_waits), EXIT_DONE);
    assert_int_equal(fake.status.state, SERVICE_STATE_STOPPED);
    assert_int_equal(fake.status.exit_code, SERVICE_OK);
    assert_int_equal(fake.runs, 0);
    assert_int_equal(fake.event_count, 2);
    assert_non_null(strstr(fake.events[0].text, config));
    assert_int_equal(fake.events[1].message, SERVICE_MESSAGE_STOPPED);
}

static void write_one(void)
{
    wait_for_state(SERVICE_STATE_RUNNING);
    put_config("version: 1\n");
    wait_for_runs(1);
}

static void a_configuration_that_is_written_is_used(void **state)
{
    (void)state;
    assert_int_equal(serve_with(1, write_one), EXIT_DONE);
    assert_int_equal(fake.runs, 1);
    assert_int_equal(count_events(SERVICE_MESSAGE_IDLE_NO_CONFIG), 1);
    assert_int_equal(count_events(SERVICE_MESSAGE_STARTED), 1);
    assert_int_equal(count_events(SERVICE_MESSAGE_ENDED), 1);
}

static void change_what_it_includes(void)
{
    char included[sizeof(folder) + 16];
    snprintf(included, sizeof(included), "%s/part-1.yaml", folder);
    wait_for_runs(1);
    put_file(included, "sessions: []\n");
    wait_for_runs(2);
    put_file(included, "sessions: [{name: t, type: file, paths: [none.etl]}]\n");
    wait_for_runs(3);
    remove_file(included);
    wait_for_runs(4);
}

static void a_file_that_the_configuration_includes_counts_as_much(void **state)
{
    (void)state;
    fake.idle_runs = 3;
    put_config("include: [part-*.yaml]\noutputs: [{type: stdout}]\n");
    assert_int_equal(serve_with(1, change_what_it_includes), EXIT_DONE);
    assert_int_equal(fake.runs, 4);
    assert_int_equal(count_events(SERVICE_MESSAGE_IDLE_NO_SESSION), 3);
}

static void write_one_and_say_so(void)
{
    wait_for_state(SERVICE_STATE_RUNNING);
    ask(SERVICE_ASKS_PARAMCHANGE); /* too early: it continues to wait, and reports that again */
    wait_for_event(SERVICE_MESSAGE_IDLE_NO_CONFIG, 2);
    put_config("version: 1\n");
    ask(SERVICE_ASKS_PARAMCHANGE);
    wait_for_runs(1);
}

static void a_reload_has_it_looked_for_at_once(void **state)
{
    (void)state;
    assert_int_equal(serve_with(NEVER_MS, write_one_and_say_so), EXIT_DONE);
    assert_int_equal(fake.runs, 1);
}

static void write_a_wrong_one_and_then_a_good_one(void)
{
    wait_for_state(SERVICE_STATE_RUNNING);
    put_config("wrong\n");
    ask(SERVICE_ASKS_PARAMCHANGE);
    wait_for_runs(1);
    put_config("good\n");
    ask(SERVICE_ASKS_PARAMCHANGE);
    wait_for_runs(2);
}

static void a_waiting_service_does_not_end_by_a_wrong_configuration(void **state)
{
    (void)state;
    fake.exit_codes[0] = EXIT_USAGE;
    assert_int_equal(serve_with(NEVER_MS, write_a_wrong_one_and_then_a_good_one), EXIT_DONE);
    assert_int_equal(fake.runs, 2);
    assert_int_equal(count_events(SERVICE_MESSAGE_FAILED), 0);
}

/* ---- with a policy that cannot be read ------------------------------------------------------- */

static void stop_if_it_waits(void)
{
    plat_mutex_lock(&fake.mutex);
    while (fake.status.state != SERVICE_STATE_STOPPED &&
           count_events(SERVICE_MESSAGE_IDLE_NO_CONFIG) == 0) {
        plat_cond_wait(&fake.changed, &fake.mutex);
    }
    bool waits = fake.status.state != SERVICE_STATE_STOPPED;
    plat_mutex_unlock(&fake.mutex);
    if (waits) {
        ask(SERVICE_ASKS_STOP);
    }
}

static void a_wrong_policy_is_told_where_there_is_no_configuration(void **state)
{
    (void)state;
    char *argv[] = {(char[]){"run"}, (char[]){"--service"}, (char[]){"-c"}, config};
    struct sim_registry *registry = sim_registry_create(NULL);
    assert_non_null(registry);
    const struct etw_registry_api *api = sim_registry_api(registry);
    assert_int_equal(api->make(api->self, "SOFTWARE\\Policies\\etwship"), 0);
    assert_int_equal(api->set(api->self, "SOFTWARE\\Policies\\etwship", "ServiceAccount",
                         ETW_REGISTRY_DWORD, span_make("\1\0\0\0", 4)),
        0);
    etw_registry_use(api);
    fake.script = stop_if_it_waits;
    int exit_code = cli_run(&cmd_run, 4, argv);
    etw_registry_use(NULL);
    sim_registry_destroy(registry);
    assert_int_equal(exit_code, EXIT_USAGE);
    assert_int_equal(count_events(SERVICE_MESSAGE_IDLE_NO_CONFIG), 0);
    assert_int_equal(count_events(SERVICE_MESSAGE_CONFIG), 1);
    assert_int_equal(fake.events[0].message, SERVICE_MESSAGE_CONFIG);
    assert_non_null(strstr(fake.events[0].text, "policy ServiceAccount: it is not a string"));
}

/* ---- with one -------------------------------------------------------------------------------- */

static void look_on(void)
{
    wait_for_state(SERVICE_STATE_STOPPED);
}

static void a_wrong_one_at_the_start_ends_it_with_its_exit_code(void **state)
{
    (void)state;
    put_config("wrong\n");
    fake.exit_codes[0] = EXIT_USAGE;
    assert_int_equal(serve_with(NEVER_MS, look_on), EXIT_USAGE);
    assert_int_equal(fake.status.exit_code, SERVICE_E_SPECIFIC_ERROR);
    assert_int_equal(fake.status.specific_code, EXIT_USAGE);
    assert_int_equal(count_events(SERVICE_MESSAGE_FAILED), 1);
}

static void what_fails_after_it_has_waited_ends_it(void **state)
{
    (void)state;
    fake.exit_codes[0] = EXIT_FAILED;
    assert_int_equal(serve_with(1, write_one), EXIT_FAILED);
    assert_int_equal(fake.status.specific_code, EXIT_FAILED);
}

/* ---- the agent itself ------------------------------------------------------------------------ */

#define NOTHING                                                              \
    "sessions: [{name: t, type: file, paths: [none.etl], enabled: false}]\n" \
    "outputs: [{type: file, path: out.ndjson}]\n"
#define SOMETHING                                                                                 \
    "spool: {mode: memory}\nsessions: [{name: t, type: file, paths: [none.etl], follow: true}]\n" \
    "outputs: [{type: file, path: out.ndjson}]\n"

static void give_it_work_and_take_it_away(void)
{
    for (size_t i = 1; i <= 2; i++) {
        wait_for_event(SERVICE_MESSAGE_IDLE_NO_SESSION, i);
        wait_for_state(SERVICE_STATE_RUNNING);
        put_config(SOMETHING);
        ask(SERVICE_ASKS_PARAMCHANGE);
        wait_for_event(SERVICE_MESSAGE_STARTED, i);
        put_config(NOTHING);
        ask(SERVICE_ASKS_PARAMCHANGE);
    }
    wait_for_event(SERVICE_MESSAGE_IDLE_NO_SESSION, 3);
    ask(SERVICE_ASKS_STOP);
}

static void one_without_sessions_waits_for_some_as_often_as_it_takes(void **state)
{
    (void)state;
    char *argv[] = {(char[]){"run"}, (char[]){"--service"}, (char[]){"-c"}, config};
    fake.script = give_it_work_and_take_it_away;
    put_config(NOTHING);
    assert_int_equal(cli_run(&cmd_run, 4, argv), EXIT_DONE);
    assert_int_equal(fake.status.exit_code, SERVICE_OK);
    assert_int_equal(count_events(SERVICE_MESSAGE_STOPPED), 1);
    assert_int_equal(count_events(SERVICE_MESSAGE_ENDED), 0);
    assert_int_equal(count_events(SERVICE_MESSAGE_IDLE_NO_SESSION), 3); /* one for each time */
}

static void at_a_terminal_a_missing_configuration_is_an_error(void **state)
{
    (void)state;
    char *argv[] = {(char[]){"run"}, (char[]){"-c"}, config};
    assert_int_equal(cli_run(&cmd_run, 3, argv), EXIT_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        service_test(without_a_configuration_it_runs_and_says_that_it_waits),
        service_test(a_configuration_that_is_written_is_used),
        service_test(a_file_that_the_configuration_includes_counts_as_much),
        service_test(a_reload_has_it_looked_for_at_once),
        service_test(a_waiting_service_does_not_end_by_a_wrong_configuration),
        service_test(a_wrong_policy_is_told_where_there_is_no_configuration),
        service_test(a_wrong_one_at_the_start_ends_it_with_its_exit_code),
        service_test(what_fails_after_it_has_waited_ends_it),
        service_test(one_without_sessions_waits_for_some_as_often_as_it_takes),
        service_test(at_a_terminal_a_missing_configuration_is_an_error),
    };
    if (temp_folder_make(folder, "service")) {
        return 1;
    }
    snprintf(config, sizeof(config), "%s/c.yaml", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return temp_folder_remove(folder) || failed;
}
