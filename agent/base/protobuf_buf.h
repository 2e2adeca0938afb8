#ifndef ETWSHIP_BASE_PROTOBUF_BUF_H
#define ETWSHIP_BASE_PROTOBUF_BUF_H

#include "base/buf.h"
#include "base/protobuf.h"

/* Fields of messages (base/protobuf.h), appended to a buffer. Numbers are below 16. */

/* Where the length of a message or text stands until it is known. */
struct protobuf_place {
    size_t at;
    unsigned width;
};

/* Begin field ${number}, of up to ${most} bytes; SIZE_MAX: nobody knows. What is appended until
 * protobuf_buf_close is in it. */
struct protobuf_place protobuf_buf_open(struct buf *out, unsigned number, size_t most);
void protobuf_buf_close(struct buf *out, struct protobuf_place place);

/* A field of text, bytes, or a message that is there already. */
void protobuf_buf_bytes(struct buf *out, unsigned number, struct span bytes);

void protobuf_buf_varint(struct buf *out, unsigned number, uint64_t value);

/* A fixed64, an sfixed64 or the bits of a double. */
void protobuf_buf_fixed64(struct buf *out, unsigned number, uint64_t value);

#endif
