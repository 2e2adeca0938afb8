#ifndef ETWSHIP_BASE_READER_H
#define ETWSHIP_BASE_READER_H

#include "base/bytes.h"
#include "base/guid.h"
#include "base/span.h"

/*
 * The bounded cursor for all untrusted bytes. A read beyond the end returns zero (or the empty
 * span), consumes nothing and sets `failed` permanently: a parser reads a whole structure and
 * checks once.
 */
struct reader {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

static inline struct reader reader_make(struct span bytes)
{
    /* pointer arithmetic on NULL is undefined; any valid address works */
    static const uint8_t nothing[1];
    const uint8_t *data = bytes.data ? bytes.data : nothing;
    return (struct reader){.at = data, .end = data + bytes.size, .failed = false};
}

static inline size_t reader_left(const struct reader *r)
{
    return (size_t)(r->end - r->at);
}

static inline struct span reader_rest(const struct reader *r)
{
    return span_make(r->at, reader_left(r));
}

/* Take exactly ${size} bytes. */
static inline struct span reader_take(struct reader *r, size_t size)
{
    if (r->failed || size > reader_left(r)) {
        r->failed = true;
        return span_make(r->at, 0);
    }
    struct span taken = span_make(r->at, size);
    r->at += size;
    return taken;
}

static inline bool reader_skip(struct reader *r, size_t size)
{
    reader_take(r, size);
    return !r->failed;
}

static inline uint8_t reader_u8(struct reader *r)
{
    struct span s = reader_take(r, 1);
    return s.size ? s.data[0] : 0;
}

static inline uint16_t reader_u16(struct reader *r)
{
    struct span s = reader_take(r, 2);
    return s.size ? load_le16(s.data) : 0;
}

static inline uint32_t reader_u32(struct reader *r)
{
    struct span s = reader_take(r, 4);
    return s.size ? load_le32(s.data) : 0;
}

static inline uint64_t reader_u64(struct reader *r)
{
    struct span s = reader_take(r, 8);
    return s.size ? load_le64(s.data) : 0;
}

static inline struct guid reader_guid(struct reader *r)
{
    struct guid guid = {{0}};
    struct span s = reader_take(r, sizeof(guid.bytes));
    if (s.size) {
        memcpy(guid.bytes, s.data, sizeof(guid.bytes));
    }
    return guid;
}

/* Take bytes up to a NUL, which is consumed but not included. Fails if there is none. */
static inline struct span reader_text(struct reader *r)
{
    size_t left = reader_left(r);
    const uint8_t *nul = r->failed || left == 0 ? NULL : memchr(r->at, 0, left);
    if (!nul) {
        r->failed = true;
        return span_make(r->at, 0);
    }
    struct span text = span_make(r->at, (size_t)(nul - r->at));
    r->at = nul + 1;
    return text;
}

/* True if one of four 16-bit units is zero. */
static inline bool reader_has_nul16(uint64_t units)
{
    return ((units - UINT64_C(0x0001000100010001)) & ~units & UINT64_C(0x8000800080008000)) != 0;
}

/* Take UTF-16LE units up to a NUL unit, which is consumed but not included. Fails if there is
 * none. */
static inline struct span reader_text16(struct reader *r)
{
    size_t left = r->failed ? 0 : reader_left(r);
    size_t i = 0;
    while (left - i >= 8 && !reader_has_nul16(load_le64(r->at + i))) {
        i += 8;
    }
    for (; i + 2 <= left; i += 2) {
        if (r->at[i] == 0 && r->at[i + 1] == 0) {
            struct span text = span_make(r->at, i);
            r->at += i + 2;
            return text;
        }
    }
    r->failed = true;
    return span_make(r->at, 0);
}

#endif
