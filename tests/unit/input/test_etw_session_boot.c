#define _GNU_SOURCE

#include <stdio.h>

#include "etw/session/etw_control.h"
#include "etw_session_rig.h"
#include "input/windows/etw_boot.h"
#include "platform/plat_file.h"
#include "support/etw_sim/etw_sim.h"
#include "support/temp_folder.h"

/* Sessions that Windows has started at boot, writing to a file (input/windows/etw_boot.h), and how
 * the starting agent takes them over. */

static char folder[TEMP_FOLDER_BYTES];
static char file[TEMP_FOLDER_BYTES + 16];

static int make_folder(void **state)
{
    (void)state;
    int made = temp_folder_make(folder, "boot");
    snprintf(file, sizeof(file), "%s/boot.etl", folder);
    return made;
}

static int remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

enum { BUILD_WITH_CONVERT = 20348 };

static void boot_as(struct rig *rig, uint32_t build, uint32_t mode, const char *path)
{
    struct etw_session_state session;
    struct error err = {0};
    rig_init(rig, &(struct etw_sim_options){.os_build = build});
    const struct etw_session_spec spec = {.name = NAME,
        .guid = {{1}},
        .clock = 1,
        .buffer_kb = 64,
        .min_buffers = 4,
        .max_buffers = 24,
        .mode = mode,
        .file = path};
    assert_true(etw_control_start(&spec, &session, &err));
    rig->settings.session.boot = true;
}

static void boot(struct rig *rig, uint32_t build, uint32_t mode)
{
    boot_as(rig, build, mode, file);
}

static void enable(struct rig *rig, struct etw_sim_provider **ret_provider)
{
    struct etw_session_state session;
    struct etw_outcome outcome;
    struct etw_request request = {.provider = provider_guid};
    *ret_provider = add_provider(rig);
    assert_true(etw_control_query(NAME, &session, NULL));
    assert_true(etw_enable_provider(session.handle, "Test-Provider", &request, &outcome, NULL));
}

static uint64_t file_bytes(void)
{
    uint64_t size = 0;
    struct plat_file *opened = plat_file_open(file, PLAT_FILE_READ, NULL);
    assert_non_null(opened);
    assert_true(plat_file_size(opened, &size, NULL));
    plat_file_close(opened);
    return size;
}

/* EVENT_TRACE_CONTROL_CONVERT_TO_REALTIME: the same session, and no event in both or in neither. */
static void it_goes_on_in_real_time_where_windows_can(void **state)
{
    (void)state;
    struct rig rig;
    struct etw_sim_provider *provider;
    struct etw_sim_session_info before;
    struct etw_sim_session_info after;
    boot(&rig, BUILD_WITH_CONVERT, ETW_MODE_SEQUENTIAL);
    enable(&rig, &provider);
    write_events(provider, 100);
    assert_true(etw_sim_session_get(rig.sim, NAME, &before));
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    uint64_t size = file_bytes();
    write_events(provider, 50);
    assert_true(etw_sim_settle(rig.sim, RIG_WAIT_MS));
    assert_true(etw_sim_session_get(rig.sim, NAME, &after));
    assert_true(after.handle == before.handle);
    assert_int_equal(after.counts.in_file, 100);
    assert_int_equal(after.counts.delivered, 50);
    assert_int_equal(file_bytes(), size); /* the session writes nothing more to it */
    rig_stop(&rig);
    assert_int_equal(rig.events, 50);
    assert_int_equal(rig.gap_count, 0);
    rig_fini(&rig);
}

/* Windows cannot convert the session, or does not confirm that it has: a new session begins, with a
 * gap between the two. */
static void else_it_is_closed_and_a_new_one_begins(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig;
        struct etw_sim_provider *provider;
        struct etw_sim_session_info info;
        boot(&rig, i ? BUILD_WITH_CONVERT : 19045, ETW_MODE_SEQUENTIAL);
        enable(&rig, &provider);
        write_events(provider, 100);
        if (i) {
            etw_sim_fail_control(rig.sim, ETW_CONTROL_CONVERT_TO_REALTIME, 1, 0, 87);
        }
        start(&rig);
        rig_await(&rig, is_enabled, NAME);
        write_events(provider, 50);
        assert_true(etw_sim_settle(rig.sim, RIG_WAIT_MS));
        assert_true(etw_sim_session_get(rig.sim, NAME, &info));
        assert_int_equal(info.counts.delivered, 50);
        rig_stop(&rig);
        assert_int_equal(rig.events, 50);
        assert_int_equal(rig.gap_count, 1);
        assert_string_equal(rig.gaps[0].reason, "boot_session_closed");
        assert_false(rig.gaps[0].exact);
        assert_true(rig_has_note(&rig, "closed " NAME));
        rig_fini(&rig);
    }
}

