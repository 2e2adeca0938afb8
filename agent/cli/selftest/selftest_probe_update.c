#include "cli/selftest/selftest_probes.h"
#include "etw/enable/etw_enable.h"
#include "etw/session/etw_kernel.h"

/*
 * What does UPDATE do to the kernel events of a session, and are they enabled after the agent's own
 * UPDATE? The groups are registry hives and, by the system provider, registry notifications, which
 * have few events.
 */
static const struct etw_groups hives = {.words = {0, 0, 0x01000000}}; /* PERF_REG_HIVE */
static const uint32_t notifications = 0x02000000;                     /* PERF_REG_NOTIF of word 2 */

enum { KEYWORD_NOTIFICATION = 0x4, FLUSH_MS = 3000 };

struct seen {
    bool has_provider; /* Windows reports its group after it was enabled: Windows 11 */
    bool clears_groups;
    bool clears_provider;
    bool has_groups; /* after the agent's UPDATE */
    bool has_provider_again;
};

static bool enable(uint64_t session)
{
    const struct etw_system_provider *registry = etw_kernel_find_provider(span_text("Registry"));
    struct etw_request request = {.any = KEYWORD_NOTIFICATION, .named = KEYWORD_NOTIFICATION};
    struct etw_outcome outcome;
    request.provider = registry->guid;
    return etw_enable_provider(session, registry->name, &request, &outcome, NULL);
}

static bool read_word(uint64_t session, const char *name, uint32_t *ret_word, struct error *err)
{
    struct etw_groups groups;
    bool good = etw_kernel_get_groups(session, name, &groups, err);
    *ret_word = good ? groups.words[2] : 0;
    return good;
}

static bool look(uint64_t session, const char *name, struct seen *ret_seen, struct error *err)
{
    static const struct etw_groups none;
    struct etw_session_change change = {.set_flush = true, .flush_ms = FLUSH_MS, .groups = &none};
    struct etw_session_state after;
    uint32_t word;
    enable(session);
    if (!read_word(session, name, &word, err)) {
        return false;
    }
    ret_seen->has_provider = word & notifications;
    if (!etw_control_update(name, &change, &after, err) || !read_word(session, name, &word, err)) {
        return false;
    }
    ret_seen->clears_groups = !(word & hives.words[2]);
    ret_seen->clears_provider = ret_seen->has_provider && !(word & notifications);
    change.groups = &hives;
    if (!etw_control_update(name, &change, &after, err)) {
        return false;
    }
    enable(session);
    if (!read_word(session, name, &word, err)) {
        return false;
    }
    ret_seen->has_groups = word & hives.words[2];
    ret_seen->has_provider_again = word & notifications;
    return true;
}

static void judge(const struct seen *seen, struct selftest_answer *answer)
{
    bool good = seen->has_groups && (!seen->has_provider || seen->has_provider_again);
    selftest_probes_answer(answer, good ? SELFTEST_AS_EXPECTED : SELFTEST_OTHERWISE,
        "UPDATE %s groups of kernel events%s; after the agent's own they are %s",
        seen->clears_groups ? "switches off" : "leaves",
        !seen->has_provider     ? ", and system providers are not told among them"
        : seen->clears_provider ? " and system providers"
                                : ", and leaves system providers",
        good ? "on" : "off");
}

void selftest_probe_update_run(struct selftest_answer *ret_answer)
{
    char name[SELFTEST_PROBE_NAME_BYTES];
    struct etw_session_state session;
    struct seen seen = {.has_provider = false};
    struct error err = {0};
    selftest_probes_session("update", name);
    const struct etw_session_spec spec = {.name = name,
        .guid = guid_from_name(span_text(name)),
        .buffer_kb = 64,
        .mode = ETW_MODE_REAL_TIME | ETW_MODE_SYSTEM_LOGGER};
    if (!etw_kernel_start(&spec, &hives, NULL, 0, &session, &err)) {
        selftest_probes_answer(ret_answer, SELFTEST_UNKNOWN, "%.300s", err.text);
        return;
    }
    if (look(session.handle, name, &seen, &err)) {
        judge(&seen, ret_answer);
    } else {
        selftest_probes_answer(ret_answer, SELFTEST_UNKNOWN, "%.300s", err.text);
    }
    etw_control_stop(name, NULL, NULL);
}
