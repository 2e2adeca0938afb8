#include "trust/reparse.h"

#include "base/reader.h"
#include "base/utf.h"

enum {
    TAG_SYMLINK = (int)0xa000000c,
    TAG_MOUNT_POINT = (int)0xa0000003,
    NAME_SURROGATE = 0x20000000,
    SYMLINK_RELATIVE = 1
};

static void add_text16(struct span text, struct buf *out)
{
    if (buf_reserve(out, utf16_json_bound(text.size))) {
        out->size += utf16_to_utf8(text, out->data + out->size);
    }
}

/* True if ${text}, UTF-16, begins with the ASCII ${start}. */
static bool begins(struct span text, const char *start)
{
    size_t i = 0;
    while (start[i] && i * 2 + 1 < text.size && text.data[i * 2] == (uint8_t)start[i] &&
           text.data[i * 2 + 1] == 0) {
        i++;
    }
    return !start[i];
}

/* C: alone, or followed by the root. */
static bool begins_with_drive(struct span text)
{
    if (text.size < 4) {
        return false;
    }
    uint8_t letter = text.data[0] | 0x20;
    const char drive[] = {(char)text.data[0], ':', 0};
    return letter >= 'a' && letter <= 'z' && begins(text, drive) &&
           (text.size == 4 || begins(span_from(text, 4), "\\"));
}

/* Convert the kernel's \??\C:\x, \??\UNC\host\share and \??\Volume{…}\ to paths of programs. Other
 * names, such as devices and links of the kernel, cannot be followed. */
static bool add_absolute(struct span name, struct buf *target)
{
    enum { KERNEL_UNITS = 4, UNC_UNITS = 4 };
    if (!begins(name, "\\??\\")) {
        return false;
    }
    name = span_from(name, KERNEL_UNITS * 2);
    if (begins(name, "UNC\\")) {
        buf_add_text(target, "\\\\");
        name = span_from(name, UNC_UNITS * 2);
    } else if (begins(name, "Volume{")) {
        buf_add_text(target, "\\\\?\\");
    } else if (!begins_with_drive(name)) {
        return false;
    }
    add_text16(name, target);
    return true;
}

/* Relative to the folder of the link, or to the root of its disk. */
static bool add_relative(struct span name, struct buf *target)
{
    if (begins(name, "\\??\\") || begins(name, "\\\\") || begins_with_drive(name)) {
        return false;
    }
    add_text16(name, target);
    return true;
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
    reader_skip(&body, 4); /* the name to show */
    uint32_t flags = tag == (uint32_t)TAG_SYMLINK ? reader_u32(&body) : 0;
    reader_skip(&body, offset);
    struct span name = reader_take(&body, size);
    size_t start = target->size;
    if (r.failed || body.failed || !size || size % 2) {
        return REPARSE_UNKNOWN;
    }
    bool good = flags & SYMLINK_RELATIVE ? add_relative(name, target) : add_absolute(name, target);
    good = good && !target->failed && target->size > start &&
           !memchr(target->data + start, 0, target->size - start);
    return good ? REPARSE_LINK : REPARSE_UNKNOWN;
}
