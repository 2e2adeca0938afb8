#include "app/run/agent_unsure.h"

static void tell(struct log *log, const struct agent_filter *filter, size_t rule, uint64_t count)
{
    enum { MAX_NAME_BYTES = 200 };
    log_write_as(log, LOG_CAUSE_RULE, LOG_LEVEL_WARNING, NULL,
        "rule %.*s of %s could not be evaluated for %llu events: a regular expression exceeded its "
        "limits. they are kept with a note, or as `unsure` says. simplify the expression",
        SPAN_ARG(span_first(filter_rule_name(filter->filter, rule), MAX_NAME_BYTES)), filter->where,
        (unsigned long long)count);
}

void agent_unsure_warn(const struct agent_plan *plan, struct log *log, uint64_t *told)
{
    uint64_t all = 0;
    for (size_t i = 0; i < plan->filter_count; i++) {
        const struct filter *filter = plan->filters[i].filter;
        for (size_t rule = 0; filter && rule < filter_rule_count(filter); rule++) {
            all += filter_rule_unsure(filter, rule);
        }
    }
    if (all == *told) {
        return;
    }
    *told = all;
    for (size_t i = 0; i < plan->filter_count; i++) {
        const struct filter *filter = plan->filters[i].filter;
        for (size_t rule = 0; filter && rule < filter_rule_count(filter); rule++) {
            uint64_t count = filter_rule_unsure(filter, rule);
            if (count) {
                tell(log, &plan->filters[i], rule, count);
            }
        }
    }
}
