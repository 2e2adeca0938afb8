#include "schema/wpp/wpp_spec.h"

static bool take(struct span *text, uint8_t c)
{
    bool is_next = text->size && text->data[0] == c;
    if (is_next) {
        *text = span_from(*text, 1);
    }
    return is_next;
}

static unsigned take_digits(struct span *text, unsigned max)
{
    unsigned value = 0;
    while (text->size && text->data[0] >= '0' && text->data[0] <= '9') {
        value = value * 10 + (text->data[0] - (unsigned)'0');
        value = value > max ? max : value;
        *text = span_from(*text, 1);
    }
    return value;
}

static uint8_t take_flags(struct span *text)
{
    static const char letters[] = "-0+ #";
    uint8_t flags = 0;
    while (text->size) {
        const char *letter = memchr(letters, text->data[0], sizeof(letters) - 1);
        if (!letter) {
            break;
        }
        flags |= (uint8_t)(1u << (letter - letters));
        *text = span_from(*text, 1);
    }
    return flags;
}

/* Bytes given by the length modifier; 0: none, or pointer size. */
static uint8_t take_length(struct span *text)
{
    static const struct {
        const char *modifier;
        uint8_t bytes;
    } lengths[] = {{"I64", 8}, {"I32", 4}, {"I", 0}, {"ll", 8}, {"l", 4}, {"hh", 1}, {"h", 2},
        {"j", 8}, {"z", 0}, {"t", 0}, {"w", 0}, {"L", 0}};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        size_t size = strlen(lengths[i].modifier);
        /* `%z` and `%w` alone are strings */
        if (text->size > size && memcmp(text->data, lengths[i].modifier, size) == 0) {
            *text = span_from(*text, size);
            return lengths[i].bytes;
        }
    }
    return 0;
}

_Static_assert(WPP_FLAG_LEFT == 1 && WPP_FLAG_ZERO == 2 && WPP_FLAG_PLUS == 4 &&
                   WPP_FLAG_SPACE == 8 && WPP_FLAG_ALT == 16,
    "the letters of take_flags are in the order of their bits");

struct wpp_spec wpp_spec_parse(struct span text)
{
    struct wpp_spec spec = {.conversion = 's', .precision = -1};
    spec.flags = take_flags(&text);
    spec.width = (uint16_t)take_digits(&text, WPP_MAX_WIDTH);
    if (take(&text, '.')) {
        spec.precision = (int16_t)take_digits(&text, WPP_MAX_PRECISION);
    }
    spec.bytes = take_length(&text);
    if (text.size && memchr("cdiouxXeEfFgGaAp", text.data[0], 16)) {
        spec.conversion = text.data[0];
    }
    return spec;
}
