#include "app/plan/app_budgets.h"

#include "config/config_value.h"
#include "etw/etw_names.h"
#include "schema/source/known_providers.h"

const char app_budgets_order[] =
    "beyond its budget of a provider 1 event in 2, 4, 8, 16 is kept, then no verbose ones, no "
    "informational ones, then critical events and errors alone";

bool app_budgets_is_given(const struct app_config *config, const struct app_budget *budget)
{
    return config_is_given(config->memory, &budget->events, sizeof(budget->events)) ||
           config_is_given(config->memory, &budget->bytes, sizeof(budget->bytes));
}

static struct provider_limit limit_of(const struct app_budget *budget)
{
    return (struct provider_limit){
        .events = (uint64_t)budget->events, .bytes = budget->bytes, .burst_ns = budget->burst_ns};
}

/* By which GUID the events of an entry come. A name that neither this machine nor a definition nor
 * the table of known providers has is taken for that of a TraceLogging provider, as where it is
 * switched on. */
static struct guid guid_of(const struct provider_spec *spec, const struct etw_names *names)
{
    struct guid guid = spec->guid;
    if (guid_is_zero(&guid) && !etw_names_find(names, spec->name, &guid) &&
        !known_providers_guid(spec->name, &guid)) {
        guid = guid_from_name(spec->name);
    }
    return guid;
}

bool app_budgets_plan(const struct app_config *config, const struct app_session *session,
    const struct provider_spec *specs, struct arena *memory,
    struct provider_budget_settings *ret_settings)
{
    const struct app_provider *providers = session->providers.items;
    size_t count = session->providers.count;
    *ret_settings = (struct provider_budget_settings){
        .others = limit_of(&session->provider_budget)};
    struct provider_share *shares = arena_alloc_array(memory, count + 1, sizeof(*shares));
    struct etw_names *names = NULL;
    bool ok = shares != NULL;
    size_t given = 0;
    for (size_t i = 0; i < count && ok; i++) {
        const struct app_budget *budget = &providers[i].budget;
        if (!app_budgets_is_given(config, budget) || app_budgets_problem(session, &providers[i])) {
            continue;
        }
        if (guid_is_zero(&specs[i].guid) && !names) {
            names = etw_names_create(NULL);
        }
        struct guid guid = guid_of(&specs[i], names);
        struct span name = specs[i].name;
        if (name.size) {
            ok = arena_copy(memory, name, &name);
        }
        shares[given++] = (struct provider_share){.provider = guid,
            .name = name.size ? (const char *)name.data : NULL,
            .limit = limit_of(budget)};
    }
    etw_names_destroy(names);
    ret_settings->shares = shares;
    ret_settings->share_count = given;
    return ok;
}

const char *app_budgets_problem(
    const struct app_session *session, const struct app_provider *provider)
{
    if (session->ops->waits) {
        return "a budget has no effect on channels of the Event Log, which wait instead. remove it";
    }
    if (session->ops->replayable) {
        return "a budget has no effect on recorded traces, which wait instead. remove it";
    }
    if (!input_delivers(session->ops, session->settings)) {
        return "a budget has no effect here: the agent gets no events of the session. remove it";
    }
    if (!provider) {
        return NULL;
    }
    if (session->ops->kernel) {
        return "kernel events only name their class, so the budget has no effect. write "
               "provider_budget in the session: it applies to each class";
    }
    if (provider->wpp) {
        return "WPP messages do not name their provider, so its budget has no effect. write "
               "provider_budget in the session: it applies to each message GUID";
    }
    if (provider->spec.group) {
        return "events of a group name their member, so its budget has no effect. write "
               "provider_budget in the session: it applies to each member";
    }
    return NULL;
}

void app_budgets_write(uint64_t events, uint64_t bytes, struct buf *out)
{
    if (events) {
        buf_printf(out, "%llu events/s%s", (unsigned long long)events, bytes ? ", " : "");
    }
    if (bytes) {
        buf_printf(out, "%s/s", config_value_write_size(bytes).text);
    }
}

void app_budgets_write_change(const struct provider_change *change, struct buf *out)
{
    buf_printf(out, "provider %.200s ", change->provider);
    buf_add_text(out, change->to == PROVIDER_STEP_ALL ? "keeps to its budget ("
                      : change->to > change->from     ? "exceeds its budget ("
                                                      : "comes closer to its budget (");
    app_budgets_write(change->limit->events, change->limit->bytes, out);
    buf_printf(out, "): %s", provider_ladder_words(change->to));
}
