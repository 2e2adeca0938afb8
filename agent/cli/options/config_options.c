#include "cli/options/config_options.h"

#include <stdio.h>
#include <string.h>

#include "app/config/app_modules.h"
#include "platform/plat_system.h"

/* Print ${report} if it is not empty, and free it. */
static void finish(struct config_report *report)
{
    struct buf text;
    buf_init(&text, 1024 * 1024);
    config_report_write(report, "etwship: ", &text);
    cli_lines(strcmp(report->kind, "warning") == 0, buf_span(&text));
    buf_fini(&text);
    config_report_fini(report);
}

/* At a terminal --config comes first; for a service the policy comes first. */
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

/* Read it again with the policy's settings for ${config}, if there are any. */
static bool apply(
    struct config_options_given *given, struct app_config *config, struct config_report *report)
{
    struct error err;
    if (!app_policy_settings_init(&given->demanded, &given->policy, config, &err)) {
        config_report_add(report, given->path, 0, 0, "%s", err.text);
        app_config_fini(config);
        return false;
    }
    if (!given->demanded.count) {
        return true;
    }
    app_config_fini(config);
    given->options.policies = given->demanded.texts;
    given->options.policy_count = given->demanded.count;
    return app_config_load(given->path, app_modules(), &given->options, config, report);
}

bool config_options_read(const struct cli_args *args, struct config_options_given *ret_given,
    struct app_config *ret_config, struct config_report *report)
{
    struct config_options_given *given = ret_given;
    struct error err;
    *given = (struct config_options_given){.options.settings = given->settings};
    given->options.setting_count = cli_values(args, "set", given->settings, CONFIG_MAX_OVERRIDES);
    bool is_known = app_policy_read(&given->policy, &err);
    if (!is_known) {
        given->policy = (struct app_policy){.texts = {""}};
    }
    given->path = find_path(args, &given->policy);
    if (!is_known) {
        config_report_add(report, given->path, 0, 0, "%s", err.text);
        return false;
    }
    return app_config_load(given->path, app_modules(), &given->options, ret_config, report) &&
           apply(given, ret_config, report);
}

void config_options_fini(struct config_options_given *given)
{
    app_policy_settings_fini(&given->demanded);
}

static bool load(
    const struct cli_args *args, struct app_config *ret_config, struct config_report *report)
{
    struct config_options_given given;
    bool good = config_options_read(args, &given, ret_config, report);
    config_options_fini(&given);
    return good;
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
