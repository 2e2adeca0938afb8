#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/put.h"
#include "base/utf.h"

void buf_init(struct buf *buf, size_t max_bytes)
{
    *buf = (struct buf){.max = max_bytes};
}

void buf_fini(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){.max = buf->max};
}

void buf_adopt(struct buf *buf, uint8_t *data, size_t allocated)
{
    buf->data = data;
    buf->allocated = allocated;
    buf_set_max(buf, buf->max);
}

void buf_reset(struct buf *buf)
{
    buf->size = 0;
    buf->failed = false;
}

bool buf_grow(struct buf *buf, size_t more)
{
    if (buf->failed || buf->size > buf->max || more > buf->max - buf->size) {
        buf->failed = true;
        return false;
    }
    size_t need = buf->size + more;
    size_t allocated = buf->allocated < 256 ? 256 : buf->allocated;
    while (allocated < need) {
        allocated = allocated > buf->max / 2 ? buf->max : allocated * 2;
    }
    if (allocated > buf->max) {
        allocated = buf->max;
    }
    uint8_t *data = realloc(buf->data, allocated);
    if (!data) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->allocated = allocated;
    buf_set_max(buf, buf->max);
    return true;
}

void buf_add_u64(struct buf *buf, uint64_t value)
{
    if (buf_reserve(buf, PUT_MAX)) {
        buf->size = (size_t)(put_u64(buf->data + buf->size, value) - buf->data);
    }
}

void buf_add_i64(struct buf *buf, int64_t value)
{
    if (buf_reserve(buf, PUT_MAX)) {
        buf->size = (size_t)(put_i64(buf->data + buf->size, value) - buf->data);
    }
}

void buf_add_hex(struct buf *buf, uint64_t value)
{
    if (buf_reserve(buf, PUT_MAX)) {
        buf->size = (size_t)(put_hex(buf->data + buf->size, value) - buf->data);
    }
}

void buf_add_json(struct buf *buf, struct span utf8)
{
    if (buf_reserve(buf, utf8_json_bound(utf8.size))) {
        buf->size += utf8_to_json(utf8, buf->data + buf->size);
    }
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (length < 0) {
        buf->failed = true;
    } else if ((size_t)length < sizeof(text)) {
        buf_add(buf, text, (size_t)length);
    } else if (buf_reserve(buf, (size_t)length + 1)) {
        va_start(args, format);
        vsnprintf((char *)buf->data + buf->size, (size_t)length + 1, format, args);
        va_end(args);
        buf->size += (size_t)length;
    }
}
