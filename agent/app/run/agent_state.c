#include "app/run/agent_internal.h"
#include "platform/plat_system.h"

enum { RUNNING = 1, MAKING_WAY = 2, STOPPING = 4, GIVING_UP = 8 };

/* Which states each may follow. */
static const unsigned before[] = {
    [AGENT_STATE_RUNNING] = 0,
    [AGENT_STATE_MAKING_WAY] = RUNNING,
    [AGENT_STATE_STOPPING] = RUNNING,
    [AGENT_STATE_GIVING_UP] = MAKING_WAY | STOPPING,
    [AGENT_STATE_ENDED] = RUNNING | MAKING_WAY | STOPPING | GIVING_UP,
};

static const char *const names[] = {
    [AGENT_STATE_RUNNING] = "running",
    [AGENT_STATE_MAKING_WAY] = "making way",
    [AGENT_STATE_STOPPING] = "stopping",
    [AGENT_STATE_GIVING_UP] = "giving up",
    [AGENT_STATE_ENDED] = "ended",
};

enum agent_state agent_state_now(struct agent *agent)
{
    plat_mutex_lock(&agent->mutex);
    enum agent_state state = agent->state;
    plat_mutex_unlock(&agent->mutex);
    return state;
}

bool agent_state_change(struct agent *agent, enum agent_state to)
{
    bool stops = to == AGENT_STATE_MAKING_WAY || to == AGENT_STATE_STOPPING;
    plat_mutex_lock(&agent->mutex);
    enum agent_state from = agent->state;
    bool may = (before[to] >> from & 1) != 0;
    if (may) {
        agent->state = to;
        agent->has_successor = agent->has_successor || to == AGENT_STATE_MAKING_WAY;
    }
    if (may && stops) {
        agent->deadline_ns = plat_monotonic_ns() + agent->config->agent.shutdown_ns;
    }
    plat_mutex_unlock(&agent->mutex);
    if (!may && !stops) {
        log_write(agent->log, LOG_LEVEL_ERROR, NULL,
            "internal error: the agent cannot change from %s to %s", names[from], names[to]);
    }
    return may;
}
