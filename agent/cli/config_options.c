#include "cli/config_options.h"

#include <string.h>

#include "app/app_modules.h"
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

static bool load(
    const struct cli_args *args, struct app_config *ret_config, struct config_report *report)
{
    const char *settings[CONFIG_MAX_OVERRIDES];
    const struct app_config_options options = {.settings = settings,
        .setting_count = cli_values(args, "set", settings, CONFIG_MAX_OVERRIDES)};
    const char *path = cli_value(args, "config");
    return app_config_load(
        path ? path : plat_default_config_path(), app_modules(), &options, ret_config, report);
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
