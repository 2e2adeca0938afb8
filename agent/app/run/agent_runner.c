#include "app/run/agent_runner_own.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/run/agent_control.h"
#include "app/run/agent_generation.h"
#include "app/run/agent_push.h"
#include "app/run/agent_server.h"
#include "app/run/agent_setup.h"
#include "platform/plat_clock.h"
#include "platform/plat_limits.h"
#include "platform/plat_path.h"
#include "store/store.h"

/*
 * The control thread sleeps until something is due, or until it is woken; `wakes` tells it what
 * came while it was about. Locks: a mutex of an agent's parts is never held while the process's is
 * taken; agent_is_drained takes one while the process's is held.
 */
void agent_runner_wake(struct agent_runner *runner)
{
    plat_mutex_lock(&runner->mutex);
    runner->wakes++;
    plat_cond_broadcast(&runner->changed);
    plat_mutex_unlock(&runner->mutex);
}

struct agent *agent_runner_borrow(struct agent_runner *runner)
{
    plat_mutex_lock(&runner->mutex);
    struct agent *agent = runner->agent;
    runner->users += agent != NULL;
    plat_mutex_unlock(&runner->mutex);
    return agent;
}

void agent_runner_give_back(struct agent_runner *runner)
{
    plat_mutex_lock(&runner->mutex);
    runner->users--;
    plat_cond_broadcast(&runner->changed);
    plat_mutex_unlock(&runner->mutex);
}

void agent_runner_show(struct agent_runner *runner, struct agent *agent)
{
    plat_mutex_lock(&runner->mutex);
    runner->agent = agent;
    while (!agent && runner->users) {
        plat_cond_wait(&runner->changed, &runner->mutex);
    }
    runner->wakes++;
    bool stops = runner->asked_to_stop;
    plat_cond_broadcast(&runner->changed);
    plat_mutex_unlock(&runner->mutex);
    if (!agent) {
        tap_hub_end(runner->common.taps);
    }
    if (agent && stops) {
        agent_stop(agent);
    }
}

bool agent_runner_is_stopping(struct agent_runner *runner)
{
    plat_mutex_lock(&runner->mutex);
    bool stops = runner->asked_to_stop;
    plat_mutex_unlock(&runner->mutex);
    return stops;
}

void agent_runner_stop(struct agent_runner *runner, bool signalled)
{
    plat_mutex_lock(&runner->mutex);
    runner->asked_to_stop = true;
    runner->signalled = runner->signalled || signalled;
    plat_mutex_unlock(&runner->mutex);
    agent_runner_wake(runner);
    struct agent *agent = agent_runner_borrow(runner);
    if (agent) {
        agent_stop(agent);
        agent_runner_give_back(runner);
    }
}

struct log *agent_runner_hold_log(struct agent_runner *runner)
{
    plat_mutex_lock(&runner->mutex);
    return runner->common.log;
}

void agent_runner_release_log(struct agent_runner *runner)
{
    plat_mutex_unlock(&runner->mutex);
}

void agent_runner_look(struct agent_runner *runner, struct agent_runner_view *ret_view)
{
    plat_mutex_lock(&runner->mutex);
    *ret_view = (struct agent_runner_view){.loads = runner->loads,
        .uptime_ns = plat_monotonic_ns() - runner->started_ns,
        .has_run = runner->has_run,
        .stops = runner->asked_to_stop || runner->over};
    plat_mutex_unlock(&runner->mutex);
}

bool agent_runner_open_log(
    struct agent_runner *runner, const struct app_config *config, struct error *err)
{
    const struct app_log *wanted = &config->agent.log;
    const struct agent_keeper *keeper = runner->common.settings->keeper;
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
    plat_mutex_lock(&runner->mutex);
    struct log *before = runner->common.log;
    runner->common.log = log;
    runner->common.logs_to_file = path != NULL;
    plat_mutex_unlock(&runner->mutex);
    log_destroy(before);
    return true;
}

bool agent_runner_begin(
    struct agent_runner *runner, struct agent_setup *setup, bool *ret_stuck, struct error *err)
{
    struct agent *agent = agent_create(runner, &runner->common, setup, err);
    *ret_stuck = false;
    if (!agent) {
        return false;
    }
    plat_mutex_lock(&runner->mutex);
    runner->shutdown_ns = setup->config.agent.shutdown_ns;
    runner->loads.loaded = setup->loaded;
    plat_mutex_unlock(&runner->mutex);
    bool ok = agent_start(agent, ret_stuck, err);
    plat_mutex_lock(&runner->mutex);
    agent_loads_add(&runner->loads, plat_now_filetime(), setup->shown,
        ok ? AGENT_LOAD_RUNS : AGENT_LOAD_FAILED);
    plat_mutex_unlock(&runner->mutex);
    return ok;
}

