#include "app/run/agent_no_match.h"

#include "app/trace/no_match.h"

struct findings {
    struct log *log;
    const char *session;
};

static void tell(void *self, const char *text)
{
    const struct findings *findings = self;
    log_write_as(findings->log, LOG_CAUSE_NO_MATCH, LOG_LEVEL_WARNING, NULL, "session %s: %s",
        findings->session, text);
}

/* A session that follows files, was stopped or got no events proves nothing about its selection. */
static bool is_whole(const struct agent_plan *plan, size_t session, enum input_end end,
    const struct session_counts *counts)
{
    return plan->sessions[session].replayable && end == INPUT_DONE && counts->received > 0;
}

static bool has_unmatched(const struct provider_selection *selection)
{
    size_t count = selection ? provider_selection_count(selection) : 0;
    for (size_t i = 0; i < count; i++) {
        if (!provider_selection_matched(selection, i)) {
            return true;
        }
    }
    return false;
}

/* How much of the session matched nothing. */
static uint64_t find(const struct agent_setup *setup, size_t index,
    const struct session_counts *counts, struct log *log)
{
    const struct agent_plan *plan = &setup->plan;
    const struct pipeline_session *session = &plan->sessions[index];
    const struct provider_selection *selection = agent_plan_selection(plan, index);
    struct findings findings = {.log = log, .session = agent_plan_session_name(plan, index)};
    bool nothing = counts->accepted == 0 && counts->filtered > 0;
    if (!nothing && !has_unmatched(selection)) {
        return 0;
    }
    const struct filter *filters[2];
    size_t filter_count = 0;
    for (size_t i = 0; nothing && i < session->rules.gate_count; i++) {
        filters[filter_count++] = session->rules.gates[i].filter;
    }
    const struct schema_cache_settings definitions = {.shared = setup->schemas};
    struct error err;
    struct schema_cache *cache = schema_cache_create(&definitions, &err);
    const struct no_match_settings settings = {.input = plan->session_configs[index]->ops,
        .settings = plan->session_configs[index]->settings,
        .cache = cache,
        .ansi = &plan->codepages[index],
        .selection = selection,
        .providers = "provider",
        .filters = filters,
        .filter_count = filter_count,
        .rules = "filters",
        .tell = tell,
        .self = &findings};
    struct no_match found = {.findings = 0};
    if (!cache || !no_match_find(&settings, &found, &err)) {
        log_write_as(log, LOG_CAUSE_NO_MATCH, LOG_LEVEL_WARNING, NULL,
            "session %s: cannot determine which selection matched nothing: %s", findings.session,
            err.text);
    }
    if (nothing) {
        log_write_as(log, LOG_CAUSE_NO_MATCH, LOG_LEVEL_WARNING, NULL,
            "session %s: none of its %llu events passed its providers and filters",
            findings.session, (unsigned long long)counts->filtered);
    }
    schema_cache_destroy(cache);
    return found.findings + nothing;
}

uint64_t agent_no_match(const struct agent_setup *setup, const struct agent_sessions *sessions,
    const struct agent_status *status, struct log *log)
{
    uint64_t count = 0;
    for (size_t i = 0; i < setup->plan.session_count; i++) {
        if (is_whole(&setup->plan, i, agent_sessions_end(sessions, i), &status->sessions[i])) {
            count += find(setup, i, &status->sessions[i], log);
        }
    }
    return count;
}