/* No session listened while the machine was down. Since the boot this one did. */
static void what_is_missing_ends_when_the_machine_started(void **state)
{
    (void)state;
    static const uint64_t hour = UINT64_C(36000000000);
    static const uint64_t booted = UINT64_C(134082162000000000);
    static const struct {
        uint64_t last_time;
        size_t gaps;
    } rows[] = {{booted - hour, 1}, {booted + hour, 0}, {0, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rig rig;
        struct etw_sim_provider *provider;
        rig_init(&rig, &(struct etw_sim_options){.os_build = BUILD_WITH_CONVERT,
                           .start_time = booted + 2 * hour,
                           .boot_time = booted});
        struct etw_session_state session;
        const struct etw_session_spec spec = {.name = NAME,
            .guid = {{1}},
            .clock = 1,
            .buffer_kb = 64,
            .mode = ETW_MODE_SEQUENTIAL,
            .file = file};
        assert_true(etw_control_start(&spec, &session, NULL));
        rig.settings.session.boot = true;
        rig.last_time = rows[i].last_time;
        enable(&rig, &provider);
        start(&rig);
        rig_await(&rig, is_enabled, NAME);
        rig_stop(&rig);
        assert_int_equal(rig.gap_count, rows[i].gaps);
        if (rows[i].gaps) {
            assert_string_equal(rig.gaps[0].reason, "not_running");
            assert_true(rig.gaps[0].from == rows[i].last_time);
            assert_true(rig.gaps[0].to == booted);
        }
        rig_fini(&rig);
    }
}

/* Both files exist: an earlier agent was killed half-way, or the session was one that records. */
static void one_that_is_read_and_has_a_file_leaves_it(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig;
        struct etw_sim_provider *provider;
        struct etw_sim_session_info info;
        boot(&rig, i ? BUILD_WITH_CONVERT : 19045, ETW_MODE_SEQUENTIAL | ETW_MODE_REAL_TIME);
        enable(&rig, &provider);
        start(&rig);
        rig_await(&rig, is_enabled, NAME);
        uint64_t size = file_bytes();
        write_events(provider, 50);
        assert_true(etw_sim_settle(rig.sim, RIG_WAIT_MS));
        assert_true(etw_sim_session_get(rig.sim, NAME, &info));
        assert_int_equal(info.counts.in_file, 0);
        rig_stop(&rig);
        assert_int_equal(file_bytes(), size);
        assert_int_equal(rig.events, 50);
        assert_int_equal(rig.gap_count, i ? 0 : 1);
        rig_fini(&rig);
    }
}

/* The session is ours and in real time, but cannot be opened: the agent stops it unread, and
 * reports that. */
static void what_came_between_is_told_if_it_cannot_be_read(void **state)
{
    (void)state;
    struct rig rig;
    struct etw_sim_provider *provider;
    boot(&rig, BUILD_WITH_CONVERT, ETW_MODE_SEQUENTIAL);
    enable(&rig, &provider);
    assert_true(etw_sim_fail(rig.sim, "OpenTraceW", 1, 1, ETW_ERROR_ACCESS_DENIED));
    uint32_t calls = etw_sim_calls(rig.sim, "StartTraceW");
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    rig_stop(&rig);
    assert_int_equal(etw_sim_calls(rig.sim, "StartTraceW"), calls + 1);
    assert_int_equal(rig.gap_count, 1);
    assert_string_equal(rig.gaps[0].reason, "session_stopped");
    assert_false(rig.gaps[0].exact);
    rig_fini(&rig);
}

static void one_that_is_read_already_goes_on_as_it_is(void **state)
{
    (void)state;
    struct rig rig;
    struct etw_sim_provider *provider;
    boot_as(&rig, BUILD_WITH_CONVERT, ETW_MODE_REAL_TIME, NULL);
    enable(&rig, &provider);
    uint32_t calls = etw_sim_calls(rig.sim, "StartTraceW");
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    rig_stop(&rig);
    assert_int_equal(etw_sim_calls(rig.sim, "StartTraceW"), calls);
    assert_int_equal(rig.gap_count, 0);
    rig_fini(&rig);
}

/* The agent must not close a session that records: from now on it delivers its events as well. */
static void a_session_that_records_keeps_its_file(void **state)
{
    (void)state;
    struct rig rig;
    struct etw_sim_provider *provider;
    struct etw_sim_session_info info;
    static struct provider_spec spec;
    boot(&rig, BUILD_WITH_CONVERT, ETW_MODE_SEQUENTIAL);
    enable(&rig, &provider);
    struct live_record settings = {
        .session = rig.settings.session, .log_file = {.path = file}, .live = true};
    spec = rig_spec(provider_text);
    rig_start_as(&rig, ETW_PLAN_RECORD, &settings, &spec, 1);
    rig_await(&rig, is_enabled, NAME);
    write_events(provider, 50);
    assert_true(etw_sim_settle(rig.sim, RIG_WAIT_MS));
    assert_true(etw_sim_session_get(rig.sim, NAME, &info));
    assert_int_equal(info.counts.in_file, 50);
    rig_stop(&rig);
    assert_int_equal(rig.events, 50);
    rig_fini(&rig);
}

