#include "cli/selftest/selftest_probes.h"

#include <stdlib.h>

#include "etw/etw_api.h"
#include "etw/session/etw_control.h"
#include "etw/session/etw_kernel.h"
#include "platform/plat_self.h"
#include "platform/plat_thread.h"
#include "support/etw_sim/etw_sim.h"
#include "support/test.h"

/* The probes of the self-test, on a simulated Windows that does what etwship relies on, and on
 * others that do not. */

static struct etw_sim *sim;
static struct etw_api api;
static struct selftest_answer answers[SELFTEST_PROBES];

static void make(struct etw_sim_options options)
{
    options.own_process = plat_process_id();
    options.real_clock = true;
    sim = etw_sim_create(&options, NULL);
    assert_non_null(sim);
    api = *etw_sim_api(sim);
    etw_api_use(&api);
}

static int destroy(void **state)
{
    (void)state;
    etw_api_use(NULL);
    etw_sim_destroy(sim);
    return 0;
}

/* Run all probes, which leave nothing behind. */
static void ask(void)
{
    selftest_probes_run(answers);
    assert_int_equal(etw_sim_session_count(sim), 0);
    assert_int_equal(etw_sim_open_traces(sim), 0);
}

static void assert_outcome(int probe, enum selftest_outcome outcome, const char *text)
{
    if (answers[probe].outcome != outcome || !strstr(answers[probe].text, text)) {
        fail_msg("probe %d: %d, %s", probe, answers[probe].outcome, answers[probe].text);
    }
}

/* Windows notifies providers on a thread of its own: without a timeout the call does not wait for
 * it. */
struct call {
    uint64_t session;
    struct guid provider;
    uint8_t level;
    uint64_t any;
    uint64_t all;
    uint32_t result;
};

static struct call call;
static struct plat_thread *caller;

static void run_call(void *self)
{
    struct call *c = self;
    struct etw_enable_parameters parameters = {.version = 2};
    c->result = etw_sim_api(sim)->EnableTraceEx2(
        c->session, &c->provider, ETW_PROVIDER_ENABLE, c->level, c->any, c->all, 0, &parameters);
}

static bool is_waiting(const struct guid *provider)
{
    struct guid waiting = guid_from_name(span_text("Etwship.Selftest.Waiting"));
    return guid_equal(provider, &waiting);
}

/* The first call returns at once, the second one when its time is over. */
static uint32_t enable_apart(uint64_t session, const struct guid *provider, uint32_t code,
    uint8_t level, uint64_t any, uint64_t all, uint32_t timeout_ms,
    struct etw_enable_parameters *parameters)
{
    (void)code;
    (void)parameters;
    if (!is_waiting(provider) || timeout_ms) {
        return ETW_ERROR_TIMEOUT;
    }
    call = (struct call){session, *provider, level, any, all, 0};
    caller = plat_thread_start("windows", run_call, &call, NULL);
    assert_non_null(caller);
    return 0;
}

static void join_caller(void)
{
    plat_thread_join(caller);
    caller = NULL;
}

/* It waits although the call does not ask for that. */
static uint32_t enable_and_wait(uint64_t session, const struct guid *provider, uint32_t code,
    uint8_t level, uint64_t any, uint64_t all, uint32_t timeout_ms,
    struct etw_enable_parameters *parameters)
{
    uint32_t result = enable_apart(
        session, provider, code, level, any, all, timeout_ms, parameters);
    if (!timeout_ms) {
        join_caller();
    }
    return result;
}

static void a_windows_that_waits_for_no_provider_is_reported(void **state)
{
    (void)state;
    make((struct etw_sim_options){.os_build = 22621});
    api.EnableTraceEx2 = enable_apart;
    selftest_probe_waiting_run(&answers[SELFTEST_PROBE_waiting]);
    join_caller();
    assert_outcome(SELFTEST_PROBE_waiting, SELFTEST_AS_EXPECTED, "reported a timeout");
}

static void a_windows_that_always_waits_is_found(void **state)
{
    (void)state;
    make((struct etw_sim_options){.os_build = 22621});
    api.EnableTraceEx2 = enable_and_wait;
    selftest_probe_waiting_run(&answers[SELFTEST_PROBE_waiting]);
    join_caller();
    assert_outcome(SELFTEST_PROBE_waiting, SELFTEST_OTHERWISE, "was enabled in ");
}

/* Wine reports an unknown revocation only for the whole chain. CERT_TRUST_REVOCATION_STATUS_UNKNOWN
 * is 0x40. */
static void an_unknown_revocation_is_found_where_there_are_chains(void **state)
{
    (void)state;
    make((struct etw_sim_options){.os_build = 22621});
    selftest_probe_revocation_run(&answers[SELFTEST_PROBE_revocation]);
#ifdef _WIN32
    const char *text = answers[SELFTEST_PROBE_revocation].text;
    assert_int_not_equal(answers[SELFTEST_PROBE_revocation].outcome, SELFTEST_OTHERWISE);
    const char *status = strstr(text, "(status 0x");
    assert_non_null(status);
    assert_true(strtoul(status + strlen("(status "), NULL, 16) & 0x40);
#else
    assert_outcome(SELFTEST_PROBE_revocation, SELFTEST_UNKNOWN, "only Windows checks");
#endif
}

static uint32_t enumerate_nobody(uint32_t info_class, void *in, uint32_t in_bytes, void *out,
    uint32_t out_bytes, uint32_t *ret_bytes)
{
    (void)info_class;
    (void)in;
    (void)in_bytes;
    (void)out;
    (void)out_bytes;
    (void)ret_bytes;
    return ETW_ERROR_WMI_GUID_NOT_FOUND;
}

