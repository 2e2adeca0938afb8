#include "outputs/json_member.h"

#include "base/text/json_escape.h"

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
    size_t after = skip_value(object, value);
    *ret_value = without_space_behind(span_first(span_from(object, value), after - value));
    *at = after < object.size && object.data[after] == ',' ? after + 1 : object.size;
    return true;
}

struct span json_member_find(struct span object, const char *name)
{
    struct span key;
    struct span value;
    for (size_t at = 0; json_member_next(object, &at, &key, &value);) {
        if (span_is(key, name)) {
            return value;
        }
    }
    return span_make(NULL, 0);
}

bool json_member_inner(struct span value, struct span *ret_inner)
{
    if (value.size < 2 || value.data[0] != '"' || skip_string(value, 0) != value.size) {
        return false;
    }
    *ret_inner = span_make(value.data + 1, value.size - 2);
    return true;
}

void json_member_text(struct span inner, struct buf *out)
{
    if (inner.size && buf_reserve(out, inner.size)) {
        memcpy(out->data + out->size, inner.data, inner.size);
        out->size += json_escape_undo(out->data + out->size, inner.size);
    }
}
