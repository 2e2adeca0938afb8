#define _GNU_SOURCE

#include <stdio.h>

#include "etw_session_rig.h"
#include "input/live/provider_scope.h"
#include "input/windows/etw_providers.h"
#include "support/etw_sim/etw_sim.h"

/* The providers that a live session asks for, and the moment. */

/* ---- providers ------------------------------------------------------------------------------- */

static void a_provider_that_comes_later_is_read(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct etw_sim_provider *provider = etw_sim_provider_add(
        rig.sim, &(struct etw_sim_provider_options){.guid = provider_guid, .unregistered = true});
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    etw_sim_provider_register(provider);
    write_events(provider, 3);
    rig_stop(&rig);
    assert_int_equal(rig.events, 3);
    rig_fini(&rig);
}

static void a_refused_provider_is_told_and_the_others_are_read(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct guid guarded;
    assert_true(guid_parse(span_text("f4e1897c-bb5d-5668-f1d8-040f4d8dd344"), &guarded));
    etw_sim_provider_add(rig.sim, &(struct etw_sim_provider_options){
                                      .guid = guarded, .enable_error = ETW_ERROR_ACCESS_DENIED});
    struct etw_sim_provider *provider = add_provider(&rig);
    struct provider_spec specs[] = {
        rig_spec("f4e1897c-bb5d-5668-f1d8-040f4d8dd344"), rig_spec(provider_text)};
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, specs, 2);
    rig_await(&rig, is_enabled, NAME);
    rig_await(&rig, rig_has_note, "protected processes of anti-malware vendors (PPL)");
    write_events(provider, 3);
    rig_stop(&rig);
    assert_int_equal(rig.events, 3);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

static void entries_of_one_provider_become_one_request(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    add_provider(&rig);
    struct provider_spec specs[] = {rig_spec("03020177-0000-0000-0000-000000000000:2:5:0x1"),
        rig_spec("03020177-0000-0000-0000-000000000000:4::0x2")};
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, specs, 2);
    rig_await(&rig, is_enabled, NAME);
    struct etw_sim_enablement got;
    assert_true(etw_sim_enabled(rig.sim, NAME, &provider_guid, &got));
    assert_int_equal(got.level, 4);
    assert_int_equal(got.any, 3);
    assert_int_equal(got.filter_count, 0); /* ids only if all have them */
    rig_stop(&rig);
    rig_fini(&rig);
}

static void states_are_requested_when_a_session_listens(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct etw_sim_provider *provider = add_provider(&rig);
    struct provider_spec spec = rig_spec(provider_text);
    spec.capture_at_start = true;
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
    rig_await(&rig, is_enabled, NAME);
    struct etw_sim_provider_state got;
    rig_stop(&rig);
    etw_sim_provider_get(provider, &got);
    assert_int_equal(got.capture_states, 1);
    rig_fini(&rig);
}

static bool is_captured_twice(struct rig *rig, const void *what)
{
    struct etw_sim_enablement got;
    (void)what;
    return etw_sim_enabled(rig->sim, NAME, &provider_guid, &got) && got.captures >= 2;
}

static void states_are_asked_for_again_after_a_while(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    add_provider(&rig);
    struct provider_spec spec = rig_spec(provider_text);
    spec.capture_every_ns = 1000000;
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
    rig_await(&rig, is_captured_twice, NULL);
    rig_stop(&rig);
    rig_fini(&rig);
}

static uint64_t processes_told(struct rig *rig)
{
    const uint8_t data_collection_start = 3;
    plat_mutex_lock(&rig->mutex);
    uint64_t told = rig->last.kind == RECORD_KERNEL &&
                            rig->last.descriptor.opcode == data_collection_start
                        ? rig->events
                        : 0;
    plat_mutex_unlock(&rig->mutex);
    return told;
}

static bool all_processes_are_told(struct rig *rig, const void *what)
{
    (void)what;
    return processes_told(rig) == 2;
}

