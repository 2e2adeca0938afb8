#include <stdio.h>
#include <stdlib.h>

#include "app/plan/app_account.h"
#include "app/plan/app_policy.h"
#include "app/plan/app_trust.h"
#include "base/buf.h"
#include "cli/options/config_options.h"
#include "cli/service/left_flags.h"
#include "cli/service/service_health.h"
#include "cli/service/service_setup.h"
#include "cli/text/service_text.h"
#include "config/config_value.h"
#include "platform/plat_path.h"
#include "platform/plat_system.h"
#include "service/service_control.h"

/* `etwship service`: the agent as a Windows service. */

// clang-format off
static const struct cli_option options[] = {
    {.name = "config", .letter = 'c', .argument = "FILE",
        .help = "install: the configuration of the service; without it, "
                "%ProgramData%\\etwship\\config\\etwship.yaml."},
    {.name = "account", .argument = "system|virtual",
        .help = "install: system is LocalSystem, with only the privileges that tracing needs. virtual is NT SERVICE\\etwship, an account of its own without a password, "
                "and a member of Performance Log Users: enough for sessions of providers but not for kernel sessions; it needs rights to the folders of configuration and data."},
    {.name = NULL},
};
// clang-format on

enum { PATH_BYTES = 32768 };

/* ---- subcommands: their exit codes ----------------------------------------------------------- */

/* Warn of the sessions that ${account} may not run. */
static void warn_of_rights(const struct app_config *config, enum service_account account)
{
    for (size_t i = 0; i < config->session_count; i++) {
        const struct app_session *session = &config->sessions[i];
        const char *lacks = session->enabled ? app_account_lacks(account, session) : NULL;
        if (lacks) {
            cli_warning("session %s will not start: %s", session->name, lacks);
        }
    }
}

/* True if ${path} is a usable configuration that the service may trust; else prints the reasons.
 * Also warns of sessions that ${account} may not run. ${ret_read}: it is a configuration. */
static bool is_config_good(char *path, enum app_trust_scope scope, enum service_account account,
    void (*tell)(void *self, const char *text), bool *ret_read)
{
    struct app_config config;
    struct cli_args args;
    int exit_code;
    char words[][9] = {"run", "--config"};
    char *argv[] = {words[0], words[1], path};
    bool has_all_rights = account == SERVICE_ACCOUNT_SYSTEM;
    enum app_trust_owner owner = has_all_rights ? APP_TRUST_SYSTEM : APP_TRUST_VIRTUAL;
    bool trusted = false;
    *ret_read = false;
    if (cli_parse(&cmd_run, 3, argv, &args, &exit_code)) {
        if (config_options_load(&args, &config)) {
            *ret_read = config_options_can_run(&config) && config_options_can_serve(&config);
            trusted = *ret_read && app_trust_find(&config, scope, owner, tell, NULL) == 0;
            warn_of_rights(&config, account);
            app_config_fini(&config);
        }
        cli_args_fini(&args);
    }
    return trusted;
}

/* True if the service may trust the readable parts of ${path}. Prints the other parts, and the
 * sessions that ${account} may not run. */
static bool is_config_trusted(char *path, enum app_trust_scope scope, enum service_account account,
    void (*tell)(void *self, const char *text))
{
    bool is_read;
    return is_config_good(path, scope, account, tell, &is_read) || !is_read;
}

static void say_not_installed(void *self, const char *text)
{
    (void)self;
    cli_error("not installed, as others could use the rights of the service. %s", text);
}

/* If others may write the service's program, it would run their code before any check. A
 * configuration may be invalid or missing until the service starts. */
static bool can_install(const char *program, char *config, enum service_account account)
{
    bool is_there;
    uint64_t bytes;
    struct error err;
    if (app_trust_find_program(program, say_not_installed, NULL)) {
        return false;
    }
    if (!plat_path_find(config, &is_there, &bytes, &err)) {
        cli_warning("%s", err.text);
    } else if (is_there) {
        return is_config_trusted(config, APP_TRUST_CONFIG, account, say_not_installed);
    } else {
        cli_warning("%s: there is no such file yet. the service waits for it", config);
    }
    return true;
}

