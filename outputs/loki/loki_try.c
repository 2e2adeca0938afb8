#include "outputs/loki/loki_try.h"

#include "outputs/http/http_status.h"
#include "outputs/http/http_try.h"
#include "outputs/loki/loki_link.h"

/* A push without streams: Loki checks the tenant and the credentials, then accepts it or reports
 * that it is empty. */
static bool ask(struct http_try *found, struct http_link *link, const struct loki_settings *s)
{
    struct error err;
    static const uint8_t nothing[] = {0}; /* in Snappy's format */
    struct span body = s->encoding == LOKI_JSON ? span_text("{\"streams\":[]}")
                                                : span_make(nothing, sizeof(nothing));
    if (!http_link_post(link, loki_settings_path(s->url), body, &err)) {
        char text[1024];
        http_response_layer(&link->response, &err, text, sizeof(text));
        return http_try_tell(found, OUTPUT_FOUND_FAULT, "%s", text);
    }
    int status = link->response.reply.status;
    enum http_verdict verdict = http_status_verdict(status);
    /* 422: empty, in recent versions. */
    if ((verdict == HTTP_TAKEN && !link->response.page) || status == 400 || status == 422) {
        return http_try_tell(found, OUTPUT_FOUND_GOOD,
            "%s: connected, and Loki reads a push (status %d)", s->url, status);
    }
    return http_try_tell(found, OUTPUT_FOUND_FAULT, "%s: status %d: %s%s%s", s->url, status,
        verdict == HTTP_TAKEN ? "a web page answered instead of Loki. check the address"
                              : http_status_words(status),
        link->response.shown[0] ? ": " : "", link->response.shown);
}

bool loki_try_run(const void *settings, const struct output_talk *talk)
{
    struct http_try found = {.talk = talk};
    struct http_link link;
    const struct output_env env = {.note = http_try_note, .host = &found};
    struct loki_settings plain = *(const struct loki_settings *)settings;
    struct error err;
    plain.http.compression = HTTP_PLAIN; /* an empty push needs no compression */
    bool good = loki_link_init(&link, &plain, &env, &err);
    found.client = link.client;
    good = good ? ask(&found, &link, &plain)
                : http_try_tell(&found, OUTPUT_FOUND_FAULT, "%s", err.text);
    http_link_fini(&link);
    return good;
}