/* Two kernel providers want the rundown of processes, which the session asks for once. */
static void the_kernels_providers_have_the_state_of_the_session(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, &(struct etw_sim_options){.os_build = 22000});
    etw_sim_process_start(rig.sim, &(struct etw_sim_process){.pid = 4, .image = "System"});
    etw_sim_process_start(rig.sim, &(struct etw_sim_process){.pid = 80, .image = "a.exe"});
    struct live_kernel settings = {.session = rig.settings.session};
    struct provider_spec specs[] = {rig_spec("SystemProcessProvider:::1"), rig_spec("Registry")};
    specs[0].capture_at_start = true;
    specs[1].capture_at_start = true;
    rig_start_as(&rig, ETW_PLAN_SYSTEM, &settings, specs, 2);
    rig_await(&rig, rig_reads, NAME);
    assert_true(etw_sim_settle(rig.sim, RIG_WAIT_MS));
    rig_await(&rig, all_processes_are_told, NULL);
    rig_stop(&rig);
    rig_fini(&rig);
}

/* An older Windows accepts them, and writes nothing. */
static void system_providers_of_a_windows_without_them_are_told(void **state)
{
    static const struct {
        uint32_t build;
        bool has_them;
    } rows[] = {{19045, false}, {20348, true}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rig rig;
        rig_init(&rig, &(struct etw_sim_options){.os_build = rows[i].build});
        etw_sim_process_start(rig.sim, &(struct etw_sim_process){.pid = 4, .image = "System"});
        etw_sim_process_start(rig.sim, &(struct etw_sim_process){.pid = 80, .image = "a.exe"});
        struct live_kernel settings = {.session = rig.settings.session};
        struct provider_spec spec = rig_spec("SystemProcessProvider:::1");
        spec.capture_at_start = true;
        rig_start_as(&rig, ETW_PLAN_SYSTEM, &settings, &spec, 1);
        rig_await(&rig, rig_reads, NAME);
        if (rows[i].has_them) {
            assert_true(etw_sim_settle(rig.sim, RIG_WAIT_MS));
            rig_await(&rig, all_processes_are_told, NULL);
        } else {
            rig_await(&rig, rig_has_note, "provider SystemProcessProvider brings no events");
        }
        rig_stop(&rig);
        assert_int_equal(rig_has_note(&rig, "brings no events"), !rows[i].has_them);
        rig_fini(&rig);
    }
}

static void a_classic_provider_is_taken_from_no_session_that_was_not_named(void **state)
{
    (void)state;
    for (int take_over = 0; take_over <= 1; take_over++) {
        struct rig rig;
        rig_init(&rig, NULL);
        etw_sim_provider_add(
            rig.sim, &(struct etw_sim_provider_options){
                         .guid = provider_guid, .kind = ETW_SIM_CLASSIC, .pid = 900});
        uint64_t theirs = etw_sim_session_add(rig.sim,
            &(struct etw_sim_session_options){.name = "Theirs", .mode = ETW_MODE_REAL_TIME}, NULL);
        assert_int_equal(etw_sim_api(rig.sim)->EnableTraceEx2(
                             theirs, &provider_guid, 1, 5, UINT32_MAX, 0, 0, NULL),
            0);
        struct provider_spec spec = rig_spec(provider_text);
        spec.take_over = take_over;
        rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
        struct etw_sim_enablement got;
        if (take_over) {
            rig_await(&rig, is_enabled, NAME);
            assert_true(rig_has_note(&rig, "is taken over from the session Theirs"));
        } else {
            rig_await(&rig, rig_has_note, "serves one session at a time, now Theirs");
            assert_true(etw_sim_enabled(rig.sim, "Theirs", &provider_guid, &got));
        }
        rig_stop(&rig);
        rig_fini(&rig);
    }
}

/* With EVENT_FILTER_TYPE_PID a driver's registration is not enabled (event_filter_descriptor on
 * learn.microsoft.com). */
static void a_drivers_provider_with_process_ids_is_warned_of(void **state)
{
    (void)state;
    for (int is_driver = 0; is_driver <= 1; is_driver++) {
        struct rig rig;
        rig_init(&rig, NULL);
        etw_sim_provider_add(
            rig.sim, &(struct etw_sim_provider_options){
                         .guid = provider_guid, .kernel_mode = is_driver, .pid = 900});
        struct provider_spec spec = rig_spec(provider_text);
        spec.pid_count = 1;
        spec.pids[0] = 900;
        rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
        rig_await(&rig, is_enabled, NAME);
        rig_stop(&rig);
        assert_int_equal(rig_has_note(&rig, "because of `pids`"), is_driver);
        rig_fini(&rig);
    }
}

