#include "outputs/otlp/otlp_try.h"

#include <stdio.h>

#include "outputs/otlp/otlp_link.h"
#include "outputs/otlp/otlp_reply.h"

struct run {
    const struct otlp_settings *settings;
    const struct output_talk *talk;
    struct otlp_link link;
};

static bool tell(struct run *run, enum output_finding finding, const char *words, const char *more)
{
    char text[1024];
    snprintf(text, sizeof(text), "%s%s%s", words, *more ? ": " : "", more);
    http_client_hide(run->link.client, text);
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
    char text[640];
    if (!otlp_link_post(&run->link, otlp_settings_logs_path, body, &err)) {
        http_said_layer(&run->link.said, &err, text, sizeof(text));
        return tell(run, OUTPUT_FOUND_FAULT, text, "");
    }
    int status = run->link.said.reply.status;
    struct otlp_reply reply;
    otlp_reply_read(
        buf_span(&run->link.said.body), status, (enum otlp_protocol)s->protocol, &reply);
    if (otlp_reply_verdict(status) != OTLP_TAKEN) {
        snprintf(
            text, sizeof(text), "%s: status %d: %s", s->endpoint, status, otlp_reply_words(status));
        return tell(run, OUTPUT_FOUND_FAULT, text, reply.message);
    }
    if (run->link.said.page) {
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

bool otlp_try_run(const void *settings, const struct output_talk *talk)
{
    struct run run = {.settings = settings, .talk = talk};
    const struct output_env env = {.note = note, .host = &run};
    struct otlp_settings plain = *run.settings; /* a body of nothing needs no packing */
    struct error err;
    plain.http.compression = HTTP_PLAIN;
    bool good = otlp_link_init(&run.link, &plain, &env, &err);
    if (good) {
        good = ask(&run);
    } else {
        talk->say(talk->host, OUTPUT_FOUND_FAULT, err.text);
    }
    otlp_link_fini(&run.link);
    return good;
}
