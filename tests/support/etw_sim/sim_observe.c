/* Functions with which tests query and move sessions. */
#include <stdlib.h>

#include "platform/plat_clock.h"
#include "support/etw_sim/sim_state.h"

uint64_t etw_sim_session_add(
    struct etw_sim *sim, const struct etw_sim_session_options *o, uint32_t *ret_code)
{
    struct sim_session *s = calloc(1, sizeof(*s));
    uint32_t code = ETW_ERROR_NOT_ENOUGH_MEMORY;
    uint64_t handle = 0;
    plat_mutex_lock(&sim->lock);
    if (s) {
        s->sim = sim;
        sim_text_from_utf8(o->name, s->name16, ETW_MAX_NAME_CHARS);
        bool kernel = sim_text_equal(s->name16, sim_session_kernel_name);
        s->guid = kernel ? sim_session_system_guid : o->guid;
        s->mode = o->mode;
        s->system = kernel || o->mode & ETW_MODE_SYSTEM_LOGGER;
        s->buffer_bytes = o->buffer_kb * 1024;
        s->mask[0] = o->enable_flags;
        s->enable_flags = o->enable_flags;
        s->clock = o->clock ? o->clock : TRACE_CLOCK_QPC;
        s->control_error = o->control_error;
        s->open_error = o->open_error;
        code = sim_session_begin(sim, s);
        handle = code ? 0 : sim_session_handle(s);
    }
    plat_mutex_unlock(&sim->lock);
    if (ret_code) {
        *ret_code = code;
    }
    return handle;
}

/* Running, or the last that ended. The lock is held. */
static struct sim_session *find(struct etw_sim *sim, const char *name)
{
    etw_char name16[ETW_MAX_NAME_CHARS];
    sim_text_from_utf8(name, name16, ETW_MAX_NAME_CHARS);
    sim_session_reap(sim);
    struct sim_session *s = sim_session_by_name(sim, name16);
    for (struct sim_session *e = sim->ended; e && !s; e = e->next) {
        s = sim_text_equal(e->name16, name16) ? e : NULL;
    }
    return s;
}

static void fill(const struct sim_session *s, struct etw_sim_session_info *info)
{
    *info = (struct etw_sim_session_info){.handle = sim_session_handle(s),
        .logger_id = s->id,
        .system = s->system,
        .mode = s->mode,
        .buffer_kb = s->buffer_bytes / 1024,
        .minimum_buffers = s->minimum,
        .maximum_buffers = s->maximum,
        .consumers = s->consumer_count,
        .stack_ids = s->stack_count,
        .pid_count = s->pid_count,
        .flush_timer_ms = sim_session_flush_ms(s),
        .guid = s->guid,
        .counts = s->counts};
    for (size_t i = 0; i < 8; i++) {
        info->group_mask[i] = s->mask[i] | s->provider_mask[i];
        info->pids[i] = s->pids[i];
    }
    for (const struct sim_guid *g = s->sim->guid_list; g; g = g->next) {
        info->enabled_providers += sim_enable_find(g, s) != NULL;
    }
    info->counts.pending = sim_session_pending(s, &info->counts.pending_file);
}

bool etw_sim_session_get(
    struct etw_sim *sim, const char *name, struct etw_sim_session_info *ret_info)
{
    plat_mutex_lock(&sim->lock);
    const struct sim_session *s = find(sim, name);
    if (s) {
        fill(s, ret_info);
    }
    plat_mutex_unlock(&sim->lock);
    return s != NULL;
}

uint32_t etw_sim_session_count(struct etw_sim *sim)
{
    uint32_t count = 0;
    plat_mutex_lock(&sim->lock);
    sim_session_reap(sim);
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        count += sim->sessions[i] != NULL;
    }
    plat_mutex_unlock(&sim->lock);
    return count;
}

bool etw_sim_session_runs(struct etw_sim *sim, const char *name)
{
    plat_mutex_lock(&sim->lock);
    const struct sim_session *s = find(sim, name);
    bool runs = s && s->running;
    plat_mutex_unlock(&sim->lock);
    return runs;
}

uint32_t etw_sim_registrations(struct etw_sim *sim)
{
    uint32_t count = 0;
    plat_mutex_lock(&sim->lock);
    for (uint32_t i = 0; i < sim->registration_room; i++) {
        count += sim->registrations[i] && !sim->registrations[i]->simulated;
    }
    plat_mutex_unlock(&sim->lock);
    return count;
}

void etw_sim_hold_logger(struct etw_sim *sim, bool held)
{
    plat_mutex_lock(&sim->lock);
    sim->logger_held = held;
    for (size_t i = 0; i < SIM_MAX_SESSIONS && !held; i++) {
        if (sim->sessions[i]) {
            sim_buffer_log(sim->sessions[i], false);
        }
    }
    plat_mutex_unlock(&sim->lock);
}

void etw_sim_lose_buffers(struct etw_sim *sim, const char *name, uint32_t buffers, bool file)
{
    plat_mutex_lock(&sim->lock);
    struct sim_session *s = find(sim, name);
    if (s) {
        s->lose_buffers = buffers;
        s->lose_file = file;
    }
    plat_mutex_unlock(&sim->lock);
}

void etw_sim_skip_numbers(struct etw_sim *sim, const char *name, uint32_t count)
{
    plat_mutex_lock(&sim->lock);
    struct sim_session *s = find(sim, name);
    if (s && s->mode & ETW_MODE_USE_GLOBAL_SEQUENCE) {
        sim->global_sequence += count;
    } else if (s) {
        s->message_sequence += count;
    }
    plat_mutex_unlock(&sim->lock);
}

/* True if a session with consumers has events left that its consumers want. */
static bool is_busy(const struct etw_sim *sim)
{
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        const struct sim_session *s = sim->sessions[i];
        if (s && s->consumer_count && s->queue.head) {
            return true;
        }
    }
    for (const struct sim_session *s = sim->ended; s; s = s->next) {
        if (s->consumer_count) {
            return true;
        }
    }
    return false;
}

bool etw_sim_settle(struct etw_sim *sim, uint32_t timeout_ms)
{
    uint64_t deadline = plat_monotonic_ns() + timeout_ms * UINT64_C(1000000);
    plat_mutex_lock(&sim->lock);
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        if (sim->sessions[i] && !(sim->sessions[i]->mode & ETW_MODE_BUFFERING)) {
            sim_buffer_flush(sim->sessions[i], false);
        }
    }
    bool in_time = true;
    while (is_busy(sim) && in_time) {
        in_time = plat_cond_wait_until(&sim->changed, &sim->lock, deadline);
    }
    bool busy = is_busy(sim);
    plat_mutex_unlock(&sim->lock);
    return !busy;
}

bool etw_sim_await_consumers(
    struct etw_sim *sim, const char *name, uint32_t count, uint32_t timeout_ms)
{
    uint64_t deadline = plat_monotonic_ns() + timeout_ms * UINT64_C(1000000);
    plat_mutex_lock(&sim->lock);
    const struct sim_session *s = find(sim, name);
    bool in_time = true;
    while (in_time && (!s || s->consumer_count < count)) {
        in_time = plat_cond_wait_until(&sim->changed, &sim->lock, deadline);
        s = find(sim, name);
    }
    bool read = s && s->consumer_count >= count;
    plat_mutex_unlock(&sim->lock);
    return read;
}
