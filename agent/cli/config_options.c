#include "cli/config_options.h"

#include <stdio.h>
#include <string.h>

#include "app/app_modules.h"
#include "app/app_policy.h"
#include "platform/plat_system.h"

/* Print ${report}, if there is something in it, and be done with it. */
static void finish(struct config_report *report)
{
    struct buf text;
    buf_init(&text, 1024 * 1024);
    config_report_write(report, "etwship: ", &text);
    cli_lines(strcmp(report->kind, "warning") == 0, buf_span(&text));
    buf_fini(&text);
    config_report_fini(report);
}

/* At a terminal a file that was asked for is looked at; a service reads what the policy demands. */
static const char *find_path(const struct cli_args *args, const struct app_policy *policy)
{
    const char *demanded = policy->texts[APP_POLICY_CONFIG_FILE];
    const char *given = cli_value(args, "config");
    bool is_asked_for = given && !cli_value(args, "service");
    return *demanded && !is_asked_for ? demanded : given ? given : plat_default_config_path();
}

const char *config_options_path(const struct cli_args *args, char path[CONFIG_OPTIONS_PATH_BYTES])
{
    struct app_policy policy;
    if (!app_policy_read(&policy, NULL)) {
        policy = (struct app_policy){.texts = {""}};
    }
    snprintf(path, CONFIG_OPTIONS_PATH_BYTES, "%s", find_path(args, &policy));
    return path;
}

/* Read ${path} again, with what ${policy} makes of ${config}, if that is anything. */
static bool apply(const struct app_policy *policy, const char *path,
    const struct app_config_options *options, struct app_config *config,
    struct config_report *report)
{
    struct app_config_options whole = *options;
    struct app_policy_settings settings;
    struct error err;
    if (!app_policy_settings_init(&settings, policy, config, &err)) {
        config_report_add(report, path, 0, 0, "%s", err.text);
        app_config_fini(config);
        return false;
    }
    bool good = true;
    if (settings.count) {
        app_config_fini(config);
        whole.policies = settings.texts;
        whole.policy_count = settings.count;
        good = app_config_load(path, app_modules(), &whole, config, report);
    }
    app_policy_settings_fini(&settings);
    return good;
}

static bool load(
    const struct cli_args *args, struct app_config *ret_config, struct config_report *report)
{
    const char *settings[CONFIG_MAX_OVERRIDES];
    const struct app_config_options options = {.settings = settings,
        .setting_count = cli_values(args, "set", settings, CONFIG_MAX_OVERRIDES)};
    struct app_policy policy;
    struct error err;
    bool is_known = app_policy_read(&policy, &err);
    const char *path = find_path(args, &policy);
    if (!is_known) {
        config_report_add(report, path, 0, 0, "%s", err.text);
        return false;
    }
    return app_config_load(path, app_modules(), &options, ret_config, report) &&
           apply(&policy, path, &options, ret_config, report);
}

bool config_options_load(const struct cli_args *args, struct app_config *ret_config)
{
    static struct config_report report;
    config_report_init(&report);
    bool good = load(args, ret_config, &report);
    finish(&report);
    return good;
}

bool config_options_reload(const struct cli_args *args, bool is_service,
    struct app_config *ret_config, void (*tell)(void *self, const char *line), void *self)
{
    static struct config_report report;
    config_report_init(&report);
    bool good = load(args, ret_config, &report);
    if (good && (!app_config_can_run(ret_config, &report) ||
                    (is_service && !app_config_can_serve(ret_config, &report)))) {
        app_config_fini(ret_config);
        good = false;
    }
    for (size_t i = 0; i < report.line_count; i++) {
        tell(self, report.lines[i].text);
    }
    config_report_fini(&report);
    return good;
}

bool config_options_remarks(const struct cli_args *args, const struct app_config *config,
    void (*tell)(void *self, const char *line), void *self)
{
    static struct config_report report;
    bool strict = cli_value(args, "strict") != NULL;
    config_report_init(&report);
    report.kind = strict ? "error" : "warning";
    config_report_remarks(config->memory, &report);
    bool good = !strict || config_report_ok(&report);
    if (!tell) {
        finish(&report);
        return good;
    }
    for (size_t i = 0; i < report.line_count; i++) {
        tell(self, report.lines[i].text);
    }
    config_report_fini(&report);
    return good;
}

int config_options_run(const struct cli_args *args,
    int (*work)(const struct cli_args *args, const struct app_config *config))
{
    struct app_config config;
    if (!config_options_load(args, &config)) {
        return EXIT_USAGE;
    }
    int exit_code = work(args, &config);
    app_config_fini(&config);
    return exit_code;
}

bool config_options_can_run(const struct app_config *config)
{
    static struct config_report report;
    config_report_init(&report);
    bool good = app_config_can_run(config, &report);
    finish(&report);
    return good;
}

bool config_options_can_serve(const struct app_config *config)
{
    static struct config_report report;
    config_report_init(&report);
    bool good = app_config_can_serve(config, &report);
    finish(&report);
    return good;
}
