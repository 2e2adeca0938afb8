#include "app/run/agent_own.h"
#include "platform/plat_system.h"

#define BIT(state) (1u << AGENT_STATE_##state)

/* Which states each may follow. */
static const unsigned before[] = {
    [AGENT_STATE_RUNNING] = 0,
    [AGENT_STATE_MAKING_WAY] = BIT(RUNNING),
    [AGENT_STATE_STOPPING] = BIT(RUNNING),
    [AGENT_STATE_CANCELLING] = BIT(MAKING_WAY) | BIT(STOPPING),
    [AGENT_STATE_ENDED] = BIT(RUNNING) | BIT(MAKING_WAY) | BIT(STOPPING) | BIT(CANCELLING),
};

static const char *const names[] = {
    [AGENT_STATE_RUNNING] = "running",
    [AGENT_STATE_MAKING_WAY] = "making way",
    [AGENT_STATE_STOPPING] = "stopping",
    [AGENT_STATE_CANCELLING] = "cancelling",
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
