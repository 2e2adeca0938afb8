#include <stdlib.h>

#include "cli/selftest/selftest_probes.h"
#include "etw/enable/etw_enable.h"
#include "etw/enable/etw_registrations.h"
#include "etw/etw_names.h"
#include "etw/session/etw_control.h"
#include "platform/plat_clock.h"

/*
 * Does Windows know a TraceLogging provider by the GUID that follows from its name (etw_known.h)?
 * This process registers one, and only enables another, which is not a registration.
 */
#define REGISTERED_NAME "Etwship.Selftest.Known"
#define ENABLED_NAME "Etwship.Selftest.Unregistered"

struct seen {
    bool is_told; /* Windows tells which processes registered a provider */
    bool knows_registered;
    bool knows_enabled;
    bool lists_registered;
    bool has_list;
    uint64_t list_ms;
};

static bool knows(const char *name, bool *ret_told)
{
    struct guid guid = guid_from_name(span_text(name));
    struct etw_registrations *found = calloc(1, sizeof(*found));
    *ret_told = found && etw_registrations_query(&guid, found, NULL) && found->known;
    bool is_known = *ret_told && found->registered_count > 0;
    free(found);
    return is_known;
}

static void look(struct seen *seen)
{
    struct guid listed;
    bool is_told;
    seen->knows_registered = knows(REGISTERED_NAME, &seen->is_told);
    seen->knows_enabled = knows(ENABLED_NAME, &is_told);
    seen->is_told = seen->is_told && is_told;
    uint64_t begun_ns = plat_monotonic_ns();
    struct etw_names *names = etw_names_create(NULL);
    seen->list_ms = (plat_monotonic_ns() - begun_ns) / NS_PER_MS;
    seen->has_list = names != NULL;
    seen->lists_registered = etw_names_find(names, span_text(REGISTERED_NAME), &listed);
    etw_names_destroy(names);
}

static void judge(const struct seen *seen, struct selftest_answer *answer)
{
    if (!seen->is_told || !seen->has_list) {
        selftest_probes_answer(answer, SELFTEST_UNKNOWN, "Windows does not say %s",
            seen->is_told ? "which providers are installed" : "whether a provider is registered");
        return;
    }
    bool good = seen->knows_registered && !seen->knows_enabled;
    selftest_probes_answer(answer, good ? SELFTEST_AS_EXPECTED : SELFTEST_OTHERWISE,
        "a TraceLogging provider that is registered is %sknown by its GUID, one that is only "
        "enabled is %sknown; Windows' list of providers took %llu ms and has %s",
        seen->knows_registered ? "" : "not ", seen->knows_enabled ? "" : "not ",
        (unsigned long long)seen->list_ms, seen->lists_registered ? "it, too" : "neither");
}

static void ask(struct selftest_answer *answer)
{
    char name[SELFTEST_PROBE_NAME_BYTES];
    struct etw_session_state session;
    struct etw_outcome outcome;
    struct error err = {0};
    struct seen seen = {.is_told = false};
    const struct etw_request request = {.provider = guid_from_name(span_text(ENABLED_NAME))};
    if (!selftest_probes_start("known", name, &session, answer)) {
        return;
    }
    if (etw_enable_provider(session.handle, ENABLED_NAME, &request, &outcome, &err)) {
        look(&seen);
        judge(&seen, answer);
    } else {
        selftest_probes_answer(answer, SELFTEST_UNKNOWN, "%.300s", err.text);
    }
    etw_control_stop(name, NULL, NULL);
}

void selftest_probe_known_run(struct selftest_answer *ret_answer)
{
    struct guid guid = guid_from_name(span_text(REGISTERED_NAME));
    struct selftest_provider provider = {.changed = NULL};
    if (selftest_probes_register(&provider, &guid, ret_answer)) {
        ask(ret_answer);
        selftest_provider_unregister(&provider);
    }
}
