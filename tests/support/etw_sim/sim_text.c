#include "base/utf.h"
#include "support/etw_sim/sim_state.h"

size_t sim_text_length(const etw_char *text, size_t max)
{
    size_t n = 0;
    while (n < max && text[n]) {
        n++;
    }
    return n;
}

static etw_char lower(etw_char c)
{
    return c >= 'A' && c <= 'Z' ? (etw_char)(c + 32) : c;
}

bool sim_text_equal(const etw_char *a, const etw_char *b)
{
    while (*a && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return lower(*a) == lower(*b);
}

void sim_text_to_utf8(const etw_char *text, char *out, size_t size)
{
    uint8_t room[6 * ETW_MAX_NAME_CHARS + UTF_SLACK];
    size_t length = sim_text_length(text, ETW_MAX_NAME_CHARS - 1);
    size_t n = utf16_to_utf8(span_make(text, length * 2), room);
    n = n < size ? n : size - 1;
    memcpy(out, room, n);
    out[n] = 0;
}

void sim_text_from_utf8(const char *text, etw_char *out, size_t max)
{
    struct span s = span_text(text);
    size_t n = 0;
    for (size_t at = 0; at < s.size;) {
        uint32_t c = utf8_next(s, &at);
        if (n + (c >= 0x10000 ? 2 : 1) >= max) {
            break;
        }
        if (c >= 0x10000) {
            out[n++] = (etw_char)(0xd800 + ((c - 0x10000) >> 10));
            c = 0xdc00 + ((c - 0x10000) & 0x3ff);
        }
        out[n++] = (etw_char)c;
    }
    out[n] = 0;
}