static void a_group_brings_its_members_but_those_left_out(void **state)
{
    (void)state;
    struct rig rig;
    const struct guid group = {{0x67, 1}};
    const struct guid unwanted = {{0x78, 1}};
    const char *left_out[] = {"00000178-0000-0000-0000-000000000000"};
    struct etw_sim_event event = {.descriptor = {.id = 7, .level = 4}};
    rig_init(&rig, NULL);
    struct etw_sim_provider *member = etw_sim_provider_add(rig.sim,
        &(struct etw_sim_provider_options){.guid = provider_guid, .pid = 900, .group = group});
    struct etw_sim_provider *other = etw_sim_provider_add(
        rig.sim, &(struct etw_sim_provider_options){.guid = unwanted, .pid = 901, .group = group});
    struct provider_spec spec = rig_spec("00000167-0000-0000-0000-000000000000");
    spec.group = true;
    spec.disallow = (struct config_strings){left_out, 1};
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
    const struct enabling wanted = {group, 1};
    rig_await(&rig, has_enabled, &wanted);
    assert_int_equal(etw_sim_burst(member, &event, 0, 3, 0), 3);
    assert_int_equal(etw_sim_burst(other, &event, 0, 3, 0), 3);
    rig_stop(&rig);
    assert_int_equal(rig.events, 3);
    assert_int_equal(rig.last.process_id, 900);
    rig_fini(&rig);
}

/* Ids of processes are neither 16-bit numbers nor negative. */
static void ids_of_processes_have_all_their_32_bits(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct etw_sim_provider *provider = add_provider(&rig);
    struct provider_spec spec = rig_spec(provider_text);
    spec.pids[spec.pid_count++] = 0xfffffff8;
    spec.pids[spec.pid_count++] = 0x12384; /* 900 is 0x384 */
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
    rig_await(&rig, is_enabled, NAME);
    write_events(provider, 3); /* by 900 */
    struct etw_sim_event event = {.descriptor = {.id = 7}, .process_id = 0xfffffff8};
    struct etw_sim_provider *high = etw_sim_provider_add(rig.sim,
        &(struct etw_sim_provider_options){.guid = provider_guid, .pid = event.process_id});
    assert_int_equal(etw_sim_burst(high, &event, 0, 1, 0), 1);
    rig_stop(&rig);
    assert_int_equal(rig.events, 1);
    assert_int_equal(rig.last.process_id, 0xfffffff8);
    rig_fini(&rig);
}

/* Only where no driver may log does ETW select the processes that rules keep. */
static void a_drivers_events_are_not_lost_to_rules_about_processes(void **state)
{
    static const struct {
        bool kernel_mode, unregistered;
        bool by_entry;
        uint32_t filters, events;
    } rows[] = {
        {.filters = 1, .events = 1},
        {.kernel_mode = true, .events = 2},
        {.unregistered = true, .events = 2},
        {.kernel_mode = true, .by_entry = true, .filters = 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rig rig;
        rig_init(&rig, NULL);
        struct etw_sim_provider *provider = etw_sim_provider_add(
            rig.sim, &(struct etw_sim_provider_options){.guid = provider_guid,
                         .pid = rows[i].kernel_mode ? 0 : 900,
                         .kernel_mode = rows[i].kernel_mode,
                         .unregistered = rows[i].unregistered});
        struct provider_scope scope = {.level = PROVIDER_LEVEL_ALL, .pids = {900}, .pid_count = 1};
        struct provider_spec spec = rig_spec(provider_text);
        spec.scope = rows[i].by_entry ? NULL : &scope;
        spec.pids[0] = 900;
        spec.pid_count = rows[i].by_entry;
        rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
        rig_await(&rig, is_enabled, NAME);
        struct etw_sim_enablement got;
        assert_true(etw_sim_enabled(rig.sim, NAME, &provider_guid, &got));
        assert_int_equal(got.filter_count, rows[i].filters);
        etw_sim_provider_register(provider);
        for (uint32_t pid = 900; pid <= 901; pid++) {
            const struct etw_sim_event event = {.descriptor = {.id = 7}, .process_id = pid};
            etw_sim_burst(provider, &event, 0, 1, 0);
        }
        rig_stop(&rig);
        assert_int_equal(rig.events, rows[i].events);
        rig_fini(&rig);
    }
}

/* ---- how long a start takes ------------------------------------------------------------------ */

enum { MANY = 50 };

static struct guid one_of_many(int i)
{
    struct guid guid = provider_guid;
    guid.bytes[4] = (uint8_t)(i + 1);
    return guid;
}

/* Each is registered by a process that is suspended. */
static void add_silent_providers(struct rig *rig, struct provider_spec specs[MANY], bool capture)
{
    for (int i = 0; i < MANY; i++) {
        char text[GUID_TEXT_SIZE + 1] = "";
        struct guid guid = one_of_many(i);
        guid_write(&guid, text);
        specs[i] = rig_spec(text);
        specs[i].capture_at_start = capture;
        assert_non_null(etw_sim_provider_add(
            rig->sim, &(struct etw_sim_provider_options){
                          .guid = guid, .pid = (uint32_t)(1000 + i), .never_answers = true}));
    }
}

static bool are_enabled_and_read(struct rig *rig, const void *what)
{
    struct etw_sim_enablement got;
    struct guid last = one_of_many(MANY - 1);
    (void)what;
    return etw_sim_enabled(rig->sim, NAME, &last, &got) && rig_reads(rig, NAME);
}

static void processes_that_never_answer_delay_no_other(void **state)
{
    (void)state;
    static struct provider_spec specs[MANY];
    struct rig rig;
    rig_init(&rig, NULL);
    rig.timing.enable_ms = etw_session_timing.enable_ms;
    add_silent_providers(&rig, specs, false);
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, specs, MANY);
    rig_await(&rig, are_enabled_and_read, NULL);
    print_message("%d providers that never answer: waited for %llu ms\n", MANY,
        (unsigned long long)etw_sim_waited_ms(rig.sim));
    assert_int_equal(etw_sim_waited_ms(rig.sim), 0);
    rig_stop(&rig);
    assert_nothing_left(&rig);
    rig_fini(&rig);
}