static uint64_t lost_buffers(const struct rig *rig)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < rig->gap_count; i++) {
        lost += strcmp(rig->gaps[i].reason, "log_buffers_lost") == 0 ? rig->gaps[i].count : 0;
    }
    return lost;
}

/* Only the agent reports the gap of a session that records. For others the input that reads the
 * file does. */
static void what_was_lost_since_boot_is_told_once(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig;
        struct etw_sim_provider *provider;
        struct etw_session_state now;
        static struct provider_spec spec;
        boot(&rig, BUILD_WITH_CONVERT, ETW_MODE_SEQUENTIAL);
        enable(&rig, &provider);
        etw_sim_fail_disk(rig.sim, NAME, 1);
        write_events(provider, 10);
        assert_true(etw_control_flush(NAME, NULL));
        assert_true(etw_control_query(NAME, &now, NULL));
        assert_int_equal(now.log_buffers_lost, 1);
        struct live_record settings = {
            .session = rig.settings.session, .log_file = {.path = file}, .live = true};
        spec = rig_spec(provider_text);
        if (i) {
            start(&rig);
        } else {
            rig_start_as(&rig, ETW_PLAN_RECORD, &settings, &spec, 1);
        }
        rig_await(&rig, is_enabled, NAME);
        rig_stop(&rig);
        assert_int_equal(lost_buffers(&rig), i ? 0 : 1);
        rig_fini(&rig);
    }
}

static void one_that_may_not_be_touched_is_tried_again(void **state)
{
    (void)state;
    struct rig rig;
    struct etw_sim_provider *provider;
    boot(&rig, 19045, ETW_MODE_SEQUENTIAL);
    enable(&rig, &provider);
    etw_sim_fail_control(rig.sim, ETW_CONTROL_STOP, 1, 2, ETW_ERROR_ACCESS_DENIED);
    start(&rig);
    rig_await(&rig, rig_has_note, "trying again");
    rig_await(&rig, is_enabled, NAME);
    rig_stop(&rig);
    rig_fini(&rig);
}

struct reading {
    bool begun; /* the next session runs */
    bool early;
    size_t records;
};

static bool begin_the_next(void *self)
{
    struct reading *reading = self;
    struct etw_session_state session;
    const struct etw_session_spec spec = {.name = NAME,
        .guid = {{1}},
        .clock = 1,
        .buffer_kb = 64,
        .min_buffers = 4,
        .max_buffers = 24,
        .mode = ETW_MODE_REAL_TIME};
    if (!reading->begun) {
        assert_true(etw_control_start(&spec, &session, NULL));
    }
    reading->begun = true;
    return true;
}

static bool take_record(void *self, const struct event_record *record)
{
    struct reading *reading = self;
    (void)record;
    reading->early = reading->early || !reading->begun;
    reading->records++;
    return true;
}

static void take_metadata(void *self, const struct event_record *record)
{
    take_record(self, record);
}

/* That the session is gone does not prove that its file is closed. That the next session runs
 * does. */
static void its_file_is_read_when_the_next_session_has_begun(void **state)
{
    (void)state;
    struct rig rig;
    struct etw_sim_provider *provider;
    struct error err = {0};
    struct reading reading = {.begun = false};
    boot(&rig, 19045, ETW_MODE_SEQUENTIAL);
    enable(&rig, &provider);
    write_events(provider, 50);
    assert_true(etw_control_stop(NAME, NULL, NULL));
    const struct input_boot_settings settings = {.etw_session = NAME, .file = file};
    const struct input_env env = {.name = "test/boot"};
    void *input = input_boot.create(&settings, &env, &err);
    assert_non_null(input);
    const struct input_sink sink = {.self = &reading,
        .metadata = take_metadata,
        .record = take_record,
        .pause = begin_the_next};
    assert_int_equal(input_boot.run(input, &sink, &err), INPUT_DONE);
    assert_true(reading.records >= 50);
    assert_false(reading.early);
    input_boot.destroy(input);
    assert_true(etw_control_stop(NAME, NULL, NULL));
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_on_in_real_time_where_windows_can),
        cmocka_unit_test(else_it_is_closed_and_a_new_one_begins),
        cmocka_unit_test(what_is_missing_ends_when_the_machine_started),
        cmocka_unit_test(one_that_is_read_and_has_a_file_leaves_it),
        cmocka_unit_test(what_came_between_is_told_if_it_cannot_be_read),
        cmocka_unit_test(one_that_is_read_already_goes_on_as_it_is),
        cmocka_unit_test(a_session_that_records_keeps_its_file),
        cmocka_unit_test(its_file_is_read_when_the_next_session_has_begun),
        cmocka_unit_test(what_was_lost_since_boot_is_told_once),
        cmocka_unit_test(one_that_may_not_be_touched_is_tried_again),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
