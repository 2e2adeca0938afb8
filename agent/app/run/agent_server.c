#include "app/run/agent_server.h"

#include <stdlib.h>

#include "app/config/app_listen.h"
#include "app/log/log.h"
#include "app/run/agent_runner.h"
#include "app/run/agent_tap.h"
#include "app/run/agent_view.h"
#include "app/watch/agent_history.h"
#include "base/put.h"
#include "config/config_image.h"
#include "status/metric_json.h"
#include "status/metric_text.h"
#include "status/status_page.h"
#include "status/status_server.h"

/*
 * Each answer is one view of the agent (agent_view.h), written on the server's thread after the
 * agent was returned: a slow client holds only its connection.
 */
struct agent_server {
    struct agent_runner *runner;
    struct tap_hub *taps;

    /* Of the thread of agent_run. */
    struct status_server *server; /* NULL: it does not listen */
    struct buf image;             /* of the settings with which it listens */

    /* Of the server's thread. */
    struct agent_history *history; /* NULL: it has never listened */
    struct metric_set set;
    struct agent_health health;
    struct arena names;
};

enum { NAMES_MAX_BYTES = 1 << 20, MAX_FORMAT_BYTES = 64 };

/* ---- pages ----------------------------------------------------------------------------------- */

static bool look(struct agent_server *server, bool with_metrics)
{
    metric_set_reset(&server->set);
    arena_reset(&server->names);
    return agent_view_take(
        server->runner, with_metrics ? &server->set : NULL, &server->health, &server->names);
}

static void add_requests(struct agent_server *server, struct status_server_counts counts)
{
    metric_set_label(&server->set, 0, span_text("answered"));
    metric_set_number(&server->set, METRIC_STATUS_REQUESTS, counts.answered);
    metric_set_label(&server->set, 0, span_text("refused"));
    metric_set_number(&server->set, METRIC_STATUS_REQUESTS, counts.refused);
    metric_set_label(&server->set, 0, span_text("dropped"));
    metric_set_number(&server->set, METRIC_STATUS_REQUESTS, counts.dropped);
}

static bool accepts(const struct status_request *request, const char *type)
{
    size_t size = strlen(type);
    for (size_t i = 0; i + size <= request->accept.size; i++) {
        if (span_equal_nocase(span_make(request->accept.data + i, size), span_text(type))) {
            return true;
        }
    }
    return false;
}

static void answer_metrics(
    struct agent_server *server, const struct status_request *request, struct status_reply *reply)
{
    enum metric_text_format format = accepts(request, "application/openmetrics-text")
                                         ? METRIC_TEXT_OPENMETRICS
                                         : METRIC_TEXT_PROMETHEUS;
    reply->type = metric_text_type(format);
    reply->body.failed = !look(server, true);
    add_requests(server, reply->counts);
    metric_text_write(&server->set, format, &reply->body);
}

/* The beginning of an element of a list. */
static void add_time(struct buf *out, uint64_t time)
{
    uint8_t stamp[PUT_MAX];
    uint8_t *end = stamp;
    put_filetime(&end, time);
    buf_printf(out, "%s{\"time\":\"%.*s\"", out->size && out->data[out->size - 1] == '[' ? "" : ",",
        (int)(end - stamp), (const char *)stamp);
}

static void add_line(
    void *self, uint64_t time, enum log_level level, enum log_cause cause, const char *text)
{
    struct buf *out = self;
    add_time(out, time);
    buf_printf(out, ",\"level\":\"%s\",\"id\":\"%s\",\"text\":", log_level_names[level],
        log_cause_name(cause));
    metric_json_string(span_text(text), out);
    buf_add_text(out, ",\"what_to_do\":");
    metric_json_string(span_text(log_cause_what_to_do(cause)), out);
    buf_add_byte(out, '}');
}

/* The newest first. */
static void add_loads(const struct agent_loads *loads, struct buf *out)
{
    static const char *const results[] = {[AGENT_LOAD_RUNS] = "runs",
        [AGENT_LOAD_REFUSED] = "refused",
        [AGENT_LOAD_FAILED] = "failed"};
    for (size_t i = 0; i < AGENT_LOADS_KEPT && i < loads->count; i++) {
        const struct agent_load *load = &loads->last[(loads->count - 1 - i) % AGENT_LOADS_KEPT];
        add_time(out, load->time);
        if (load->shown) {
            buf_printf(out, ",\"hash\":\"%016llx\"", (unsigned long long)load->shown);
        }
        buf_printf(out, ",\"result\":\"%s\"}", results[load->result]);
    }
}

static void answer_status(struct agent_server *server, struct status_reply *reply)
{
    struct agent_runner_view process;
    reply->type = "application/json";
    reply->body.failed = !look(server, true);
    buf_add_text(&reply->body, "{\"version\":\"" ETWSHIP_VERSION "\",\"health\":");
    agent_health_json(&server->health, &reply->body);
    buf_add_byte(&reply->body, ',');
    metric_json_members(&server->set, &reply->body);
    agent_runner_look(server->runner, &process);
    buf_add_text(&reply->body, ",\"loads\":[");
    add_loads(&process.loads, &reply->body);
    buf_add_text(&reply->body, "],\"recent\":[");
    log_recent(agent_runner_hold_log(server->runner), add_line, &reply->body);
    agent_runner_release_log(server->runner);
    buf_add_text(&reply->body, "]}\n");
}

