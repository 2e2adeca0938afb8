#include "outputs/splunk_hec/hec_settings.h"

#include <stdio.h>

#include "outputs/http/http_platform.h"
#include "outputs/joined_route.h"
#include "outputs/template_check.h"

static const char *const endpoint_names[] = {"event", "raw", NULL};
/* Splunk accepts only gzip. */
static const char *const compressions[] = {"none", "gzip", NULL};

const char *const hec_place_names[HEC_PLACE_COUNT] = {"index", "sourcetype", "source", "host"};

// clang-format off
static const struct config_field ack_fields[] = {
    {CONFIG_ROW("enabled", BOOL, struct hec_ack, enabled), .default_text = "false",
        .help = "wait until Splunk acknowledges that the events are indexed; the token must have indexer acknowledgement"},
    {CONFIG_ROW("interval", DURATION, struct hec_ack, interval_ns), .default_text = "1s",
        .min = 1000000, .max = INT64_C(600000000000),
        .help = "how long to wait before Splunk is asked first; it grows up to tenfold while nothing is "
                "acknowledged"},
    {CONFIG_ROW("timeout", DURATION, struct hec_ack, timeout_ns), .default_text = "5m",
        .min = 1000000, .max = INT64_C(86400000000000),
        .help = "events without an acknowledgement after this time are sent again on a new channel, and count as maybe_duplicates"},
    {.key = NULL},
};

const struct config_field hec_settings_fields[] = {
    {CONFIG_ROW("urls", STRINGS, struct hec_settings, urls), .required = true, .min = 1, .max = 64,
        .is_address = true,
        .help = "addresses of collectors, as in https://splunk:8088; each request goes to one that is "
                "healthy, in turn"},
    {CONFIG_ROW("token", SECRET, struct hec_settings, token), .required = true,
        .help = "token of the HTTP Event Collector"},
    {CONFIG_STRUCT_ROW("ack", struct hec_settings, ack, ack_fields),
        .help = "indexer acknowledgement"},
    {CONFIG_ROW("endpoint", ENUM, struct hec_settings, endpoint), .names = endpoint_names,
        .default_text = "event",
        .help = "event: each event as an object with its time and host; raw: as a line of text, of "
                "which Splunk finds the time"},
    {CONFIG_ROW("index", STRING, struct hec_settings, places[HEC_INDEX]),
        .help = "index of the events; may be a template, as in etw-{provider.name}; default: the token's"},
    {CONFIG_ROW("sourcetype", STRING, struct hec_settings, places[HEC_SOURCETYPE]),
        .help = "their source type; may be a template; default: the token's"},
    {CONFIG_ROW("source", STRING, struct hec_settings, places[HEC_SOURCE]),
        .help = "their source; may be a template; default: the token's"},
    {CONFIG_ROW("host", STRING, struct hec_settings, places[HEC_HOST]),
        .help = "their host; may be a template; default: host.name of the event, and of raw the "
                "token's"},
    {CONFIG_ROW("ids", BOOL, struct hec_settings, ids), .default_text = "true",
        .help = "endpoint event: send the id of each event as the indexed field etwship_id. The id stays when an event is sent again, so a search can remove duplicates by it"},
    HTTP_ROWS_WITHOUT_AUTH(struct hec_settings, compressions, "gzip"),
    {.key = NULL},
};
// clang-format on

static bool is_template(const char *text)
{
    return text && strpbrk(text, "{}%") != NULL;
}

