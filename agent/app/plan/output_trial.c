#include "app/plan/output_trial.h"

#include <stdio.h>

#include "app/state/agent_identity.h"
#include "event/formats/event_format.h"
#include "event/write/event_path.h"
#include "event/write/event_writer.h"
#include "platform/plat_clock.h"

enum { MAX_BYTES = 1024 * 1024, MAX_REASON = 800 };

struct trial {
    const struct app_config *config;
    const struct app_output *output;
    struct buf tail;
    struct buf event;
    struct buf route;
    char reason[MAX_REASON]; /* of a rejection */
};

static void keep_reason(void *host, size_t record, const struct output_rejection *why)
{
    struct trial *trial = host;
    (void)record;
    snprintf(trial->reason, sizeof(trial->reason), "status %d, %.*s: %.*s", why->status,
        (int)why->type.size, (const char *)why->type.data, (int)why->reason.size,
        (const char *)why->reason.data);
}

/* ---- the event ------------------------------------------------------------------------------- */

static bool write_event(struct trial *trial, struct error *err)
{
    const struct app_agent *agent = &trial->config->agent;
    const struct event_format *format = event_format_find(
        span_text(app_config_format(trial->output)));
    const struct status status = {.counters = span_text("{\"test\":true}"),
        .message = span_text("a test of etwship: this output takes events")};
    if (!format) {
        return error_set(err, ERR_UNSUPPORTED, "its format is not in this build");
    }
    struct agent_identity identity;
    struct event_writer *writer = NULL;
    if (agent_identity_init(&identity, NULL, &agent->labels, &agent->tags, err)) {
        event_tail_render(&identity.agent, &trial->tail);
        const struct event_writer_settings settings = {
            .tail = buf_span(&trial->tail), .agent = &identity.agent};
        writer = event_writer_create(&settings, err);
    }
    if (writer) {
        format->status(writer, &status, plat_now_filetime(), 0, &trial->event);
        event_writer_destroy(writer);
    }
    agent_identity_fini(&identity);
    bool failed = trial->event.failed || trial->tail.failed;
    return writer && (!failed || error_set(err, ERR_LIMIT, "the event is too long"));
}

static bool render_route(struct trial *trial, const char *text, struct error *err)
{
    struct event_template *template = event_template_create(
        span_text(text), trial->output->ops->route_safety, err);
    if (!template) {
        return false;
    }
    struct event_path_context context;
    bool good = event_path_context_init(&context, NULL, err);
    if (good) {
        event_template_render_own(
            template, "status", NULL, plat_now_filetime(), &context, &trial->route);
        event_path_context_fini(&context);
    }
    event_template_destroy(template);
    return good;
}

/* ---- the delivery ---------------------------------------------------------------------------- */

static bool judge(const struct trial *trial, enum output_verdict verdict,
    const struct output_report *report, struct error *err)
{
    const char *text = report->error.text;
    switch (verdict) {
    case OUTPUT_DELIVERED:
        return true;
    case OUTPUT_MIXED:
        if (report->records[0] == RECORD_DELIVERED) {
            return true;
        }
        break;
    case OUTPUT_REJECTED:
    case OUTPUT_RETRY:
    case OUTPUT_RECONNECT:
    case OUTPUT_FATAL:
        break;
    }
    return trial->reason[0]
               ? error_set(err, ERR_IO, "the test event was refused: %s", trial->reason)
               : error_set(err, ERR_IO, "%s",
                     text[0] ? text : "the destination did not accept the test event");
}

static bool send_event(struct trial *trial, void *object, bool routed, struct error *err)
{
    const struct output_ops *ops = trial->output->ops;
    uint32_t end = (uint32_t)trial->event.size;
    uint32_t route = 0;
    struct span route_name = buf_span(&trial->route);
    enum record_status status = RECORD_RETRY;
    struct delivery delivery = {
        .bytes = buf_span(&trial->event), .record_ends = &end, .record_count = 1};
    if (routed) {
        delivery.routes = &route;
        delivery.route_names = &route_name;
        delivery.route_count = 1;
    }
    struct output_report report = {.records = &status, .reject = keep_reason, .host = trial};
    if (ops->connect && !ops->connect(object, err)) {
        return false;
    }
    bool good = judge(trial, ops->send(object, &delivery, &report), &report, err);
    if (ops->disconnect) {
        ops->disconnect(object);
    }
    return good;
}

bool output_trial_run(const struct app_config *config, const struct app_output *output,
    void (*note)(void *host, const char *text), struct error *err)
{
    const struct output_ops *ops = output->ops;
    struct trial trial = {.config = config, .output = output};
    struct output_env env = {
        .name = output->name, .format = app_config_format(output), .note = note};
    const char *route = ops->route ? ops->route(output->settings) : NULL;
    buf_init(&trial.tail, MAX_BYTES);
    buf_init(&trial.event, MAX_BYTES);
    buf_init(&trial.route, MAX_BYTES);
    bool good = write_event(&trial, err) && (!route || render_route(&trial, route, err));
    void *object = good ? ops->create(output->settings, &env, err) : NULL;
    good = object && send_event(&trial, object, route != NULL, err);
    ops->destroy(object);
    buf_fini(&trial.route);
    buf_fini(&trial.event);
    buf_fini(&trial.tail);
    return good;
}
