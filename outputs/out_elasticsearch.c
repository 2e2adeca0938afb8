#include "config/config.h"
#include "outputs/http_options.h"
#include "outputs/output.h"

/* Elasticsearch and OpenSearch. Known by its keys; there is no sender in this build. */

struct data_stream {
    const char *dataset; /* NULL: by format */
    const char *namespace;
};

struct settings {
    struct config_strings hosts;
    struct data_stream data_stream;
    const char *index;
    struct http_options http;
    uint64_t max_string_bytes;
};

// clang-format off
static const struct config_field data_stream_fields[] = {
    {CONFIG_ROW("dataset", STRING, struct data_stream, dataset),
        .help = "default: etw.events for ecs, etw.native for native; may be a template"},
    {CONFIG_ROW("namespace", STRING, struct data_stream, namespace), .default_text = "default",
        .help = "to tell sites or stages apart"},
    {.key = NULL},
};

static const struct config_field fields[] = {
    {CONFIG_ROW("hosts", STRINGS, struct settings, hosts), .required = true, .min = 1, .max = 256,
        .help = "addresses of the nodes, tried in turn"},
    {CONFIG_STRUCT_ROW("data_stream", struct settings, data_stream, data_stream_fields),
        .help = "the data stream that events go to"},
    {CONFIG_ROW("index", STRING, struct settings, index),
        .help = "an index instead of a data stream; may be a template, 'etw-{provider.name}-%Y'"},
    HTTP_ROWS(struct settings, "gzip"),
    {CONFIG_ROW("max_string", SIZE, struct settings, max_string_bytes), .default_text = "32000",
        .min = 256, .max = 32766,
        .help = "longer strings are cut; the whole of them stands under overflow"},
    {.key = NULL},
};
// clang-format on

/* Does a template begin with text of its own? Else anybody who can log an event names indices. */
static bool has_prefix(const char *text)
{
    return text[0] && text[0] != '{' && text[0] != '%';
}

/* The literal parts; fields and dates are made safe when they are put in. ${barred}: characters
 * that Elasticsearch takes nowhere in a name (its documentation, create index, Path parameters). */
static void check_name(
    struct config_check *check, const char *key, const char *const *name, const char *barred)
{
    const char *text = *name;
    size_t characters = 0;
    bool inside = false;
    if (!text) {
        return;
    }
    if (!has_prefix(text) || strchr("-_+.", text[0])) {
        CONFIG_FAULT(check, name,
            "%s: it must begin with a letter or digit of its own. write one in front, as in "
            "etw-{provider.name}",
            key);
    }
    if (strlen(text) > 100) {
        CONFIG_FAULT(check, name, "%s: more than 100 characters. shorten it", key);
    }
    for (size_t i = 0; text[i]; i++) {
        char c = text[i];
        inside = c == '{' || (inside && c != '}');
        bool date = c == '%' && text[i + 1];
        bool upper = c >= 'A' && c <= 'Z';
        if (!inside && c != '}' && !date && (upper || (uint8_t)c <= ' ' || strchr(barred, c))) {
            CONFIG_FAULT_IN(check, name, characters,
                "%s: '%c' cannot stand in it. write lower case letters, digits, '_' and '.'", key,
                (uint8_t)c < ' ' ? '?' : c);
            return;
        }
        i += date;
        characters += (date ? 1u : 0u) + (((uint8_t)c & 0xc0) != 0x80 ? 1u : 0u);
    }
}

static void elasticsearch_check(const void *settings, struct config_check *check)
{
    static const char index_barred[] = "\\/*?\"<>|,#:";
    static const char stream_barred[] = "\\/*?\"<>|,#:-";
    const struct settings *s = settings;
    for (size_t i = 0; i < s->hosts.count; i++) {
        http_options_check_url(check, "hosts", &s->hosts.items[i]);
    }
    if (s->index && s->data_stream.dataset) {
        CONFIG_FAULT(check, &s->index, "index: there is a data_stream, too. keep one of the two");
    }
    check_name(check, "index", &s->index, index_barred);
    check_name(check, "dataset", &s->data_stream.dataset, stream_barred);
    check_name(check, "namespace", &s->data_stream.namespace, stream_barred);
    http_options_check(check, &s->http);
}

const struct output_ops output_elasticsearch = {
    .name = "elasticsearch",
    .fields = fields,
    .settings_size = sizeof(struct settings),
    .check = elasticsearch_check,
};
