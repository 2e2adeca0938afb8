#include "app/config/app_fields.h"
#include "app/config/app_listen.h"
#include "config/config_check.h"
#include "config/config_text.h"
#include "etw/etw_api.h"
#include "event/formats/event_format.h"
#include "event/write/event_writer.h"
#include "evt/evt_api.h"

static void check_session(
    const struct config *memory, const struct app_session *session, struct config_report *report)
{
    if (session->ops->needs_etw && !etw_api_has_sessions()) {
        config_error_at(memory, &session->type, sizeof(session->type), report,
            "type: '%s' needs Windows: this system has no ETW. read recorded traces with type: "
            "file, or write enabled: false",
            session->type);
    }
}

static void check_event_log(
    const struct config *memory, const struct app_session *session, struct config_report *report)
{
    if (session->ops->needs_eventlog && !evt_api_is_there()) {
        config_error_at(memory, &session->type, sizeof(session->type), report,
            "type: '%s' needs Windows: this system has no Windows Event Log. read saved logs "
            "(.evtx) with type: file, or write enabled: false",
            session->type);
    }
}

static void check_output(
    const struct config *memory, const struct app_output *output, struct config_report *report)
{
    if (!event_format_find(span_text(app_config_format(output)))) {
        config_error_at(memory, &output->format, sizeof(output->format), report,
            "format: '%s' is not in this build. write native", app_config_format(output));
    }
    config_check_report(memory, output->ops->can_run, output->settings, report);
}

static void check_spool(const struct app_config *config, struct config_report *report)
{
    if (config->spool.mode == APP_SPOOL_DURABLE && !app_config_data_dir(config)) {
        const int *mode = &config->root->spool.mode;
        config_error_at(config->memory, mode, sizeof(*mode), report,
            "events wait in a folder, and this system has no default for it. set agent.data_dir, "
            "or spool.mode: memory, which keeps no events over a restart");
    }
}

bool app_config_can_run(const struct app_config *config, struct config_report *report)
{
    size_t before = report->error_count;
    for (size_t i = 0; i < config->session_count; i++) {
        if (config->sessions[i].enabled) {
            check_session(config->memory, &config->sessions[i], report);
            check_event_log(config->memory, &config->sessions[i], report);
        }
    }
    for (size_t i = 0; i < config->output_count; i++) {
        if (config->outputs[i].enabled) {
            check_output(config->memory, &config->outputs[i], report);
        }
    }
    check_spool(config, report);
    app_listen_can_run(config, report);
    return report->error_count == before;
}

bool app_config_can_serve(const struct app_config *config, struct config_report *report)
{
    size_t before = report->error_count;
    for (size_t i = 0; i < config->session_count; i++) {
        const struct app_session *session = &config->sessions[i];
        struct input_live live = session->enabled && session->ops->live
                                     ? session->ops->live(session->settings)
                                     : (struct input_live){.launch = NULL};
        if (live.launch && !live.launch_in_service) {
            config_error_at(config->memory, &session->type, sizeof(session->type), report,
                "launch: a service would run the program with its own rights and few privileges, "
                "and without a desktop. name it in processes instead, or write in_service: true");
        }
    }
    return report->error_count == before;
}
