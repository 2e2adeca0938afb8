#include "app/watch/agent_status.h"

#include <stdlib.h>

bool agent_status_init(
    struct agent_status *status, const struct agent_plan *plan, struct error *err)
{
    status->sessions = calloc(plan->session_count + 1, sizeof(*status->sessions));
    status->outputs = calloc(plan->output_count + 1, sizeof(*status->outputs));
    return (status->sessions && status->outputs) || error_set(err, ERR_MEMORY, "out of memory");
}

void agent_status_fini(struct agent_status *status)
{
    free(status->sessions);
    free(status->outputs);
}

void agent_status_look(struct agent_status *status, struct pipeline *pipeline)
{
    ledger_look(pipeline_ledger(pipeline), status->sessions, status->outputs);
}

void agent_loads_add(
    struct agent_loads *loads, uint64_t time, uint64_t shown, enum agent_load_result result)
{
    loads->last[loads->count++ % AGENT_LOADS_KEPT] = (struct agent_load){
        .time = time, .shown = shown, .result = result};
    loads->shown = result == AGENT_LOAD_RUNS ? shown : loads->shown;
}

/* ---- a line ---------------------------------------------------------------------------------- */

static void add_if_any(struct buf *out, uint64_t count, const char *what)
{
    if (count) {
        buf_printf(out, ", %llu %s", (unsigned long long)count, what);
    }
}

/* Limits that held something back, and rules that could not be judged for some events,
 * by their names. */
static void add_limits(struct buf *out, const struct agent_filter *filter)
{
    for (size_t i = 0; i < filter_rule_count(filter->filter); i++) {
        uint64_t unsure = filter_rule_unsure(filter->filter, i);
        if (unsure) {
            struct span name = span_first(filter_rule_name(filter->filter, i), 100);
            buf_printf(out, "; rule %.*s of %s: unsure of %llu", SPAN_ARG(name), filter->where,
                (unsigned long long)unsure);
        }
        uint64_t held = atomic_load_explicit(&filter->dropped[i], memory_order_relaxed);
        if (held && filter_rule_action(filter->filter, i) == FILTER_ACTION_LIMIT) {
            struct span name = span_first(filter_rule_name(filter->filter, i), 100);
            buf_printf(out, "; limit %.*s of %s: %llu held back", SPAN_ARG(name), filter->where,
                (unsigned long long)held);
        }
    }
}

void agent_status_line(
    const struct agent_status *status, const struct agent_plan *plan, struct buf *out)
{
    for (size_t i = 0; i < plan->session_count; i++) {
        const struct session_counts *counts = &status->sessions[i];
        uint64_t over_budget = counts->dropped[SESSION_DROP_BUDGET_SAMPLED] +
                               counts->dropped[SESSION_DROP_BUDGET_VERBOSE] +
                               counts->dropped[SESSION_DROP_BUDGET_PROVIDER];
        uint64_t dropped = counts->dropped[SESSION_DROP_FULL] +
                           counts->dropped[SESSION_DROP_STOPPED] +
                           counts->dropped[SESSION_DROP_SPOOL_FULL] +
                           counts->dropped[SESSION_DROP_SPOOL_DISK];
        buf_printf(out, "%ssession %.100s: %llu received, %llu accepted", i ? "; " : "",
            agent_plan_session_name(plan, i), (unsigned long long)counts->received,
            (unsigned long long)counts->accepted);
        add_if_any(out, over_budget, "over budget");
        add_if_any(out, dropped, "dropped");
        add_if_any(out, counts->decode.messages, "messages without format");
        add_if_any(out, counts->decode.silent, "without message");
        add_if_any(out, counts->definitions_evicted, "definitions evicted");
        add_if_any(out, counts->definitions_refused, "definitions refused");
        add_if_any(out, counts->definitions_conflicts, "definitions in conflict");
        add_if_any(out, counts->guard[GUARD_REPAIRED], "repaired");
        add_if_any(out, counts->guard[GUARD_FAILED], "repairs failed");
        add_if_any(out, counts->guard[GUARD_GAVE_UP], "repairs given up");
    }
    for (size_t i = 0; i < plan->output_count; i++) {
        const struct output_counts *counts = &status->outputs[i];
        uint64_t dropped = 0;
        for (int k = 0; k < OUTPUT_DROP_COUNT; k++) {
            dropped += counts->dropped[k];
        }
        buf_printf(out, "; output %.100s: %llu acked, %llu pending",
            agent_plan_output_name(plan, i), (unsigned long long)counts->acked,
            (unsigned long long)counts->pending);
        add_if_any(out, dropped, "dropped");
        add_if_any(out, counts->dead_lettered, "dead-lettered");
        add_if_any(out, counts->kept_too_old, "of them too old");
        add_if_any(out, counts->parked, "held");
        add_if_any(out, counts->unexpected_duplicates, "unexpected duplicates");
        add_if_any(out, counts->maybe_duplicates, "maybe duplicates");
        buf_add_text(out, counts->degraded ? ", degraded" : "");
    }
    for (size_t i = 0; i < plan->filter_count; i++) {
        add_limits(out, &plan->filters[i]);
    }
}
