#ifndef ETWSHIP_BASE_PROTOBUF_BUF_H
#define ETWSHIP_BASE_PROTOBUF_BUF_H

#include "base/buf.h"
#include "base/protobuf.h"

/* Fields of messages (base/protobuf.h), appended to a buffer. Numbers are below 16. */

/* The place of a length that is not known yet. */
struct protobuf_place {
    size_t at;
    unsigned width;
};

/* Begin field ${number} with at most ${most} bytes (SIZE_MAX: unknown). Bytes appended before
 * protobuf_buf_close belong to it. */
struct protobuf_place protobuf_buf_open(struct buf *out, unsigned number, size_t most);
void protobuf_buf_close(struct buf *out, struct protobuf_place place);

/* A field of text, bytes, or a message that is there already. */
void protobuf_buf_bytes(struct buf *out, unsigned number, struct span bytes);

void protobuf_buf_varint(struct buf *out, unsigned number, uint64_t value);

/* A fixed64, an sfixed64 or the bits of a double. */
void protobuf_buf_fixed64(struct buf *out, unsigned number, uint64_t value);

#endif
