#ifndef ETWSHIP_BASE_PROTOBUF_H
#define ETWSHIP_BASE_PROTOBUF_H

#include "base/bytes.h"
#include "base/span.h"

/*
 * The wire format of Protocol Buffers ("Encoding", protobuf.dev): written front to back into memory
 * that the caller reserved, and read from untrusted bytes.
 *
 * The length of a message comes before its content, whose size is not known then. So a length has a
 * field of fixed width that is filled in at the end. A varint may be longer than necessary: extra
 * bytes have only their continuation bit set.
 */
enum protobuf_wire {
    PROTOBUF_VARINT = 0,
    PROTOBUF_FIXED64 = 1,
    PROTOBUF_BYTES = 2, /* a length and that many bytes: text, bytes, a message */
    PROTOBUF_FIXED32 = 5,
};

enum { PROTOBUF_VARINT_MAX = 10, PROTOBUF_MAX_WIDTH = 4 };

/* Key of field ${number}, which must be below 16. */
#define PROTOBUF_KEY(number, wire) ((uint8_t)((number) << 3 | (wire)))

static inline uint8_t *protobuf_put_varint(uint8_t *p, uint64_t value)
{
    while (value >= 0x80) {
        *p++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *p++ = (uint8_t)value;
    return p;
}

static inline size_t protobuf_varint_size(uint64_t value)
{
    size_t size = 1;
    for (; value >= 0x80; value >>= 7) {
        size++;
    }
    return size;
}

/* Bytes needed for a length of up to ${most}; at most PROTOBUF_MAX_WIDTH. */
static inline unsigned protobuf_width(size_t most)
{
    return most < 0x80 ? 1 : most < 0x4000 ? 2 : most < 0x200000 ? 3 : PROTOBUF_MAX_WIDTH;
}

/* Fill the ${width} bytes at ${p} with the length ${size}, which must fit. Returns their end. */
static inline uint8_t *protobuf_put_length(uint8_t *p, unsigned width, size_t size)
{
    if (width == 1) { /* most have one byte or two */
        *p = (uint8_t)size;
        return p + 1;
    }
    if (width == 2) {
        store_le16(p, (uint16_t)((size & 0x7f) | 0x80 | (size << 1 & 0x7f00)));
        return p + 2;
    }
    for (; width > 1; width--) {
        *p++ = (uint8_t)(size | 0x80);
        size >>= 7;
    }
    *p++ = (uint8_t)(size & 0x7f);
    return p;
}

/* Write a length followed by its bytes. */
static inline uint8_t *protobuf_put_bytes(uint8_t *p, struct span bytes)
{
    p = protobuf_put_varint(p, bytes.size);
    if (bytes.size) {
        memcpy(p, bytes.data, bytes.size);
    }
    return p + bytes.size;
}

/* A parsed field. */
struct protobuf_field {
    uint32_t number;
    enum protobuf_wire wire;
    uint64_t value;    /* if the wire type is not PROTOBUF_BYTES */
    struct span bytes; /* if it is */
};

/* Remove the first field of ${message}. False at the end, or at an invalid field, which stays in
 * ${message}. */
bool protobuf_next(struct span *message, struct protobuf_field *ret_field);

#endif
