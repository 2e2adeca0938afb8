#ifndef ETWSHIP_OUTPUTS_OTLP_FRAME_H
#define ETWSHIP_OUTPUTS_OTLP_FRAME_H

#include "base/buf.h"
#include "outputs/http/http_pieces.h"
#include "outputs/otlp/otlp_settings.h"

/*
 * Records of a piece as one request (ExportLogsServiceRequest). Each record of the formats `otlp`
 * and `otel` is a request of its own with one resource, one scope and one log record
 * (event/otel/otel_codec.h): they are parsed, and those of one resource and scope are merged, in
 * order. Nothing is encoded again.
 */
struct otlp_frame {
    enum otlp_protocol protocol;
    struct buf body;
    size_t count; /* log records in it */

    struct otlp_record *records;
    size_t record_capacity;
    struct otlp_scope *scopes;
    size_t scope_capacity;
    size_t scope_count;
    uint32_t *slots; /* a hash table of scopes: index + 1; a power of two */
    size_t slot_count;
};

enum otlp_frame_result {
    OTLP_FRAMED,
    OTLP_NO_MEMORY,
    OTLP_NO_RECORD, /* a record is in another protocol's encoding */
};

/* Zeroed memory, except `protocol`. */
void otlp_frame_init(struct otlp_frame *frame, enum otlp_protocol protocol);
void otlp_frame_fini(struct otlp_frame *frame);

/* Write the records of ${piece} that are to be sent to `body`. ${ret_actor}: the invalid record,
 * with OTLP_NO_RECORD. */
enum otlp_frame_result otlp_frame_write(
    struct otlp_frame *frame, const struct http_piece *piece, size_t *ret_actor);

#endif