bool agent_runner_end(struct agent_runner *runner, struct agent_run_result *result)
{
    struct agent_common *common = &runner->common;
    struct agent *agent = runner->agent;
    bool whole = agent_finish(agent);
    agent_result_add(agent, result);
    struct agent_takeover before = common->takeover; /* what its inputs know is of it */
    common->takeover = (struct agent_takeover){.items = NULL};
    agent_note_running(agent);
    if (whole) {
        agent_destroy(agent);
        agent_takeover_fini(&before);
    } else { /* the process ends, and no agent follows */
        agent_takeover_end(&common->takeover);
        common->takeover = before;
    }
    return whole;
}

void agent_runner_push(struct agent_runner *runner, const struct app_config *config)
{
    struct agent_common *common = &runner->common;
    agent_push_stop(common->push);
    common->push = agent_push_start(runner, common->ephemeral_id, runner->started, config);
}

/* ---- keeping time ---------------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The state for the service manager; with the mutex held. Only the exit code reports a failed
 * start. */
static struct agent_moment look(const struct agent_runner *runner)
{
    bool stops = runner->asked_to_stop || runner->over;
    return (struct agent_moment){.phase = !runner->has_run ? AGENT_STARTING
                                          : stops          ? AGENT_STOPPING
                                                           : AGENT_RUNNING,
        .reloads_begun = runner->reloads_begun,
        .reloads_over = runner->reloads_over};
}

/* Do what is due; when something is next. Without the mutex. */
static uint64_t tick(struct agent_runner *runner, const struct agent_moment *moment,
    uint64_t shutdown_ns, uint64_t now)
{
    uint64_t next = agent_notify_tick(&runner->common.notify, moment, shutdown_ns, now);
    if (now >= runner->end_ns) {
        runner->end_ns = UINT64_MAX;
        agent_runner_stop(runner, false);
    }
    struct agent *agent = agent_runner_borrow(runner);
    if (agent) {
        next = earlier(next, agent_control_tick(agent, now));
        agent_runner_give_back(runner);
    }
    return earlier(next, runner->end_ns);
}

void agent_runner_keep_time(void *self)
{
    struct agent_runner *runner = self;
    bool over = false;
    plat_mutex_lock(&runner->mutex);
    while (!over) {
        uint64_t wakes = runner->wakes;
        uint64_t shutdown_ns = runner->shutdown_ns;
        struct agent_moment moment = look(runner);
        over = runner->over;
        plat_mutex_unlock(&runner->mutex);
        uint64_t next = tick(runner, &moment, shutdown_ns, plat_monotonic_ns());
        plat_mutex_lock(&runner->mutex);
        if (over || wakes != runner->wakes) {
            continue;
        }
        plat_cond_wait_until(&runner->changed, &runner->mutex, next);
    }
    plat_mutex_unlock(&runner->mutex);
}

/* ---- from the first moment to the last ------------------------------------------------------- */

struct agent_runner *agent_runner_create(
    const struct agent_run_settings *settings, struct error *err)
{
    struct agent_runner *runner = calloc(1, sizeof(*runner));
    struct tap_hub *taps = tap_hub_create(NULL);
    struct agent_server *server = runner && taps ? agent_server_create(runner, taps) : NULL;
    if (!server) {
        tap_hub_destroy(taps);
        free(runner);
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    runner->common.settings = settings;
    runner->common.taps = taps;
    runner->server = server;
    runner->started_ns = plat_monotonic_ns();
    runner->started = plat_now_filetime();
    runner->end_ns = settings->duration_ns ? runner->started_ns + settings->duration_ns
                                           : UINT64_MAX;
    runner->limits = (struct app_limits){.cpu_hundredths = PLAT_LIMITS_ALL_CPU};
    plat_mutex_init(&runner->mutex);
    plat_cond_init(&runner->changed);
    agent_notify_init(&runner->common.notify);
    return runner;
}

void agent_runner_destroy(struct agent_runner *runner)
{
    struct agent_common *common = &runner->common;
    agent_server_destroy(runner->server);
    agent_takeover_end(&common->takeover);
    agent_observed_fini(&common->observed);
    losses_left_fini(&common->losses);
    agent_process_tables_fini(&common->process_tables);
    store_close(common->store);
    plat_lock_drop(runner->lock);
    agent_notify_fini(&common->notify);
    log_destroy(common->log);
    tap_hub_destroy(common->taps);
    plat_cond_fini(&runner->changed);
    plat_mutex_fini(&runner->mutex);
    free(runner);
}
