#include "cli/service/run_service.h"

#include <stdio.h>
#include <string.h>

#include "app/plan/app_digest.h"
#include "app/plan/app_policy.h"
#include "cli/options/config_options.h"
#include "platform/plat_clock.h"
#include "platform/plat_path.h"
#include "platform/plat_system.h"
#include "platform/plat_thread.h"
#include "service/service_host.h"

/*
 * The service's thread runs the agent, or waits for a configuration. Requests of the service
 * manager arrive on another thread at any time: `mutex` guards the requests and the pointer to the
 * agent.
 */
enum { LOOK_MS = 5000 };

struct running {
    const struct cli_args *args;
    const struct run_service_work *work;
    struct service_host *host;
    struct run_service_end end;
    struct plat_mutex mutex;
    struct plat_cond changed;
    bool has_agent; /* it has started and accepts requests */
    bool asked_to_stop;
    bool asked_to_reload;
};

/* ---- reports --------------------------------------------------------------------------------- */

/* Messages with an event id of their own; others have one per severity. */
static enum service_message message_of(enum log_level level, enum log_cause cause)
{
    static const struct {
        enum log_level level;
        enum service_message message;
    } causes[LOG_CAUSE_COUNT] = {
        [LOG_CAUSE_UNTRUSTED] = {LOG_LEVEL_ERROR, SERVICE_MESSAGE_UNTRUSTED},
        [LOG_CAUSE_RELOAD_REFUSED] = {LOG_LEVEL_ERROR, SERVICE_MESSAGE_RELOAD_REFUSED},
        [LOG_CAUSE_RELOAD_FAILED] = {LOG_LEVEL_ERROR, SERVICE_MESSAGE_RELOAD_FAILED},
        [LOG_CAUSE_SESSION] = {LOG_LEVEL_WARNING, SERVICE_MESSAGE_SESSION},
        [LOG_CAUSE_SESSION_FAILED] = {LOG_LEVEL_ERROR, SERVICE_MESSAGE_SESSION_FAILED},
        [LOG_CAUSE_BUDGET] = {LOG_LEVEL_WARNING, SERVICE_MESSAGE_BUDGET},
        [LOG_CAUSE_TRACE] = {LOG_LEVEL_WARNING, SERVICE_MESSAGE_TRACE},
        [LOG_CAUSE_NO_MATCH] = {LOG_LEVEL_WARNING, SERVICE_MESSAGE_NO_MATCH},
        [LOG_CAUSE_DEFINITIONS] = {LOG_LEVEL_WARNING, SERVICE_MESSAGE_DEFINITIONS},
        [LOG_CAUSE_RULE] = {LOG_LEVEL_WARNING, SERVICE_MESSAGE_RULE},
        [LOG_CAUSE_OUTPUT] = {LOG_LEVEL_WARNING, SERVICE_MESSAGE_OUTPUT},
        [LOG_CAUSE_OUTPUT_ENDED] = {LOG_LEVEL_ERROR, SERVICE_MESSAGE_OUTPUT_ENDED},
        [LOG_CAUSE_DEAD_LETTERS] = {LOG_LEVEL_WARNING, SERVICE_MESSAGE_DEAD_LETTERS},
        [LOG_CAUSE_UNDELIVERED] = {LOG_LEVEL_WARNING, SERVICE_MESSAGE_UNDELIVERED},
        [LOG_CAUSE_SPOOL] = {LOG_LEVEL_WARNING, SERVICE_MESSAGE_SPOOL},
        [LOG_CAUSE_LIMITS] = {LOG_LEVEL_WARNING, SERVICE_MESSAGE_LIMITS},
        [LOG_CAUSE_MEMORY] = {LOG_LEVEL_WARNING, SERVICE_MESSAGE_MEMORY},
        [LOG_CAUSE_LOG] = {LOG_LEVEL_WARNING, SERVICE_MESSAGE_LOG},
    };
    if (cause != LOG_CAUSE_OTHER && causes[cause].level == level) {
        return causes[cause].message;
    }
    return level == LOG_LEVEL_ERROR ? SERVICE_MESSAGE_ERROR : SERVICE_MESSAGE_WARNING;
}

static void on_log(void *self, enum log_level level, enum log_cause cause, const char *text)
{
    struct running *running = self;
    if (level <= LOG_LEVEL_WARNING) {
        service_host_tell(running->host, message_of(level, cause), text);
    }
}

