#include "app/run/agent_no_match.h"
#include "app/run/agent_own.h"
#include "app/run/agent_unsure.h"

/* What an agent that has ended has done: counts for the result of the process, and log lines. */

/* The next agent in this process, or the next run, reads undelivered events of replayable sessions
 * again. */
static bool reads_again(struct agent *agent)
{
    return agent_life_has_successor(&agent->life) ||
           positions_rest(agent->positions) == POSITIONS_REST_REPLAYS;
}

/* Is that true for all sessions that the output takes? It does not count by sessions. */
static bool all_read_again(const struct agent_plan *plan, size_t output, bool again)
{
    bool all = true;
    for (size_t s = 0; s < plan->session_count; s++) {
        all = all &&
              (!agent_plan_takes(plan, s, output) || (again && plan->sessions[s].replayable));
    }
    return all;
}

/* What was not decoded in time is nowhere yet. Does the session deliver it again, although batches
 * may wait on the disk? */
static bool comes_again(struct agent *agent, size_t session)
{
    return pipeline_session_can_wait(&agent->plan->sessions[session]) &&
           (agent_life_has_successor(&agent->life) ||
               positions_rest(agent->positions) != POSITIONS_REST_LOST);
}

static void count_sessions(
    struct agent *agent, const struct agent_status *status, struct agent_run_result *result)
{
    const struct agent_plan *plan = agent->plan;
    for (size_t i = 0; i < plan->session_count; i++) {
        if (plan->sessions[i].replayable) {
            agent_observed_note(&agent->common->observed, agent_plan_session_name(plan, i),
                pipeline_observed(agent->pipeline, i));
        }
        const struct session_counts *counts = &status->sessions[i];
        result->raw += counts->decode.raw;
        result->partial += counts->decode.partial;
        result->undelivered += comes_again(agent, i) ? 0 : counts->dropped[SESSION_DROP_STOPPED];
        result->damaged += agent_sessions_damaged(agent->sessions, i);
        result->failed_sessions += agent_sessions_end(agent->sessions, i) == INPUT_FAILED;
    }
}

static void count_outputs(
    struct agent *agent, const struct agent_status *status, struct agent_run_result *result)
{
    const struct agent_plan *plan = agent->plan;
    bool waits = positions_rest(agent->positions) == POSITIONS_REST_WAITS;
    bool for_next_run = waits && !agent_life_has_successor(&agent->life);
    bool again = reads_again(agent);
    for (size_t i = 0; i < plan->output_count; i++) {
        const char *name = agent_plan_output_name(plan, i);
        const struct output_counts *counts = &status->outputs[i];
        summary_add_output(
            result->summary, name, counts->acked, counts->bytes, counts->dead_lettered);
        summary_add_too_old(
            result->summary, name, counts->kept_too_old, counts->dropped[OUTPUT_DROP_TOO_OLD]);
        summary_add_maybe_duplicates(result->summary, name, counts->maybe_duplicates);
        result->rejected += counts->dropped[OUTPUT_DROP_REJECTED] +
                            counts->dropped[OUTPUT_DROP_TOO_OLD] + counts->dead_lettered;
        if (outlet_closed(pipeline_outlet(agent->pipeline, i))) {
            continue;
        }
        if (for_next_run && counts->pending) {
            log_write(agent->log, LOG_LEVEL_INFO, NULL,
                "output %s: %llu events wait in the spool for the next run", name,
                (unsigned long long)counts->pending);
        }
        /* Pending are those of an output that is stuck, or that a spool keeps. */
        bool all_again = all_read_again(plan, i, again);
        result->undelivered += waits || all_again ? 0 : counts->pending;
        for (size_t k = OUTPUT_DROP_ENDED; k < OUTPUT_DROP_COUNT; k++) {
            result->undelivered += all_again && k == OUTPUT_DROP_STOPPED ? 0 : counts->dropped[k];
        }
    }
}

/* Add the events of this agent to those of the ones before it. */
static void merge_summaries(struct agent *agent, struct agent_run_result *result)
{
    size_t workers = (size_t)agent->config->agent.decode_workers;
    for (size_t i = 0; i < workers; i++) {
        if (!result->summary) {
            result->summary = agent->summaries[i];
            agent->summaries[i] = NULL;
        } else {
            summary_merge(result->summary, agent->summaries[i]);
        }
    }
}

void agent_result_add(struct agent *agent, struct agent_run_result *result)
{
    const struct agent_status *status = agent_control_end(agent->control);
    bool has_successor = agent_life_has_successor(&agent->life);
    result->failed_sessions = 0; /* of an agent that continues with others it says nothing */
    merge_summaries(agent, result);
    uint64_t evicted = atomic_load(&agent->letters_evicted);
    summary_add_evicted(result->summary, evicted);
    result->damaged += positions_letters_lost(agent->positions);
    if (evicted && agent->common->logs_to_file) {
        agent_tell_evicted(agent, evicted);
    }
    count_sessions(agent, status, result);
    count_outputs(agent, status, result);
    result->unmatched = 0;
    if (!has_successor && agent->common->settings->max_events == 0) {
        result->unmatched = agent_no_match(agent->setup, agent->sessions, status, agent->log);
    }
    agent_unsure_warn(agent->plan, agent->log, &agent->unsure_told);
    /* On the terminal, the summary says what became of all. */
    if (agent->common->logs_to_file || has_successor) {
        struct buf line;
        buf_init(&line, 64 * 1024);
        agent_status_line(status, agent->plan, &line);
        log_write(agent->log, LOG_LEVEL_INFO, NULL, "%s: %.*s",
            has_successor ? "reload: so far" : "ended", SPAN_ARG(buf_span(&line)));
        buf_fini(&line);
    }
}
