#include "outputs/splunk_hec/hec_try.h"

#include <stdarg.h>
#include <stdio.h>

#include "outputs/splunk_hec/hec_acks.h"
#include "outputs/splunk_hec/hec_reply.h"
#include "outputs/splunk_hec/hec_settings.h"

struct run {
    const struct hec_settings *settings;
    const struct output_talk *talk;
    struct http_client *client;
    struct http_said said;
    bool good;
};

static void tell(struct run *run, enum output_finding finding, const char *format, ...)
    ETWSHIP_PRINTF(3, 4);

static void tell(struct run *run, enum output_finding finding, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    http_client_hide(run->client, text);
    run->good = run->good && finding != OUTPUT_FOUND_FAULT;
    run->talk->say(run->talk->host, finding, text);
}

static void note(void *run, const char *text)
{
    tell(run, OUTPUT_FOUND_NOTE, "%s", text);
}

/* False: nobody answers there. */
static bool try_health(struct run *run, const char *url)
{
    struct error err;
    struct hec_reply reply;
    const struct http_request request = {
        .method = "GET", .url = url, .path = "/services/collector/health"};
    if (!http_said_ask(&run->said, run->client, &request, &err)) {
        char text[640];
        http_said_layer(&run->said, &err, text, sizeof(text));
        tell(run, OUTPUT_FOUND_FAULT, "%s", text);
        return false;
    }
    int status = run->said.reply.status;
    hec_reply_read(&run->said, &reply);
    if (reply.code == HEC_HEALTHY) {
        tell(run, OUTPUT_FOUND_GOOD, "%s: connected, and the collector is healthy", url);
    } else if (status >= 500) {
        tell(run, OUTPUT_FOUND_FAULT, "%s: status %d: %s. look into the log of Splunk", url, status,
            hec_reply_words(&reply, status));
    } else {
        tell(run, OUTPUT_FOUND_NOTE,
            "%s: connected. it does not say how it is (status %d), as other makers' collectors do",
            url, status);
    }
    return true;
}

/* A request without events: Splunk looks at the token first, and then has "no data" (code 5). */
static bool try_token(struct run *run, const char *url, const char *channel_name)
{
    struct error err;
    struct hec_reply reply;
    const struct http_header channel = {"X-Splunk-Request-Channel", channel_name};
    const struct http_request request = {.method = "POST",
        .url = url,
        .path = "/services/collector/event",
        .headers = &channel,
        .header_count = run->settings->ack.enabled ? 1 : 0};
    if (!http_said_ask(&run->said, run->client, &request, &err)) {
        tell(run, OUTPUT_FOUND_FAULT, "%s", err.text);
        return false;
    }
    int status = run->said.reply.status;
    hec_reply_read(&run->said, &reply);
    if (hec_reply_verdict(&reply, status) == HTTP_PIECE_MEND) {
        tell(run, OUTPUT_FOUND_FAULT, "%s: status %d: %s", url, status,
            hec_reply_words(&reply, status));
        return false;
    }
    tell(run, OUTPUT_FOUND_GOOD, "%s: the token is taken", url);
    return true;
}

static void try_acks(struct run *run, const char *url)
{
    struct error err;
    switch (hec_acks_try(run->client, url, &run->said, &err)) {
    case HEC_ASKED:
    case HEC_ASK_GONE:
        tell(run, OUTPUT_FOUND_GOOD, "%s: the token acknowledges", url);
        break;
    default:
        tell(run, OUTPUT_FOUND_FAULT, "acknowledgement: %s", err.text);
        break;
    }
}

static bool run_all(struct run *run)
{
    struct error err;
    struct hec_acks acks = {.count = 0};
    struct http_options options = run->settings->http;
    options.auth = (struct http_auth){.bearer = run->settings->token};
    run->client = http_client_create(
        &(struct http_client_setup){
            .options = &options, .scheme = "Splunk", .note = note, .host = run},
        &err);
    if (!run->client || !hec_acks_new_channel(&acks, &err)) {
        run->talk->say(run->talk->host, OUTPUT_FOUND_FAULT, err.text);
        return false;
    }
    for (size_t i = 0; i < run->settings->urls.count; i++) {
        const char *url = run->settings->urls.items[i];
        if (try_health(run, url) && try_token(run, url, acks.channel) &&
            run->settings->ack.enabled) {
            try_acks(run, url);
        }
    }
    return run->good;
}

bool hec_try_run(const void *settings, const struct output_talk *talk)
{
    struct run run = {.settings = settings, .talk = talk, .good = true};
    http_said_init(&run.said);
    bool good = run_all(&run);
    http_said_fini(&run.said);
    http_client_destroy(run.client);
    return good;
}
