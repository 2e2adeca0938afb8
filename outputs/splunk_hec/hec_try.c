#include "outputs/splunk_hec/hec_try.h"

#include "outputs/http/http_try.h"
#include "outputs/splunk_hec/hec_acks.h"
#include "outputs/splunk_hec/hec_reply.h"
#include "outputs/splunk_hec/hec_settings.h"

struct run {
    const struct hec_settings *settings;
    struct http_try found;
    struct http_client *client;
    struct http_response response;
};

/* False: there is no reply. */
static bool try_health(struct run *run, const char *url)
{
    struct error err;
    struct hec_reply reply;
    const struct http_request request = {
        .method = "GET", .url = url, .path = "/services/collector/health"};
    if (!http_response_fetch(&run->response, run->client, &request, &err)) {
        char text[640];
        http_response_layer(&run->response, &err, text, sizeof(text));
        http_try_tell(&run->found, OUTPUT_FOUND_FAULT, "%s", text);
        return false;
    }
    int status = run->response.reply.status;
    hec_reply_read(&run->response, &reply);
    if (reply.code == HEC_HEALTHY) {
        http_try_tell(
            &run->found, OUTPUT_FOUND_GOOD, "%s: connected, and the collector is healthy", url);
    } else if (status >= 500) {
        http_try_tell(&run->found, OUTPUT_FOUND_FAULT, "%s: status %d: %s. see the log of Splunk",
            url, status, hec_reply_words(&reply, status));
    } else {
        http_try_tell(&run->found, OUTPUT_FOUND_NOTE,
            "%s: connected. it does not report its health (status %d), like collectors of other "
            "vendors",
            url, status);
    }
    return true;
}

/* A request without events: Splunk checks the token first, then reports "no data" (code 5). */
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
    if (!http_response_fetch(&run->response, run->client, &request, &err)) {
        http_try_tell(&run->found, OUTPUT_FOUND_FAULT, "%s", err.text);
        return false;
    }
    int status = run->response.reply.status;
    hec_reply_read(&run->response, &reply);
    if (hec_reply_verdict(&reply, status) == HTTP_PIECE_MEND) {
        http_try_tell(&run->found, OUTPUT_FOUND_FAULT, "%s: status %d: %s", url, status,
            hec_reply_words(&reply, status));
        return false;
    }
    http_try_tell(&run->found, OUTPUT_FOUND_GOOD, "%s: the collector accepts the token", url);
    return true;
}

static void try_acks(struct run *run, const char *url)
{
    struct error err;
    switch (hec_acks_try(run->client, url, &run->response, &err)) {
    case HEC_ASKED:
    case HEC_ASK_GONE:
        http_try_tell(
            &run->found, OUTPUT_FOUND_GOOD, "%s: the token has indexer acknowledgement", url);
        break;
    default:
        http_try_tell(&run->found, OUTPUT_FOUND_FAULT, "acknowledgement: %s", err.text);
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
            .options = &options, .scheme = "Splunk", .note = http_try_note, .host = &run->found},
        &err);
    run->found.client = run->client;
    if (!run->client || !hec_acks_new_channel(&acks, &err)) {
        return http_try_tell(&run->found, OUTPUT_FOUND_FAULT, "%s", err.text);
    }
    for (size_t i = 0; i < run->settings->urls.count; i++) {
        const char *url = run->settings->urls.items[i];
        if (try_health(run, url) && try_token(run, url, acks.channel) &&
            run->settings->ack.enabled) {
            try_acks(run, url);
        }
    }
    return !run->found.faulty;
}

bool hec_try_run(const void *settings, const struct output_talk *talk)
{
    struct run run = {.settings = settings, .found.talk = talk};
    http_response_init(&run.response);
    bool good = run_all(&run);
    http_response_fini(&run.response);
    http_client_destroy(run.client);
    return good;
}
