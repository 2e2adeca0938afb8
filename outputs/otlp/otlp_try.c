#include "outputs/otlp/otlp_try.h"

#include "outputs/http/http_try.h"
#include "outputs/otlp/otlp_link.h"
#include "outputs/otlp/otlp_reply.h"

/* Send a request without log records, which collectors accept. */
static bool ask(struct http_try *found, struct http_link *link, const struct otlp_settings *s)
{
    struct error err;
    struct span body = span_text(s->protocol == OTLP_JSON ? "{}" : "");
    if (!http_link_post(link, otlp_settings_logs_path, body, &err)) {
        char text[640];
        http_response_layer(&link->response, &err, text, sizeof(text));
        return http_try_tell(found, OUTPUT_FOUND_FAULT, "%s", text);
    }
    int status = link->response.reply.status;
    struct otlp_reply reply;
    otlp_reply_read(
        buf_span(&link->response.body), status, (enum otlp_protocol)s->protocol, &reply);
    if (otlp_reply_verdict(status) != OTLP_TAKEN) {
        return http_try_tell(found, OUTPUT_FOUND_FAULT, "%s: status %d: %s%s%s", s->endpoint,
            status, otlp_reply_words(status), reply.message[0] ? ": " : "", reply.message);
    }
    if (link->response.page) {
        return http_try_tell(found, OUTPUT_FOUND_FAULT,
            "%s: a web page answered instead of a collector. check the address, and what is on the "
            "way",
            s->endpoint);
    }
    http_try_tell(found, OUTPUT_FOUND_GOOD,
        "%s: connected, and the collector accepts a request without log records", s->endpoint);
    if (reply.message[0]) {
        http_try_tell(found, OUTPUT_FOUND_NOTE, "the server says: %s", reply.message);
    }
    return true;
}

bool otlp_try_run(const void *settings, const struct output_talk *talk)
{
    struct http_try found = {.talk = talk};
    struct http_link link;
    const struct output_env env = {.note = http_try_note, .host = &found};
    struct otlp_settings plain = *(const struct otlp_settings *)settings;
    struct error err;
    plain.http.compression = HTTP_PLAIN; /* an empty body needs no compression */
    bool good = otlp_link_init(&link, &plain, &env, &err);
    found.client = link.client;
    good = good ? ask(&found, &link, &plain)
                : http_try_tell(&found, OUTPUT_FOUND_FAULT, "%s", err.text);
    http_link_fini(&link);
    return good;
}
