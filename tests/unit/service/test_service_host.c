#include "service/service_host.h"

#include <stdlib.h>

#include "platform/plat_thread.h"
#include "support/service_thread.h"
#include "support/test.h"

/*
 * A service control manager that runs the service on a thread, sends it controls, and receives its
 * reports and events. The tests wait for events, never for a time.
 */
enum { MAX_REPORTS = 65536, MAX_EVENTS = 8, EVENT_BYTES = 40000 };

static struct {
    struct service_api api;
    struct plat_mutex mutex;
    struct plat_cond changed;
    struct service_status reports[MAX_REPORTS];
    size_t report_count;
    struct {
        enum service_message message;
        char text[EVENT_BYTES];
    } events[MAX_EVENTS];
    size_t event_count;
    const struct service_entry *entry;
    void (*script)(void); /* on the thread of the dispatcher, as the controls */
    bool stop_asked;
    unsigned reloads;
} fake;

static void wait_for_report(uint32_t state, uint32_t checkpoint)
{
    bool found = false;
    plat_mutex_lock(&fake.mutex);
    while (!found) {
        for (size_t i = 0; i < fake.report_count; i++) {
            found = found ||
                    (fake.reports[i].state == state && fake.reports[i].checkpoint >= checkpoint);
        }
        if (!found) {
            plat_cond_wait(&fake.changed, &fake.mutex);
        }
    }
    plat_mutex_unlock(&fake.mutex);
}

static uint32_t report(const struct service_status *status)
{
    plat_mutex_lock(&fake.mutex);
    assert_true(fake.report_count < MAX_REPORTS);
    fake.reports[fake.report_count++] = *status;
    plat_cond_broadcast(&fake.changed);
    plat_mutex_unlock(&fake.mutex);
    return SERVICE_OK;
}

static uint32_t dispatch(const struct service_entry *entry)
{
    fake.entry = entry;
    assert_string_equal(entry->name, "etwship");
    service_thread_run(entry, fake.script);
    return SERVICE_OK;
}

static uint32_t ask(uint32_t code)
{
    return fake.entry->control(fake.entry->self, code);
}

static uint32_t open_log(const char *source, void **ret_log)
{
    assert_string_equal(source, "etwship");
    *ret_log = &fake;
    return SERVICE_OK;
}

static uint32_t write_log(void *log, enum service_message message, const char *text)
{
    assert_ptr_equal(log, &fake);
    assert_true(fake.event_count < MAX_EVENTS && strlen(text) < EVENT_BYTES);
    fake.events[fake.event_count].message = message;
    memcpy(fake.events[fake.event_count++].text, text, strlen(text) + 1);
    return SERVICE_OK;
}

static void close_log(void *log)
{
    assert_ptr_equal(log, &fake);
}

static int set_up(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    plat_mutex_init(&fake.mutex);
    plat_cond_init(&fake.changed);
    fake.api = (struct service_api){.dispatch = dispatch,
        .report = report,
        .open_log = open_log,
        .write_log = write_log,
        .close_log = close_log};
    service_api_use(&fake.api);
    return 0;
}

/* START_PENDING, RUNNING, STOP_PENDING, STOPPED: none comes after a later one. */
static void assert_states_go_forward(void)
{
    static const unsigned order[] = {[SERVICE_STATE_START_PENDING] = 0,
        [SERVICE_STATE_RUNNING] = 1,
        [SERVICE_STATE_STOP_PENDING] = 2,
        [SERVICE_STATE_STOPPED] = 3};
    for (size_t i = 1; i < fake.report_count; i++) {
        assert_true(order[fake.reports[i].state] >= order[fake.reports[i - 1].state]);
    }
}

static int tear_down(void **state)
{
    (void)state;
    assert_states_go_forward();
    service_api_use(NULL);
    plat_cond_fini(&fake.changed);
    plat_mutex_fini(&fake.mutex);
    return 0;
}

#define host_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

/* ---- works ----------------------------------------------------------------------------------- */

static void on_stop(void *self)
{
    (void)self;
    plat_mutex_lock(&fake.mutex);
    fake.stop_asked = true;
    plat_cond_broadcast(&fake.changed);
    plat_mutex_unlock(&fake.mutex);
}

static void on_reload(void *self)
{
    (void)self;
    plat_mutex_lock(&fake.mutex);
    fake.reloads++;
    plat_cond_broadcast(&fake.changed);
    plat_mutex_unlock(&fake.mutex);
}

static void wait_for_stop(void)
{
    plat_mutex_lock(&fake.mutex);
    while (!fake.stop_asked) {
        plat_cond_wait(&fake.changed, &fake.mutex);
    }
    plat_mutex_unlock(&fake.mutex);
}

