#include "app/run/agent_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/plan/app_trust.h"
#include "app/run/agent_internal.h"
#include "app/run/agent_limits.h"
#include "app/run/agent_push.h"
#include "app/run/agent_reload.h"
#include "app/run/agent_server.h"
#include "app/state/data_folder.h"
#include "app/watch/agent_history.h"
#include "platform/plat_limits.h"
#include "platform/plat_path.h"
#include "platform/plat_system.h"
#include "store/store.h"

/*
 * The process from its first moment to its last: signals, log, the first configuration, the data folder; then
 * one agent after the other, each until it ends or another configuration is there.
 */
/* For the signal thread, which lives longer than the process's agents. */
static struct {
    struct plat_mutex mutex;
    struct agent_process *process;
    bool asked;  /* to stop, maybe before there was a process */
    bool reopen; /* the same for log files */
    bool made;
} current;

void agent_run_stop(void)
{
    plat_mutex_lock(&current.mutex);
    current.asked = true;
    if (current.process) {
        agent_process_stop(current.process, true);
    }
    plat_mutex_unlock(&current.mutex);
}

static void stop_current(void *self)
{
    (void)self;
    agent_run_stop();
}

static void ask_to_reload(struct agent_process *process)
{
    plat_mutex_lock(&process->mutex);
    process->asked_to_reload = process->settings->source != NULL;
    plat_mutex_unlock(&process->mutex);
    agent_process_wake(process);
}

void agent_run_reload(void)
{
    plat_mutex_lock(&current.mutex);
    if (current.process) { /* else it is about to be read */
        ask_to_reload(current.process);
    }
    plat_mutex_unlock(&current.mutex);
}

static void reopen_log(struct agent_process *process)
{
    plat_mutex_lock(&process->mutex);
    log_reopen(process->log);
    plat_mutex_unlock(&process->mutex);
}

/* A hangup says that log files were moved away, or that the configuration was changed. */
static void hang_up(void *self)
{
    (void)self;
    plat_mutex_lock(&current.mutex);
    current.reopen = true;
    if (current.process) {
        reopen_log(current.process);
    }
    plat_mutex_unlock(&current.mutex);
    agent_run_reload();
}

static void set_current(struct agent_process *process)
{
    if (!current.made) {
        plat_mutex_init(&current.mutex);
        current.made = true;
    }
    plat_mutex_lock(&current.mutex);
    current.process = process;
    if (process && current.reopen) {
        reopen_log(process);
    }
    if (process && current.asked) {
        agent_process_stop(process, true);
    }
    plat_mutex_unlock(&current.mutex);
}

/* ---- start ------------------------------------------------------------------------------------ */

/* A service believes what lies in the data folder, and a warning would not be seen. */
static bool make_folder(
    const struct agent_process *process, const char *data_dir, struct error *err)
{
    return !process->settings->keeper || app_trust_make_private(data_dir, err);
}

/* A killed run over recorded traces is expected to go on where it was: say that this one does not. */
static void tell_nothing_is_kept(
    const struct agent_process *process, const struct app_config *config)
{
    if (config->spool_reason == APP_SPOOL_ONLY_RECORDED) {
        log_write(process->log, LOG_LEVEL_INFO, NULL,
            "nothing is kept on disk: the next run reads the traces from their beginning. set "
            "agent.data_dir to a folder, and it resumes where this one stopped");
    }
}

/* Hold the folder. If it cannot be held, the error says what to do. */
static bool take_folder(
    struct agent_process *process, const struct app_config *config, struct error *err)
{
    const char *data_dir = app_config_data_dir(config);
    struct error why;
    if (!data_dir) {
        tell_nothing_is_kept(process, config);
        return true;
    }
    if (!make_folder(process, data_dir, err)) {
        return false;
    }
    process->lock = data_folder_take(data_dir, &why);
    if (process->lock) {
        return true;
    }
    if (config->spool.mode != APP_SPOOL_DURABLE) {
        return error_set(err, why.code, "%s", why.text);
    }
    if (why.code == ERR_STOPPED) {
        return error_set(err, why.code, "%s, or spool.mode: memory, which keeps nothing", why.text);
    }
    return error_set(err, why.code,
        "%s. events wait in %s: set agent.data_dir to a folder that can be written, or spool.mode: "
        "memory, which keeps nothing",
        why.text, data_dir);
}

static struct agent_process *make_process(
    const struct agent_run_settings *settings, struct error *err)
{
    struct agent_process *process = calloc(1, sizeof(*process));
    if (!process) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    process->taps = tap_hub_create(err);
    if (!process->taps) {
        free(process);
        return NULL;
    }
    process->settings = settings;
    process->started_ns = plat_monotonic_ns();
    process->started = plat_now_filetime();
    process->end_ns = settings->duration_ns ? process->started_ns + settings->duration_ns
                                            : UINT64_MAX;
    process->limits = (struct app_limits){.cpu_hundredths = PLAT_LIMITS_ALL_CPU};
    plat_mutex_init(&process->mutex);
    plat_cond_init(&process->changed);
    agent_notify_init(&process->notify);
    return process;
}

