#ifndef ETWSHIP_CLI_CONFIG_OPTIONS_H
#define ETWSHIP_CLI_CONFIG_OPTIONS_H

#include "app/config/app_config.h"
#include "app/plan/app_policy.h"
#include "cli/options/cli.h"

/* What commands that take a configuration have in common. */

#define CLI_OPTIONS_CONFIG                                                                       \
    {.name = "config",                                                                           \
        .letter = 'c',                                                                           \
        .argument = "FILE",                                                                      \
        .help = "The configuration; without it, the system's: /etc/etwship/etwship.yaml, on "    \
                "Windows %ProgramData%\\etwship\\config\\etwship.yaml."},                        \
    {                                                                                            \
        .name = "set", .argument = "KEY=VALUE", .repeated = true,                                \
        .help = "Set a value on top of the configuration, as in outputs.local.path=/tmp/x or "   \
                "sessions.0.enabled=false: elements of lists go by their name or their number. " \
                "A value that starts with [ or { is read as YAML."                               \
    }

enum { CONFIG_OPTIONS_PATH_BYTES = 32768 };

/* The path of the configuration: what --config names, else what the policy of the machine demands, else the
 * system's. For a service what the policy demands comes first. Returns ${path}. */
const char *config_options_path(const struct cli_args *args, char path[CONFIG_OPTIONS_PATH_BYTES]);

/* What a configuration is made of. */
struct config_options_sources {
    struct app_policy policy; /* of the machine; empty where it makes no sense */
    const char *path;
    struct app_config_options options; /* what the policy demands among them, once that is known */
    const char *settings[CONFIG_MAX_OVERRIDES];
    struct app_policy_settings demanded;
};

/*
 * Load what --config and --set name, with what the policy of the machine demands on top (app_policy.h). False:
 * everything wrong is in ${report}. ${ret_sources} is filled either way, stays where it is, and is freed with
 * config_options_forget.
 */
bool config_options_read(const struct cli_args *args, struct config_options_sources *ret_sources,
    struct app_config *ret_config, struct config_report *report);
void config_options_forget(struct config_options_sources *sources);

/* The same; everything wrong is said on stderr. */
bool config_options_load(const struct cli_args *args, struct app_config *ret_config);

/* The same, and ${work} on it; the exit code. */
int config_options_run(const struct cli_args *args,
    int (*work)(const struct cli_args *args, const struct app_config *config));

/* Can it run here? If not, everything that keeps it from that is said on stderr. */
bool config_options_can_run(const struct app_config *config);

/* The same of what a service does not run. */
bool config_options_can_serve(const struct app_config *config);

/* Tell of what is valid but hardly meant (config_report_remarks), a line each; ${tell} NULL: on stderr. False: there are
 * some, and ${args} have --strict. */
bool config_options_remarks(const struct cli_args *args, const struct app_config *config,
    void (*tell)(void *self, const char *line), void *self);

/* Load it again, on one thread: what is wrong, or keeps it from running, goes to ${tell} and not to stderr, a
 * line each. False: nothing was loaded. */
bool config_options_reload(const struct cli_args *args, bool is_service,
    struct app_config *ret_config, void (*tell)(void *self, const char *line), void *self);

#endif
