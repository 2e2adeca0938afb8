#include "app/run/agent_own.h"

/* Rules that could not be judged for some events, as a regular expression exceeded its limits. */

static void tell(
    struct agent *agent, const struct agent_filter *filter, size_t rule, uint64_t count)
{
    enum { MAX_NAME_BYTES = 200 };
    log_write_as(agent->log, LOG_CAUSE_RULE, LOG_LEVEL_WARNING, NULL,
        "rule %.*s of %s could not be evaluated for %llu events: a regular expression exceeded its "
        "limits. they are kept with a note, or as `unsure` says. simplify the expression",
        SPAN_ARG(span_first(filter_rule_name(filter->filter, rule), MAX_NAME_BYTES)), filter->where,
        (unsigned long long)count);
}

void agent_unsure_warn(struct agent *agent)
{
    const struct agent_plan *plan = agent->plan;
    uint64_t all = 0;
    for (size_t i = 0; i < plan->filter_count; i++) {
        const struct filter *filter = plan->filters[i].filter;
        for (size_t rule = 0; filter && rule < filter_rule_count(filter); rule++) {
            all += filter_rule_unsure(filter, rule);
        }
    }
    if (all == agent->unsure_told) {
        return;
    }
    agent->unsure_told = all;
    for (size_t i = 0; i < plan->filter_count; i++) {
        const struct filter *filter = plan->filters[i].filter;
        for (size_t rule = 0; filter && rule < filter_rule_count(filter); rule++) {
            uint64_t count = filter_rule_unsure(filter, rule);
            if (count) {
                tell(agent, &plan->filters[i], rule, count);
            }
        }
    }
}