static void warn_of_left_out(service_settings_mask left_out)
{
    for (int i = 0; i < SERVICE_SETTING_COUNT; i++) {
        if (left_out & 1U << i) {
            cli_warning("service %s: this Windows has no %s for services, so it is left out",
                SERVICE_NAME, service_plan_settings[i]);
        }
    }
}

static int install_plan(const struct service_plan *plan)
{
    struct error err;
    service_settings_mask left_out;
    if (!service_control_install(plan, &left_out, &err)) {
        cli_fail(&err);
        return EXIT_FAILED;
    }
    warn_of_left_out(left_out);
    printf("service %s is installed. it starts with the system, or now: etwship service start\n",
        plan->name);
    return EXIT_DONE;
}

/* The value from the machine's policy, which overrides the command line; NULL: neither has one. */
static const char *demanded(const struct app_policy *policy, enum app_policy_value which,
    const struct cli_args *args, const char *option)
{
    const char *given = cli_value(args, option);
    const char *text = policy->texts[which];
    if (*text && given && strcmp(text, given) != 0) {
        cli_warning("the policy %s of this machine overrides --%s: %s", app_policy_names[which],
            option, text);
    }
    return *text ? text : given;
}

static int install(const struct cli_args *args)
{
    const struct service_api *api = service_api_get();
    struct app_policy policy;
    int account = SERVICE_ACCOUNT_SYSTEM;
    struct error err;
    if (!app_policy_read(&policy, &err)) {
        cli_fail(&err);
        return EXIT_USAGE;
    }
    const char *account_text = demanded(&policy, APP_POLICY_SERVICE_ACCOUNT, args, "account");
    const char *config_text = demanded(&policy, APP_POLICY_CONFIG_FILE, args, "config");
    if (account_text &&
        !config_value_enum(span_text(account_text), service_plan_accounts, &account, &err)) {
        cli_error("--account: %s", err.text);
        return EXIT_USAGE;
    }
    char *program = api->program();
    char *config = api->absolute(config_text ? config_text : plat_default_config_path());
    struct service_plan plan;
    int exit_code = EXIT_USAGE;
    if (!program || !config) {
        cli_error("the paths of the program and of the configuration are unknown");
    } else if (!service_plan_init(&plan, program, config, (enum service_account)account, &err)) {
        cli_fail(&err);
    } else {
        exit_code = can_install(program, config, (enum service_account)account)
                        ? install_plan(&plan)
                        : EXIT_USAGE;
        service_plan_fini(&plan);
    }
    free(config);
    free(program);
    return exit_code;
}

static int uninstall(const struct cli_args *args)
{
    struct error err;
    (void)args;
    if (!service_control_uninstall(&err)) {
        cli_fail(&err);
        return EXIT_FAILED;
    }
    left_flags_put_back();
    printf("service %s is removed. its configuration and its data stay\n", SERVICE_NAME);
    return EXIT_DONE;
}

static void say_not_started(void *self, const char *text)
{
    (void)self;
    cli_error("not started, as others could use the rights of the service. %s", text);
}

static enum service_account account_of(const struct service_config *found)
{
    return service_plan_is_system(found->account) ? SERVICE_ACCOUNT_SYSTEM
                                                  : SERVICE_ACCOUNT_VIRTUAL;
}

/* The configuration that the service reads: from the policy of the machine, else from its command.
 * False: its command is not etwship's. */
