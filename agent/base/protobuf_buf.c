#include "base/protobuf_buf.h"

enum { KEY_BYTES = 1 };

struct protobuf_place protobuf_buf_open(struct buf *out, unsigned number, size_t most)
{
    static const uint8_t zeros[PROTOBUF_MAX_WIDTH];
    struct protobuf_place place = {.width = protobuf_width(most)};
    buf_add_byte(out, PROTOBUF_KEY(number, PROTOBUF_BYTES));
    place.at = out->size;
    buf_add(out, zeros, place.width);
    return place;
}

void protobuf_buf_close(struct buf *out, struct protobuf_place place)
{
    if (!out->failed) {
        protobuf_put_length(out->data + place.at, place.width, out->size - place.at - place.width);
    }
}

void protobuf_buf_bytes(struct buf *out, unsigned number, struct span bytes)
{
    if (buf_reserve(out, KEY_BYTES + PROTOBUF_VARINT_MAX + bytes.size)) {
        uint8_t *p = out->data + out->size;
        *p++ = PROTOBUF_KEY(number, PROTOBUF_BYTES);
        out->size = (size_t)(protobuf_put_bytes(p, bytes) - out->data);
    }
}

void protobuf_buf_varint(struct buf *out, unsigned number, uint64_t value)
{
    if (buf_reserve(out, KEY_BYTES + PROTOBUF_VARINT_MAX)) {
        uint8_t *p = out->data + out->size;
        *p++ = PROTOBUF_KEY(number, PROTOBUF_VARINT);
        out->size = (size_t)(protobuf_put_varint(p, value) - out->data);
    }
}

void protobuf_buf_fixed64(struct buf *out, unsigned number, uint64_t value)
{
    buf_add_byte(out, PROTOBUF_KEY(number, PROTOBUF_FIXED64));
    buf_add_le64(out, value);
}