/* The session waits for them before, since a provider that is not enabled yet has nothing to
 * report. It waits for all together as long as for one. */
static void those_that_shall_tell_their_state_share_one_wait(void **state)
{
    (void)state;
    static struct provider_spec specs[MANY];
    struct rig rig;
    struct etw_sim_enablement got;
    rig_init(&rig, NULL);
    rig.timing.enable_ms = etw_session_timing.enable_ms;
    add_silent_providers(&rig, specs, true);
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, specs, MANY);
    rig_await(&rig, are_enabled_and_read, NULL);
    print_message("%d that shall tell their state: waited for %llu ms\n", MANY,
        (unsigned long long)etw_sim_waited_ms(rig.sim));
    assert_in_range(etw_sim_waited_ms(rig.sim), 1, rig.timing.enable_ms);
    for (int i = 0; i < MANY; i++) {
        struct guid guid = one_of_many(i);
        assert_true(etw_sim_enabled(rig.sim, NAME, &guid, &got));
        assert_int_equal(got.captures, 1);
    }
    rig_stop(&rig);
    rig_fini(&rig);
}

static void a_session_is_read_before_anything_writes_to_it(void **state)
{
    (void)state;
    struct rig rig;
    struct etw_sim_enablement got;
    rig_init(&rig, NULL);
    add_provider(&rig);
    start(&rig);
    rig_await(&rig, is_enabled, NAME);
    assert_true(etw_sim_enabled(rig.sim, NAME, &provider_guid, &got));
    assert_true(got.was_read);
    rig_stop(&rig);
    rig_fini(&rig);
}

enum { STOP_AFTER = 3 };

static bool stops_after_some(void *self)
{
    struct rig *rig = self;
    struct guid last = one_of_many(STOP_AFTER - 1);
    return etw_sim_enabled(rig->sim, NAME, &last, NULL);
}

static void a_stop_is_heard_between_two_providers(void **state)
{
    (void)state;
    static struct provider_spec specs[MANY];
    struct rig rig;
    struct error err;
    rig_init(&rig, NULL);
    add_silent_providers(&rig, specs, false);
    const struct input_env env = {
        .name = "test", .providers = specs, .provider_count = MANY, .note = rig_note, .self = &rig};
    struct etw_plan *plan = etw_plan_create(ETW_PLAN_REALTIME, &rig.settings, &env, &err);
    assert_non_null(plan);
    const struct etw_providers_settings settings = {
        .plan = plan, .note = rig_note, .self = &rig, .stops = stops_after_some};
    struct etw_providers *providers = etw_providers_create(&settings, &err);
    assert_non_null(providers);
    uint64_t session = etw_sim_session_add(
        rig.sim, &(struct etw_sim_session_options){.name = NAME, .mode = ETW_MODE_REAL_TIME}, NULL);
    etw_providers_begin(providers, session, false, 0);
    for (int i = 0; i < MANY; i++) {
        struct guid guid = one_of_many(i);
        assert_int_equal(etw_sim_enabled(rig.sim, NAME, &guid, NULL), i < STOP_AFTER);
    }
    etw_providers_destroy(providers);
    etw_plan_destroy(plan);
    rig_fini(&rig);
}

