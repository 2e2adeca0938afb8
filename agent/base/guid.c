#include "base/guid.h"

#include "base/hex.h"
#include "base/put.h"
#include "base/sha1.h"
#include "base/utf.h"

/* Position of each stored byte in the text form. */
static const uint8_t text_order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

static bool dash_before(size_t byte)
{
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

void guid_write(const struct guid *guid, char *text)
{
    put_guid((uint8_t *)text, guid->bytes);
}

bool guid_parse(struct span text, struct guid *ret_guid)
{
    if (text.size == GUID_TEXT_SIZE + 2 && text.data[0] == '{' && text.data[text.size - 1] == '}') {
        text = span_make(text.data + 1, GUID_TEXT_SIZE);
    }
    if (text.size != GUID_TEXT_SIZE) {
        return false;
    }
    struct guid guid;
    const uint8_t *p = text.data;
    for (size_t i = 0; i < 16; i++) {
        if (dash_before(i) && *p++ != '-') {
            return false;
        }
        unsigned high = hex_digit(p[0]);
        unsigned low = hex_digit(p[1]);
        if ((high | low) >= HEX_NONE) {
            return false;
        }
        guid.bytes[text_order[i]] = (uint8_t)(high << 4 | low);
        p += 2;
    }
    *ret_guid = guid;
    return true;
}

struct guid guid_from_name(struct span name)
{
    static const uint8_t name_space[16] = {0x48, 0x2c, 0x2d, 0xb2, 0xc3, 0x90, 0x47, 0xc8, 0x87,
        0xf8, 0x1a, 0x15, 0xbf, 0xc1, 0x30, 0xfb};
    struct sha1 sha;
    sha1_init(&sha);
    sha1_update(&sha, span_make(name_space, sizeof(name_space)));
    size_t at = 0;
    while (at < name.size) {
        uint32_t c = utf8_next(name, &at);
        if (c >= 'a' && c <= 'z') {
            c -= 'a' - 'A';
        }
        uint8_t unit[4];
        size_t size = 2;
        if (c >= 0x10000) {
            uint32_t high = 0xd800 + ((c - 0x10000) >> 10);
            uint32_t low = 0xdc00 + ((c - 0x10000) & 0x3ff);
            unit[0] = (uint8_t)(high >> 8);
            unit[1] = (uint8_t)high;
            unit[2] = (uint8_t)(low >> 8);
            unit[3] = (uint8_t)low;
            size = 4;
        } else {
            unit[0] = (uint8_t)(c >> 8);
            unit[1] = (uint8_t)c;
        }
        sha1_update(&sha, span_make(unit, size));
    }
    uint8_t digest[SHA1_SIZE];
    sha1_final(&sha, digest);
    struct guid guid;
    memcpy(guid.bytes, digest, sizeof(guid.bytes));
    guid.bytes[7] = (uint8_t)((guid.bytes[7] & 0x0f) | 0x50);
    return guid;
}
