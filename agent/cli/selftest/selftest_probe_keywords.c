#include <stdatomic.h>
#include <string.h>

#include "cli/selftest/selftest_probes.h"
#include "etw/enable/etw_keywords.h"
#include "etw/enable/etw_registrations.h"
#include "etw/etw_api.h"
#include "etw/session/etw_control.h"
#include "platform/plat_system.h"

/*
 * Which keywords does a provider with side effects (etw_keywords.h) receive if a session enables
 * all? This process registers .NET's runtime for itself. The session enables it in this process
 * only, for critical events, so that no .NET program is affected.
 */
static const char dotnet_text[] = "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4";

enum { ANSWER_MS = 2000 };

struct told {
    atomic_bool enabled;
    atomic_uint_fast64_t any;
};

static void on_enable(const struct guid *source_id, uint32_t is_enabled, uint8_t level,
    uint64_t match_any_keyword, uint64_t match_all_keyword, const struct etw_filter *filter,
    void *context)
{
    (void)source_id;
    (void)level;
    (void)match_all_keyword;
    (void)filter;
    struct told *told = context;
    if (is_enabled == ETW_PROVIDER_ENABLE) {
        atomic_store(&told->any, match_any_keyword);
        atomic_store(&told->enabled, true);
    }
}

/* True if a session of another program enables them: Windows passes the union of all sessions. */
static bool others_want(const struct guid *provider, uint16_t logger_id, uint64_t effects)
{
    struct etw_registrations found;
    bool want = false;
    if (!etw_registrations_query(provider, &found, NULL) || !found.known) {
        return false;
    }
    for (size_t i = 0; i < found.hold_count; i++) {
        const struct etw_hold_info *hold = &found.holds[i];
        want = want || (hold->logger_id != logger_id && (!hold->any || hold->any & effects));
    }
    return want;
}

static void judge(const struct told *told, const struct guid *provider,
    const struct etw_session_state *session, struct selftest_answer *answer)
{
    uint64_t effects = etw_keywords_with_effects(provider);
    unsigned long long any = atomic_load(&told->any);
    if (!atomic_load(&told->enabled)) {
        selftest_probes_answer(
            answer, SELFTEST_UNKNOWN, "a provider in this process was not enabled");
    } else if (!(any & effects)) {
        selftest_probes_answer(answer, SELFTEST_AS_EXPECTED,
            "enabled with all keywords, .NET's runtime receives 0x%llx, none with side effects",
            any);
    } else if (others_want(provider, etw_control_logger_id(session), effects)) {
        selftest_probes_answer(answer, SELFTEST_UNKNOWN,
            "another session has enabled .NET's runtime with keywords that have side effects");
    } else {
        selftest_probes_answer(answer, SELFTEST_OTHERWISE,
            "enabled with all keywords, .NET's runtime receives 0x%llx, with side effects of "
            "0x%llx",
            any, (unsigned long long)(any & effects));
    }
}

static void ask(struct told *told, const struct guid *provider, struct selftest_answer *answer)
{
    char name[SELFTEST_PROBE_NAME_BYTES];
    struct etw_session_state session;
    struct etw_outcome outcome;
    struct error err = {0};
    struct etw_request request = {.provider = *provider,
        .level = 1,
        .timeout_ms = ANSWER_MS,
        .pid_count = 1,
        .pids = {plat_process_id()}};
    selftest_probes_session("keywords", name);
    const struct etw_session_spec spec = {
        .name = name, .buffer_kb = 64, .mode = ETW_MODE_REAL_TIME};
    if (!etw_control_start(&spec, &session, &err)) {
        selftest_probes_answer(answer, SELFTEST_UNKNOWN, "%.300s", err.text);
        return;
    }
    if (etw_enable_provider(session.handle, ".NET's runtime", &request, &outcome, &err)) {
        judge(told, provider, &session, answer);
        etw_enable_stop(session.handle, ".NET's runtime", provider, NULL);
    } else {
        selftest_probes_answer(answer, SELFTEST_UNKNOWN, "%.300s", err.text);
    }
    etw_control_stop(name, NULL, NULL);
}

void selftest_probe_keywords_run(struct selftest_answer *ret_answer)
{
    struct told told;
    struct guid provider = {{0}};
    uint64_t handle = 0;
    guid_parse(span_text(dotnet_text), &provider);
    atomic_init(&told.enabled, false);
    atomic_init(&told.any, 0);
    uint32_t code = etw_api_get()->EventRegister(&provider, on_enable, &told, &handle);
    if (code) {
        selftest_probes_answer(ret_answer, SELFTEST_UNKNOWN, "no provider can be registered: %s",
            etw_api_reason(code));
        return;
    }
    ask(&told, &provider, ret_answer);
    etw_api_get()->EventUnregister(handle);
}
