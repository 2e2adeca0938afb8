#include <stdio.h>

#include "app/plan/app_trust.h"
#include "app/run/agent_run.h"
#include "cli/options/config_options.h"
#include "cli/service/run_service.h"
#include "platform/plat_file.h"
#include "platform/plat_self.h"

/* `etwship run`: the agent with its configuration. */

// clang-format off
static const struct cli_option options[] = {
    CLI_OPTIONS_CONFIG,
    {.name = "max-events", .letter = 'n', .argument = "N",
        .help = "Stop each session after N events, counted before filters."},
    {.name = "duration", .argument = "D",
        .help = "Shut down after this time, as in 90s or 1h30m."},
    {.name = "strict",
        .help = "Exit with 3 if an event could not be decoded completely, or if a provider or the "
                "filters of a session with recorded traces matched nothing; and with 2, before "
                "anything starts, if an include fits no file."},
    {.name = "service",
        .help = "On Windows, as the service of this command line: only the service control manager "
                "starts it so (`etwship service`)."},
    {.name = NULL},
};
// clang-format on

/* A suspended terminal must not keep the agent from ending. */
static void put_words(struct span text)
{
    enum { READER_WAIT_MS = 1000 };
    size_t written;
    struct plat_file *file = plat_file_stderr_open(NULL);
    if (file) {
        plat_file_write_some(file, text, READER_WAIT_MS, &written, NULL);
    }
    plat_file_close(file);
}

static int exit_code_of(const struct agent_run_result *result, bool strict)
{
    struct buf text;
    buf_init(&text, 1024 * 1024);
    summary_write(result->summary, &text);
    put_words(buf_span(&text));
    buf_fini(&text);
    if (result->failed_sessions) {
        return EXIT_FAILED;
    }
    bool asked_too_much = strict && (result->raw || result->partial || result->unmatched);
    return result->damaged || result->undelivered || result->rejected || asked_too_much
               ? EXIT_LOSSES
               : EXIT_DONE;
}

/* ---- reloading ------------------------------------------------------------------------------- */

/* The sources of the configuration, and the log for errors when it is read again. */
struct reading {
    const struct cli_args *args;
    bool is_service;
    void (*tell)(void *self, enum log_level level, const char *line);
    void *tell_self;
};

static void tell_error(void *self, const char *line)
{
    const struct reading *reading = self;
    reading->tell(reading->tell_self, LOG_LEVEL_ERROR, line);
}

static void tell_include(void *self, const char *line)
{
    const struct reading *reading = self;
    bool strict = cli_value(reading->args, "strict") != NULL;
    reading->tell(reading->tell_self, strict ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING, line);
}

static void tell_untrusted(void *self, const char *text)
{
    const struct reading *reading = self;
    char line[LOG_MAX_TEXT_BYTES];
    snprintf(line, sizeof(line), "others could use the rights of %s. %s",
        reading->is_service ? "the service" : "this process", text);
    reading->tell(
        reading->tell_self, reading->is_service ? LOG_LEVEL_ERROR : LOG_LEVEL_WARNING, line);
}

static bool read_again(void *self, struct app_config *ret_config,
    void (*tell)(void *tell_self, enum log_level level, const char *line), void *tell_self)
{
    struct reading *reading = self;
    reading->tell = tell;
    reading->tell_self = tell_self;
    if (!config_options_reload(
            reading->args, reading->is_service, ret_config, tell_error, reading)) {
        return false;
    }
    if (!config_options_remarks(reading->args, ret_config, tell_include, reading)) {
        app_config_fini(ret_config);
        return false;
    }
    bool asks = reading->is_service || app_trust_matters();
    bool trusted = app_trust_find(ret_config, asks ? APP_TRUST_ALL : APP_TRUST_OUTPUTS,
                       APP_TRUST_PROCESS, tell_untrusted, reading) == 0;
    if (reading->is_service && !trusted) {
        app_config_fini(ret_config);
        return false;
    }
    return true;
}

/* ---- running --------------------------------------------------------------------------------- */

/* ${ret_end}->stuck: an output is still inside a call and uses the configuration. */
static int run_config(const struct cli_args *args, const struct app_config *config,
    const struct agent_keeper *keeper, struct run_service_end *ret_end)
{
    static struct reading origin; /* never freed: an output is stuck */
    static const struct agent_config_reader config_reader = {.read = read_again, .self = &origin};
    origin = (struct reading){.args = args, .is_service = keeper != NULL};
    struct agent_run_settings settings = {.config = config,
        .config_reader = &config_reader,
        .keeper = keeper,
        .colors = plat_is_terminal(1) && !plat_no_color()};
    if (!cli_count(args, "max-events", &settings.max_events) ||
        !cli_duration(args, "duration", &settings.duration_ns)) {
        return EXIT_USAGE;
    }
    struct agent_run_result result;
    struct error err;
    bool ok = agent_run(&settings, &result, &err);
    ret_end->stuck = result.stuck;
    ret_end->idle = ok && result.idle && !result.stopped ? RUN_SERVICE_NO_SESSION
                                                         : RUN_SERVICE_BUSY;
    if (!ok) {
        cli_error("%s", err.text);
        return err.code == ERR_CONFIG ? EXIT_USAGE : EXIT_FAILED;
    }
    int exit_code = exit_code_of(&result, cli_value(args, "strict") != NULL);
    summary_destroy(result.summary);
    return exit_code;
}

