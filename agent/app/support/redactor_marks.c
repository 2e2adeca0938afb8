#include "app/support/redactor_marks.h"

#include <string.h>

/* ---- words ----------------------------------------------------------------------------------- */

/* In the name of what is secret, in small letters, without - and _. */
static const char *const secret_words[] = {"password", "passwd", "passphrase", "secret", "token",
    "apikey", "bearer", "credential", "accesskey", "hashkey", "signature", "authorization",
    "cookie"};

/* Names that are, in a configuration. */
static const char *const secret_keys[] = {"key", "auth", "proxy", "pwd", "pass", "pin"};

/* Before credentials, in headers (RFC 9110, 11.1). */
static const char *const schemes[] = {"bearer", "basic", "apikey", "splunk", "digest", "negotiate"};

/* Nothing longer is looked for: each place costs as much. */
enum { MAX_NAME_BYTES = 64, SHORTEST_CREDENTIALS = 8, MAX_VALUE_BYTES = 16 * 1024 };

static bool is_name_byte(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '-';
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t';
}

static bool is_line_end(uint8_t c)
{
    return c == '\n' || c == '\r';
}

/* The name at ${at}, plain: small letters and digits alone. Its end in the text. */
static size_t read_name(struct span text, size_t at, char name[MAX_NAME_BYTES])
{
    size_t size = 0;
    for (; at < text.size && is_name_byte(text.data[at]); at++) {
        uint8_t c = text.data[at];
        if (c != '_' && c != '-' && size < MAX_NAME_BYTES - 1) {
            name[size++] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
        }
    }
    name[size] = '\0';
    return at;
}

#define IS_ONE_OF(name, list) is_one_of(name, list, sizeof(list) / sizeof((list)[0]))