/* ${self}: the provider's address. */
static bool was_asked(struct rig *rig, const void *self)
{
    struct etw_sim_provider *const *provider = self;
    struct etw_sim_provider_state got;
    (void)rig;
    etw_sim_provider_get(*provider, &got);
    return got.capture_states > 0;
}

/* Windows did not enable it with the others. */
static void a_late_provider_is_asked_for_its_state(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct etw_sim_provider *provider = add_provider(&rig);
    struct provider_spec spec = rig_spec(provider_text);
    struct etw_sim_provider_state got;
    spec.capture_at_start = true;
    assert_true(etw_sim_fail(rig.sim, "EnableTraceEx2", 1, 2, ETW_ERROR_NO_SYSTEM_RESOURCES));
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
    rig_await(&rig, is_enabled, NAME);
    rig_await(&rig, was_asked, &provider);
    rig_stop(&rig);
    etw_sim_provider_get(provider, &got);
    assert_int_equal(got.capture_states, 1);
    rig_fini(&rig);
}

static const char dotnet_text[] = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4";

/* The runtime of .NET collects its garbage when it is enabled with GCHeapCollectKeyword. */
static struct etw_sim_provider *add_dotnet(struct rig *rig, struct guid *ret_guid)
{
    assert_true(guid_parse(span_text(dotnet_text), ret_guid));
    return etw_sim_provider_add(rig->sim,
        &(struct etw_sim_provider_options){.guid = *ret_guid, .pid = 901, .commands = 0x800000});
}

static bool has_dotnet(struct rig *rig, const void *guid)
{
    return etw_sim_enabled(rig->sim, NAME, guid, NULL) && rig_reads(rig, NAME);
}

static void nothing_is_done_to_programs_unless_it_is_asked_for(void **state)
{
    (void)state;
    static const struct {
        const char *rest;
        bool acts;
    } rows[] = {
        {"", false}, {":4::0xffffffffffffffff", false}, {":4::0x1", false}, {":4::0x800001", true}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rig rig;
        struct guid guid;
        struct etw_sim_provider_state got;
        char text[64];
        rig_init(&rig, NULL);
        struct etw_sim_provider *provider = add_dotnet(&rig, &guid);
        snprintf(text, sizeof(text), "%s%s", dotnet_text, rows[i].rest);
        struct provider_spec spec = rig_spec(text);
        rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
        rig_await(&rig, has_dotnet, &guid);
        rig_stop(&rig);
        etw_sim_provider_get(provider, &got);
        assert_true(got.callbacks > 0);
        assert_int_equal(got.commanded > 0, rows[i].acts);
        rig_fini(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_provider_that_comes_later_is_read),
        cmocka_unit_test(a_refused_provider_is_told_and_the_others_are_read),
        cmocka_unit_test(entries_of_one_provider_become_one_request),
        cmocka_unit_test(states_are_requested_when_a_session_listens),
        cmocka_unit_test(states_are_asked_for_again_after_a_while),
        cmocka_unit_test(the_kernels_providers_have_the_state_of_the_session),
        cmocka_unit_test(system_providers_of_a_windows_without_them_are_told),
        cmocka_unit_test(a_drivers_provider_with_process_ids_is_warned_of),
        cmocka_unit_test(a_group_brings_its_members_but_those_left_out),
        cmocka_unit_test(ids_of_processes_have_all_their_32_bits),
        cmocka_unit_test(a_drivers_events_are_not_lost_to_rules_about_processes),
        cmocka_unit_test(a_classic_provider_is_taken_from_no_session_that_was_not_named),
        cmocka_unit_test(processes_that_never_answer_delay_no_other),
        cmocka_unit_test(those_that_shall_tell_their_state_share_one_wait),
        cmocka_unit_test(a_session_is_read_before_anything_writes_to_it),
        cmocka_unit_test(a_stop_is_heard_between_two_providers),
        cmocka_unit_test(nothing_is_done_to_programs_unless_it_is_asked_for),
        cmocka_unit_test(a_late_provider_is_asked_for_its_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
