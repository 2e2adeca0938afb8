#include "input/windows/etw_turn.h"

void etw_turn_init(struct etw_turn *turn)
{
    *turn = (struct etw_turn){.taken = false};
    plat_mutex_init(&turn->mutex);
    plat_cond_init(&turn->changed);
}

void etw_turn_fini(struct etw_turn *turn)
{
    plat_cond_fini(&turn->changed);
    plat_mutex_fini(&turn->mutex);
}

bool etw_turn_take(struct etw_turn *turn)
{
    plat_mutex_lock(&turn->mutex);
    while ((turn->taken || turn->asked) && !turn->closed) {
        plat_cond_wait(&turn->changed, &turn->mutex);
    }
    bool open = !turn->closed;
    turn->taken = turn->taken || open;
    plat_mutex_unlock(&turn->mutex);
    return open;
}

bool etw_turn_ask(struct etw_turn *turn, uint64_t deadline_ns)
{
    plat_mutex_lock(&turn->mutex);
    turn->asked = true;
    bool in_time = true;
    while (turn->taken && in_time) {
        in_time = plat_cond_wait_until(&turn->changed, &turn->mutex, deadline_ns);
    }
    bool got = !turn->taken;
    turn->asked = false;
    turn->taken = turn->taken || got;
    plat_cond_broadcast(&turn->changed);
    plat_mutex_unlock(&turn->mutex);
    return got;
}

void etw_turn_give(struct etw_turn *turn)
{
    plat_mutex_lock(&turn->mutex);
    turn->taken = false;
    plat_cond_broadcast(&turn->changed);
    plat_mutex_unlock(&turn->mutex);
}

void etw_turn_close(struct etw_turn *turn)
{
    plat_mutex_lock(&turn->mutex);
    turn->asked = true;
    while (turn->taken) {
        plat_cond_wait(&turn->changed, &turn->mutex);
    }
    turn->asked = false;
    turn->closed = true;
    plat_cond_broadcast(&turn->changed);
    plat_mutex_unlock(&turn->mutex);
}
