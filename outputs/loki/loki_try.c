#include "outputs/loki/loki_try.h"

#include <stdio.h>

#include "outputs/http/http_headers.h"
#include "outputs/http/http_said.h"
#include "outputs/http/http_status.h"
#include "outputs/loki/loki_settings.h"

struct run {
    const struct loki_settings *settings;
    const struct output_talk *talk;
    struct http_client *client;
    struct http_headers headers;
    struct http_said said;
};

static bool tell(struct run *run, enum output_finding finding, char *text)
{
    http_client_hide(run->client, text);
    run->talk->say(run->talk->host, finding, text);
    return finding != OUTPUT_FOUND_FAULT;
}

static void note(void *run_, const char *text)
{
    char copy[640];
    snprintf(copy, sizeof(copy), "%s", text);
    tell(run_, OUTPUT_FOUND_NOTE, copy);
}

/* A push without streams: Loki looks at the tenant and who we are first, and takes it or finds it empty. */
static bool ask(struct run *run)
{
    const struct loki_settings *s = run->settings;
    struct error err;
    static const uint8_t nothing[] = {0}; /* in Snappy's format */
    struct span body = s->encoding == LOKI_JSON ? span_text("{\"streams\":[]}")
                                                : span_make(nothing, sizeof(nothing));
    const struct http_request request = {.method = "POST",
        .url = s->url,
        .path = loki_settings_path(s->url),
        .headers = run->headers.list,
        .header_count = run->headers.count,
        .parts = &body,
        .part_count = 1};
    char text[1024];
    if (!http_said_ask(&run->said, run->client, &request, &err)) {
        http_said_layer(&run->said, &err, text, sizeof(text));
        return tell(run, OUTPUT_FOUND_FAULT, text);
    }
    int status = run->said.reply.status;
    enum http_verdict verdict = http_status_verdict(status);
    /* 422: there is nothing in it, as the newest say. */
    if ((verdict == HTTP_TAKEN && !run->said.page) || status == 400 || status == 422) {
        snprintf(text, sizeof(text), "%s: connected, and a push is looked at (status %d)", s->url,
            status);
        return tell(run, OUTPUT_FOUND_GOOD, text);
    }
    snprintf(text, sizeof(text), "%s: status %d: %s%s%s", s->url, status,
        verdict == HTTP_TAKEN ? "a web page answers, and no Loki. check the address"
                              : http_status_words(status),
        run->said.shown[0] ? ": " : "", run->said.shown);
    return tell(run, OUTPUT_FOUND_FAULT, text);
}

static bool run_all(struct run *run)
{
    struct error err;
    const struct loki_settings *s = run->settings;
    run->client = http_client_create(
        &(struct http_client_setup){.options = &s->http, .note = note, .host = run}, &err);
    if (!run->client ||
        !http_headers_add(&run->headers, "Content-Type", loki_settings_content_type(s)) ||
        !http_headers_add(&run->headers, "X-Scope-OrgID", s->tenant)) {
        run->talk->say(
            run->talk->host, OUTPUT_FOUND_FAULT, run->client ? "out of memory" : err.text);
        return false;
    }
    return ask(run);
}

bool loki_try_run(const void *settings, const struct output_talk *talk)
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