/* Messages of `run` on stderr: why it does not start. */
static void on_printed(void *self, bool is_warning, const char *text)
{
    service_host_tell(((struct running *)self)->host,
        is_warning ? SERVICE_MESSAGE_CONFIG_REMARK : SERVICE_MESSAGE_CONFIG, text);
}

/* The current path, as a policy may have changed. Valid until the next call, on the service's
 * thread. */
static const char *config_path(const struct running *running)
{
    static char path[CONFIG_OPTIONS_PATH_BYTES];
    return config_options_path(running->args, path);
}

static void tell_started(struct running *running)
{
    char text[1024];
    snprintf(text, sizeof(text), "etwship " ETWSHIP_VERSION " runs, with the configuration %s",
        config_path(running));
    service_host_tell(running->host, SERVICE_MESSAGE_STARTED, text);
}

static void tell_idle(struct running *running)
{
    bool no_config = running->end.idle == RUN_SERVICE_NO_CONFIG;
    char text[1024];
    snprintf(text, sizeof(text),
        "etwship " ETWSHIP_VERSION " waits: %s %s. it uses a new one when it is written, or at "
        "once with `etwship service reload`",
        no_config ? "there is no configuration" : "no session is enabled in the configuration",
        config_path(running));
    service_host_tell(running->host,
        no_config ? SERVICE_MESSAGE_IDLE_NO_CONFIG : SERVICE_MESSAGE_IDLE_NO_SESSION, text);
}

static void on_reloaded(void *self, const char *text)
{
    char line[1024];
    bool is_same = strcmp(text, AGENT_RELOAD_SAME) == 0;
    snprintf(line, sizeof(line), "reload: %s", text);
    service_host_tell(((struct running *)self)->host,
        is_same ? SERVICE_MESSAGE_RELOAD_SAME : SERVICE_MESSAGE_RELOADED, line);
}

/* The default log file of a service: in the folder of logs, if that exists. */
static const char *find_log_path(char *path, size_t size)
{
    const char *folder = plat_default_data_folder();
    if (!folder || (size_t)snprintf(path, size, "%s/logs", folder) >= size) {
        return NULL;
    }
    struct plat_stamp stamp = plat_path_stamp(path);
    bool is_there = stamp.id || stamp.modified;
    return is_there && (size_t)snprintf(path, size, "%s/logs/etwship.log", folder) < size ? path
                                                                                          : NULL;
}

/* ---- the agent ------------------------------------------------------------------------------- */

/* Pass requests that arrived before the agent existed. */
static void on_started(void *self)
{
    struct running *running = self;
    plat_mutex_lock(&running->mutex);
    running->has_agent = true;
    bool stops = running->asked_to_stop;
    bool reloads = running->asked_to_reload;
    plat_mutex_unlock(&running->mutex);
    tell_started(running);
    service_host_ready(running->host);
    if (stops) {
        agent_run_stop();
    } else if (reloads) {
        agent_run_reload();
    }
}

/* True if the file exists. If that is unknown, the agent opens it and reports the failure. An
 * unreadable policy counts as a file: the agent fails with it and reports why. */
static bool has_config(const struct running *running)
{
    struct app_policy policy;
    bool is_there;
    uint64_t bytes;
    if (!app_policy_read(&policy, NULL)) {
        return true;
    }
    return !plat_path_find(config_path(running), &is_there, &bytes, NULL) || is_there;
}

/* Run the agent to its end. Returns its exit code. ${ret_ran}: it has started. */
static int run_once(struct running *running, const struct agent_keeper *keeper, bool *ret_ran)
{
    plat_mutex_lock(&running->mutex);
    running->asked_to_reload = false; /* it is read now */
    plat_mutex_unlock(&running->mutex);
    *ret_ran = false;
    if (!has_config(running)) {
        running->end = (struct run_service_end){.idle = RUN_SERVICE_NO_CONFIG};
        return EXIT_DONE;
    }
    int exit_code = running->work->run(running->args, keeper, &running->end);
    plat_mutex_lock(&running->mutex);
    *ret_ran = running->has_agent;
    running->has_agent = false;
    plat_mutex_unlock(&running->mutex);
    return exit_code;
}

/* ---- without work ---------------------------------------------------------------------------- */

