#include "app/run/agent_life.h"

#include "platform/plat_clock.h"

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

void agent_life_init(struct agent_life *life, struct log *log, uint64_t shutdown_ns)
{
    *life = (struct agent_life){.log = log, .shutdown_ns = shutdown_ns, .deadline_ns = UINT64_MAX};
    plat_mutex_init(&life->mutex);
}

void agent_life_fini(struct agent_life *life)
{
    plat_mutex_fini(&life->mutex);
}

bool agent_life_change(struct agent_life *life, enum agent_state to)
{
    bool stops = to == AGENT_STATE_MAKING_WAY || to == AGENT_STATE_STOPPING;
    plat_mutex_lock(&life->mutex);
    enum agent_state from = life->state;
    bool may = (before[to] >> from & 1) != 0;
    if (may) {
        life->state = to;
        life->has_successor = life->has_successor || to == AGENT_STATE_MAKING_WAY;
        life->deadline_ns = stops ? plat_monotonic_ns() + life->shutdown_ns : UINT64_MAX;
    }
    plat_mutex_unlock(&life->mutex);
    if (!may && !stops) {
        log_write(life->log, LOG_LEVEL_ERROR, NULL,
            "internal error: the agent cannot change from %s to %s", names[from], names[to]);
    }
    return may;
}

uint64_t agent_life_deadline(struct agent_life *life)
{
    plat_mutex_lock(&life->mutex);
    uint64_t deadline = life->deadline_ns;
    plat_mutex_unlock(&life->mutex);
    return deadline;
}

bool agent_life_has_successor(struct agent_life *life)
{
    plat_mutex_lock(&life->mutex);
    bool has_successor = life->has_successor;
    plat_mutex_unlock(&life->mutex);
    return has_successor;
}
