#ifndef ETWSHIP_APP_AGENT_PLAN_H
#define ETWSHIP_APP_AGENT_PLAN_H

#include "app/config/app_config.h"
#include "app/plan/provider_selection.h"
#include "pipeline/assembly/pipeline.h"

/*
 * The plan of a configuration: which sessions run, which outputs share a stream (equal format,
 * sessions and filters), their routes, and every filter compiled. Read-only after creation.
 */
struct agent_plan {
    struct pipeline_session *sessions;
    const struct app_session **session_configs; /* by session */
    /* by session: whose events they are, for people and outputs;
     * of a boot file (app_boot.h) the session that wrote it */
    const struct app_session **events_of;
    struct provider_spec **providers;    /* by session: of its entries, names of keywords as bits */
    const struct evt_scope **evt_scopes; /* by session: of event logs; NULL: all is kept */
    size_t session_count;
    struct pipeline_stream *streams;
    size_t stream_count;
    struct pipeline_output *outputs;
    const struct app_output **output_configs; /* by output */
    bool *takes;                              /* [session * output_count + output] */
    size_t output_count;

    /* After them. */
    struct arena memory; /* of all arrays here */
    size_t *stream_lists;
    struct codepage *codepages;
    struct gate all;    /* rules of the agent */
    struct gate *gates; /* two by session: of the agent, its own */
    struct session_selection *selections;
    struct agent_filter *filters;
    size_t filter_count;
    struct event_template *templates[256];
    size_t template_count;
};

/* A compiled list of rules, how often each decided, and what it dropped. */
struct agent_filter {
    char where[128]; /* "session x", for people */
    struct filter *filter;
    atomic_uint_fast64_t *hits; /* see struct gate */
    atomic_uint_fast64_t *dropped;
    struct limiter *limiter; /* NULL: no rule is a limit */
};

struct agent_plan_settings {
    const struct app_config *config;
    const struct schema_shared *schemas; /* what files define; NULL: they were not read */
    uint64_t max_events;                 /* per session; 0: no limit */
    bool for_words; /* nothing will run: names of keywords that are not known here stay names, and
                       definitions of messages unread */
    bool colors;
};

/* The configuration outlives the plan. False with ${err} set on failure; fini is allowed. */
bool agent_plan_init(
    struct agent_plan *plan, const struct agent_plan_settings *settings, struct error *err);
void agent_plan_fini(struct agent_plan *plan);

/* The number of the session or output with this name; the count of all if there is none. */
size_t agent_plan_find_session(const struct agent_plan *plan, struct span name);
size_t agent_plan_find_output(const struct agent_plan *plan, struct span name);

static inline const char *agent_plan_session_name(const struct agent_plan *plan, size_t session)
{
    return plan->session_configs[session]->name;
}

static inline const char *agent_plan_output_name(const struct agent_plan *plan, size_t output)
{
    return plan->output_configs[output]->name;
}

/* Does ${output} take the events of ${session}? */
static inline bool agent_plan_takes(const struct agent_plan *plan, size_t session, size_t output)
{
    return plan->takes[session * plan->output_count + output];
}

/* The selection of a session's provider entries; NULL: it has none. */
const struct provider_selection *agent_plan_selection(
    const struct agent_plan *plan, size_t session);

#endif
