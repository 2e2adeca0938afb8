#include "app/run/agent_run.h"

#include "app/plan/app_trust.h"
#include "app/run/agent_generation.h"
#include "app/run/agent_limits.h"
#include "app/run/agent_push.h"
#include "app/run/agent_reload.h"
#include "app/run/agent_runner_own.h"
#include "app/run/agent_server.h"
#include "app/run/agent_setup.h"
#include "app/state/data_folder.h"
#include "platform/plat_signal.h"

/*
 * The process from its first moment to its last: signals, log, the first configuration, the data
 * folder; then one agent after the other, each until it ends or another configuration is there.
 */
/* For the signal thread, which lives longer than the process's agents. */
static struct {
    struct plat_mutex mutex;
    struct agent_runner *runner;
    bool asked;  /* to stop, maybe before there was a process */
    bool reopen; /* the same for log files */
    bool made;
} current;

void agent_run_stop(void)
{
    plat_mutex_lock(&current.mutex);
    current.asked = true;
    if (current.runner) {
        agent_runner_stop(current.runner, true);
    }
    plat_mutex_unlock(&current.mutex);
}

static void stop_current(void *self)
{
    (void)self;
    agent_run_stop();
}

static void ask_to_reload(struct agent_runner *runner)
{
    plat_mutex_lock(&runner->mutex);
    runner->asked_to_reload = runner->common.settings->config_reader != NULL;
    plat_mutex_unlock(&runner->mutex);
    agent_runner_wake(runner);
}

void agent_run_reload(void)
{
    plat_mutex_lock(&current.mutex);
    if (current.runner) { /* else it is about to be read */
        ask_to_reload(current.runner);
    }
    plat_mutex_unlock(&current.mutex);
}

static void reopen_log(struct agent_runner *runner)
{
    plat_mutex_lock(&runner->mutex);
    log_reopen(runner->common.log);
    plat_mutex_unlock(&runner->mutex);
}

/* A hangup says that log files were moved away, or that the configuration was changed. */
static void hang_up(void *self)
{
    (void)self;
    plat_mutex_lock(&current.mutex);
    current.reopen = true;
    if (current.runner) {
        reopen_log(current.runner);
    }
    plat_mutex_unlock(&current.mutex);
    agent_run_reload();
}

static void set_current(struct agent_runner *runner)
{
    if (!current.made) {
        plat_mutex_init(&current.mutex);
        current.made = true;
    }
    plat_mutex_lock(&current.mutex);
    current.runner = runner;
    if (runner && current.reopen) {
        reopen_log(runner);
    }
    if (runner && current.asked) {
        agent_runner_stop(runner, true);
    }
    plat_mutex_unlock(&current.mutex);
}

/* ---- start ----------------------------------------------------------------------------------- */

/* A service believes what lies in the data folder, and a warning would not be seen. */
static bool make_folder(const struct agent_runner *runner, const char *data_dir, struct error *err)
{
    return !runner->common.settings->keeper || app_trust_make_private(data_dir, err);
}

/* Users expect a killed run over recorded traces to resume: log that this one does not. */
static void tell_nothing_is_kept(const struct agent_runner *runner, const struct app_config *config)
{
    if (config->spool_reason == APP_SPOOL_ONLY_RECORDED) {
        log_write(runner->common.log, LOG_LEVEL_INFO, NULL,
            "nothing is kept on disk: the next run reads the traces from their beginning. set "
            "agent.data_dir to a folder, and it resumes where this one stopped");
    }
}

