#include <stdatomic.h>
#include <string.h>

#include "cli/selftest/selftest_probes.h"
#include "etw/enable/etw_keywords.h"
#include "etw/enable/etw_registrations.h"
#include "etw/session/etw_control.h"
#include "platform/plat_self.h"

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

static void on_changed(void *self, bool enabled, uint64_t keywords)
{
    struct told *told = self;
    if (enabled) {
        atomic_store(&told->any, keywords);
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
    if (!selftest_probes_start("keywords", name, &session, answer)) {
        return;
    }
    if (etw_enable_provider(session.handle, ".NET's runtime", &request, &outcome, &err)) {
        judge(told, provider, &session, answer);
        etw_enable_stop(session.handle, ".NET's runtime", provider, false, NULL);
    } else {
        selftest_probes_answer(answer, SELFTEST_UNKNOWN, "%.300s", err.text);
    }
    etw_control_stop(name, NULL, NULL);
}

void selftest_probe_keywords_run(struct selftest_answer *ret_answer)
{
    struct told told;
    struct selftest_provider provider = {.changed = on_changed, .self = &told};
    struct guid guid = {{0}};
    guid_parse(span_text(dotnet_text), &guid);
    atomic_init(&told.enabled, false);
    atomic_init(&told.any, 0);
    if (selftest_probes_register(&provider, &guid, ret_answer)) {
        ask(&told, &guid, ret_answer);
        selftest_provider_unregister(&provider);
    }
}
