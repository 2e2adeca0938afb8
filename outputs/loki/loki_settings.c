#include "outputs/loki/loki_settings.h"

#include "base/append.h"
#include "outputs/http/http_platform.h"

static const char push_path[] = "/loki/api/v1/push";
static const char *const encoding_names[] = {"json", "protobuf", NULL};
static const char *const compressions[] = {"none", "gzip", NULL};

const char *const loki_label_names[LOKI_LABEL_COUNT] = {
    "host", "provider", "channel", "level", "session"};

// clang-format off
const struct config_field loki_settings_fields[] = {
    {CONFIG_ROW("url", STRING, struct loki_settings, url), .required = true, .is_address = true,
        .help = "address of Loki, as in https://loki:3100; /loki/api/v1/push is appended unless it ends with it"},
    {CONFIG_ROW("encoding", ENUM, struct loki_settings, encoding), .names = encoding_names,
        .default_text = "json",
        .help = "encoding of requests. protobuf costs the agent and Loki less processor time. it is as large as json, so compress it, too"},
    {CONFIG_ROW("labels", STRINGS, struct loki_settings, labels), .min = 1, .max = LOKI_LABEL_COUNT,
        .help = "labels of streams beside job=etwship, some of host, provider, channel, level and session; "
                "default: the first four. Other values are structured metadata"},
    {CONFIG_ROW("tenant", STRING, struct loki_settings, tenant),
        .help = "X-Scope-OrgID of each request"},
    {CONFIG_ROW("max_streams", INT, struct loki_settings, max_streams), .default_text = "1000",
        .min = 1, .max = 100000,
        .help = "maximum number of streams per worker; further events go to one stream with overflow=true, with a warning"},
    HTTP_ROWS(struct loki_settings, compressions, "gzip"),
    {.key = NULL},
};
// clang-format on

const char *loki_settings_path(const char *url)
{
    size_t size = strlen(url);
    size_t end = sizeof(push_path) - 1;
    return size >= end && strcmp(url + size - end, push_path) == 0 ? NULL : push_path;
}

const char *loki_settings_content_type(const struct loki_settings *settings)
{
    return settings->encoding == LOKI_JSON ? "application/json" : "application/x-protobuf";
}

static int label_of(const char *name)
{
    int label = 0;
    while (label < LOKI_LABEL_COUNT && strcmp(loki_label_names[label], name) != 0) {
        label++;
    }
    return label;
}

unsigned loki_settings_labels(const struct loki_settings *settings)
{
    unsigned labels = 0;
    for (size_t i = 0; i < settings->labels.count; i++) {
        labels |= 1U << label_of(settings->labels.items[i]);
    }
    return labels ? labels : (1U << LOKI_SESSION) - 1;
}

void loki_settings_check(const void *settings, struct config_check *check)
{
    const struct loki_settings *s = settings;
    http_options_check_url(check, "url", &s->url);
    if (s->url && strpbrk(s->url, "?#")) {
        CONFIG_FAULT(check, &s->url, "url: an address of Loki has no query. remove it");
    }
    for (size_t i = 0; i < s->labels.count; i++) {
        if (s->labels.items[i] && label_of(s->labels.items[i]) == LOKI_LABEL_COUNT) {
            CONFIG_FAULT(check, &s->labels.items[i],
                "labels: there is no label '%.40s', as each value of one makes a stream. write "
                "some of "
                "host, provider, channel, level and session; the rest is structured metadata",
                s->labels.items[i]);
        }
    }
    for (const char *c = s->tenant; c && *c; c++) {
        if ((uint8_t)*c <= ' ' || (uint8_t)*c >= 0x7f) {
            CONFIG_FAULT(check, &s->tenant,
                "tenant: it has a space or another character that is not allowed. write only the "
                "tenant");
            break;
        }
    }
    http_options_check(check, &s->http);
}

void loki_settings_can_run(const void *settings, struct config_check *check)
{
    http_platform_check(check, &((const struct loki_settings *)settings)->http);
}

/* ---- how many streams there will be ---------------------------------------------------------- */

/* Number of values of a label in a session. 0: unknown. */
static uint64_t values_in(const struct output_spread *spread, enum loki_label label)
{
    switch (label) {
    case LOKI_HOST:
        return spread->hosts;
    case LOKI_PROVIDER:
        return spread->providers;
    case LOKI_LEVEL:
        return spread->levels;
    case LOKI_SESSION:
        return 1;
    default:
        return 0;
    }
}

/* Number over all sessions: providers of sessions differ, hosts and levels are equal. */
static uint64_t values_of(const struct output_spread *spreads, size_t count, enum loki_label label)
{
    bool adds_up = label == LOKI_PROVIDER || label == LOKI_SESSION;
    uint64_t values = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t here = values_in(&spreads[i], label);
        if (!here) {
            return 0;
        }
        values = adds_up ? values + here : here > values ? here : values;
    }
    return values;
}

/* Streams of one session. */
static uint64_t multiply(const struct output_spread *spread, unsigned labels)
{
    uint64_t product = 1;
    for (int label = 0; label < LOKI_LABEL_COUNT; label++) {
        uint64_t here = labels >> label & 1 ? values_in(spread, (enum loki_label)label) : 0;
        product *= here ? here : 1;
    }
    return product;
}

void loki_settings_streams(const void *settings, const struct output_spread *spreads, size_t count,
    struct output_streams *ret_streams)
{
    const struct loki_settings *s = settings;
    unsigned labels = loki_settings_labels(s);
    struct output_streams streams = {.limit = (uint64_t)s->max_streams,
        .member = s->labels.count ? (const void *)&s->labels : (const void *)&s->url,
        .member_size = s->labels.count ? sizeof(s->labels) : sizeof(s->url)};
    for (size_t i = 0; i < count; i++) {
        streams.count += multiply(&spreads[i], labels);
    }
    for (int label = 0; label < LOKI_LABEL_COUNT; label++) {
        uint64_t values = values_of(spreads, count, (enum loki_label)label);
        if (!(labels >> label & 1)) {
            continue;
        }
        if (!values) {
            append_printf(streams.unknown, sizeof(streams.unknown), "%s%s",
                *streams.unknown ? ", " : "", loki_label_names[label]);
        } else if (values > streams.most_count) {
            streams.most_count = values;
            streams.most = loki_label_names[label];
        }
    }
    *ret_streams = streams;
}
