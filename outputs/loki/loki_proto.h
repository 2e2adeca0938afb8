#ifndef ETWSHIP_OUTPUTS_LOKI_PROTO_H
#define ETWSHIP_OUTPUTS_LOKI_PROTO_H

#include "outputs/loki/loki_frame.h"

/*
 * Append entries [first, end) to the empty body as protobuf in Snappy's format
 * (logproto.PushRequest, pkg/push/push.proto of Loki).
 *
 * Loki accepts protobuf only in that format. It is written with uncompressed literals, since Loki
 * also accepts gzip around it: gzip shrinks events more than Snappy, and the agent has it already.
 */
void loki_proto_write(struct loki_frame *frame, size_t first, size_t end);

#endif