static int run_until_stopped(void *self, struct service_host *host)
{
    service_host_ready(host);
    wait_for_stop();
    return *(int *)self;
}

static int host(int (*run)(void *self, struct service_host *host), int code)
{
    struct error err;
    int exit_code = -1;
    const struct service_host_work work = {
        .run = run, .stop = on_stop, .reload = on_reload, .self = &code, .pace_ms = 1};
    assert_true(service_host_run(&work, &exit_code, &err));
    return exit_code;
}

static const struct service_status *last_report(void)
{
    assert_true(fake.report_count > 0);
    return &fake.reports[fake.report_count - 1];
}

/* States only move forward, and each has the members that the documentation of SERVICE_STATUS
 * requires. */
static void assert_reports(void)
{
    static const int order[] = {[SERVICE_STATE_START_PENDING] = 0,
        [SERVICE_STATE_RUNNING] = 1,
        [SERVICE_STATE_STOP_PENDING] = 2,
        [SERVICE_STATE_STOPPED] = 3};
    assert_int_equal(fake.reports[0].state, SERVICE_STATE_START_PENDING);
    for (size_t i = 0; i < fake.report_count; i++) {
        const struct service_status *now = &fake.reports[i];
        bool is_pending = now->state == SERVICE_STATE_START_PENDING ||
                          now->state == SERVICE_STATE_STOP_PENDING;
        assert_int_equal(now->accepts, now->state == SERVICE_STATE_RUNNING ? 0x109 : 0);
        assert_int_equal(now->checkpoint > 0, is_pending);
        assert_int_equal(now->wait_hint_ms > 0, is_pending);
        if (i > 0 && now->state == now[-1].state) {
            assert_true(is_pending);
            assert_int_equal(now->checkpoint, now[-1].checkpoint + 1);
        } else if (i > 0) {
            assert_true(order[now->state] > order[now[-1].state]);
        }
    }
    assert_int_equal(last_report()->state, SERVICE_STATE_STOPPED);
}

static void ask_it_to_stop(void)
{
    wait_for_report(SERVICE_STATE_RUNNING, 0);
    assert_int_equal(ask(SERVICE_ASKS_STOP), SERVICE_OK);
}

static void a_stop_ends_the_work_in_good_order(void **state)
{
    (void)state;
    fake.script = ask_it_to_stop;
    assert_int_equal(host(run_until_stopped, 0), 0);
    assert_reports();
    assert_int_equal(last_report()->exit_code, 0);
    assert_int_equal(fake.event_count, 1);
    assert_int_equal(fake.events[0].message, SERVICE_MESSAGE_STOPPED);
}

static void shut_it_down(void)
{
    wait_for_report(SERVICE_STATE_RUNNING, 0);
    assert_int_equal(ask(SERVICE_ASKS_PRESHUTDOWN), SERVICE_OK);
}

static void a_shutdown_of_the_machine_ends_it_and_is_no_failure_whatever_is_left(void **state)
{
    (void)state;
    fake.script = shut_it_down;
    assert_int_equal(host(run_until_stopped, 3), 3);
    assert_reports();
    assert_int_equal(last_report()->exit_code, 0);
}

static int take_long_to_start(void *self, struct service_host *host)
{
    wait_for_report(SERVICE_STATE_START_PENDING, 5);
    return run_until_stopped(self, host);
}

static int take_long_to_stop(void *self, struct service_host *host)
{
    int exit_code = run_until_stopped(self, host);
    wait_for_report(SERVICE_STATE_STOP_PENDING, 5);
    return exit_code;
}

static void checkpoints_move_while_it_starts_and_while_it_stops(void **state)
{
    (void)state;
    fake.script = ask_it_to_stop;
    host(take_long_to_start, 0);
    assert_reports();
    fake.report_count = 0;
    fake.stop_asked = false;
    host(take_long_to_stop, 0);
    assert_reports();
}

static int fail_to_start(void *self, struct service_host *host)
{
    service_host_tell(host, SERVICE_MESSAGE_CONFIG, "c.yaml:1:1: error");
    return *(int *)self;
}

static void what_fails_tells_its_exit_code_so_that_recovery_acts(void **state)
{
    (void)state;
    assert_int_equal(host(fail_to_start, 2), 2);
    assert_reports();
    assert_int_equal(last_report()->exit_code, 1066); /* ERROR_SERVICE_SPECIFIC_ERROR */
    assert_int_equal(last_report()->specific_code, 2);
    assert_int_equal(fake.event_count, 2);
    assert_string_equal(fake.events[0].text, "c.yaml:1:1: error");
    assert_int_equal(fake.events[1].message, SERVICE_MESSAGE_FAILED);
}

