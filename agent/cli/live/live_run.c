#include "cli/live/live_run.h"

#include <stdio.h>

#include "app/config/app_modules.h"
#include "app/plan/provider_selection.h"
#include "app/run/agent_run.h"
#include "base/text/nearest.h"
#include "cli/live/watch_output.h"
#include "etw/etw_api.h"
#include "etw/etw_hold.h"
#include "etw/session/etw_control.h"
#include "event/value/value_json.h"
#include "evt/evt_api.h"
#include "input/live/kernel_flags.h"
#include "platform/plat_self.h"
#include "platform/plat_signal.h"

/*
 * The configuration is written as JSON, which is YAML, and read back like any other, so the same
 * code checks it. `$`, which begins a variable, is escaped.
 */
enum { MAX_CONFIG_BYTES = 1024 * 1024, MAX_ETW_NAME = 64 };

/* ---- options --------------------------------------------------------------------------------- */

static bool is_flag(const char *command, const char *text)
{
    uint32_t mask;
    if (kernel_flags_find(span_text(text), &mask)) {
        return true;
    }
    struct nearest nearest = {.text = span_text(text)};
    for (size_t i = 0; kernel_flags_name(i); i++) {
        nearest_consider(&nearest, span_text(kernel_flags_name(i)));
    }
    struct span meant = nearest_meant(&nearest);
    if (meant.size) {
        cli_error("%s: there are no kernel events called '%s'. did you mean %.*s?", command, text,
            SPAN_ARG(meant));
    } else {
        cli_error("%s: there are no kernel events called '%s'", command, text);
    }
    return false;
}

static bool are_providers(const struct live_run_settings *settings)
{
    struct error err;
    struct provider_selection *selection = provider_selection_create(
        settings->providers, settings->provider_count, &err);
    if (!selection) {
        cli_error("%s", err.text);
    }
    provider_selection_destroy(selection);
    return selection != NULL;
}

/* Channels have no providers to enable, and need no rights to trace. */
static bool take_logs(
    const struct cli_args *args, struct live_run_settings *settings, int *ret_exit)
{
    if (settings->provider_count + settings->flag_count) {
        cli_error("%s: --log excludes --provider and --kernel-flag. select events with --where",
            settings->name);
        return false;
    }
    if (!cli_duration(args, "duration", &settings->duration_ns)) {
        return false;
    }
    if (!evt_api_is_there()) {
        cli_error(
            "%s: this system has no Windows Event Log. `etwship dump` reads saved logs (.evtx) "
            "anywhere",
            settings->name);
        *ret_exit = EXIT_FAILED;
        return false;
    }
    return true;
}

bool live_run_take(const struct cli_args *args, const char **lists, bool takes_logs,
    struct live_run_settings *settings, int *ret_exit)
{
    *ret_exit = EXIT_USAGE;
    settings->providers = lists;
    settings->provider_count = cli_values(args, "provider", lists, LIVE_RUN_MAX_NAMES);
    settings->flags = lists + LIVE_RUN_MAX_NAMES;
    settings->flag_count = cli_values(
        args, "kernel-flag", lists + LIVE_RUN_MAX_NAMES, LIVE_RUN_MAX_NAMES);
    settings->logs = lists + (size_t)2 * LIVE_RUN_MAX_NAMES;
    settings->log_count = takes_logs
                              ? cli_values(args, "log", lists + (size_t)2 * LIVE_RUN_MAX_NAMES,
                                    LIVE_RUN_MAX_NAMES)
                              : 0;
    if (settings->log_count) {
        return take_logs(args, settings, ret_exit);
    }
    if (settings->provider_count + settings->flag_count == 0) {
        cli_error(takes_logs
                      ? "%s: --provider PROVIDER, --kernel-flag FLAG or --log CHANNEL is missing"
                      : "%s: --provider PROVIDER or --kernel-flag FLAG is missing",
            settings->name);
        return false;
    }
    if (!cli_duration(args, "duration", &settings->duration_ns)) {
        return false;
    }
    for (size_t i = 0; i < settings->flag_count; i++) {
        if (!is_flag(settings->name, settings->flags[i])) {
            return false;
        }
    }
    if (!are_providers(settings)) {
        return false;
    }
    if (!etw_api_has_sessions()) {
        cli_error("%s: this system has no Event Tracing for Windows. `etwship dump` reads recorded "
                  "traces anywhere",
            settings->name);
        *ret_exit = EXIT_FAILED;
        return false;
    }
    return true;
}

/* ---- configuration --------------------------------------------------------------------------- */

/* A literal string. */
static void add_text(struct buf *out, const char *text)
{
    struct buf escaped;
    buf_init(&escaped, MAX_CONFIG_BYTES);
    for (const char *p = text; *p; p++) {
        if (p[0] == '$' && p[1] == '{') {
            buf_add_byte(&escaped, '$');
        }
        buf_add_byte(&escaped, (uint8_t)*p);
    }
    out->failed |= escaped.failed;
    value_json_string(buf_span(&escaped), out);
    buf_fini(&escaped);
}

static void add_list(struct buf *out, const char *key, const char *const *items, size_t count)
{
    buf_printf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        buf_add_text(out, i ? "," : "");
        add_text(out, items[i]);
    }
    buf_add_byte(out, ']');
}

