#include "app/run/agent_reload.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "app/run/agent_internal.h"
#include "app/run/agent_limits.h"
#include "app/run/agent_push.h"
#include "app/run/agent_server.h"
#include "platform/plat_system.h"

static const uint64_t first_pause_ns = UINT64_C(1000000000);
static const uint64_t longest_pause_ns = UINT64_C(60000000000);

/* ---- before anything ends ----------------------------------------------------------------------- */

static void tell(void *self, enum log_level level, const char *line)
{
    log_write_as(((struct agent_process *)self)->log, LOG_CAUSE_RELOAD_REFUSED, level, NULL,
        "reload: %s", line);
}

/* ERR_CONFIG: what cannot change while the process lives. What waits in the one folder would stay there. */
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
static struct agent_setup *prepare(struct agent_process *process, const struct agent_setup *before,
    const struct app_config *config)
{
    struct error err;
    struct agent_setup *next = agent_setup_create(process, config, true, &err);
    if (next && may_change(&before->config, &next->config, &err) && agent_setup_try(next, &err)) {
        return next;
    }
    tell(process, LOG_LEVEL_ERROR, err.text);
    agent_setup_destroy(next);
    return NULL;
}

/* ---- from one agent to the next ------------------------------------------------------------------ */

static bool same_log(const struct app_log *a, const struct app_log *b)
{
    return strcmp(a->file, b->file) == 0 && a->level == b->level && a->format == b->format &&
           a->rotate.size_bytes == b->rotate.size_bytes && a->rotate.keep == b->rotate.keep;
}

/* Open the log that ${next} asks for. If that fails, the agent keeps the log that it has. */
static void change_log(
    struct agent_process *process, const struct app_config *before, const struct app_config *next)
{
    struct error err;
    if (!same_log(&before->agent.log, &next->agent.log) &&
        !agent_process_open_log(process, next, &err)) {
        log_write_as(process->log, LOG_CAUSE_LOG, LOG_LEVEL_WARNING, NULL, "reload: %s", err.text);
    }
}

/* False: the process is to stop. Asking for another reload ends the pause, as its cause may have been
 * corrected. */
static bool pause_before_retry(
    struct agent_process *process, uint64_t pause_ns, bool *ret_asked_to_reload)
{
    uint64_t until = plat_monotonic_ns() + pause_ns;
    bool in_time = true;
    plat_mutex_lock(&process->mutex);
    while (in_time && !process->asked_to_stop && !process->asked_to_reload) {
        in_time = plat_cond_wait_until(&process->changed, &process->mutex, until);
    }
    bool stops = process->asked_to_stop;
    *ret_asked_to_reload = process->asked_to_reload;
    process->asked_to_reload = false;
    plat_mutex_unlock(&process->mutex);
    return !stops;
}

static void count(struct agent_process *process, bool done)
{
    plat_mutex_lock(&process->mutex);
    process->loads.reloads += done;
    process->loads.failed_reloads += !done;
    process->loads.refused = !done;
    plat_mutex_unlock(&process->mutex);
}

/* The file says again what runs. */
static void set_accepted(struct agent_process *process)
{
    plat_mutex_lock(&process->mutex);
    process->loads.refused = false;
    plat_mutex_unlock(&process->mutex);
}

static void say(struct agent_process *process, const char *text)
{
    const struct agent_keeper *keeper = process->settings->keeper;
    tell(process, LOG_LEVEL_INFO, text);
    if (keeper) {
        keeper->reloaded(keeper->self, text);
    }
}

/* The process is to stop: sessions that were left running hold unread events, so an agent starts once more to
 * read them, and stops at once. False: stuck. */
static bool end_takeover(struct agent_process *process, struct agent_setup *setup)
{
    struct error err;
    bool stuck = false;
    if (process->takeover.count && !agent_process_begin(process, setup, &stuck, &err)) {
        tell(process, LOG_LEVEL_ERROR, err.text);
    }
    return !stuck;
}

/* ${shown}: 0 if it is unknown. */
static void refuse(struct agent_process *process, uint64_t shown)
{
    count(process, false);
    plat_mutex_lock(&process->mutex);
    agent_loads_add(&process->loads, plat_now_filetime(), shown, AGENT_LOAD_REFUSED);
    plat_mutex_unlock(&process->mutex);
    tell(process, LOG_LEVEL_ERROR, "new configuration rejected; the previous one stays active");
}

