#include "cli/run_service.h"

#include <stdio.h>

#include "platform/plat_path.h"
#include "platform/plat_system.h"
#include "service/service_host.h"

struct running {
    const struct cli_args *args;
    run_service_fn *run;
    bool stuck;
    struct service_host *host;
};

static void hear_log(void *self, enum log_level level, const char *text)
{
    struct running *running = self;
    if (level <= LOG_LEVEL_WARNING) {
        service_host_tell(running->host,
            level == LOG_LEVEL_ERROR ? SERVICE_MESSAGE_ERROR : SERVICE_MESSAGE_WARNING, text);
    }
}

/* What `run` says on stderr itself: why it does not begin. */
static void hear_cli(void *self, const char *text)
{
    service_host_tell(((struct running *)self)->host, SERVICE_MESSAGE_CONFIG, text);
}

static void on_started(void *self)
{
    struct running *running = self;
    char text[1024];
    const char *config = cli_value(running->args, "config");
    snprintf(text, sizeof(text), "etwship " ETWSHIP_VERSION " runs, with the configuration %s",
        config ? config : plat_default_config_path());
    service_host_tell(running->host, SERVICE_MESSAGE_STARTED, text);
    service_host_ready(running->host);
}

static void on_reloaded(void *self, const char *text)
{
    char said[1024];
    snprintf(said, sizeof(said), "reload: %s", text);
    service_host_tell(((struct running *)self)->host, SERVICE_MESSAGE_STARTED, said);
}

/* The log of a service that has no file for it: in the folder of logs, if somebody made one. */
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

static int run_work(void *self, struct service_host *host)
{
    struct running *running = self;
    char path[1024];
    running->host = host;
    struct agent_keeper keeper = {.started = on_started,
        .reloaded = on_reloaded,
        .hear = hear_log,
        .log_path = find_log_path(path, sizeof(path)),
        .self = running};
    cli_listen(hear_cli, running);
    int exit_code = running->run(running->args, &keeper, &running->stuck);
    cli_listen(NULL, NULL);
    return exit_code;
}

static void stop_work(void *self)
{
    (void)self;
    agent_run_stop();
}

static void reload_work(void *self)
{
    (void)self;
    agent_run_reload();
}

int run_service(const struct cli_args *args, run_service_fn *run, bool *ret_stuck)
{
    struct running running = {.args = args, .run = run};
    const struct service_host_work work = {
        .run = run_work, .stop = stop_work, .reload = reload_work, .self = &running};
    struct error err;
    int exit_code;
    if (!service_api_has_services()) {
        cli_error("run --service: this system has no Windows services. leave --service out");
        return EXIT_USAGE;
    }
    if (service_host_run(&work, &exit_code, &err)) {
        *ret_stuck = running.stuck;
        return exit_code;
    }
    if (err.code != ERR_MISSING) {
        cli_error("%s", err.text);
        return EXIT_FAILED;
    }
    cli_warning("run --service: %s. it goes on at this terminal", err.text);
    return run(args, NULL, ret_stuck);
}