static const char *type_of(const struct live_run_settings *settings)
{
    return settings->log_count    ? "eventlog"
           : settings->record     ? "record"
           : settings->flag_count ? "system"
                                  : "realtime";
}

static void add_session(const struct live_run_settings *settings, struct buf *out)
{
    buf_printf(out, "\"sessions\":[{\"type\":\"%s\",\"name\":\"%s-%u\"", type_of(settings),
        settings->name, plat_process_id());
    if (settings->provider_count) {
        add_list(out, "providers", settings->providers, settings->provider_count);
    }
    if (settings->flag_count) {
        add_list(out, "flags", settings->flags, settings->flag_count);
    }
    if (settings->log_count) {
        add_list(out, "channels", settings->logs, settings->log_count);
    }
    if (settings->where) {
        buf_add_text(out, ",\"filters\":[{\"keep\":");
        add_text(out, settings->where);
        buf_add_text(out, "},{\"drop\":\"true\"}]");
    }
    if (settings->record) {
        buf_add_text(out, ",\"log_file\":{\"path\":");
        add_text(out, settings->record);
        buf_add_byte(out, '}');
    } else if (settings->log_count) {
        buf_add_text(out, ",\"start\":\"now\"");
    } else {
        buf_add_text(out, ",\"flush\":\"200ms\""); /* a person watches */
    }
    buf_add_text(out, "}]");
}

static void add_config(const struct live_run_settings *settings, struct buf *out)
{
    buf_add_text(out, "{\"agent\":{\"log\":{\"level\":\"warning\",\"stats\":\"0s\"}},"
                      "\"spool\":{\"mode\":\"memory\"},");
    if (settings->schema_count) {
        buf_add_text(out, "\"schema\":[");
        for (size_t i = 0; i < settings->schema_count; i++) {
            buf_add_text(
                out, i ? ",{\"type\":\"folder\",\"path\":" : "{\"type\":\"folder\",\"path\":");
            add_text(out, settings->schemas[i]);
            buf_add_byte(out, '}');
        }
        buf_add_text(out, "],");
    }
    add_session(settings, out);
    if (settings->output) {
        buf_printf(out, ",\"outputs\":[{\"type\":\"%s\"}]}\n", settings->output->name);
        return;
    }
    buf_printf(out, ",\"outputs\":[{\"type\":\"watch\",\"style\":\"%s\",\"format\":\"%s\"",
        settings->pretty ? "pretty" : "ndjson", settings->format ? settings->format : "native");
    buf_printf(out, ",\"max_events\":%llu}]}\n", (unsigned long long)settings->max_events);
}

/* The inputs of this build, and only the output of this command. */
static struct app_registry modules(const struct live_run_settings *settings)
{
    static const struct output_ops *outputs[1];
    struct app_registry registry = *app_modules();
    outputs[0] = settings->output ? settings->output : &watch_output_ops;
    registry.outputs = outputs;
    registry.output_count = 1;
    return registry;
}

static void tell(const struct config_report *report)
{
    for (size_t i = 0; i < report->line_count; i++) {
        cli_error("%s", report->lines[i].what);
    }
}

static bool make_config(const struct live_run_settings *settings, struct app_config *ret_config)
{
    static struct config_report report;
    struct app_registry registry = modules(settings);
    struct buf text;
    buf_init(&text, MAX_CONFIG_BYTES);
    add_config(settings, &text);
    config_report_init(&report);
    bool good = !text.failed && app_config_parse(buf_span(&text), "command line", &registry, NULL,
                                    ret_config, &report);
    if (good && !app_config_can_run(ret_config, &report)) {
        app_config_fini(ret_config);
        good = false;
    }
    if (text.failed) {
        cli_error("the command line is too long");
    }
    tell(&report);
    config_report_fini(&report);
    buf_fini(&text);
    return good;
}

/* ---- running --------------------------------------------------------------------------------- */

/* A second signal ends the process at once. */
static void stop_session(void *self)
{
    etw_control_stop(self, NULL, NULL);
}

static int exit_code_of(const struct agent_run_result *result)
{
    if (result->failed_sessions) {
        return EXIT_FAILED;
    }
    return result->undelivered || result->rejected ? EXIT_LOSSES : EXIT_DONE;
}

int live_run(const struct live_run_settings *settings)
{
    static char etw_name[MAX_ETW_NAME]; /* outlives this call, as signals may come late */
    static struct app_config config;    /* also if an output is stuck */
    if (!make_config(settings, &config)) {
        return EXIT_USAGE;
    }
    snprintf(etw_name, sizeof(etw_name), ETW_OUR_PREFIX "%s-%u", settings->name, plat_process_id());
    struct agent_run_settings run = {.config = &config,
        .schema_pack = settings->pack,
        .schema_tmf = settings->tmf,
        .duration_ns = settings->duration_ns,
        .colors = settings->pretty && plat_is_terminal(1) && !plat_no_color(),
        .once = true};
    struct agent_run_result result;
    struct error err;
    plat_on_kill(stop_session, etw_name);
    bool good = agent_run(&run, &result, &err);
    int exit_code = good ? exit_code_of(&result) : EXIT_FAILED;
    if (good) {
        summary_destroy(result.summary);
    } else {
        cli_error("%s", err.text);
    }
    if (!result.stuck) {
        app_config_fini(&config);
    }
    plat_on_kill(NULL, NULL);
    return exit_code;
}
