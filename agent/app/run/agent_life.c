#include "app/run/agent_life.h"

#include <stdlib.h>

#include "platform/plat_system.h"
#include "platform/plat_thread.h"

struct agent_life {
    struct log *log;
    uint64_t shutdown_ns;

    /* Guarded by the mutex. */
    struct plat_mutex mutex;
    enum agent_state state;
    bool has_successor;
    uint64_t deadline_ns; /* from the request to stop on */
};

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

struct agent_life *agent_life_create(struct log *log, uint64_t shutdown_ns, struct error *err)
{
    struct agent_life *life = calloc(1, sizeof(*life));
    if (!life) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    life->log = log;
    life->shutdown_ns = shutdown_ns;
    plat_mutex_init(&life->mutex);
    return life;
}

void agent_life_destroy(struct agent_life *life)
{
    if (life) {
        plat_mutex_fini(&life->mutex);
        free(life);
    }
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
    }
    if (may && stops) {
        life->deadline_ns = plat_monotonic_ns() + life->shutdown_ns;
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
    bool waits = life->state == AGENT_STATE_MAKING_WAY || life->state == AGENT_STATE_STOPPING;
    uint64_t deadline = waits ? life->deadline_ns : UINT64_MAX;
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
