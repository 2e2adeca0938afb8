#include "app/agent_reload.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "app/agent_internal.h"
#include "platform/plat_system.h"

static const uint64_t first_pause_ns = UINT64_C(1000000000);
static const uint64_t longest_pause_ns = UINT64_C(60000000000);

/* ---- before anything ends ----------------------------------------------------------------------- */

static void tell(void *self, enum log_level level, const char *line)
{
    log_write(((struct agent_process *)self)->log, level, NULL, "reload: %s", line);
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
               "agent.data_dir is another one. it changes by a restart: stop and start the agent");
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

/* One that cannot be had keeps nobody from running. */
static void change_log(
    struct agent_process *process, const struct app_config *before, const struct app_config *next)
{
    struct error err;
    if (!same_log(&before->agent.log, &next->agent.log) &&
        !agent_process_open_log(process, next, &err)) {
        tell(process, LOG_LEVEL_WARNING, err.text);
    }
}

/* False: the process is to stop. Asking for another reload ends the pause, as what keeps it from starting may
 * have been mended. */
static bool pause_before_retry(struct agent_process *process, uint64_t pause_ns)
{
    uint64_t until = plat_monotonic_ns() + pause_ns;
    bool in_time = true;
    plat_mutex_lock(&process->mutex);
    while (in_time && !process->asked_to_stop && !process->asked_to_reload) {
        in_time = plat_cond_wait_until(&process->changed, &process->mutex, until);
    }
    bool stops = process->asked_to_stop;
    plat_mutex_unlock(&process->mutex);
    return !stops;
}

/* Start what ran before, as often as it takes. False: the process is to stop. */
static bool go_back(struct agent_process *process, struct agent_setup *setup, bool *ret_stuck)
{
    uint64_t pause_ns = first_pause_ns;
    struct error err;
    while (!agent_process_begin(process, setup, ret_stuck, &err)) {
        log_write(process->log, LOG_LEVEL_ERROR, "reload",
            "reload: the configuration of before does not start either: %s. trying again",
            err.text);
        if (*ret_stuck || !pause_before_retry(process, pause_ns)) {
            return false;
        }
        pause_ns = pause_ns * 2 < longest_pause_ns ? pause_ns * 2 : longest_pause_ns;
    }
    return true;
}

static void count(struct agent_process *process, bool done)
{
    plat_mutex_lock(&process->mutex);
    process->loads.reloads += done;
    process->loads.failed_reloads += !done;
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

/* The process is to stop: sessions that were left running hold what nobody has read, so an agent comes for it
 * once more, and stops at once. False: stuck. */
static bool end_heritage(struct agent_process *process, struct agent_setup *setup)
{
    struct error err;
    bool stuck = false;
    if (process->heritage.count && !agent_process_begin(process, setup, &stuck, &err)) {
        tell(process, LOG_LEVEL_ERROR, err.text);
    }
    return !stuck;
}

/* The agent of ${*setup} ends, that of ${next} begins, or that of ${*setup} again. The setup that does not run
 * is destroyed. False: stuck. */
static bool change(struct agent_process *process, struct agent_setup **setup,
    struct agent_setup *next, struct agent_run_result *result)
{
    struct agent_setup *before = *setup;
    struct error err;
    bool stuck;
    agent_make_way(process->agent, next);
    if (!agent_process_end(process, result)) {
        return false; /* and so is the process: nothing is freed */
    }
    if (agent_process_is_stopping(process)) {
        agent_setup_destroy(next);
        return end_heritage(process, before);
    }
    change_log(process, &before->config, &next->config);
    if (agent_process_begin(process, next, &stuck, &err)) {
        agent_setup_destroy(before);
        *setup = next;
        count(process, true);
        say(process, "the new configuration runs");
        return true;
    }
    count(process, false);
    log_write(process->log, LOG_LEVEL_ERROR, NULL,
        "reload: the new configuration does not start: %s. the one of before goes on", err.text);
    change_log(process, &next->config, &before->config);
    if (stuck) {
        return false;
    }
    agent_setup_destroy(next);
    go_back(process, before, &stuck);
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

static void refuse(struct agent_process *process)
{
    count(process, false);
    tell(process, LOG_LEVEL_ERROR, "the configuration is not used. the one of before goes on");
}

static bool reload(
    struct agent_process *process, struct agent_setup **setup, struct agent_run_result *result)
{
    const struct agent_source *source = process->settings->source;
    struct app_config config;
    if (!source->read(source->self, &config, tell, process)) {
        refuse(process);
        return true;
    }
    if (is_same(*setup, &config)) {
        app_config_fini(&config);
        say(process, "nothing has changed");
        return true;
    }
    struct agent_setup *next = prepare(process, *setup, &config);
    if (!next) {
        refuse(process);
        return true;
    }
    return change(process, setup, next, result);
}

bool agent_reload(
    struct agent_process *process, struct agent_setup **setup, struct agent_run_result *result)
{
    set_begun(process);
    bool whole = reload(process, setup, result);
    set_over(process);
    return whole;
}
