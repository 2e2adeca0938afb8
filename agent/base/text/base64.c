#include "base/text/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_write(struct buf *out, struct span bytes)
{
    for (; bytes.size; bytes = span_from(bytes, 3)) {
        uint32_t bits = (uint32_t)bytes.data[0] << 16;
        bits |= bytes.size > 1 ? (uint32_t)bytes.data[1] << 8 : 0;
        bits |= bytes.size > 2 ? bytes.data[2] : 0;
        buf_add_byte(out, (uint8_t)digits[bits >> 18]);
        buf_add_byte(out, (uint8_t)digits[bits >> 12 & 63]);
        buf_add_byte(out, bytes.size > 1 ? (uint8_t)digits[bits >> 6 & 63] : '=');
        buf_add_byte(out, bytes.size > 2 ? (uint8_t)digits[bits & 63] : '=');
    }
}

static int value_of(uint8_t c)
{
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Decode four digits; the last ${padding} of them are '='. */
static bool read_four(const uint8_t *four, size_t padding, struct buf *out)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < 4; i++) {
        int value = i < 4 - padding ? value_of(four[i]) : 0;
        if (value < 0) {
            return false;
        }
        bits = bits << 6 | (uint32_t)value;
    }
    uint32_t left_over = padding == 2 ? bits & 0xffff : padding == 1 ? bits & 0xff : 0;
    for (size_t i = 0; i < 3 - padding; i++) {
        buf_add_byte(out, (uint8_t)(bits >> (16 - 8 * i)));
    }
    return left_over == 0;
}

bool base64_read(struct span text, struct buf *out)
{
    if (text.size % 4) {
        return false;
    }
    for (; text.size; text = span_from(text, 4)) {
        size_t padding = 0;
        while (text.size == 4 && padding < 2 && text.data[3 - padding] == '=') {
            padding++;
        }
        if (!read_four(text.data, padding, out)) {
            return false;
        }
    }
    return true;
}