/* Wait for a reload request, or until the configuration differs from ${read} and two checks find it
 * equal. False: stop. */
static bool wait_for_work(struct running *running, const struct app_digest *read)
{
    uint32_t look_ms = running->work->look_ms ? running->work->look_ms : LOOK_MS;
    struct app_digest seen = *read;
    bool is_new = false;
    plat_mutex_lock(&running->mutex);
    while (!running->asked_to_stop && !running->asked_to_reload && !is_new) {
        uint64_t until_ns = plat_monotonic_ns() + look_ms * UINT64_C(1000000);
        if (!plat_cond_wait_until(&running->changed, &running->mutex, until_ns)) {
            plat_mutex_unlock(&running->mutex);
            struct app_digest now;
            app_digest_sources(config_path(running), &now);
            is_new = app_digest_equal(&now, &seen) && !app_digest_equal(&now, read);
            seen = now;
            plat_mutex_lock(&running->mutex);
        }
    }
    bool goes_on = !running->asked_to_stop;
    plat_mutex_unlock(&running->mutex);
    return goes_on;
}

/* An invalid configuration does not end a waiting service, as it does not end a running one. After
 * a reload without sessions the service reads the configuration once more, so that a change during
 * the agent's end is not missed. */
static int run_and_wait(struct running *running, const struct agent_keeper *keeper)
{
    bool is_up = false;
    for (;;) {
        struct app_digest read;
        app_digest_sources(config_path(running), &read);
        bool has_run;
        int exit_code = run_once(running, keeper, &has_run);
        bool is_wrong = is_up && exit_code == EXIT_USAGE;
        if (running->end.stuck || (running->end.idle == RUN_SERVICE_BUSY && !is_wrong)) {
            return exit_code;
        }
        is_up = true;
        if (has_run) {
            continue;
        }
        if (running->end.idle != RUN_SERVICE_BUSY) {
            tell_idle(running);
        }
        service_host_ready(running->host);
        if (!wait_for_work(running, &read)) {
            return EXIT_DONE;
        }
    }
}

/* ---- the service ----------------------------------------------------------------------------- */

static int run_work(void *self, struct service_host *host)
{
    struct running *running = self;
    char path[1024];
    running->host = host;
    struct agent_keeper keeper = {.started = on_started,
        .reloaded = on_reloaded,
        .hear = on_log,
        .log_path = find_log_path(path, sizeof(path)),
        .self = running};
    cli_listen(on_printed, running);
    int exit_code = run_and_wait(running, &keeper);
    cli_listen(NULL, NULL);
    return exit_code;
}

static void stop_work(void *self)
{
    struct running *running = self;
    plat_mutex_lock(&running->mutex);
    running->asked_to_stop = true;
    bool has_agent = running->has_agent;
    plat_mutex_unlock(&running->mutex);
    plat_cond_signal(&running->changed);
    if (has_agent) {
        agent_run_stop();
    }
}

static void reload_work(void *self)
{
    struct running *running = self;
    plat_mutex_lock(&running->mutex);
    running->asked_to_reload = true;
    bool has_agent = running->has_agent;
    plat_mutex_unlock(&running->mutex);
    plat_cond_signal(&running->changed);
    if (has_agent) {
        agent_run_reload();
    }
}

int run_service(const struct cli_args *args, const struct run_service_work *work,
    struct run_service_end *ret_end)
{
    /* Never freed: the service manager may still call while the process ends. */
    static struct running running;
    running = (struct running){.args = args, .work = work};
    const struct service_host_work host_work = {
        .run = run_work, .stop = stop_work, .reload = reload_work, .self = &running};
    struct error err;
    int exit_code;
    *ret_end = (struct run_service_end){.stuck = false};
    if (!service_api_has_services()) {
        cli_error("run --service: this system has no Windows services. leave --service out");
        return EXIT_USAGE;
    }
    plat_mutex_init(&running.mutex);
    plat_cond_init(&running.changed);
    if (service_host_run(&host_work, &exit_code, &err)) {
        *ret_end = running.end;
        return exit_code;
    }
    if (err.code != ERR_MISSING) {
        cli_error("%s", err.text);
        return EXIT_FAILED;
    }
    cli_warning("run --service: %s. it continues at this terminal", err.text);
    return work->run(args, NULL, ret_end);
}
