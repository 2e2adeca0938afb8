#include "app/plan/app_account.h"

#include "app/config/app_boot.h"
#include "input/live/live_options.h"
#include "input/windows/etw_plan.h"

/* Sessions of Windows that members of Performance Log Users may not open. */
static const char *const closed_sessions[] = {
    "NT Kernel Logger", "Circular Kernel Context Logger", "EventLog-Security"};

static const char closed[] = "only administrators and LocalSystem may open that session. install "
                             "the service with --account system";

static bool has_kernel_groups(const struct app_session *session)
{
    const struct input_ops *ops = session->ops;
    const struct live_groups *groups = ops->live ? ops->live(session->settings).groups : NULL;
    return groups && (groups->flags.count || groups->counters.sources.count || groups->profile_ns);
}

/* Are system providers switched on? */
static bool has_system_providers(const struct app_session *session)
{
    const struct app_provider *providers = session->providers.items;
    for (size_t i = 0; i < session->providers.count; i++) {
        if (session->ops->switches_on &&
            etw_plan_system_provider(&providers[i].spec, session->ops->kernel)) {
            return true;
        }
    }
    return false;
}

static bool attaches_to_closed(const struct app_session *session)
{
    if (strcmp(session->ops->name, "attach") != 0) {
        return false;
    }
    const struct live_attach *attach = session->settings;
    for (size_t i = 0; i < sizeof(closed_sessions) / sizeof(closed_sessions[0]); i++) {
        if (attach->session &&
            span_equal_nocase(span_text(attach->session), span_text(closed_sessions[i]))) {
            return true;
        }
    }
    return false;
}

const char *app_account_lacks(enum service_account account, const struct app_session *session)
{
    const char *type = session->ops->name;
    if (account != SERVICE_ACCOUNT_VIRTUAL) {
        return NULL;
    }
    if (strcmp(type, "kernel") == 0) {
        return "the NT Kernel Logger is for administrators and LocalSystem alone. install the "
               "service with --account system";
    }
    if (strcmp(type, "heap") == 0) {
        return "heap sessions need the right to profile the system, and access to the traced "
               "programs. install the service with --account system";
    }
    if (session->ops->kernel || has_kernel_groups(session) || has_system_providers(session)) {
        return "kernel events need the right to profile the system, and rights on the session and "
               "on SystemTraceControlGuid. install the service with --account system, or give NT "
               "SERVICE\\etwship these";
    }
    if (app_boot_is_asked(session)) {
        return "Windows owns a session that it starts at boot, and the file that it writes before "
               "the agent runs. install the service with --account system, or give NT "
               "SERVICE\\etwship rights to both";
    }
    return attaches_to_closed(session) ? closed : NULL;
}

void app_account_find(
    const struct app_config *config, enum service_account account, struct config_report *report)
{
    for (size_t i = 0; i < config->session_count; i++) {
        const struct app_session *session = &config->sessions[i];
        const char *lacks = session->enabled ? app_account_lacks(account, session) : NULL;
        if (lacks) {
            config_error_at(config->memory, session, sizeof(*session), report,
                "session %s: the account of the service has too few rights: %s", session->name,
                lacks);
        }
    }
}
