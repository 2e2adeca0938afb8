#include "outputs/json_member.h"

#include "base/utf.h"

static size_t skip_space(struct span s, size_t at)
{
    while (at < s.size &&
           (s.data[at] == ' ' || s.data[at] == '\t' || s.data[at] == '\n' || s.data[at] == '\r')) {
        at++;
    }
    return at;
}

/* Move from a quote past the closing one; SIZE_MAX: there is none. */
static size_t skip_string(struct span s, size_t at)
{
    for (at++; at < s.size; at++) {
        const uint8_t *quote = memchr(s.data + at, '"', s.size - at);
        if (!quote) {
            return SIZE_MAX;
        }
        size_t slashes = 0;
        size_t end = (size_t)(quote - s.data);
        while (end - slashes > at && s.data[end - slashes - 1] == '\\') {
            slashes++;
        }
        at = end;
        if (slashes % 2 == 0) {
            return at + 1;
        }
    }
    return SIZE_MAX;
}

/* Move past a value: to the comma or closing bracket after it. */
static size_t skip_value(struct span s, size_t at)
{
    static const bool counts[256] = {
        ['"'] = true, ['{'] = true, ['['] = true, ['}'] = true, [']'] = true, [','] = true};
    for (size_t depth = 0; at < s.size;) {
        uint8_t c = s.data[at];
        if (!counts[c]) {
            at++;
        } else if (c == '"') {
            at = skip_string(s, at);
        } else if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
            return at;
        } else {
            depth += c == '{' || c == '[' ? 1u : 0u;
            depth -= c == '}' || c == ']' ? 1u : 0u;
            at++;
        }
    }
    return s.size;
}

static struct span without_space_behind(struct span s)
{
    while (s.size) {
        uint8_t c = s.data[s.size - 1];
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
            break;
        }
        s.size--;
    }
    return s;
}

struct span json_member_find(struct span object, const char *name)
{
    size_t at = skip_space(object, 0);
    if (at == object.size || object.data[at] != '{') {
        return span_make(NULL, 0);
    }
    for (at = skip_space(object, at + 1); at < object.size && object.data[at] == '"';) {
        size_t end = skip_string(object, at);
        if (end == SIZE_MAX) {
            break;
        }
        struct span key = span_first(span_from(object, at + 1), end - at - 2);
        at = skip_space(object, end);
        if (at == object.size || object.data[at] != ':') {
            break;
        }
        at = skip_space(object, at + 1);
        end = skip_value(object, at);
        if (span_is(key, name)) {
            return without_space_behind(span_first(span_from(object, at), end - at));
        }
        if (end == object.size || object.data[end] != ',') {
            break;
        }
        at = skip_space(object, end + 1);
    }
    return span_make(NULL, 0);
}

bool json_member_next(struct span object, size_t *at, struct span *ret_key, struct span *ret_value)
{
    size_t start = *at ? *at : skip_space(object, 0);
    if (*at == 0 && (start == object.size || object.data[start] != '{')) {
        return false;
    }
    start = skip_space(object, *at ? *at : start + 1);
    size_t end = start < object.size && object.data[start] == '"' ? skip_string(object, start)
                                                                  : SIZE_MAX;
    if (end == SIZE_MAX) {
        return false;
    }
    *ret_key = span_first(span_from(object, start + 1), end - start - 2);
    size_t colon = skip_space(object, end);
    if (colon == object.size || object.data[colon] != ':') {
        return false;
    }
    size_t value = skip_space(object, colon + 1);
    size_t behind = skip_value(object, value);
    *ret_value = without_space_behind(span_first(span_from(object, value), behind - value));
    *at = behind < object.size && object.data[behind] == ',' ? behind + 1 : object.size;
    return true;
}

bool json_member_inner(struct span value, struct span *ret_inner)
{
    if (value.size < 2 || value.data[0] != '"' || skip_string(value, 0) != value.size) {
        return false;
    }
    *ret_inner = span_make(value.data + 1, value.size - 2);
    return true;
}

static int hex_digit(uint8_t c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The unit of `\uXXXX` at ${at}. False: there is none. */
static bool read_unit(struct span s, size_t at, uint32_t *ret_unit)
{
    uint32_t unit = 0;
    if (at > s.size || s.size - at < 6 || s.data[at] != '\\' || s.data[at + 1] != 'u') {
        return false;
    }
    for (size_t i = 2; i < 6; i++) {
        int digit = hex_digit(s.data[at + i]);
        if (digit < 0) {
            return false;
        }
        unit = unit << 4 | (uint32_t)digit;
    }
    *ret_unit = unit;
    return true;
}

/* The character of the escape at ${at}; moves past it. */
static uint32_t read_escape(struct span s, size_t *at)
{
    static const char letters[] = "bfnrt";
    static const char meant[] = "\b\f\n\r\t";
    uint32_t unit;
    uint32_t low;
    if (!read_unit(s, *at, &unit)) {
        uint8_t c = *at + 1 < s.size ? s.data[*at + 1] : '\\';
        const char *letter = c ? strchr(letters, c) : NULL;
        *at += 2;
        return letter ? (uint8_t)meant[letter - letters] : c;
    }
    *at += 6;
    if (unit < 0xd800 || unit > 0xdfff) {
        return unit;
    }
    if (unit < 0xdc00 && read_unit(s, *at, &low) && low >= 0xdc00 && low <= 0xdfff) {
        *at += 6;
        return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    return 0xfffd;
}

void json_member_text(struct span inner, struct buf *out)
{
    for (size_t at = 0; at < inner.size;) {
        const uint8_t *slash = memchr(inner.data + at, '\\', inner.size - at);
        size_t plain = slash ? (size_t)(slash - inner.data) - at : inner.size - at;
        buf_add(out, inner.data + at, plain);
        at += plain;
        if (slash) {
            uint8_t bytes[4];
            uint32_t character = read_escape(inner, &at);
            buf_add(out, bytes, utf8_put(character, bytes));
        }
    }
}