static bool is_one_of(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, list[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_secret(const char *name)
{
    for (size_t i = 0; i < sizeof(secret_words) / sizeof(secret_words[0]); i++) {
        if (strstr(name, secret_words[i])) {
            return true;
        }
    }
    return false;
}

/* ---- values ---------------------------------------------------------------------------------- */

static size_t skip_spaces(struct span text, size_t at)
{
    while (at < text.size && is_space(text.data[at])) {
        at++;
    }
    return at;
}

/* A quote; JSON within JSON has a backslash before it. 0: there is none. */
static size_t quote_size(struct span text, size_t at)
{
    size_t slash = at < text.size && text.data[at] == '\\';
    bool is_quote = at + slash < text.size &&
                    (text.data[at + slash] == '"' || text.data[at + slash] == '\'');
    return is_quote ? slash + 1 : 0;
}

struct value {
    size_t start;
    size_t end;
    bool quoted;
    uint8_t separator; /* : or = */
};

/* The end of a value without quotes. */
enum value_end {
    ENDS_AS_WORD,
    ENDS_AS_HEADER, /* with its line */
    ENDS_AS_YAML,
};

static bool ends_value(struct span text, size_t at, enum value_end end)
{
    uint8_t c = text.data[at];
    switch (end) {
    case ENDS_AS_HEADER:
        return c == '"';
    case ENDS_AS_YAML:
        return c == ',' || c == '}' || c == ']' || (c == '#' && is_space(text.data[at - 1]));
    default:
        return is_space(c) || memchr(",;&)}]\"'<>", c, 10) != NULL;
    }
}

static bool ends_quote(struct span text, size_t at, size_t quote, uint8_t closing)
{
    return quote > 1 ? text.data[at] == '\\' && at + 1 < text.size && text.data[at + 1] == closing
                     : text.data[at] == closing;
}

/* Two bytes stand for a quote within quotes: \" in JSON and in YAML's double quotes,
 * '' in its single ones. */
static bool is_escaped(struct span text, size_t at, size_t quote, uint8_t closing)
{
    bool begins = closing == '"' ? text.data[at] == '\\' : text.data[at] == '\'';
    return quote == 1 && begins && at + 1 < text.size &&
           (closing == '"' ? !is_line_end(text.data[at + 1]) : text.data[at + 1] == closing);
}

/* The value after a name that ends at ${at}: `name: value`, `"name":"value"`, `name=value`. */
static bool find_value(struct span text, size_t at, enum value_end end, struct value *ret_value)
{
    at = skip_spaces(text, at + quote_size(text, at));
    if (at >= text.size || (text.data[at] != ':' && text.data[at] != '=')) {
        return false;
    }
    struct value value = {.separator = text.data[at]};
    at = skip_spaces(text, at + 1);
    size_t quote = quote_size(text, at);
    uint8_t closing = quote ? text.data[at + quote - 1] : 0;
    at += quote;
    value.start = at;
    value.quoted = quote != 0;
    while (at < text.size && at - value.start < MAX_VALUE_BYTES && !is_line_end(text.data[at]) &&
           (is_escaped(text, at, quote, closing) ||
               !(quote ? ends_quote(text, at, quote, closing) : ends_value(text, at, end)))) {
        at += is_escaped(text, at, quote, closing) ? 2 : 1;
    }
    while (at > value.start && is_space(text.data[at - 1])) {
        at--;
    }
    value.end = at;
    *ret_value = value;
    return value.end > value.start;
}

/* Does what begins here only say where the secret is, or that there is one?
 * A map or a list is none. */
static bool says_nothing(struct span text, size_t at)
{
    static const char *const starts[] = {"(set)", "***", "${", "file:", "dpapi:"};
    bool is_quoted = at && (text.data[at - 1] == '"' || text.data[at - 1] == '\'');
    if (at < text.size && !is_quoted && (text.data[at] == '{' || text.data[at] == '[')) {
        return true;
    }
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (span_is(span_first(span_from(text, at), strlen(starts[i])), starts[i])) {
            return true;
        }
    }
    return false;
}

/* Words of a sentence are small letters, and not many. */
static bool is_word(struct span value)
{
    enum { LONGEST_WORD = 16 };
    for (size_t i = 0; i < value.size; i++) {
        bool small = value.data[i] >= 'a' && value.data[i] <= 'z';
        if (!small && !(i + 1 == value.size && value.data[i] == '.')) {
            return false;
        }
    }
    return value.size <= LONGEST_WORD;
}

static struct span span_of(struct span text, const struct value *value)
{
    return span_make(text.data + value->start, value->end - value->start);
}

bool redactor_marks_next_value(struct span text, size_t *at, struct span *ret_value)
{
    char name[MAX_NAME_BYTES];
    while (*at < text.size) {
        struct value value;
        size_t end = read_name(text, *at, name);
        if (end == *at) {
            ++*at;
            continue;
        }
        *at = end;
        if ((is_secret(name) || IS_ONE_OF(name, secret_keys)) &&
            find_value(text, end, ENDS_AS_YAML, &value) && !says_nothing(text, value.start)) {
            *ret_value = span_of(text, &value);
            *at = value.end;
            return true;
        }
    }
    return false;
}

/* ---- guesses --------------------------------------------------------------------------------- */

static void mark(uint8_t *marks, size_t start, size_t end)
{
    memset(marks + start, 1, end - start);
}

/* `scheme://user:password@host/path?query`. A password that was not escaped may hold any character,
 * so what stands before the last @ of the word goes. Where the word ends. */
static size_t guess_address(struct span text, size_t at, uint8_t *marks)
{
    size_t end = at;
    while (end < text.size && end - at < MAX_VALUE_BYTES && !is_space(text.data[end]) &&
           !is_line_end(text.data[end]) && !memchr("\"'<>()", text.data[end], 6)) {
        end++;
    }
    size_t user = end;
    while (user > at && text.data[user - 1] != '@') {
        user--;
    }
    if (user > at + 1) {
        mark(marks, at, user - 1);
    }
    const uint8_t *query = memchr(text.data + user, '?', end - user);
    if (query && !says_nothing(text, (size_t)(query - text.data) + 1)) {
        mark(marks, (size_t)(query - text.data) + 1, end);
    }
    return end;
}

/* ${name} ends at ${at}: hide what follows if the name is that of a secret. */
static void guess_value(struct span text, const char *name, size_t at, uint8_t *marks)
{
    struct value value;
    bool is_header = strstr(name, "authorization") || strstr(name, "cookie");
    if (!is_secret(name) ||
        !find_value(text, at, is_header ? ENDS_AS_HEADER : ENDS_AS_WORD, &value)) {
        return;
    }
    struct span text_of_value = span_of(text, &value);
    bool is_prose = value.separator == ':' && !value.quoted && !is_header && is_word(text_of_value);
    if (!says_nothing(text, value.start) && !is_prose) {
        mark(marks, value.start, value.end);
    }
}

static void guess_credentials(struct span text, size_t at, uint8_t *marks)
{
    size_t start = skip_spaces(text, at);
    size_t end = start;
    while (
        end < text.size && (is_name_byte(text.data[end]) || memchr("+/=.~:", text.data[end], 6))) {
        end++;
    }
    if (start > at && end - start >= SHORTEST_CREDENTIALS &&
        !is_word(span_make(text.data + start, end - start))) {
        mark(marks, start, end);
    }
}

void redactor_marks_guess(struct span text, uint8_t *marks)
{
    char name[MAX_NAME_BYTES];
    for (size_t at = 0; at < text.size;) {
        if (span_is(span_first(span_from(text, at), 3), "://")) {
            at = guess_address(text, at + 3, marks);
            continue;
        }
        size_t end = read_name(text, at, name);
        if (end == at) {
            at++;
            continue;
        }
        guess_value(text, name, end, marks);
        if (IS_ONE_OF(name, schemes)) {
            guess_credentials(text, end, marks);
        }
        at = end;
    }
}
