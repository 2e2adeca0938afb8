#include "config/config_path.h"

#include <string.h>

#include "base/utf.h"
#include "config/config_text.h"

static bool is_letter(uint8_t c)
{
    c |= 0x20;
    return c >= 'a' && c <= 'z';
}

static bool is_name_byte(uint8_t c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '(' || c == ')';
}

/* The size of `%NAME%` at the front of ${text}, 0 if there is none. The letters of dates may be
 * followed by any one character (%Y_%m): a name has at least three, the first two are letters. */
static size_t environment_size(struct span text)
{
    size_t size = 1 + span_run(span_from(text, 1), is_name_byte);
    bool named = size >= 4 && is_letter(text.data[1]) && is_letter(text.data[2]);
    return named && size < text.size && text.data[size] == '%' ? size + 1 : 0;
}

static bool is_separator(uint8_t c)
{
    return c == '/' || c == '\\';
}

bool config_path_check(struct span path, struct error *err)
{
    if (path.size == 0) {
        return error_set(err, ERR_CONFIG, "the path is empty. write one, or remove the key");
    }
    if (path.data[0] == '~' && path.size > 1 && is_separator(path.data[1])) {
        return error_set(err, ERR_CONFIG,
            "~ is not resolved here. write ${HOME}, in quotes, for the environment variable");
    }
    for (size_t at = 0; at < path.size;) {
        struct span rest = span_from(path, at);
        size_t size = path.data[at] == '%' ? environment_size(rest) : 0;
        if (size) {
            struct span name = span_make(rest.data + 1, size - 2);
            return error_set(err, ERR_CONFIG,
                "%s is not resolved here. write ${%.*s}, in quotes, for the environment variable",
                config_text_quote(span_first(rest, size)).text, SPAN_ARG(span_first(name, 200)));
        }
        uint32_t c = utf8_next(path, &at);
        if (config_text_is_control(c)) {
            return error_set(err, ERR_CONFIG,
                "%s holds the control character U+%04X. in double quotes YAML reads \\t as a TAB, "
                "\\n as a line break, \\L and \\P as other breaks: write the path in single "
                "quotes, as in 'C:\\temp'",
                config_text_quote(path).text, (unsigned)c);
        }
    }
    return true;
}

bool config_path_is_absolute(struct span path)
{
    return (path.size > 0 && is_separator(path.data[0])) ||
           (path.size > 1 && is_letter(path.data[0]) && path.data[1] == ':');
}

void config_path_join(const char *base, struct span path, struct buf *out)
{
    if (!config_path_is_absolute(path)) {
        buf_add_text(out, base);
    }
    buf_add_span(out, path);
}

void config_path_add_literal(const char *base, struct buf *out)
{
    for (const char *c = base; *c; c++) {
        if (strchr("%{}", *c)) {
            buf_add_span(out, span_make(c, 1));
        }
        buf_add_span(out, span_make(c, 1));
    }
}

struct span config_path_folder(struct span path)
{
    size_t size = path.size;
    while (size && !is_separator(path.data[size - 1])) {
        size--;
    }
    return span_first(path, size);
}