static void a_windows_that_knows_no_registrations_is_found(void **state)
{
    (void)state;
    make((struct etw_sim_options){.os_build = 22621});
    api.EnumerateTraceGuidsEx = enumerate_nobody;
    selftest_probe_known_run(&answers[SELFTEST_PROBE_known]);
    assert_outcome(SELFTEST_PROBE_known, SELFTEST_OTHERWISE, "is not known by its GUID");
}

static void a_windows_as_expected_is_told_so(void **state)
{
    (void)state;
    make((struct etw_sim_options){.os_build = 22621});
    ask();
    assert_outcome(SELFTEST_PROBE_known, SELFTEST_AS_EXPECTED,
        "that is registered is known by its GUID, one that is only enabled is not known");
    assert_outcome(SELFTEST_PROBE_waiting, SELFTEST_UNKNOWN, "within the call that enables it");
    assert_outcome(
        SELFTEST_PROBE_keywords, SELFTEST_AS_EXPECTED, "receives 0xfffffffffd5fffbf, none with");
    assert_outcome(SELFTEST_PROBE_block, SELFTEST_AS_EXPECTED, "");
    assert_outcome(SELFTEST_PROBE_update, SELFTEST_AS_EXPECTED,
        "UPDATE switches off groups of kernel events and system providers; after the agent's own "
        "they are on");
    assert_outcome(SELFTEST_PROBE_names, SELFTEST_AS_EXPECTED,
        "1 of the enabled one arrived, and 0 of the other");
    assert_false(selftest_probes_have_failed(answers));
}

static void an_older_windows_has_no_system_providers(void **state)
{
    (void)state;
    make((struct etw_sim_options){.os_build = 19045});
    ask();
    assert_outcome(
        SELFTEST_PROBE_update, SELFTEST_AS_EXPECTED, "system providers are not told among them");
}

static void an_account_without_rights_cannot_tell(void **state)
{
    (void)state;
    make((struct etw_sim_options){.not_administrator = true});
    ask();
    for (int i = 0; i < SELFTEST_PROBES; i++) {
        assert_outcome(i, SELFTEST_UNKNOWN, "");
    }
    assert_false(selftest_probes_have_failed(answers));
}

/* A Windows that requests more than it was asked for, and one that passes all keywords on. */
static uint32_t refuse_lists(
    uint64_t *ret_session, const etw_char *name, struct etw_properties *properties)
{
    return properties->enable_flags & 0x80000000
               ? ETW_ERROR_INVALID_PARAMETER
               : etw_sim_api(sim)->StartTraceW(ret_session, name, properties);
}

static uint32_t enable_otherwise(uint64_t session, const struct guid *provider, uint32_t code,
    uint8_t level, uint64_t any, uint64_t all, uint32_t timeout_ms,
    struct etw_enable_parameters *parameters)
{
    struct etw_enable_parameters none = {.version = 2}; /* no filter acts */
    bool is_system = etw_kernel_provider_of(provider) != NULL;
    return etw_sim_api(sim)->EnableTraceEx2(session, provider, code, level,
        is_system ? any : UINT64_MAX, all, timeout_ms, is_system ? parameters : &none);
}

static uint32_t set_nothing(uint64_t session, uint32_t info_class, void *data, uint32_t bytes)
{
    (void)session;
    (void)info_class;
    (void)data;
    (void)bytes;
    return 0;
}

static void a_windows_that_does_otherwise_is_found(void **state)
{
    (void)state;
    make((struct etw_sim_options){.os_build = 22621});
    api.StartTraceW = refuse_lists;
    api.EnableTraceEx2 = enable_otherwise;
    api.TraceSetInformation = set_nothing;
    ask();
    assert_outcome(SELFTEST_PROBE_keywords, SELFTEST_OTHERWISE, "with side effects of 0x2a00040");
    assert_outcome(SELFTEST_PROBE_block, SELFTEST_OTHERWISE, "cannot be started");
    assert_outcome(SELFTEST_PROBE_update, SELFTEST_OTHERWISE, "they are off");
    assert_outcome(SELFTEST_PROBE_names, SELFTEST_OTHERWISE,
        "1 of the enabled one arrived, and 1 of the other");
    assert_true(selftest_probes_have_failed(answers));
}

static void what_others_want_of_a_provider_is_not_ours(void **state)
{
    (void)state;
    struct etw_session_state other;
    struct guid dotnet;
    make((struct etw_sim_options){.os_build = 22621});
    assert_true(guid_parse(span_text("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"), &dotnet));
    const struct etw_session_spec spec = {
        .name = "profiler", .buffer_kb = 64, .mode = ETW_MODE_REAL_TIME};
    assert_true(etw_control_start(&spec, &other, NULL));
    assert_int_equal(
        api.EnableTraceEx2(other.handle, &dotnet, ETW_PROVIDER_ENABLE, 4, 0x800000, 0, 0, NULL), 0);
    selftest_probes_run(answers);
    assert_outcome(SELFTEST_PROBE_keywords, SELFTEST_UNKNOWN, "another session has enabled");
}

int main(void)
{
#define T(function) cmocka_unit_test_setup_teardown(function, NULL, destroy)
    const struct CMUnitTest tests[] = {
        T(a_windows_as_expected_is_told_so),
        T(a_windows_that_waits_for_no_provider_is_reported),
        T(a_windows_that_always_waits_is_found),
        T(a_windows_that_knows_no_registrations_is_found),
        T(an_unknown_revocation_is_found_where_there_are_chains),
        T(an_older_windows_has_no_system_providers),
        T(an_account_without_rights_cannot_tell),
        T(a_windows_that_does_otherwise_is_found),
        T(what_others_want_of_a_provider_is_not_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