static bool wants_text(const struct status_request *request)
{
    struct buf format;
    buf_init(&format, MAX_FORMAT_BYTES);
    bool is_text = status_request_query(request, "format", &format) &&
                   span_is(buf_span(&format), "text");
    buf_fini(&format);
    return is_text;
}

static void answer_health(struct agent_server *server, const struct status_request *request,
    bool only_ready, struct status_reply *reply)
{
    bool is_text = wants_text(request);
    reply->type = is_text ? "text/plain; charset=utf-8" : "application/json";
    reply->body.failed = !look(server, false);
    bool good = only_ready ? server->health.ready : server->health.healthy;
    reply->status = good ? 200 : 503;
    if (is_text) {
        agent_health_text(&server->health, &reply->body);
    } else {
        agent_health_json(&server->health, &reply->body);
        buf_add_byte(&reply->body, '\n');
    }
}

static void answer(
    void *self, const struct status_request *request, bool trusted, struct status_reply *reply)
{
    struct agent_server *server = self;
    reply->status = 200;
    if (span_is(request->path, "/metrics")) {
        answer_metrics(server, request, reply);
    } else if (span_is(request->path, "/status")) {
        answer_status(server, reply);
    } else if (span_is(request->path, "/health")) {
        answer_health(server, request, false, reply);
    } else if (span_is(request->path, "/ready")) {
        answer_health(server, request, true, reply);
    } else if (span_is(request->path, "/history")) {
        reply->type = "application/json";
        agent_history_json(server->history, &reply->body);
    } else if (span_is(request->path, "/tap")) {
        agent_tap_answer(server->runner, server->taps, request, trusted, reply);
    } else if (span_is(request->path, "/")) {
        reply->type = "text/html; charset=utf-8";
        reply->headers = STATUS_PAGE_HEADERS;
        buf_add_span(&reply->body, status_page());
    } else {
        reply->status = 404;
        reply->type = "text/plain; charset=utf-8";
        buf_add_text(&reply->body, "available: / /metrics /health /ready /status /history /tap\n");
    }
}

static void mark(void *self)
{
    struct agent_server *server = self;
    if (look(server, true)) {
        agent_history_mark(server->history, &server->set);
    }
}

static void log_request(void *self, const char *line)
{
    struct agent_runner *runner = ((struct agent_server *)self)->runner;
    struct log *log = agent_runner_hold_log(runner);
    log_write_as(log, LOG_CAUSE_STATUS, LOG_LEVEL_DEBUG, NULL, "%s", line);
    agent_runner_release_log(runner);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void write_image(const struct app_status *wanted, struct buf *image)
{
    buf_init(image, CONFIG_IMAGE_MAX_BYTES);
    config_image_write(app_status_fields, wanted, image, NULL, NULL);
}

/* With TLS never, as the files may have changed. */
static bool is_same(const struct agent_server *server, const struct app_status *wanted)
{
    struct buf image;
    write_image(wanted, &image);
    bool same = !wanted->tls.cert && !image.failed && !server->image.failed &&
                span_equal(buf_span(&image), buf_span(&server->image));
    buf_fini(&image);
    return same;
}

static bool start(struct agent_server *server, const struct app_status *wanted, struct error *err)
{
    struct status_server_settings settings = {.local_name = app_listen_local(wanted),
        .token = wanted->token,
        .tls_cert = wanted->tls.cert,
        .tls_key = wanted->tls.key,
        .open_path = "/",
        .answer = answer,
        .tick = mark,
        .tick_ms = AGENT_HISTORY_EVERY_MS,
        .log = log_request,
        .self = server};
    if (wanted->listen &&
        !app_listen_parse(wanted->listen, &settings.address, &settings.port, err)) {
        return false;
    }
    server->history = server->history ? server->history : agent_history_create();
    if (!server->history) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    write_image(wanted, &server->image);
    server->server = status_server_start(&settings, err);
    return server->server != NULL;
}

static void stop(struct agent_server *server)
{
    status_server_stop(server->server);
    server->server = NULL;
    buf_fini(&server->image);
}

struct agent_server *agent_server_create(struct agent_runner *runner, struct tap_hub *taps)
{
    struct agent_server *server = calloc(1, sizeof(*server));
    if (server) {
        server->runner = runner;
        server->taps = taps;
        metric_set_init(&server->set);
        arena_init(&server->names, NAMES_MAX_BYTES);
    }
    return server;
}

void agent_server_apply(struct agent_server *server, const struct app_config *config)
{
    const struct app_status *wanted = &config->status;
    const char *local = app_listen_local(wanted);
    struct error err;
    if (server->server && is_same(server, wanted)) {
        return;
    }
    stop(server);
    if (!wanted->listen && !local) {
        return;
    }
    bool listens = start(server, wanted, &err);
    struct log *log = agent_runner_hold_log(server->runner);
    if (!listens) {
        log_write_as(log, LOG_CAUSE_STATUS, LOG_LEVEL_ERROR, NULL,
            "status: %s. the status server does not run", err.text);
    } else {
        log_write_as(log, LOG_CAUSE_STATUS, LOG_LEVEL_INFO, NULL, "status: served at %s%s%s",
            wanted->listen ? wanted->listen : "", wanted->listen && local ? " and " : "",
            local ? local : "");
    }
    agent_runner_release_log(server->runner);
}

void agent_server_destroy(struct agent_server *server)
{
    if (server) {
        stop(server);
        metric_set_fini(&server->set);
        arena_fini(&server->names);
        agent_history_destroy(server->history);
        free(server);
    }
}
