#include "base/protobuf.h"

#include "base/reader.h"

static uint64_t read_varint(struct reader *r)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < PROTOBUF_VARINT_MAX; i++) {
        uint8_t byte = reader_u8(r);
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80)) {
            r->failed |= i == PROTOBUF_VARINT_MAX - 1 && byte > 1; /* more than 64 bits */
            return value;
        }
    }
    r->failed = true;
    return 0;
}

bool protobuf_next(struct span *message, struct protobuf_field *ret_field)
{
    enum { LAST_NUMBER = (1 << 29) - 1 };
    struct reader r = reader_make(*message);
    if (message->size == 0) {
        return false;
    }
    uint64_t key = read_varint(&r);
    struct protobuf_field field = {
        .number = (uint32_t)(key >> 3), .wire = (enum protobuf_wire)(key & 7)};
    switch (key & 7) {
    case PROTOBUF_VARINT:
        field.value = read_varint(&r);
        break;
    case PROTOBUF_FIXED64:
        field.value = reader_u64(&r);
        break;
    case PROTOBUF_FIXED32:
        field.value = reader_u32(&r);
        break;
    case PROTOBUF_BYTES: {
        uint64_t size = read_varint(&r);
        field.bytes = reader_take(&r, size < SIZE_MAX ? (size_t)size : SIZE_MAX);
        break;
    }
    default:
        return false; /* groups are obsolete */
    }
    if (r.failed || key >> 3 == 0 || key >> 3 > LAST_NUMBER) {
        return false;
    }
    *message = reader_rest(&r);
    *ret_field = field;
    return true;
}
