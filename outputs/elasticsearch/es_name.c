#include "outputs/elasticsearch/es_name.h"

#include <stdlib.h>

#include "outputs/template_check.h"

// clang-format off
const struct config_field es_name_stream_fields[] = {
    {CONFIG_ROW("dataset", STRING, struct es_name_options, data_stream.dataset),
        .help = "default: etw.events for ecs, etw.native for native; may be a template"},
    {CONFIG_ROW("namespace", STRING, struct es_name_options, data_stream.namespace),
        .default_text = "default", .help = "namespace of the data stream, to separate sites or stages"},
    {.key = NULL},
};
// clang-format on

/* Characters that a server refuses in a name; '-' separates the parts of a data stream's name. */
static const char barred[] = "\\/*?\"<>|,#: ";

/* ---- checks ---------------------------------------------------------------------------------- */

/* True if a template begins with literal text. Else a writer of events could choose the index. */
static bool has_prefix(const char *text)
{
    return (text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z') ||
           (text[0] >= '0' && text[0] <= '9');
}

static bool is_barred(char c, bool is_part)
{
    return (c >= 'A' && c <= 'Z') || (uint8_t)c <= ' ' || c == 0x7f || strchr(barred, c) ||
           (is_part && c == '-');
}

/* The literal parts; fields and dates are made safe when they are put in. */
static bool check_letters(
    struct config_check *check, const char *key, const char *const *name, bool is_part)
{
    const char *text = *name;
    size_t characters = 0;
    bool inside = false;
    for (size_t i = 0; text[i]; i++) {
        char c = text[i];
        bool doubled = (c == '{' || c == '%') && text[i + 1] == c;
        bool date = c == '%' && text[i + 1];
        inside = (c == '{' && !doubled) || (inside && c != '}');
        if (!inside && c != '}' && !date && is_barred(c, is_part)) {
            CONFIG_FAULT_IN(check, name, characters,
                "%s: '%c' is not allowed in it. write lower case letters, digits, '_' and '.'", key,
                (uint8_t)c < ' ' ? '?' : c);
            return false;
        }
        i += date || doubled;
        characters += (date || doubled ? 1u : 0u) + (((uint8_t)c & 0xc0) != 0x80 ? 1u : 0u);
    }
    return true;
}

static bool is_template(const char *text)
{
    return strpbrk(text, "{}%") != NULL;
}

static void check_name(
    struct config_check *check, const char *key, const char *const *name, bool is_part, size_t max)
{
    const char *text = *name;
    if (!text) {
        return;
    }
    if (!has_prefix(text)) {
        CONFIG_FAULT(check, name,
            "%s: it must begin with a literal letter or digit. write one first, as in "
            "etw-{provider.name}",
            key);
        return;
    }
    if (!check_letters(check, key, name, is_part)) {
        return;
    }
    if (is_template(text)) {
        template_check(check, key, name, EVENT_TEMPLATE_INDEX);
    } else if (strlen(text) > max) {
        CONFIG_FAULT(check, name, "%s: more than %zu characters. shorten it", key, max);
    }
}

void es_name_check(struct config_check *check, const struct es_name_options *options)
{
    const char *const *dataset = &options->data_stream.dataset;
    const char *const *namespace = &options->data_stream.namespace;
    if (options->index && *dataset) {
        CONFIG_FAULT(
            check, &options->index, "index: there is a data_stream, too. keep one of the two");
    }
    check_name(check, "index", &options->index, false, ES_NAME_MAX);
    check_name(check, "dataset", dataset, true, ES_NAME_PART_MAX);
    if (*namespace && is_template(*namespace)) {
        CONFIG_FAULT(check, namespace,
            "namespace: it is the same for all events. write it without braces and percent signs");
        return;
    }
    check_name(check, "namespace", namespace, true, ES_NAME_PART_MAX);
}

/* ---- names ----------------------------------------------------------------------------------- */

const char *es_name_route(const struct es_name_options *options)
{
    const char *text = options->index ? options->index : options->data_stream.dataset;
    return text && is_template(text) ? text : NULL;
}

/* Write a part of a name from ${text}: at most ${max} bytes, cut at a character. */
static size_t add_part(char *out, struct span text, size_t max, bool is_part)
{
    size_t size = text.size < max ? text.size : max;
    while (size < text.size && size > 0 && (text.data[size] & 0xc0) == 0x80) {
        size--;
    }
    for (size_t i = 0; i < size; i++) {
        char c = (char)text.data[i];
        c = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
        out[i] = (char)(is_barred(c, is_part) ? '_' : c);
    }
    return size;
}

static size_t add_text(char *out, const char *text)
{
    memcpy(out, text, strlen(text));
    return strlen(text);
}

size_t es_name_write(const struct es_name_options *options, const char *format,
    struct span rendered, char ret_name[ES_NAME_MAX])
{
    bool is_ecs = format && strcmp(format, "ecs") == 0;
    const char *dataset = options->data_stream.dataset;
    if (options->index) {
        struct span index = rendered.size ? rendered : span_text(options->index);
        return add_part(ret_name, index, ES_NAME_MAX, false);
    }
    struct span part = rendered.size ? rendered
                       : dataset     ? span_text(dataset)
                                     : span_text(is_ecs ? "etw.events" : "etw.native");
    size_t size = add_text(ret_name, "logs-");
    size += add_part(ret_name + size, part, ES_NAME_PART_MAX, true);
    ret_name[size++] = '-';
    const char *namespace = options->data_stream.namespace;
    return size + add_part(ret_name + size, span_text(namespace ? namespace : "default"),
                      ES_NAME_PART_MAX, true);
}
