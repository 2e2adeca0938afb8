#include "support/json_check.h"

#include <stdlib.h>

enum { MAX_DEPTH = 64 };

struct checker {
    const uint8_t *at;
    const uint8_t *start;
    const uint8_t *end;
    const char *error;
    struct span *keys; /* of all open objects */
    size_t key_count;
    size_t key_capacity;
};

static bool fail(struct checker *c, const char *why)
{
    c->error = c->error ? c->error : why;
    return false;
}

static int peek(const struct checker *c)
{
    return c->at < c->end ? *c->at : -1;
}

static bool expect(struct checker *c, const char *text)
{
    size_t size = strlen(text);
    if ((size_t)(c->end - c->at) < size || memcmp(c->at, text, size) != 0) {
        return fail(c, "no value");
    }
    c->at += size;
    return true;
}

static bool is_hex(int byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') ||
           (byte >= 'A' && byte <= 'F');
}

static bool check_escape(struct checker *c)
{
    c->at++;
    int code = peek(c);
    if (code == -1 || !strchr("\"\\/bfnrtu", code)) {
        return fail(c, "unknown escape");
    }
    c->at++;
    for (int i = 0; code == 'u' && i < 4; i++, c->at++) {
        if (!is_hex(peek(c))) {
            return fail(c, "broken \\u escape");
        }
    }
    return true;
}

/* One character beyond ASCII: shortest form, no surrogate, at most U+10FFFF. */
static bool check_wide(struct checker *c)
{
    unsigned lead = *c->at;
    unsigned more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (lead < 0xc2 || lead > 0xf4 || (size_t)(c->end - c->at) <= more) {
        return fail(c, "broken UTF-8");
    }
    uint32_t character = lead & (0x3fu >> more);
    for (unsigned i = 1; i <= more; i++) {
        if ((c->at[i] & 0xc0) != 0x80) {
            return fail(c, "broken UTF-8");
        }
        character = character << 6 | (c->at[i] & 0x3fu);
    }
    if (character < least[more] || character > 0x10ffff ||
        (character >= 0xd800 && character <= 0xdfff)) {
        return fail(c, "broken UTF-8");
    }
    c->at += more + 1;
    return true;
}

static bool check_string(struct checker *c, struct span *ret_text)
{
    if (peek(c) != '"') {
        return fail(c, "no string");
    }
    const uint8_t *start = ++c->at;
    for (int byte = peek(c); byte != '"'; byte = peek(c)) {
        if (byte < 0x20) {
            return fail(c, "a string with a control character, or without an end");
        }
        if (byte == '\\') {
            if (!check_escape(c)) {
                return false;
            }
        } else if (byte >= 0x80) {
            if (!check_wide(c)) {
                return false;
            }
        } else {
            c->at++;
        }
    }
    *ret_text = span_make(start, (size_t)(c->at - start));
    c->at++;
    return true;
}

static bool check_digits(struct checker *c)
{
    if (peek(c) < '0' || peek(c) > '9') {
        return fail(c, "no digit");
    }
    while (peek(c) >= '0' && peek(c) <= '9') {
        c->at++;
    }
    return true;
}

static bool check_number(struct checker *c)
{
    c->at += peek(c) == '-';
    if (peek(c) == '0') {
        c->at++;
    } else if (!check_digits(c)) {
        return false;
    }
    if (peek(c) == '.') {
        c->at++;
        if (!check_digits(c)) {
            return false;
        }
    }
    if (peek(c) == 'e' || peek(c) == 'E') {
        c->at++;
        c->at += peek(c) == '-' || peek(c) == '+';
        return check_digits(c);
    }
    return true;
}

static bool check_value(struct checker *c, unsigned depth);

static bool add_key(struct checker *c, size_t first, struct span key)
{
    for (size_t i = first; i < c->key_count; i++) {
        if (span_equal(c->keys[i], key)) {
            return fail(c, "a key stands twice");
        }
    }
    if (c->key_count == c->key_capacity) {
        c->key_capacity = c->key_capacity ? c->key_capacity * 2 : 64;
        struct span *keys = realloc(c->keys, c->key_capacity * sizeof(*keys));
        if (!keys) {
            abort();
        }
        c->keys = keys;
    }
    c->keys[c->key_count++] = key;
    return true;
}

static bool check_members(struct checker *c, unsigned depth)
{
    size_t first = c->key_count;
    for (c->at++; peek(c) != '}'; c->at += peek(c) == ',') {
        struct span key;
        if (!check_string(c, &key) || !add_key(c, first, key)) {
            return false;
        }
        if (peek(c) != ':') {
            return fail(c, "no colon");
        }
        c->at++;
        if (!check_value(c, depth + 1)) {
            return false;
        }
        if (peek(c) != '}' && (peek(c) != ',' || c->end - c->at < 2 || c->at[1] == '}')) {
            return fail(c, "no end of the object");
        }
    }
    c->at++;
    c->key_count = first;
    return true;
}

static bool check_elements(struct checker *c, unsigned depth)
{
    for (c->at++; peek(c) != ']'; c->at += peek(c) == ',') {
        if (!check_value(c, depth + 1)) {
            return false;
        }
        if (peek(c) != ']' && (peek(c) != ',' || c->end - c->at < 2 || c->at[1] == ']')) {
            return fail(c, "no end of the list");
        }
    }
    c->at++;
    return true;
}

static bool check_value(struct checker *c, unsigned depth)
{
    struct span text;
    if (depth > MAX_DEPTH) {
        return fail(c, "nested too deep");
    }
    switch (peek(c)) {
    case '{':
        return check_members(c, depth);
    case '[':
        return check_elements(c, depth);
    case '"':
        return check_string(c, &text);
    case 't':
        return expect(c, "true");
    case 'f':
        return expect(c, "false");
    case 'n':
        return expect(c, "null");
    default:
        return check_number(c);
    }
}

const char *json_check(struct span text, size_t *ret_at)
{
    struct checker c = {.at = text.data, .start = text.data, .end = text.data + text.size};
    if (check_value(&c, 0) && c.at != c.end) {
        fail(&c, "something behind the value");
    }
    free(c.keys);
    *ret_at = (size_t)(c.at - c.start);
    return c.error;
}
