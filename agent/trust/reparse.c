#include "trust/reparse.h"

#include "base/reader.h"
#include "base/utf.h"

enum {
    TAG_SYMLINK = (int)0xa000000c,
    TAG_MOUNT_POINT = (int)0xa0000003,
    NAME_SURROGATE = 0x20000000
};

static void add_text16(struct span text, struct buf *out)
{
    if (buf_reserve(out, utf16_json_bound(text.size))) {
        out->size += utf16_to_utf8(text, out->data + out->size);
    }
}

/* Does ${text}, UTF-16, begin with the ASCII ${start}? */
static bool begins(struct span text, const char *start)
{
    size_t i = 0;
    while (start[i] && i * 2 + 1 < text.size && text.data[i * 2] == (uint8_t)start[i] &&
           text.data[i * 2 + 1] == 0) {
        i++;
    }
    return !start[i];
}

/* The kernel's \??\C:\x, \??\UNC\host\share and \??\Volume{…}\ as programs write them. */
static void add_target(struct span name, struct buf *target)
{
    enum { KERNEL_UNITS = 4, UNC_UNITS = 8 };
    if (begins(name, "\\??\\UNC\\")) {
        buf_add_text(target, "\\\\");
        name = span_from(name, UNC_UNITS * 2);
    } else if (begins(name, "\\??\\Volume{")) {
        buf_add_text(target, "\\\\?\\");
        name = span_from(name, KERNEL_UNITS * 2);
    } else if (begins(name, "\\??\\")) {
        name = span_from(name, KERNEL_UNITS * 2);
    }
    add_text16(name, target);
}

enum reparse_kind reparse_read(struct span data, struct buf *target)
{
    struct reader r = reader_make(data);
    uint32_t tag = reader_u32(&r);
    uint16_t bytes = reader_u16(&r);
    reader_skip(&r, 2);
    if (r.failed) {
        return REPARSE_UNKNOWN;
    }
    if (!(tag & NAME_SURROGATE)) {
        return REPARSE_PLAIN;
    }
    if (tag != (uint32_t)TAG_SYMLINK && tag != (uint32_t)TAG_MOUNT_POINT) {
        return REPARSE_UNKNOWN;
    }
    struct reader body = reader_make(reader_take(&r, bytes));
    uint16_t offset = reader_u16(&body);
    uint16_t size = reader_u16(&body);
    reader_skip(&body, tag == (uint32_t)TAG_SYMLINK ? 8 : 4); /* the name to show; flags */
    reader_skip(&body, offset);
    struct span name = reader_take(&body, size);
    size_t start = target->size;
    if (r.failed || body.failed || !size || size % 2) {
        return REPARSE_UNKNOWN;
    }
    add_target(name, target);
    bool good = !target->failed && target->size > start &&
                !memchr(target->data + start, 0, target->size - start);
    return good ? REPARSE_LINK : REPARSE_UNKNOWN;
}