static bool find_config(const struct service_config *found, char path[PATH_BYTES])
{
    struct app_policy policy;
    bool is_ours = service_plan_config(found->command, path, PATH_BYTES);
    if (is_ours && app_policy_read(&policy, NULL) && *policy.texts[APP_POLICY_CONFIG_FILE]) {
        snprintf(path, PATH_BYTES, "%s", policy.texts[APP_POLICY_CONFIG_FILE]);
    }
    return is_ours;
}

/* The service rejected its configuration: the Event Log has its errors, and the errors found here
 * are printed too. */
static void explain_config(void)
{
    static char path[PATH_BYTES];
    struct service_status status;
    struct service_config found;
    if (!service_control_query(&status, &found, NULL)) {
        return;
    }
    if (find_config(&found, path)) {
        is_config_trusted(path, APP_TRUST_ALL, account_of(&found), say_not_started);
    }
    service_control_config_fini(&found);
}

/* True if there is no usable configuration at ${path}: the service then waits for one. */
static bool lacks_config(const struct service_config *found, char path[PATH_BYTES])
{
    bool is_there;
    uint64_t bytes;
    return find_config(found, path) && plat_path_find(path, &is_there, &bytes, NULL) && !is_there;
}

static void warn_of_missing_config(void)
{
    static char path[PATH_BYTES];
    struct service_status status;
    struct service_config found;
    if (!service_control_query(&status, &found, NULL)) {
        return;
    }
    if (lacks_config(&found, path)) {
        cli_warning("it waits, as there is no configuration %s. the service uses a new one within "
                    "10 s, or at once with `etwship service reload`",
            path);
    }
    service_control_config_fini(&found);
}

static int start_service(void)
{
    struct service_status status;
    struct error err;
    bool before;
    if (!service_control_start(&status, &before, &err)) {
        cli_fail(&err);
        return EXIT_FAILED;
    }
    if (status.state == SERVICE_STATE_RUNNING) {
        printf("service %s %s\n", SERVICE_NAME, before ? "runs already" : "runs");
        warn_of_missing_config();
        return EXIT_DONE;
    }
    if (status.exit_code == SERVICE_OK) {
        printf("service %s has run and stopped\n", SERVICE_NAME);
        return EXIT_DONE;
    }
    if (status.exit_code != SERVICE_E_SPECIFIC_ERROR) {
        service_api_fail(&err, status.exit_code, "service %s: start", SERVICE_NAME);
        cli_fail(&err);
        return EXIT_FAILED;
    }
    cli_error("service %s: it ended with exit code %u. see the Event Log, source %s", SERVICE_NAME,
        status.specific_code, SERVICE_NAME);
    if (status.specific_code != EXIT_USAGE) {
        return EXIT_FAILED;
    }
    explain_config();
    return EXIT_USAGE;
}

static int start(const struct cli_args *args)
{
    (void)args;
    return start_service();
}

static int stop(const struct cli_args *args)
{
    struct error err;
    bool before;
    (void)args;
    if (!service_control_stop(&before, &err)) {
        cli_fail(&err);
        return EXIT_FAILED;
    }
    printf("service %s %s\n", SERVICE_NAME, before ? "does not run" : "has stopped");
    return EXIT_DONE;
}

static void say_not_reloaded(void *self, const char *text)
{
    (void)self;
    cli_error("not reloaded, as others could use the rights of the service. %s", text);
}

/* Errors of the configuration are printed here, not only in the Event Log. */
static bool can_reload(struct error *err)
{
    static char path[PATH_BYTES];
    struct service_status status;
    struct service_config found;
    if (!service_control_query(&status, &found, err)) {
        return cli_fail(err);
    }
    bool is_known = find_config(&found, path);
    enum service_account account = account_of(&found);
    service_control_config_fini(&found);
    bool is_read;
    return !is_known || is_config_good(path, APP_TRUST_ALL, account, say_not_reloaded, &is_read);
}