static int run_to_the_end(void *self, struct service_host *host)
{
    service_host_ready(host);
    return *(int *)self;
}

static void work_that_is_done_ends_without_being_asked(void **state)
{
    (void)state;
    assert_int_equal(host(run_to_the_end, 0), 0);
    assert_reports();
    assert_int_equal(last_report()->exit_code, 0);
    assert_false(fake.stop_asked);
}

static void ask_for_all_else(void)
{
    wait_for_report(SERVICE_STATE_RUNNING, 0);
    assert_int_equal(ask(SERVICE_ASKS_INTERROGATE), SERVICE_OK);
    assert_int_equal(ask(2), SERVICE_E_CALL_NOT_IMPLEMENTED); /* SERVICE_CONTROL_PAUSE */
    assert_int_equal(ask(200), SERVICE_E_CALL_NOT_IMPLEMENTED);
    assert_int_equal(ask(SERVICE_ASKS_PARAMCHANGE), SERVICE_OK);
    plat_mutex_lock(&fake.mutex);
    while (fake.reloads == 0) {
        plat_cond_wait(&fake.changed, &fake.mutex);
    }
    plat_mutex_unlock(&fake.mutex);
    assert_int_equal(ask(SERVICE_ASKS_STOP), SERVICE_OK);
    ask(SERVICE_ASKS_STOP); /* a second request changes nothing */
}

static void a_changed_configuration_is_handed_on_and_unknown_controls_are_refused(void **state)
{
    (void)state;
    fake.script = ask_for_all_else;
    host(run_until_stopped, 0);
    assert_reports();
    assert_int_equal(fake.reloads, 1);
}

static int tell_much(void *self, struct service_host *host)
{
    static char text[EVENT_BYTES];
    (void)self;
    for (size_t i = 0; i + 3 < sizeof(text); i += 3) {
        memcpy(text + i, "\xe2\x82\xac", 4);
    }
    service_host_tell(host, SERVICE_MESSAGE_WARNING, text);
    return 0;
}

static void a_long_text_is_cut_between_characters(void **state)
{
    (void)state;
    host(tell_much, 0);
    size_t length = strlen(fake.events[0].text);
    assert_in_range(length, 30000, 31000);
    assert_int_equal(length % 3, 0);
}

static int tell_percents(void *self, struct service_host *host)
{
    (void)self;
    service_host_tell(host, SERVICE_MESSAGE_WARNING, "http://a/%20b of 50%, fe80::1%3, %");
    return 0;
}

static void a_percent_sign_is_no_place_of_another_text(void **state)
{
    (void)state;
    host(tell_percents, 0);
    assert_string_equal(fake.events[0].text, "http://a/% 20b of 50%, fe80::1% 3, %");
}

static uint32_t not_connected(const struct service_entry *entry)
{
    (void)entry;
    return SERVICE_E_CONTROLLER_CONNECT;
}

static uint32_t refused(const struct service_entry *entry)
{
    (void)entry;
    return SERVICE_E_ACCESS_DENIED;
}

static void a_program_that_the_manager_did_not_start_is_told_so(void **state)
{
    (void)state;
    struct error err;
    int exit_code = 77;
    const struct service_host_work work = {.run = run_to_the_end, .stop = on_stop};
    fake.api.dispatch = not_connected;
    assert_false(service_host_run(&work, &exit_code, &err));
    assert_int_equal(err.code, ERR_MISSING);
    fake.api.dispatch = NULL;
    assert_false(service_host_run(&work, &exit_code, &err));
    assert_int_equal(err.code, ERR_MISSING);
    fake.api.dispatch = refused;
    assert_false(service_host_run(&work, &exit_code, &err));
    assert_int_equal(err.code, ERR_IO);
    assert_int_equal(exit_code, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        host_test(a_stop_ends_the_work_in_good_order),
        host_test(a_shutdown_of_the_machine_ends_it_and_is_no_failure_whatever_is_left),
        host_test(checkpoints_move_while_it_starts_and_while_it_stops),
        host_test(what_fails_tells_its_exit_code_so_that_recovery_acts),
        host_test(work_that_is_done_ends_without_being_asked),
        host_test(a_changed_configuration_is_handed_on_and_unknown_controls_are_refused),
        host_test(a_long_text_is_cut_between_characters),
        host_test(a_percent_sign_is_no_place_of_another_text),
        host_test(a_program_that_the_manager_did_not_start_is_told_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