/* Hold the folder. If it cannot be held, the error says what to do. */
static bool take_folder(
    struct agent_runner *runner, const struct app_config *config, struct error *err)
{
    const char *data_dir = app_config_data_dir(config);
    struct error why;
    if (!data_dir) {
        tell_nothing_is_kept(runner, config);
        return true;
    }
    if (!make_folder(runner, data_dir, err)) {
        return false;
    }
    runner->lock = data_folder_take(data_dir, &why);
    if (runner->lock) {
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

static void tell_started(struct agent_runner *runner)
{
    const struct agent_keeper *keeper = runner->common.settings->keeper;
    plat_mutex_lock(&runner->mutex);
    runner->has_run = true;
    plat_mutex_unlock(&runner->mutex);
    agent_runner_wake(runner);
    if (keeper) {
        keeper->started(keeper->self);
    }
}

/* Everything up to the first agent that runs. */
static bool start(
    struct agent_runner *runner, struct agent_setup **ret_setup, bool *ret_stuck, struct error *err)
{
    const struct app_config *config = runner->common.settings->config;
    *ret_stuck = false;
    if (!agent_runner_open_log(runner, config, err)) {
        return false;
    }
    agent_limits_apply(&runner->limits, config, runner->common.log);
    set_current(runner);
    runner->control = plat_thread_start("control", agent_runner_keep_time, runner, err);
    agent_server_apply(runner->server, config);
    *ret_setup = runner->control
                     ? agent_setup_create(runner->common.settings, runner, config, false, err)
                     : NULL;
    if (!*ret_setup || !take_folder(runner, config, err) ||
        !agent_runner_begin(runner, *ret_setup, ret_stuck, err)) {
        return false;
    }
    agent_runner_push(runner, config);
    tell_started(runner);
    return true;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Until the agent has come to its end, or the configuration is to be read again: true. */
static bool wait_for_reload(struct agent_runner *runner)
{
    plat_mutex_lock(&runner->mutex);
    while (
        !agent_is_drained(runner->agent) && (runner->asked_to_stop || !runner->asked_to_reload)) {
        plat_cond_wait(&runner->changed, &runner->mutex);
    }
    bool reloads = !agent_is_drained(runner->agent);
    plat_mutex_unlock(&runner->mutex);
    return reloads;
}

static void end_control(struct agent_runner *runner)
{
    plat_mutex_lock(&runner->mutex);
    runner->over = true;
    plat_mutex_unlock(&runner->mutex);
    agent_runner_wake(runner);
    plat_thread_join(runner->control);
    runner->control = NULL;
}

static bool live(struct agent_runner *runner, struct agent_run_result *ret_result, bool *ret_stuck,
    struct error *err)
{
    struct agent_setup *setup = NULL;
    bool ok = start(runner, &setup, ret_stuck, err);
    while (ok && runner->agent && wait_for_reload(runner)) {
        *ret_stuck = !agent_reload(runner, &setup, ret_result);
    }
    if (ok && runner->agent && !*ret_stuck) {
        *ret_stuck = !agent_runner_end(runner, ret_result);
    }
    if (!*ret_stuck) {
        ret_result->idle = setup && !app_config_has_session(&setup->config);
        agent_setup_destroy(setup);
    }
    return ok;
}

/* Sessions that a reload left running: no agent has begun since that would have read them. */
static void tell_abandoned(const struct agent_runner *runner, struct agent_run_result *result)
{
    for (size_t i = 0; i < runner->common.takeover.count; i++) {
        log_write_as(runner->common.log, LOG_CAUSE_SESSION_FAILED, LOG_LEVEL_ERROR, NULL,
            "session %s is stopped, and the events in it are lost: no agent has started to read "
            "them",
            runner->common.takeover.items[i].session);
    }
    result->failed_sessions += runner->common.takeover.count;
}

bool agent_run(const struct agent_run_settings *settings, struct agent_run_result *ret_result,
    struct error *err)
{
    struct agent_runner *runner = agent_runner_create(settings, err);
    struct agent_run_result result = {.stuck = false};
    *ret_result = result;
    if (!runner) {
        return false;
    }
    set_current(NULL);
    /* First of all, as reading schemas takes its time. */
    if (!settings->keeper &&
        (!plat_on_stop(stop_current, NULL, err) || !plat_on_hangup(hang_up, NULL, err))) {
        agent_runner_destroy(runner);
        return false;
    }
    bool ok = live(runner, &result, &result.stuck, err);
    agent_push_stop(runner->common.push);
    agent_server_destroy(runner->server);
    runner->server = NULL;
    if (runner->control) {
        end_control(runner);
    }
    set_current(NULL);
    result.stopped = runner->signalled;
    if (!result.stuck) {
        tell_abandoned(runner, &result);
    }
    *ret_result = result;
    if (!result.stuck) {
        agent_runner_destroy(runner);
    }
    return ok;
}