static int reload(const struct cli_args *args)
{
    struct error err = {.code = ERR_NONE};
    (void)args;
    if (!can_reload(&err)) {
        return err.code == ERR_NONE ? EXIT_USAGE : EXIT_FAILED;
    }
    if (!service_control_reload(&err)) {
        cli_fail(&err);
        return EXIT_FAILED;
    }
    printf("service %s reads its configuration again. the result is in the Event Log, source %s\n",
        SERVICE_NAME, SERVICE_NAME);
    return EXIT_DONE;
}

static int show_status(const struct cli_args *args)
{
    struct service_status status;
    struct service_config config;
    struct error err;
    (void)args;
    if (!service_control_query(&status, &config, &err)) {
        cli_fail(&err);
        return EXIT_FAILED;
    }
    struct buf text;
    buf_init(&text, 1024 * 1024);
    service_text_status(&status, &config, &text);
    static char path[PATH_BYTES];
    if (status.state == SERVICE_STATE_RUNNING && lacks_config(&config, path)) {
        buf_add_text(&text, "idle     there is no configuration\n");
    } else if (status.state == SERVICE_STATE_RUNNING && find_config(&config, path)) {
        service_health_add(path, &text);
    }
    fwrite(text.data, 1, text.size, stdout);
    buf_fini(&text);
    service_control_config_fini(&config);
    return EXIT_DONE;
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct verb {
    const char *name;
    int (*run)(const struct cli_args *args);
} verbs[] = {
    {"install", install},
    {"uninstall", uninstall},
    {"start", start},
    {"stop", stop},
    {"reload", reload},
    {"status", show_status},
};

static int run_verb(const struct cli_args *args)
{
    const struct verb *verb = NULL;
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].name, args->operands[0]) == 0) {
            verb = &verbs[i];
        }
    }
    if (!verb) {
        return EXIT_USAGE; /* cli_parse has refused it */
    }
    if (args->value_count && verb->run != install) {
        cli_error("service %s takes no options. they belong to `service install`", verb->name);
        return EXIT_USAGE;
    }
    if (!service_api_has_services()) {
        cli_error("service: this command is for Windows. here systemd runs `etwship run`: "
                  "systemctl start etwship");
        return EXIT_USAGE;
    }
    return verb->run(args);
}

static int run(const struct cli_command *command, int argc, char **argv)
{
    struct cli_args args;
    int exit_code = service_setup_run(argc - 1, argv + 1, start_service);
    if (exit_code < 0 && cli_parse(command, argc, argv, &args, &exit_code)) {
        exit_code = run_verb(&args);
        cli_args_fini(&args);
    }
    return exit_code;
}

const struct cli_command cmd_service = {
    .name = "service",
    .synopsis =
        "install [-c FILE] [--account system|virtual] | uninstall | start | stop | reload | status",
    .summary = "run the agent as a Windows service",
    .description =
        "install registers the service etwship, which runs `etwship run` with a configuration: it "
        "starts with the system (delayed), restarts after a failure (after 5 s, 30 s, then 5 "
        "minutes), and has 3 minutes to stop before the machine shuts down. uninstall stops and "
        "removes it; configuration and data stay. start and stop wait for completion. reload "
        "checks the configuration and makes the service read it again, without stopping sessions "
        "that remain. status shows the state, and "
        "what `etwship status` says, if the configuration has a section status.\n"
        "Without a configuration, or with one without an enabled session, the service runs and "
        "waits for another one. With an invalid one it does not start.\n"
        "It reports errors, starts and stops in the Event Log (Application, source etwship). The "
        "log of a service is agent.log.file, else "
        "%ProgramData%\\etwship\\logs\\etwship.log if that folder exists.",
    .options = options,
    .examples = "       etwship service install -c C:\\ProgramData\\etwship\\etwship.yaml\n"
                "       etwship service start\n"
                "       etwship service status\n",
    .verbs = "install|uninstall|start|stop|reload|status",
    .operands = {"install, uninstall, start, stop, reload or status", 1, 1},
    .main = run,
};