static void free_process(struct agent_process *process)
{
    agent_takeover_end(&process->takeover);
    agent_observed_fini(&process->observed);
    losses_left_fini(&process->losses);
    agent_processes_fini(&process->processes);
    store_close(process->store);
    plat_lock_drop(process->lock);
    agent_notify_fini(&process->notify);
    log_destroy(process->log);
    tap_hub_destroy(process->taps);
    plat_cond_fini(&process->changed);
    plat_mutex_fini(&process->mutex);
    free(process);
}

static void tell_started(struct agent_process *process)
{
    const struct agent_keeper *keeper = process->settings->keeper;
    plat_mutex_lock(&process->mutex);
    process->has_run = true;
    plat_mutex_unlock(&process->mutex);
    agent_process_wake(process);
    if (keeper) {
        keeper->started(keeper->self);
    }
}

/* Everything up to the first agent that runs. */
static bool start(struct agent_process *process, struct agent_setup **ret_setup, bool *ret_stuck,
    struct error *err)
{
    const struct app_config *config = process->settings->config;
    *ret_stuck = false;
    if (!agent_process_open_log(process, config, err)) {
        return false;
    }
    agent_limits_apply(process, config);
    set_current(process);
    process->control = plat_thread_start("control", agent_process_keep_time, process, err);
    agent_server_apply(process, config);
    *ret_setup = process->control ? agent_setup_create(process, config, false, err) : NULL;
    if (!*ret_setup || !take_folder(process, config, err) ||
        !agent_process_begin(process, *ret_setup, ret_stuck, err)) {
        return false;
    }
    agent_push_apply(process, config);
    tell_started(process);
    return true;
}

/* ---- life ------------------------------------------------------------------------------------- */

/* Until the agent has come to its end, or the configuration is to be read again: true. */
static bool wait_for_reload(struct agent_process *process)
{
    plat_mutex_lock(&process->mutex);
    while (process->agent->drained < AGENT_DRAIN_DONE &&
           (process->asked_to_stop || !process->asked_to_reload)) {
        plat_cond_wait(&process->changed, &process->mutex);
    }
    bool reloads = process->agent->drained < AGENT_DRAIN_DONE;
    plat_mutex_unlock(&process->mutex);
    return reloads;
}

static void end_control(struct agent_process *process)
{
    plat_mutex_lock(&process->mutex);
    process->over = true;
    plat_mutex_unlock(&process->mutex);
    agent_process_wake(process);
    plat_thread_join(process->control);
    process->control = NULL;
}

static bool live(struct agent_process *process, struct agent_run_result *ret_result,
    bool *ret_stuck, struct error *err)
{
    struct agent_setup *setup = NULL;
    bool ok = start(process, &setup, ret_stuck, err);
    while (ok && process->agent && wait_for_reload(process)) {
        *ret_stuck = !agent_reload(process, &setup, ret_result);
    }
    if (ok && process->agent && !*ret_stuck) {
        *ret_stuck = !agent_process_end(process, ret_result);
    }
    if (!*ret_stuck) {
        ret_result->idle = setup && !app_config_has_session(&setup->config);
        agent_setup_destroy(setup);
    }
    return ok;
}

/* Sessions that a reload left running: no agent has begun since that would have read them. */
static void tell_abandoned(const struct agent_process *process, struct agent_run_result *result)
{
    for (size_t i = 0; i < process->takeover.count; i++) {
        log_write_as(process->log, LOG_CAUSE_SESSION_FAILED, LOG_LEVEL_ERROR, NULL,
            "session %s is stopped, and the events in it are lost: no agent has started to read "
            "them",
            process->takeover.items[i].session);
    }
    result->failed_sessions += process->takeover.count;
}

bool agent_run(const struct agent_run_settings *settings, struct agent_run_result *ret_result,
    struct error *err)
{
    struct agent_process *process = make_process(settings, err);
    struct agent_run_result result = {.stuck = false};
    *ret_result = result;
    if (!process) {
        return false;
    }
    set_current(NULL);
    /* First of all, as reading schemas takes its time. */
    if (!settings->keeper &&
        (!plat_on_stop(stop_current, NULL, err) || !plat_on_hangup(hang_up, NULL, err))) {
        free_process(process);
        return false;
    }
    bool ok = live(process, &result, &result.stuck, err);
    agent_push_stop(process);
    agent_server_stop(process);
    agent_history_destroy(process->history);
    if (process->control) {
        end_control(process);
    }
    set_current(NULL);
    result.stopped = process->signalled;
    if (!result.stuck) {
        tell_abandoned(process, &result);
    }
    *ret_result = result;
    if (!result.stuck) {
        free_process(process);
    }
    return ok;
}
