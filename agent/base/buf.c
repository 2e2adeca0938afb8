#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void buf_init(struct buf *buf, size_t max_bytes)
{
    *buf = (struct buf){.max = max_bytes};
}

void buf_fini(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){.max = buf->max};
}

void buf_reset(struct buf *buf)
{
    buf->size = 0;
    buf->failed = false;
}

bool buf_grow(struct buf *buf, size_t more)
{
    if (buf->failed || more > buf->max - buf->size) {
        buf->failed = true;
        return false;
    }
    size_t need = buf->size + more;
    size_t capacity = buf->capacity < 256 ? 256 : buf->capacity;
    while (capacity < need) {
        capacity = capacity > buf->max / 2 ? buf->max : capacity * 2;
    }
    if (capacity > buf->max) {
        capacity = buf->max;
    }
    uint8_t *data = realloc(buf->data, capacity);
    if (!data) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->capacity = capacity;
    return true;
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
