#include "outputs/otlp/otlp_try.h"

#include <stdio.h>

#include "outputs/http/http_headers.h"
#include "outputs/http/http_said.h"
#include "outputs/otlp/otlp_reply.h"
#include "outputs/otlp/otlp_settings.h"

struct run {
    const struct otlp_settings *settings;
    const struct output_talk *talk;
    struct http_client *client;
    struct http_headers headers;
    struct http_said said;
};

static bool tell(struct run *run, enum output_finding finding, const char *words, const char *more)
{
    char text[1024];
    snprintf(text, sizeof(text), "%s%s%s", words, *more ? ": " : "", more);
    http_client_hide(run->client, text);
    run->talk->say(run->talk->host, finding, text);
    return finding != OUTPUT_FOUND_FAULT;
}

static void note(void *run, const char *text)
{
    tell(run, OUTPUT_FOUND_NOTE, text, "");
}

/* A request without log records, which a collector takes. */
static bool ask(struct run *run)
{
    const struct otlp_settings *s = run->settings;
    struct error err;
    struct span body = span_text(s->protocol == OTLP_JSON ? "{}" : "");
    const struct http_request request = {.method = "POST",
        .url = s->endpoint,
        .path = otlp_settings_path(s->endpoint),
        .headers = run->headers.list,
        .header_count = run->headers.count,
        .parts = &body,
        .part_count = 1};
    char text[640];
    if (!http_said_ask(&run->said, run->client, &request, &err)) {
        http_said_layer(&run->said, &err, text, sizeof(text));
        return tell(run, OUTPUT_FOUND_FAULT, text, "");
    }
    int status = run->said.reply.status;
    struct otlp_reply reply;
    otlp_reply_read(buf_span(&run->said.body), status, (enum otlp_protocol)s->protocol, &reply);
    if (otlp_reply_verdict(status) != OTLP_TAKEN) {
        snprintf(
            text, sizeof(text), "%s: status %d: %s", s->endpoint, status, otlp_reply_words(status));
        return tell(run, OUTPUT_FOUND_FAULT, text, reply.message);
    }
    if (run->said.page) {
        snprintf(text, sizeof(text),
            "%s: a web page answers, and no collector. check the address, and what is on the way",
            s->endpoint);
        return tell(run, OUTPUT_FOUND_FAULT, text, "");
    }
    snprintf(text, sizeof(text), "%s: connected, and a request without log records is taken",
        s->endpoint);
    tell(run, OUTPUT_FOUND_GOOD, text, "");
    if (reply.message[0]) {
        tell(run, OUTPUT_FOUND_NOTE, "the server says", reply.message);
    }
    return true;
}

static bool run_all(struct run *run)
{
    struct error err;
    const struct otlp_settings *s = run->settings;
    run->client = http_client_create(
        &(struct http_client_setup){.options = &s->http, .note = note, .host = run}, &err);
    if (!run->client) {
        run->talk->say(run->talk->host, OUTPUT_FOUND_FAULT, err.text);
        return false;
    }
    if (!http_headers_take(&run->headers, &s->headers, run->client) ||
        !http_headers_add(&run->headers, "Content-Type",
            otlp_settings_content_type((enum otlp_protocol)s->protocol))) {
        return tell(run, OUTPUT_FOUND_FAULT, "out of memory", "");
    }
    return ask(run);
}

bool otlp_try_run(const void *settings, const struct output_talk *talk)
{
    struct run run = {.settings = settings, .talk = talk};
    http_said_init(&run.said);
    http_headers_init(&run.headers);
    bool good = run_all(&run);
    http_headers_fini(&run.headers);
    http_said_fini(&run.said);
    http_client_destroy(run.client);
    return good;
}