const char *hec_settings_route(const void *settings)
{
    /* The owner created the settings before any thread began. */
    struct hec_settings *s = (struct hec_settings *)settings;
    bool varies = false;
    for (int i = 0; i < HEC_PLACE_COUNT; i++) {
        varies = varies || is_template(s->places[i]);
    }
    if (!varies) {
        return NULL;
    }
    if (!s->route[0]) {
        snprintf(s->route, sizeof(s->route),
            "%s" JOINED_ROUTE_SEPARATOR "%s" JOINED_ROUTE_SEPARATOR "%s" JOINED_ROUTE_SEPARATOR
            "%s",
            s->places[0] ? s->places[0] : "", s->places[1] ? s->places[1] : "",
            s->places[2] ? s->places[2] : "", s->places[3] ? s->places[3] : "");
    }
    return s->route;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool is_index_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* The literal parts; fields are made safe when they are put in. */
static void check_index(const char *const *index, struct config_check *check)
{
    const char *text = *index;
    bool inside = false;
    if (text[0] == '_' || text[0] == '-' || !is_index_letter(text[0])) {
        CONFIG_FAULT(check, index,
            "index: it must begin with a literal lower case letter or digit. write one first, as "
            "in etw-{provider.name}");
        return;
    }
    for (size_t i = 0; text[i]; i++) {
        bool is_date = text[i] == '%' && text[i + 1];
        inside = text[i] == '{' || (inside && text[i] != '}');
        if (!inside && text[i] != '}' && !is_date && !is_index_letter(text[i])) {
            CONFIG_FAULT(check, index,
                "index: '%c' is not allowed in it. write lower case letters, digits, '_' and '-'",
                (uint8_t)text[i] < ' ' ? '?' : text[i]);
            return;
        }
        i += is_date;
    }
}

static void check_place(const struct hec_settings *s, int place, struct config_check *check)
{
    const char *const *text = &s->places[place];
    const char *name = hec_place_names[place];
    if (!*text) {
        return;
    }
    if (strchr(*text, '|')) {
        CONFIG_FAULT(check, text, "%s: '|' is not allowed in it. write another character", name);
        return;
    }
    if (!(*text)[0] || strlen(*text) > EVENT_TEMPLATE_MAX_BYTES / 8) {
        CONFIG_FAULT(check, text, "%s: it has 1 to %d bytes. write it so, or remove it", name,
            EVENT_TEMPLATE_MAX_BYTES / 8);
        return;
    }
    if (place == HEC_INDEX) {
        check_index(text, check);
    }
    if (place == HEC_SOURCETYPE && ((*text)[0] == '{' || (*text)[0] == '%')) {
        CONFIG_FAULT(check, text,
            "sourcetype: it must begin with literal text, else writers of events choose how Splunk "
            "parses them. write some first, as in etw:{provider.name}");
        return;
    }
    template_check(check, name, text, EVENT_TEMPLATE_PATH);
}

void hec_settings_check(const void *settings, struct config_check *check)
{
    const struct hec_settings *s = settings;
    for (size_t i = 0; i < s->urls.count; i++) {
        http_options_check_url(check, "urls", &s->urls.items[i]);
        if (s->urls.items[i] && strchr(s->urls.items[i], '?')) {
            CONFIG_FAULT(check, &s->urls.items[i],
                "urls: an address of a collector has no query. write the token under token");
        }
    }
    for (const char *c = s->token; c && *c; c++) {
        if ((uint8_t)*c <= ' ' || (uint8_t)*c >= 0x7f) {
            CONFIG_FAULT(check, &s->token,
                "token: it has a space or another character that is not allowed. write only the "
                "token");
            break;
        }
    }
    for (int i = 0; i < HEC_PLACE_COUNT; i++) {
        check_place(s, i, check);
    }
    if (s->ack.timeout_ns < s->ack.interval_ns) {
        CONFIG_FAULT(check, &s->ack.timeout_ns,
            "ack: timeout is shorter than interval: nothing would ever be acknowledged. write a "
            "longer one");
    }
    http_options_check(check, &s->http);
}

void hec_settings_can_run(const void *settings, struct config_check *check)
{
    http_platform_check(check, &((const struct hec_settings *)settings)->http);
}

/* ---- routes ---------------------------------------------------------------------------------- */

static char index_letter(char c)
{
    c = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    return (char)(is_index_letter(c) ? c : '_');
}

bool hec_settings_split(struct span rendered, struct span ret_places[HEC_PLACE_COUNT],
    char index_room[EVENT_TEMPLATE_MAX_NAME + 1])
{
    bool is_whole = joined_route_split(rendered, ret_places, HEC_PLACE_COUNT);
    joined_route_clean(&ret_places[HEC_INDEX], EVENT_TEMPLATE_MAX_NAME, index_letter, index_room);
    return is_whole;
}
