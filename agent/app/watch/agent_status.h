#ifndef ETWSHIP_APP_AGENT_STATUS_H
#define ETWSHIP_APP_AGENT_STATUS_H

#include "app/plan/agent_plan.h"

/* Counters and state of the agent at one moment. */
struct agent_status {
    struct session_counts *sessions; /* with the agent itself after them */
    struct output_counts *outputs;
};

bool agent_status_init(
    struct agent_status *status, const struct agent_plan *plan, struct error *err);
void agent_status_fini(struct agent_status *status); /* zeroed is fine */

/* How a configuration came to run, or not. */
enum agent_load_result {
    AGENT_LOAD_RUNS,
    AGENT_LOAD_REFUSED, /* it is wrong */
    AGENT_LOAD_FAILED,  /* it did not start */
};

struct agent_load {
    uint64_t time;  /* FILETIME */
    uint64_t shown; /* app_digest_shown; 0: unknown */
    enum agent_load_result result;
};

enum { AGENT_LOADS_KEPT = 20 };

/* Of the process: what it has loaded so far. */
struct agent_loads {
    uint64_t loaded; /* FILETIME: when the configuration was read that runs */
    uint64_t reloads;
    uint64_t failed_reloads;
    bool refused;                             /* the last one was */
    uint64_t shown;                           /* app_digest_shown of the configuration that runs */
    struct agent_load last[AGENT_LOADS_KEPT]; /* a ring: number count is the next */
    size_t count;
};

/* Add what has become of a configuration. */
void agent_loads_add(
    struct agent_loads *loads, uint64_t time, uint64_t shown, enum agent_load_result result);

/* Take a new look. */
void agent_status_look(struct agent_status *status, struct pipeline *pipeline);

/* In a line for people; agent_metrics.h has all of it. */
void agent_status_line(
    const struct agent_status *status, const struct agent_plan *plan, struct buf *out);

#endif
