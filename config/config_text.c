#include "config/config_text.h"

#include <stdio.h>

#include "base/text/nearest.h"
#include "base/utf.h"

enum { QUOTE_MAX_BYTES = 60 };

bool config_text_is_control(uint32_t c)
{
    return utf_is_unseen(c);
}

struct config_quote config_text_quote(struct span text)
{
    static const char more[] = "\xe2\x80\xa6'";
    struct config_quote quote = {"'"};
    size_t used = 1;
    for (size_t at = 0; at < text.size;) {
        if (used > QUOTE_MAX_BYTES) {
            memcpy(quote.text + used, more, sizeof(more));
            return quote;
        }
        uint32_t c = utf8_next(text, &at);
        if (config_text_is_control(c)) {
            used += (size_t)snprintf(quote.text + used, 7, "\\x%02x", c);
        } else {
            used += utf8_put(c, (uint8_t *)quote.text + used);
        }
    }
    quote.text[used++] = '\'';
    quote.text[used] = 0;
    return quote;
}

void config_text_list(struct config_names *names, const char *name)
{
    const char *comma = names->size ? ", " : "";
    size_t more = strlen(comma) + strlen(name);
    if (more < sizeof(names->text) - names->size) {
        snprintf(names->text + names->size, more + 1, "%s%s", comma, name);
        names->size += more;
    }
}

void config_text_consider(struct config_nearest *nearest, const char *candidate)
{
    struct nearest one = {
        .text = nearest->text, .best = span_text(nearest->best), .edits = nearest->distance};
    struct span name = span_text(candidate);
    nearest_consider(&one, name);
    if (one.best.data == name.data) {
        nearest->best = candidate;
        nearest->distance = one.edits;
    }
}

const char *config_text_meant(const struct config_nearest *nearest)
{
    struct nearest one = {
        .text = nearest->text, .best = span_text(nearest->best), .edits = nearest->distance};
    return nearest_meant(&one).size ? nearest->best : NULL;
}

/* Windows has names such as ProgramFiles(x86). */
static bool is_name_byte(uint8_t c)
{
    return (c >= '0' && c <= '9') || (span_lower(c) >= 'a' && span_lower(c) <= 'z') || c == '_' ||
           c == '.' || c == '-' || c == '(' || c == ')';
}

/* Resolve the text between `${` and `}`. */
static bool expand_one(
    struct span inside, config_env_fn env, void *env_self, struct buf *out, struct error *err)
{
    char name[256];
    size_t size = 0;
    while (size < inside.size && is_name_byte(inside.data[size])) {
        size++;
    }
    bool has_default = size < inside.size && inside.data[size] == ':';
    if (size == 0 || size >= sizeof(name) || (size < inside.size && !has_default)) {
        return error_set(err, ERR_CONFIG,
            "%s names no environment variable. write ${NAME}, ${NAME:default}, or $${ for "
            "a literal ${",
            config_text_quote(inside).text);
    }
    memcpy(name, inside.data, size);
    name[size] = 0;
    const char *value = env(env_self, name);
    if (value) {
        buf_add_text(out, value);
    } else if (has_default) {
        buf_add_span(out, span_from(inside, size + 1));
    } else {
        return error_set(err, ERR_CONFIG,
            "the environment variable %s is not set. set it, or write ${%s:default}", name, name);
    }
    return true;
}

static bool is_blank(struct span text)
{
    size_t at = 0;
    while (at < text.size && memchr(" \t\r\n\v\f", text.data[at], 6)) {
        at++;
    }
    return at == text.size;
}

const char *config_text_secret_fault(struct span secret)
{
    bool has_break = secret.size && (memchr(secret.data, '\n', secret.size) ||
                                        memchr(secret.data, '\r', secret.size));
    return secret.size == 0   ? "is empty. write the secret there, or remove the key"
           : is_blank(secret) ? "holds only white space. write the secret there, or remove the key"
           : has_break        ? "has more than one line. write the secret there, and nothing else"
                              : NULL;
}

struct span config_text_blank_variable(struct span text, config_env_fn env, void *env_self)
{
    for (size_t at = 0; at + 2 < text.size; at++) {
        struct span rest = span_from(text, at);
        if (span_is(span_first(rest, 3), "$${")) {
            at += 2;
        } else if (span_is(span_first(rest, 2), "${")) {
            char name[256];
            struct span inside = span_from(rest, 2);
            size_t size = 0;
            while (
                size < inside.size && size + 1 < sizeof(name) && is_name_byte(inside.data[size])) {
                size++;
            }
            memcpy(name, inside.data, size);
            name[size] = 0;
            const char *value = env(env_self, name);
            if (value && is_blank(span_text(value))) {
                return span_first(inside, size);
            }
        }
    }
    return span_make(NULL, 0);
}

bool config_text_expand(
    struct span text, config_env_fn env, void *env_self, struct buf *out, struct error *err)
{
    size_t at = 0;
    while (at < text.size) {
        struct span rest = span_from(text, at);
        if (span_is(span_first(rest, 3), "$${")) {
            buf_add_text(out, "${");
            at += 3;
        } else if (span_is(span_first(rest, 2), "${")) {
            const uint8_t *close = memchr(rest.data, '}', rest.size);
            if (!close) {
                return error_set(err, ERR_CONFIG,
                    "a ${ is not closed. close it with }, or write $${ for a literal ${");
            }
            size_t size = (size_t)(close - rest.data);
            struct span inside = span_make(rest.data + 2, size - 2);
            if (!expand_one(inside, env, env_self, out, err)) {
                return false;
            }
            at += size + 1;
        } else {
            buf_add_byte(out, text.data[at++]);
        }
    }
    if (out->failed) {
        return error_set(err, ERR_LIMIT,
            "the value has more than %zu bytes after ${…} was resolved. shorten it", out->max);
    }
    return true;
}
