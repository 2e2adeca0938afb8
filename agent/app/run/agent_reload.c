#include "app/run/agent_reload.h"

#include <string.h>

#include "app/config/app_fields.h"
#include "app/run/agent_generation.h"
#include "app/run/agent_limits.h"
#include "app/run/agent_runner_own.h"
#include "app/run/agent_server.h"
#include "app/run/agent_setup.h"
#include "config/config_image.h"
#include "platform/plat_clock.h"

static const uint64_t first_pause_ns = UINT64_C(1000000000);
static const uint64_t longest_pause_ns = UINT64_C(60000000000);

/* ---- before anything ends -------------------------------------------------------------------- */

static void tell(void *self, enum log_level level, const char *line)
{
    log_write_as(((struct agent_runner *)self)->common.log, LOG_CAUSE_RELOAD_REFUSED, level, NULL,
        "reload: %s", line);
}

/* ERR_CONFIG: a change that needs a restart. Events in the old data folder would stay there. */
static bool may_change(
    const struct app_config *before, const struct app_config *next, struct error *err)
{
    const char *old_dir = app_config_data_dir(before);
    const char *new_dir = app_config_data_dir(next);
    bool same = old_dir && new_dir ? strcmp(old_dir, new_dir) == 0 : old_dir == new_dir;
    return same ||
           error_set(err, ERR_CONFIG,
               "agent.data_dir has changed, which needs a restart: stop and start the agent");
}

static bool is_same(const struct agent_setup *before, const struct app_config *next)
{
    struct app_digest digest;
    return app_digest_take(next, &digest, NULL) && app_digest_equal(&before->digest, &digest);
}

/* Everything that can be made of ${config}, which is the setup's. NULL: it cannot be used. */
static struct agent_setup *prepare(
    struct agent_runner *runner, const struct agent_setup *before, const struct app_config *config)
{
    struct error err;
    struct agent_setup *next = agent_setup_create(
        runner->common.settings, runner, config, true, &err);
    if (next && may_change(&before->config, &next->config, &err) && agent_setup_try(next, &err)) {
        return next;
    }
    tell(runner, LOG_LEVEL_ERROR, err.text);
    agent_setup_destroy(next);
    return NULL;
}

/* ---- from one agent to the next -------------------------------------------------------------- */

/* Open the log that ${next} asks for. If that fails, the agent keeps the log that it has. */
static void change_log(
    struct agent_runner *runner, const struct app_config *before, const struct app_config *next)
{
    struct error err;
    if (!config_image_equal(app_log_fields, &before->agent.log, &next->agent.log) &&
        !agent_runner_open_log(runner, next, &err)) {
        log_write_as(
            runner->common.log, LOG_CAUSE_LOG, LOG_LEVEL_WARNING, NULL, "reload: %s", err.text);
    }
}

/* False: the process is to stop. Asking for another reload ends the pause, as its cause may have
 * been corrected. */
static bool pause_before_retry(
    struct agent_runner *runner, uint64_t pause_ns, bool *ret_asked_to_reload)
{
    uint64_t until = plat_monotonic_ns() + pause_ns;
    bool in_time = true;
    plat_mutex_lock(&runner->mutex);
    while (in_time && !runner->asked_to_stop && !runner->asked_to_reload) {
        in_time = plat_cond_wait_until(&runner->changed, &runner->mutex, until);
    }
    bool stops = runner->asked_to_stop;
    *ret_asked_to_reload = runner->asked_to_reload;
    runner->asked_to_reload = false;
    plat_mutex_unlock(&runner->mutex);
    return !stops;
}

static void count(struct agent_runner *runner, bool done)
{
    plat_mutex_lock(&runner->mutex);
    runner->loads.reloads += done;
    runner->loads.failed_reloads += !done;
    runner->loads.refused = !done;
    plat_mutex_unlock(&runner->mutex);
}

/* The file says again what runs. */
static void set_accepted(struct agent_runner *runner)
{
    plat_mutex_lock(&runner->mutex);
    runner->loads.refused = false;
    plat_mutex_unlock(&runner->mutex);
}

static void say(struct agent_runner *runner, const char *text)
{
    const struct agent_keeper *keeper = runner->common.settings->keeper;
    log_write(runner->common.log, LOG_LEVEL_INFO, NULL, "reload: %s", text);
    if (keeper) {
        keeper->reloaded(keeper->self, text);
    }
}

/* The process is to stop: sessions that were left running hold unread events, so an agent starts
 * once more to read them, and stops at once. False: stuck. */
static bool end_takeover(struct agent_runner *runner, struct agent_setup *setup)
{
    struct error err;
    bool stuck = false;
    if (runner->common.takeover.count && !agent_runner_begin(runner, setup, &stuck, &err)) {
        log_write_as(runner->common.log, LOG_CAUSE_RELOAD_FAILED, LOG_LEVEL_ERROR, NULL,
            "reload: %s", err.text);
    }
    return !stuck;
}

/* ${shown}: 0 if it is unknown. */
static void refuse(struct agent_runner *runner, uint64_t shown)
{
    count(runner, false);
    plat_mutex_lock(&runner->mutex);
    agent_loads_add(&runner->loads, plat_now_filetime(), shown, AGENT_LOAD_REFUSED);
    plat_mutex_unlock(&runner->mutex);
    tell(runner, LOG_LEVEL_ERROR, "new configuration rejected; the previous one stays active");
}

