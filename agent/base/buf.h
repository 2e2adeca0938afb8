#ifndef ETWSHIP_BASE_BUF_H
#define ETWSHIP_BASE_BUF_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/span.h"

/*
 * A growing byte buffer with a fixed maximum. Growth beyond the maximum, or a failed allocation,
 * sets `failed` permanently: writers append freely and the owner checks once. A failed buffer keeps
 * its content. Not thread-safe.
 */
struct buf {
    uint8_t *data;
    size_t size;
    size_t capacity;  /* bytes that may be used without growing: size <= capacity <= max */
    size_t allocated; /* bytes allocated at data; only buf.c sets this, capacity and max */
    size_t max;
    bool failed;
};

void buf_init(struct buf *buf, size_t max_bytes);
void buf_fini(struct buf *buf);

/* Replace the buffer's memory, which passes to the caller, by ${data} of ${allocated} bytes from
 * malloc. Its first `size` bytes are the content. */
void buf_adopt(struct buf *buf, uint8_t *data, size_t allocated);

/* Change the maximum, but not below the present size. */
static inline void buf_set_max(struct buf *buf, size_t max_bytes)
{
    buf->max = max_bytes < buf->size ? buf->size : max_bytes;
    buf->capacity = buf->allocated < buf->max ? buf->allocated : buf->max;
}

/* Clear content and failure, keep the memory. */
void buf_reset(struct buf *buf);

/* Slow path of buf_reserve. */
bool buf_grow(struct buf *buf, size_t more);

/* Make room for ${more} bytes after `size`. False if that fails. */
static inline bool buf_reserve(struct buf *buf, size_t more)
{
    return more <= buf->capacity - buf->size || buf_grow(buf, more);
}

static inline void buf_add(struct buf *buf, const void *data, size_t size)
{
    if (size && buf_reserve(buf, size)) {
        memcpy(buf->data + buf->size, data, size);
        buf->size += size;
    }
}

static inline void buf_add_span(struct buf *buf, struct span s)
{
    buf_add(buf, s.data, s.size);
}

static inline void buf_add_text(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

/* Untrusted UTF-8 as JSON string text, without quotes. */
void buf_add_json(struct buf *buf, struct span utf8);

static inline void buf_add_byte(struct buf *buf, uint8_t byte)
{
    if (buf_reserve(buf, 1)) {
        buf->data[buf->size++] = byte;
    }
}

/* Little-endian. */
static inline void buf_add_le16(struct buf *buf, uint16_t value)
{
    uint8_t bytes[sizeof(value)];
    store_le16(bytes, value);
    buf_add(buf, bytes, sizeof(bytes));
}

static inline void buf_add_le32(struct buf *buf, uint32_t value)
{
    uint8_t bytes[sizeof(value)];
    store_le32(bytes, value);
    buf_add(buf, bytes, sizeof(bytes));
}

static inline void buf_add_le64(struct buf *buf, uint64_t value)
{
    uint8_t bytes[sizeof(value)];
    store_le64(bytes, value);
    buf_add(buf, bytes, sizeof(bytes));
}

/* Decimal, and `0x…`: fast forms for events; buf_printf is too slow. */
void buf_add_u64(struct buf *buf, uint64_t value);
void buf_add_i64(struct buf *buf, int64_t value);
void buf_add_hex(struct buf *buf, uint64_t value);

void buf_printf(struct buf *buf, const char *format, ...) ETWSHIP_PRINTF(2, 3);

static inline struct span buf_span(const struct buf *buf)
{
    return span_make(buf->data, buf->size);
}

#endif
