#include "config/config.h"
#include "config/config_text.h"
#include "outputs/http_options.h"
#include "outputs/output.h"

/* Batches as bodies of HTTP requests. Known by its keys; there is no sender in this build. */

enum framing { FRAMING_NDJSON, FRAMING_ARRAY };

static const char *const framing_names[] = {"ndjson", "array", NULL};

struct settings {
    const char *url;
    int framing; /* enum framing */
    struct config_map headers;
    struct http_options http;
};

// clang-format off
static const struct config_field fields[] = {
    {CONFIG_ROW("url", STRING, struct settings, url), .required = true,
        .help = "address that batches are posted to"},
    {CONFIG_ROW("framing", ENUM, struct settings, framing), .names = framing_names,
        .default_text = "ndjson", .help = "ndjson: one event per line; array: one JSON array"},
    {CONFIG_ROW("headers", MAP, struct settings, headers), .max = 64, .hide_values = true,
        .help = "further headers of each request; their values are not shown"},
    HTTP_ROWS(struct settings, "none"),
    {.key = NULL},
};
// clang-format on

/* The token of RFC 9110, 5.6.2. */
static bool is_header_name(const char *name)
{
    size_t size = strlen(name);
    return size && size == strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                        "0123456789!#$%&'*+-.^_`|~");
}

static void check_headers(const struct config_map *headers, struct config_check *check)
{
    for (size_t i = 0; i < headers->count; i++) {
        const char *name = headers->items[i].key;
        if (!is_header_name(name)) {
            CONFIG_FAULT(check, &headers->items[i].value,
                "headers: %s cannot be the name of a header. write letters, digits and -",
                config_text_quote(span_text(name)).text);
        }
        for (const char *c = headers->items[i].value; *c; c++) {
            if (((uint8_t)*c < ' ' && *c != '\t') || *c == 0x7f) {
                CONFIG_FAULT(check, &headers->items[i].value,
                    "headers: the value of %s holds a line break or another control "
                    "character. remove it",
                    config_text_quote(span_text(name)).text);
                break;
            }
        }
    }
}

static void http_check(const void *settings, struct config_check *check)
{
    const struct settings *s = settings;
    http_options_check_url(check, "url", &s->url);
    check_headers(&s->headers, check);
    http_options_check(check, &s->http);
}

const struct output_ops output_http = {
    .name = "http",
    .fields = fields,
    .settings_size = sizeof(struct settings),
    .check = http_check,
};
