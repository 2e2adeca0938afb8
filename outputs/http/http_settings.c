#include "outputs/http/http_settings.h"

#include "config/config.h"
#include "outputs/http/http_accept.h"
#include "outputs/http/http_platform.h"

static const char *const framing_names[] = {"ndjson", "json_array", "message", "splunk_hec", NULL};

const char *const http_settings_methods[] = {"POST", "PUT", NULL};

// clang-format off
const struct config_field http_settings_fields[] = {
    {CONFIG_ROW("url", STRING, struct http_settings, url), .required = true,
        .is_address = true,
        .help = "address that batches are sent to; for splunk_hec the host is enough"},
    {CONFIG_ROW("method", ENUM, struct http_settings, method), .names = http_settings_methods,
        .default_text = "POST", .help = "HTTP method of the requests"},
    {CONFIG_ROW("framing", ENUM, struct http_settings, framing), .names = framing_names,
        .default_text = "ndjson",
        .help = "ndjson: one event per line; json_array: one array; message: the text of each message as a line, or of an event without one its JSON (only these lines begin with a brace); splunk_hec: the format of Splunk's HTTP Event Collector, with auth.bearer as its token"},
    {CONFIG_ROW("source", STRING, struct http_settings, hec.source),
        .help = "splunk_hec: source of the events; default: the token's"},
    {CONFIG_ROW("sourcetype", STRING, struct http_settings, hec.sourcetype),
        .help = "splunk_hec: source type of the events; default: the token's"},
    {CONFIG_ROW("index", STRING, struct http_settings, hec.index),
        .help = "splunk_hec: index of the events; default: the token's"},
    {CONFIG_ROW("headers", MAP, struct http_settings, headers),
        .max = HTTP_SETTINGS_MAX_HEADERS, .hide_values = true,
        .help = "further headers of each request; their values are never shown"},
    {CONFIG_ROW("accept", STRINGS, struct http_settings, accept),
        .help = "which replies acknowledge a batch: statuses from 200 to 299, and page if a web "
                "page may do so; default: each of these statuses unless it is a web page, and of "
                "splunk_hec not 204"},
    HTTP_ROWS(struct http_settings, http_compression_names, "none"),
    {.key = NULL},
};
// clang-format on

void http_settings_can_run(const void *settings, struct config_check *check)
{
    const struct http_settings *s = settings;
    http_platform_check(check, &s->http);
}

static void check_hec(const struct http_settings *s, struct config_check *check)
{
    const char *const *members[] = {&s->hec.source, &s->hec.sourcetype, &s->hec.index};
    static const char *const names[] = {"source", "sourcetype", "index"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (*members[i] && s->framing != HTTP_FRAMING_SPLUNK_HEC) {
            CONFIG_FAULT(check, members[i],
                "%s: only Splunk has it. set framing: splunk_hec, or remove it", names[i]);
        }
    }
    if (s->method && s->framing == HTTP_FRAMING_SPLUNK_HEC) {
        CONFIG_FAULT(check, &s->method, "method: Splunk takes only POST. remove it");
    }
}

static bool has_header(const struct http_settings *s, const char *name)
{
    for (size_t i = 0; i < s->headers.count; i++) {
        if (http_options_is_header(s->headers.items[i].key, name)) {
            return true;
        }
    }
    return false;
}

/* Splunk, "Format events for HTTP Event Collector": a token in the header, as the password of any
 * user, or in the query. */
void http_settings_warnings(const void *settings, struct config_check *check)
{
    const struct http_settings *s = settings;
    const struct http_auth *auth = &s->http.auth;
    if (s->framing != HTTP_FRAMING_SPLUNK_HEC) {
        return;
    }
    if (auth->api_key) {
        CONFIG_FAULT(check, &auth->api_key,
            "auth: api_key is for Elasticsearch. Splunk wants its token as bearer");
    } else if (!auth->bearer && !auth->password && !has_header(s, "Authorization") &&
               !strstr(s->url, "token=")) {
        CONFIG_FAULT(check, &s->framing,
            "framing: Splunk takes nothing without a token. write auth: {bearer: TOKEN}");
    }
}

void http_settings_check(const void *settings, struct config_check *check)
{
    const struct http_settings *s = settings;
    http_options_check_url(check, "url", &s->url);
    http_options_check_headers(check, &s->headers, &s->http.auth);
    http_accept_check(check, &s->accept);
    check_hec(s, check);
    http_options_check(check, &s->http);
}
