#ifndef ETWSHIP_TESTS_SUPPORT_ETL_PUT_H
#define ETWSHIP_TESTS_SUPPORT_ETL_PUT_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/guid.h"
#include "base/utf.h"

/*
 * Little-endian values appended to a buffer: what records, payloads and metadata are built from.
 * Failure stays in buf.failed.
 */
static inline void etl_put_u8(struct buf *out, uint8_t v)
{
    buf_add(out, &v, 1);
}

static inline void etl_put_u16(struct buf *out, uint16_t v)
{
    buf_add_le16(out, v);
}

static inline void etl_put_u32(struct buf *out, uint32_t v)
{
    buf_add_le32(out, v);
}

static inline void etl_put_u64(struct buf *out, uint64_t v)
{
    buf_add_le64(out, v);
}

static inline void etl_put_double(struct buf *out, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    etl_put_u64(out, bits);
}

/* The low ${pointer_size} bytes (4 or 8) of ${v}. */
static inline void etl_put_pointer(struct buf *out, uint8_t pointer_size, uint64_t v)
{
    if (pointer_size == 4) {
        etl_put_u32(out, (uint32_t)v);
    } else {
        etl_put_u64(out, v);
    }
}

static inline void etl_put_guid(struct buf *out, const struct guid *guid)
{
    buf_add(out, guid->bytes, sizeof(guid->bytes));
}

static inline void etl_put_zeros(struct buf *out, size_t count)
{
    if (buf_reserve(out, count)) {
        memset(out->data + out->size, 0, count);
        out->size += count;
    }
}

/* UTF-8 text as UTF-16LE, without terminator. */
static inline void etl_put_utf16_span(struct buf *out, struct span text)
{
    for (size_t at = 0; at < text.size;) {
        uint32_t c = utf8_next(text, &at);
        if (c >= 0x10000) {
            etl_put_u16(out, (uint16_t)(0xd800 + ((c - 0x10000) >> 10)));
            c = 0xdc00 + ((c - 0x10000) & 0x3ff);
        }
        etl_put_u16(out, (uint16_t)c);
    }
}

static inline void etl_put_utf16(struct buf *out, const char *utf8)
{
    etl_put_utf16_span(out, span_text(utf8));
}

static inline void etl_put_utf16z(struct buf *out, const char *utf8)
{
    etl_put_utf16(out, utf8);
    etl_put_u16(out, 0);
}

/* The bytes of ${text} with their terminator. */
static inline void etl_put_textz(struct buf *out, const char *text)
{
    buf_add(out, text, strlen(text) + 1);
}

#endif