/* What the source says by now, if it can be used and is another one than ${before}. NULL: ${ret_same} or refused. */
static struct agent_setup *read_next(
    struct agent_process *process, const struct agent_setup *before, bool *ret_same)
{
    const struct agent_source *source = process->settings->source;
    struct app_config config;
    *ret_same = false;
    if (!source->read(source->self, &config, tell, process)) {
        refuse(process, 0);
        return NULL;
    }
    if (is_same(before, &config)) {
        app_config_fini(&config);
        *ret_same = true;
        return NULL;
    }
    uint64_t shown = app_digest_shown(&config);
    struct agent_setup *next = prepare(process, before, &config);
    if (!next) {
        refuse(process, shown);
    }
    return next;
}

/* Start an agent of ${next} where none runs, which takes the place of ${*setup}; the setup that is not used is
 * destroyed. False: it does not start; nothing of it is left unless it is stuck. */
static bool begin_next(struct agent_process *process, struct agent_setup **setup,
    struct agent_setup *next, bool *ret_stuck)
{
    struct agent_setup *before = *setup;
    struct error err;
    change_log(process, &before->config, &next->config);
    agent_limits_apply(process, &next->config);
    if (agent_process_begin(process, next, ret_stuck, &err)) {
        agent_setup_destroy(before);
        *setup = next;
        count(process, true);
        agent_server_apply(process, &next->config);
        agent_push_apply(process, &next->config);
        say(process, "the new configuration runs");
        return true;
    }
    count(process, false);
    log_write_as(process->log, LOG_CAUSE_RELOAD_FAILED, LOG_LEVEL_ERROR, NULL,
        "reload: the new configuration does not start: %s. the previous one stays active",
        err.text);
    if (!*ret_stuck) { /* else its threads use the setup and the log */
        change_log(process, &next->config, &before->config);
        agent_limits_apply(process, &before->config);
        agent_setup_destroy(next);
    }
    return false;
}

/* Start the previous configuration, as often as it takes; at each request for a reload, the one that the source
 * has then.
 * Returns early if the process is to stop, or an output is stuck. */
static void go_back(struct agent_process *process, struct agent_setup **setup, bool *ret_stuck)
{
    uint64_t pause_ns = first_pause_ns;
    struct error err;
    bool asked;
    bool same;
    while (!agent_process_begin(process, *setup, ret_stuck, &err)) {
        log_write_as(process->log, LOG_CAUSE_RELOAD_FAILED, LOG_LEVEL_ERROR, "reload",
            "reload: the previous configuration does not start either: %s. trying again", err.text);
        if (*ret_stuck || !pause_before_retry(process, pause_ns, &asked)) {
            return;
        }
        struct agent_setup *next = asked ? read_next(process, *setup, &same) : NULL;
        if (next && (begin_next(process, setup, next, ret_stuck) || *ret_stuck)) {
            return;
        }
        pause_ns = pause_ns * 2 < longest_pause_ns ? pause_ns * 2 : longest_pause_ns;
    }
}

/* The agent of ${*setup} ends, that of ${next} begins, or that of ${*setup} again. The setup that does not run
 * is destroyed. False: stuck. */
static bool change(struct agent_process *process, struct agent_setup **setup,
    struct agent_setup *next, struct agent_run_result *result)
{
    bool stuck = false;
    agent_make_way(process->agent, next);
    if (!agent_process_end(process, result)) {
        return false; /* and so is the process: nothing is freed */
    }
    if (agent_process_is_stopping(process)) {
        agent_setup_destroy(next);
        return end_takeover(process, *setup);
    }
    if (!begin_next(process, setup, next, &stuck) && !stuck) {
        go_back(process, setup, &stuck);
    }
    return !stuck;
}

/* ---- all of it ------------------------------------------------------------------------------------ */

static void set_begun(struct agent_process *process)
{
    plat_mutex_lock(&process->mutex);
    process->asked_to_reload = false;
    process->reloads_begun++;
    plat_mutex_unlock(&process->mutex);
    agent_process_wake(process);
}

static void set_over(struct agent_process *process)
{
    plat_mutex_lock(&process->mutex);
    process->reloads_over = process->reloads_begun;
    plat_mutex_unlock(&process->mutex);
    agent_process_wake(process);
}

static bool reload(
    struct agent_process *process, struct agent_setup **setup, struct agent_run_result *result)
{
    bool same;
    struct agent_setup *next = read_next(process, *setup, &same);
    if (same) {
        set_accepted(process);
        say(process, AGENT_RELOAD_SAME);
    }
    return !next || change(process, setup, next, result);
}

bool agent_reload(
    struct agent_process *process, struct agent_setup **setup, struct agent_run_result *result)
{
    set_begun(process);
    bool whole = reload(process, setup, result);
    set_over(process);
    return whole;
}
