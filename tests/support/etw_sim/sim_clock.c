/*
 * Time in ticks of the performance counter since the machine's start, from which the three session
 * clocks follow. A manual clock is a number; a real one is the monotonic clock, and a thread runs
 * what falls due: flush timers, capture state timers, the logger's turns, sources of events.
 */
#include "platform/plat_clock.h"
#include "support/etw_sim/sim_state.h"

enum { REAL_STEP_MS = 1, IDLE_STEP_MS = 20 };

static uint64_t scale(uint64_t value, uint64_t by, uint64_t per)
{
    return value / per * by + value % per * by / per;
}

uint64_t sim_clock_ticks(const struct etw_sim *sim)
{
    if (!sim->options.real_clock) {
        return sim->ticks;
    }
    return sim->start_ticks +
           scale(plat_monotonic_ns() - sim->real_start_ns, sim->options.perf_frequency, 1000000000);
}

uint64_t sim_clock_ticks_of_ms(const struct etw_sim *sim, uint64_t ms)
{
    uint64_t ticks = scale(ms, sim->options.perf_frequency, 1000);
    return ticks ? ticks : 1;
}

uint64_t sim_clock_filetime(const struct etw_sim *sim, uint64_t ticks)
{
    return sim->boot_time + scale(ticks, 10000000, sim->options.perf_frequency);
}

int64_t sim_clock_raw(const struct sim_session *s, uint64_t ticks)
{
    const struct etw_sim *sim = s->sim;
    switch (s->clock) {
    case TRACE_CLOCK_SYSTEM_TIME:
        return (int64_t)sim_clock_filetime(sim, ticks);
    case TRACE_CLOCK_CPU_CYCLE:
        return (int64_t)scale(
            ticks, (uint64_t)sim->options.cpu_mhz * 1000000, sim->options.perf_frequency);
    default:
        return (int64_t)ticks;
    }
}

uint64_t sim_clock_stamp(struct etw_sim *sim)
{
    if (!sim->options.real_clock) {
        sim->ticks += sim->options.step_ticks;
    }
    return sim_clock_ticks(sim);
}

/* ---- timers ---------------------------------------------------------------------------------- */

static void sooner(uint64_t *due, uint64_t other)
{
    if (other && other < *due) {
        *due = other;
    }
}

static uint64_t next_due(const struct etw_sim *sim)
{
    uint64_t due = sim_replay_due(sim);
    sooner(&due, sim->logger_due);
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        if (sim->sessions[i]) {
            sooner(&due, sim->sessions[i]->flush_due);
            sooner(&due, sim->sessions[i]->capture_due);
        }
    }
    return due;
}

static void run_logger(struct etw_sim *sim, uint64_t now)
{
    if (!sim->logger_due || sim->logger_due > now) {
        return;
    }
    sim->logger_due = now + sim_clock_ticks_of_ms(sim, sim->options.logger_period_ms);
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        if (sim->sessions[i]) {
            sim_buffer_log(sim->sessions[i], false);
        }
    }
}

static void run_captures(struct etw_sim *sim, struct sim_session *s, uint64_t now)
{
    struct guid list[SIM_MAX_CAPTURES];
    uint16_t count = s->capture_count;
    memcpy(list, s->captures, sizeof(list));
    s->capture_due = now + sim_clock_ticks_of_ms(sim, (uint64_t)s->capture_s * 1000);
    s->users++;
    for (uint16_t i = 0; i < count && s->running; i++) {
        sim_enable_capture(sim, s, &list[i]);
    }
    sim_session_release(s);
}

static void run_due(struct etw_sim *sim, uint64_t now)
{
    run_logger(sim, now);
    sim_session_reap(sim);
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        struct sim_session *s = sim->sessions[i];
        if (s && s->flush_due && s->flush_due <= now) {
            sim_session_arm(s);
            sim_buffer_flush(s, false);
        }
        s = sim->sessions[i];
        if (s && s->capture_due && s->capture_due <= now) {
            run_captures(sim, s, now);
        }
    }
    sim_replay_run(sim, now);
}

void sim_clock_move(struct etw_sim *sim, uint64_t ticks)
{
    for (;;) {
        uint64_t due = next_due(sim);
        if (due > ticks) {
            break;
        }
        sim->ticks = due > sim->ticks ? due : sim->ticks;
        run_due(sim, sim->ticks);
    }
    sim->ticks = ticks > sim->ticks ? ticks : sim->ticks;
}

void etw_sim_advance(struct etw_sim *sim, uint32_t ms)
{
    plat_mutex_lock(&sim->lock);
    if (!sim->options.real_clock) {
        sim_replay_run(sim, sim->ticks); /* sources see which sessions want them now */
        sim_clock_move(sim, sim->ticks + sim_clock_ticks_of_ms(sim, ms));
    }
    plat_mutex_unlock(&sim->lock);
}

static void run_real(void *self)
{
    struct etw_sim *sim = self;
    plat_mutex_lock(&sim->lock);
    while (!sim->stopping) {
        run_due(sim, sim_clock_ticks(sim));
        uint64_t due = next_due(sim);
        uint64_t now = sim_clock_ticks(sim);
        uint64_t wait_ns = IDLE_STEP_MS * UINT64_C(1000000);
        if (due <= now) {
            wait_ns = REAL_STEP_MS * UINT64_C(1000000);
        } else if (due != UINT64_MAX) {
            uint64_t ns = scale(due - now, 1000000000, sim->options.perf_frequency);
            wait_ns = ns < wait_ns ? ns : wait_ns;
        }
        uint64_t deadline = plat_monotonic_ns() + wait_ns;
        while (!sim->stopping && plat_cond_wait_until(&sim->timer, &sim->lock, deadline)) {
            /* Only the deadline, or the end. */
        }
    }
    plat_mutex_unlock(&sim->lock);
}

bool sim_clock_start(struct etw_sim *sim, struct error *err)
{
    const struct etw_sim_options *o = &sim->options;
    sim->start_ticks = o->perf_counter ? o->perf_counter : o->up_seconds * o->perf_frequency;
    sim->ticks = sim->start_ticks;
    uint64_t now = o->real_clock ? plat_now_filetime() : o->start_time;
    sim->boot_time = o->boot_time ? o->boot_time
                                  : now - scale(sim->start_ticks, 10000000, o->perf_frequency);
    sim->real_start_ns = plat_monotonic_ns();
    if (o->logger_period_ms) {
        sim->logger_due = sim->ticks + sim_clock_ticks_of_ms(sim, o->logger_period_ms);
    }
    if (o->real_clock) {
        sim->thread = plat_thread_start("etw-sim", run_real, sim, err);
        return sim->thread != NULL;
    }
    return true;
}

void sim_clock_stop(struct etw_sim *sim)
{
    plat_mutex_lock(&sim->lock);
    sim->stopping = true;
    plat_cond_broadcast(&sim->timer);
    plat_mutex_unlock(&sim->lock);
    plat_thread_join(sim->thread);
    sim->thread = NULL;
}

uint64_t etw_sim_qpc(struct etw_sim *sim)
{
    plat_mutex_lock(&sim->lock);
    uint64_t ticks = sim_clock_ticks(sim);
    plat_mutex_unlock(&sim->lock);
    return ticks;
}

uint64_t etw_sim_filetime(struct etw_sim *sim)
{
    plat_mutex_lock(&sim->lock);
    uint64_t time = sim_clock_filetime(sim, sim_clock_ticks(sim));
    plat_mutex_unlock(&sim->lock);
    return time;
}
