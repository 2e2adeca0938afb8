#ifndef ETWSHIP_CLI_CONFIG_OPTIONS_H
#define ETWSHIP_CLI_CONFIG_OPTIONS_H

#include "app/config/app_config.h"
#include "app/plan/app_policy.h"
#include "cli/options/cli.h"

/* Shared by commands with a configuration. */

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

/* The path of the configuration: from --config, else from the policy of the machine, else the
 * system's. For a service the policy comes first. Returns ${path}. */
const char *config_options_path(const struct cli_args *args, char path[CONFIG_OPTIONS_PATH_BYTES]);

/* What a configuration is read from. */
struct config_options_given {
    struct app_policy policy; /* policy of the machine; empty if it is invalid */
    const char *path;
    struct app_config_options options; /* the settings of the policy among them, once known */
    const char *settings[CONFIG_MAX_OVERRIDES];
    struct app_policy_settings demanded;
};

/*
 * Load the configuration of --config and --set, with the settings of the machine's policy on top
 * (app_policy.h). False: all errors are in ${report}. ${ret_given} is filled in either case, must
 * not move, and is freed with config_options_fini.
 */
bool config_options_read(const struct cli_args *args, struct config_options_given *ret_given,
    struct app_config *ret_config, struct config_report *report);
void config_options_fini(struct config_options_given *given);

/* As config_options_read, but prints errors to stderr. */
bool config_options_load(const struct cli_args *args, struct app_config *ret_config);

/* True if it can run here; else prints the reasons to stderr. */
bool config_options_can_run(const struct app_config *config);

/* True if a service can run it; else prints the reasons to stderr. */
bool config_options_can_serve(const struct app_config *config);

/* Report warnings (config_report_remarks), a line each; ${tell} NULL: on stderr. False: there are
 * some, and ${args} have --strict. */
bool config_options_remarks(const struct cli_args *args, const struct app_config *config,
    void (*tell)(void *self, const char *line), void *self);

/* Load it again, always on one thread: errors go to ${tell} instead of stderr, a line each. False:
 * nothing was loaded. */
bool config_options_reload(const struct cli_args *args, bool is_service,
    struct app_config *ret_config, void (*tell)(void *self, const char *line), void *self);

#endif
