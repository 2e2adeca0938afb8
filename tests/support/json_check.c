#include "support/json_check.h"

#include <stdlib.h>

enum { MAX_DEPTH = 64 };

struct checker {
    const uint8_t *at;
    const uint8_t *start;
    const uint8_t *end;
    const char *error;
    bool is_line;      /* json_check_line */
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

/* The value of a hexadecimal digit, or -1. */
static int hex_value(int byte)
{
    int lower = byte | 0x20;
    return byte >= '0' && byte <= '9'     ? byte - '0'
           : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10
                                          : -1;
}

/* The four digits of a \u escape. */
static bool take_unit(struct checker *c, uint32_t *ret_unit)
{
    *ret_unit = 0;
    for (int i = 0; i < 4; i++, c->at++) {
        int digit = hex_value(peek(c));
        if (digit < 0) {
            return fail(c, "broken \\u escape");
        }
        *ret_unit = *ret_unit << 4 | (uint32_t)digit;
    }
    return true;
}

static bool check_escape(struct checker *c)
{
    c->at++;
    int code = peek(c);
    if (code == -1 || !strchr("\"\\/bfnrtu", code)) {
        return fail(c, "unknown escape");
    }
    c->at++;
    if (code != 'u') {
        return true;
    }
    uint32_t unit;
    uint32_t low;
    if (!take_unit(c, &unit)) {
        return false;
    }
    if (!c->is_line || (unit & 0xf800) != 0xd800) {
        return true;
    }
    if (unit >= 0xdc00 || c->end - c->at < 2 || c->at[0] != '\\' || c->at[1] != 'u') {
        return fail(c, "half of a surrogate pair");
    }
    c->at += 2;
    return take_unit(c, &low) && ((low & 0xfc00) == 0xdc00 || fail(c, "half of a surrogate pair"));
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

/* Does a character begin at ${p} that is invisible, or that changes how others are shown? By their
 * bytes, as shells and terminals know them: DEL, C1, zero width, line and paragraph separators,
 * controls of bidirectional text, the byte order mark. */
static bool is_unseen(const uint8_t *p, const uint8_t *end)
{
    size_t left = (size_t)(end - p);
    unsigned second = left > 1 ? p[1] : 0;
    unsigned third = left > 2 ? p[2] : 0;
    switch (p[0]) {
    case 0x7f:
        return true;
    case 0xc2:
        return second < 0xa0;
    case 0xd8:
        return second == 0x9c;
    case 0xe2:
        return (second == 0x80 &&
                   ((third >= 0x8b && third <= 0x8f) || (third >= 0xa8 && third <= 0xae))) ||
               (second == 0x81 && third >= 0xa0 && third <= 0xa9 && third != 0xa5);
    case 0xef:
        return second == 0xbb && third == 0xbf;
    default:
        return false;
    }
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
        if (c->is_line && is_unseen(c->at, c->end)) {
            return fail(c, "a character that nobody sees, without an escape");
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

/* Take the first character of a string that was checked, its escapes resolved. */
static uint32_t take_character(struct span *text)
{
    static const char codes[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    struct checker c = {.at = text->data, .end = text->data + text->size};
    uint32_t character = *c.at++;
    if (character == '\\') {
        int code = *c.at++;
        const char *known = strchr(codes, code);
        character = known ? (uint32_t)(uint8_t)meanings[known - codes] : 0;
        if (!known && take_unit(&c, &character) && (character & 0xfc00) == 0xd800) {
            uint32_t low;
            c.at += 2;
            take_unit(&c, &low);
            character = 0x10000 + ((character & 0x3ff) << 10) + (low & 0x3ff);
        }
    } else if (character >= 0x80) {
        unsigned more = character >= 0xf0 ? 3 : character >= 0xe0 ? 2 : 1;
        for (character &= 0x3fu >> more; more > 0; more--) {
            character = character << 6 | (*c.at++ & 0x3fu);
        }
    }
    *text = span_from(*text, (size_t)(c.at - text->data));
    return character;
}

/* Do two keys stand for the same name? */
static bool is_same_key(struct span a, struct span b)
{
    while (a.size && b.size) {
        if (take_character(&a) != take_character(&b)) {
            return false;
        }
    }
    return a.size == b.size;
}

static bool add_key(struct checker *c, size_t first, struct span key)
{
    for (size_t i = first; i < c->key_count; i++) {
        if (c->is_line ? is_same_key(c->keys[i], key) : span_equal(c->keys[i], key)) {
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

static const char *check(struct span text, bool is_line, size_t *ret_at)
{
    struct checker c = {
        .at = text.data, .start = text.data, .end = text.data + text.size, .is_line = is_line};
    if (check_value(&c, 0) && c.at != c.end) {
        fail(&c, "something behind the value");
    }
    free(c.keys);
    *ret_at = (size_t)(c.at - c.start);
    return c.error;
}

const char *json_check(struct span text, size_t *ret_at)
{
    return check(text, false, ret_at);
}

const char *json_check_line(struct span line, size_t *ret_at)
{
    *ret_at = 0;
    if (line.size < 3 || line.data[0] != '{') {
        return "no object";
    }
    if (line.data[line.size - 1] != '\n') {
        *ret_at = line.size;
        return "no end of the line";
    }
    return check(span_first(line, line.size - 1), true, ret_at);
}

const char *json_check_utf8(struct span text, size_t *ret_at)
{
    struct checker c = {.at = text.data, .start = text.data, .end = text.data + text.size};
    while (c.at < c.end && !c.error) {
        bool is_control = (*c.at < 0x20 && *c.at != '\n') || is_unseen(c.at, c.end);
        if (is_control) {
            fail(&c, "a control character");
        } else if (*c.at >= 0x80) {
            check_wide(&c);
        } else {
            c.at++;
        }
    }
    *ret_at = (size_t)(c.at - c.start);
    return c.error;
}