/* Read the configuration again: it if valid and different from ${before}. NULL: ${ret_same}, or
 * invalid. */
static struct agent_setup *read_next(
    struct agent_runner *runner, const struct agent_setup *before, bool *ret_same)
{
    const struct agent_config_reader *config_reader = runner->common.settings->config_reader;
    struct app_config config;
    *ret_same = false;
    if (!config_reader->read(config_reader->self, &config, tell, runner)) {
        refuse(runner, 0);
        return NULL;
    }
    if (is_same(before, &config)) {
        app_config_fini(&config);
        *ret_same = true;
        return NULL;
    }
    uint64_t shown = app_digest_shown(&config);
    struct agent_setup *next = prepare(runner, before, &config);
    if (!next) {
        refuse(runner, shown);
    }
    return next;
}

/* Start an agent of ${next} where none runs, which takes the place of ${*setup}; the setup that is
 * not used is destroyed. False: it does not start; nothing of it is left unless it is stuck. */
static bool begin_next(struct agent_runner *runner, struct agent_setup **setup,
    struct agent_setup *next, bool *ret_stuck)
{
    struct agent_setup *before = *setup;
    struct error err;
    change_log(runner, &before->config, &next->config);
    agent_limits_apply(&runner->limits, &next->config, runner->common.log);
    if (agent_runner_begin(runner, next, ret_stuck, &err)) {
        agent_setup_destroy(before);
        *setup = next;
        count(runner, true);
        agent_server_apply(runner->server, &next->config);
        agent_runner_push(runner, &next->config);
        say(runner, "the new configuration runs");
        return true;
    }
    count(runner, false);
    log_write_as(runner->common.log, LOG_CAUSE_RELOAD_FAILED, LOG_LEVEL_ERROR, NULL,
        "reload: the new configuration does not start: %s. the previous one stays active",
        err.text);
    if (!*ret_stuck) { /* else its threads use the setup and the log */
        change_log(runner, &next->config, &before->config);
        agent_limits_apply(&runner->limits, &before->config, runner->common.log);
        agent_setup_destroy(next);
    }
    return false;
}

/* Start the previous configuration, as often as it takes; at each request for a reload, the one
 * that the source has then.
 * Returns early if the process is to stop, or an output is stuck. */
static void go_back(struct agent_runner *runner, struct agent_setup **setup, bool *ret_stuck)
{
    uint64_t pause_ns = first_pause_ns;
    struct error err;
    bool asked;
    bool same;
    while (!agent_runner_begin(runner, *setup, ret_stuck, &err)) {
        log_write_as(runner->common.log, LOG_CAUSE_RELOAD_FAILED, LOG_LEVEL_ERROR, "reload",
            "reload: the previous configuration does not start either: %s. trying again", err.text);
        if (*ret_stuck || !pause_before_retry(runner, pause_ns, &asked)) {
            return;
        }
        struct agent_setup *next = asked ? read_next(runner, *setup, &same) : NULL;
        if (next && (begin_next(runner, setup, next, ret_stuck) || *ret_stuck)) {
            return;
        }
        pause_ns = pause_ns * 2 < longest_pause_ns ? pause_ns * 2 : longest_pause_ns;
    }
}

/* The agent of ${*setup} ends, that of ${next} begins, or that of ${*setup} again. The setup that
 * does not run is destroyed. False: stuck. */
static bool change(struct agent_runner *runner, struct agent_setup **setup,
    struct agent_setup *next, struct agent_run_result *result)
{
    bool stuck = false;
    agent_make_way(runner->agent, next);
    if (!agent_runner_end(runner, result)) {
        return false; /* and so is the process: nothing is freed */
    }
    if (agent_runner_is_stopping(runner)) {
        agent_setup_destroy(next);
        return end_takeover(runner, *setup);
    }
    if (!begin_next(runner, setup, next, &stuck) && !stuck) {
        go_back(runner, setup, &stuck);
    }
    return !stuck;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void set_begun(struct agent_runner *runner)
{
    plat_mutex_lock(&runner->mutex);
    runner->asked_to_reload = false;
    runner->reloads_begun++;
    plat_mutex_unlock(&runner->mutex);
    agent_runner_wake(runner);
}

static void set_over(struct agent_runner *runner)
{
    plat_mutex_lock(&runner->mutex);
    runner->reloads_over = runner->reloads_begun;
    plat_mutex_unlock(&runner->mutex);
    agent_runner_wake(runner);
}

static bool reload(
    struct agent_runner *runner, struct agent_setup **setup, struct agent_run_result *result)
{
    bool same;
    struct agent_setup *next = read_next(runner, *setup, &same);
    if (same) {
        set_accepted(runner);
        say(runner, AGENT_RELOAD_SAME);
    }
    return !next || change(runner, setup, next, result);
}

bool agent_reload(
    struct agent_runner *runner, struct agent_setup **setup, struct agent_run_result *result)
{
    set_begun(runner);
    bool whole = reload(runner, setup, result);
    set_over(runner);
    return whole;
}