static void add_warning(void *self, const char *text)
{
    buf_printf(self, "etwship: warning: others could use the rights of this process. %s\n", text);
}

static void add_error(void *self, const char *text)
{
    const struct agent_keeper *keeper = self;
    char line[LOG_MAX_TEXT_BYTES];
    snprintf(
        line, sizeof(line), "not started, as others could use the rights of the service. %s", text);
    keeper->hear(keeper->self, LOG_LEVEL_ERROR, LOG_CAUSE_UNTRUSTED, line);
}

/* Check that no other account can change the agent's files. A user with more rights gets a warning;
 * a service does not start. */
static bool is_trusted(const struct app_config *config, const struct agent_keeper *keeper)
{
    struct buf text;
    if (keeper) {
        return app_trust_find(config, APP_TRUST_ALL, APP_TRUST_PROCESS, add_error,
                   (void *)(uintptr_t)keeper) == 0;
    }
    buf_init(&text, 1024 * 1024);
    if (app_trust_find(config, app_trust_matters() ? APP_TRUST_ALL : APP_TRUST_OUTPUTS,
            APP_TRUST_PROCESS, add_warning, &text)) {
        put_words(buf_span(&text));
    }
    buf_fini(&text);
    return true;
}

static void add_log_warning(void *self, const char *text)
{
    const struct agent_keeper *keeper = self;
    char line[LOG_MAX_TEXT_BYTES];
    snprintf(
        line, sizeof(line), "no log file, as others could use the rights of the service. %s", text);
    keeper->hear(keeper->self, LOG_LEVEL_WARNING, LOG_CAUSE_LOG, line);
}

/* ${keeper}, which may be NULL, without its log file if others could redirect that. */
static const struct agent_keeper *trusted_keeper(
    const struct app_config *config, const struct agent_keeper *keeper)
{
    static struct agent_keeper kept; /* never freed: an output is stuck */
    if (!keeper || !keeper->log_path ||
        app_trust_find_log(config, keeper->log_path, add_log_warning, (void *)(uintptr_t)keeper) ==
            0) {
        return keeper;
    }
    kept = *keeper;
    kept.log_path = NULL;
    return &kept;
}

/* A service without work waits for a configuration; at a terminal the run ends at once. */
static int run_loaded(const struct cli_args *args, const struct app_config *config,
    const struct agent_keeper *keeper, struct run_service_end *ret_end)
{
    if (!config_options_remarks(args, config, NULL, NULL) || !config_options_can_run(config) ||
        (keeper && !config_options_can_serve(config)) || !is_trusted(config, keeper)) {
        return EXIT_USAGE;
    }
    if (keeper && !app_config_has_session(config)) {
        ret_end->idle = RUN_SERVICE_NO_SESSION;
        return EXIT_DONE;
    }
    return run_config(args, config, trusted_keeper(config, keeper), ret_end);
}

/* If an output is stuck, ${args}, which the caller owns, stays in use forever. */
static int run_kept(
    const struct cli_args *args, const struct agent_keeper *keeper, struct run_service_end *ret_end)
{
    struct app_config config;
    *ret_end = (struct run_service_end){.stuck = false};
    if (!config_options_load(args, &config)) {
        return EXIT_USAGE;
    }
    int exit_code = run_loaded(args, &config, keeper, ret_end);
    if (!ret_end->stuck) {
        app_config_fini(&config);
    }
    return exit_code;
}

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct cli_args args;
    int exit_code;
    struct run_service_end end;
    if (!cli_parse(command, argc, argv, &args, &exit_code)) {
        return exit_code;
    }
    if (!cli_value(&args, "service")) {
        exit_code = run_kept(&args, NULL, &end);
    } else {
        exit_code = run_service(&args, &(struct run_service_work){.run = run_kept}, &end);
    }
    if (!end.stuck) {
        cli_args_fini(&args);
    }
    return exit_code;
}

const struct cli_command cmd_run = {
    .name = "run",
    .synopsis = "[-c FILE] [--set KEY=VALUE]... [--duration D] [-n N] [--strict]",
    .summary = "run the agent with a configuration",
    .description = "Reads the configuration, runs its sessions and ships their events to its "
                   "outputs. It ends when every finite source is delivered, and shuts down at the "
                   "first SIGINT or SIGTERM (Ctrl-C). It prints a summary at the end.\n"
                   "After SIGHUP it reads the configuration again. A valid one becomes active, and "
                   "sessions in both do not stop. An invalid one is rejected with a log line, and "
                   "the previous one stays active. The log file is reopened, too.\n"
                   "All errors in the configuration are reported at once, as FILE:LINE:COLUMN: "
                   "error: what. what to do.",
    .options = options,
    .examples = "       etwship run -c etwship.yaml\n",
    .main = run,
};
