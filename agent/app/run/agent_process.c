#include "app/run/agent_process.h"

#include "app/run/agent_internal.h"
#include "platform/plat_system.h"

/*
 * The control thread sleeps until something is due, or until it is woken; `wakes` tells it what came
 * while it was about. Locks: an agent's own mutex is never held while the process's is taken.
 */
void agent_process_wake(struct agent_process *process)
{
    plat_mutex_lock(&process->mutex);
    process->wakes++;
    plat_cond_broadcast(&process->changed);
    plat_mutex_unlock(&process->mutex);
}

struct agent *agent_process_borrow(struct agent_process *process)
{
    plat_mutex_lock(&process->mutex);
    struct agent *agent = process->agent;
    process->users += agent != NULL;
    plat_mutex_unlock(&process->mutex);
    return agent;
}

void agent_process_give_back(struct agent_process *process)
{
    plat_mutex_lock(&process->mutex);
    process->users--;
    plat_cond_broadcast(&process->changed);
    plat_mutex_unlock(&process->mutex);
}

void agent_process_show(struct agent_process *process, struct agent *agent)
{
    plat_mutex_lock(&process->mutex);
    process->agent = agent;
    while (!agent && process->users) {
        plat_cond_wait(&process->changed, &process->mutex);
    }
    process->wakes++;
    bool stops = process->asked_to_stop;
    plat_cond_broadcast(&process->changed);
    plat_mutex_unlock(&process->mutex);
    if (!agent) {
        tap_hub_end(process->taps);
    }
    if (agent && stops) {
        agent_stop(agent);
    }
}

bool agent_process_is_stopping(struct agent_process *process)
{
    plat_mutex_lock(&process->mutex);
    bool stops = process->asked_to_stop;
    plat_mutex_unlock(&process->mutex);
    return stops;
}

void agent_process_stop(struct agent_process *process, bool signalled)
{
    plat_mutex_lock(&process->mutex);
    process->asked_to_stop = true;
    process->signalled = process->signalled || signalled;
    plat_mutex_unlock(&process->mutex);
    agent_process_wake(process);
    struct agent *agent = agent_process_borrow(process);
    if (agent) {
        agent_stop(agent);
        agent_process_give_back(process);
    }
}

bool agent_process_open_log(
    struct agent_process *process, const struct app_config *config, struct error *err)
{
    const struct app_log *wanted = &config->agent.log;
    const struct agent_keeper *keeper = process->settings->keeper;
    bool is_auto = strcmp(wanted->file, "auto") == 0 || strcmp(wanted->file, "stderr") == 0;
    const char *path = is_auto ? (keeper ? keeper->log_path : NULL) : wanted->file;
    struct log_settings settings = {.level = (enum log_level)wanted->level,
        .format = (enum log_format)wanted->format,
        .path = path,
        .rotate_size = wanted->rotate.size_bytes,
        .rotate_keep = (unsigned)wanted->rotate.keep,
        .also = keeper ? keeper->hear : NULL,
        .also_self = keeper ? keeper->self : NULL};
    struct log *log = log_create(&settings, err);
    if (!log) {
        return false;
    }
    plat_mutex_lock(&process->mutex);
    struct log *before = process->log;
    process->log = log;
    process->logs_to_file = path != NULL;
    plat_mutex_unlock(&process->mutex);
    log_destroy(before);
    return true;
}

bool agent_process_begin(
    struct agent_process *process, struct agent_setup *setup, bool *ret_stuck, struct error *err)
{
    struct agent *agent = agent_create(process, setup, err);
    *ret_stuck = false;
    if (!agent) {
        return false;
    }
    plat_mutex_lock(&process->mutex);
    process->shutdown_ns = setup->config.agent.shutdown_ns;
    process->loads.loaded = setup->loaded;
    plat_mutex_unlock(&process->mutex);
    bool ok = agent_start(agent, err);
    plat_mutex_lock(&process->mutex);
    agent_loads_add(&process->loads, plat_now_filetime(), setup->shown,
        ok ? AGENT_LOAD_RUNS : AGENT_LOAD_FAILED);
    plat_mutex_unlock(&process->mutex);
    if (!ok) {
        *ret_stuck = agent->drained == AGENT_DRAIN_STUCK;
        if (!*ret_stuck) {
            agent_destroy(agent);
        }
    }
    return ok;
}

bool agent_process_end(struct agent_process *process, struct agent_run_result *result)
{
    struct agent *agent = process->agent;
    bool whole = agent_finish(agent);
    agent_add_result(agent, result);
    struct agent_takeover before = process->takeover; /* what its inputs know is of it */
    process->takeover = (struct agent_takeover){.items = NULL};
    agent_sessions_note_running(agent);
    if (whole) {
        agent_destroy(agent);
        agent_takeover_fini(&before);
    } else { /* the process ends, and no agent follows */
        agent_takeover_end(&process->takeover);
        process->takeover = before;
    }
    return whole;
}

/* ---- keeping time --------------------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* As the service manager sees it; with the mutex. A start that fails is told by the exit code alone. */
static struct agent_moment look(const struct agent_process *process)
{
    bool stops = process->asked_to_stop || process->over;
    return (struct agent_moment){.phase = !process->has_run ? AGENT_STARTING
                                          : stops           ? AGENT_STOPPING
                                                            : AGENT_RUNNING,
        .reloads_begun = process->reloads_begun,
        .reloads_over = process->reloads_over};
}

/* Do what is due; when something is next. Without the mutex. */
static uint64_t tick(struct agent_process *process, const struct agent_moment *moment,
    uint64_t shutdown_ns, uint64_t now)
{
    uint64_t next = agent_notify_tick(&process->notify, moment, shutdown_ns, now);
    if (now >= process->end_ns) {
        process->end_ns = UINT64_MAX;
        agent_process_stop(process, false);
    }
    struct agent *agent = agent_process_borrow(process);
    if (agent) {
        next = earlier(next, agent_control_tick(agent, now));
        agent_process_give_back(process);
    }
    return earlier(next, process->end_ns);
}

void agent_process_keep_time(void *self)
{
    struct agent_process *process = self;
    bool over = false;
    plat_mutex_lock(&process->mutex);
    while (!over) {
        uint64_t wakes = process->wakes;
        uint64_t shutdown_ns = process->shutdown_ns;
        struct agent_moment moment = look(process);
        over = process->over;
        plat_mutex_unlock(&process->mutex);
        uint64_t next = tick(process, &moment, shutdown_ns, plat_monotonic_ns());
        plat_mutex_lock(&process->mutex);
        if (over || wakes != process->wakes) {
            continue;
        }
        plat_cond_wait_until(&process->changed, &process->mutex, next);
    }
    plat_mutex_unlock(&process->mutex);
}
