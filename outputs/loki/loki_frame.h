#ifndef ETWSHIP_OUTPUTS_LOKI_FRAME_H
#define ETWSHIP_OUTPUTS_LOKI_FRAME_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "outputs/http/http_pieces.h"
#include "outputs/loki/loki_settings.h"

/*
 * Events as a request to Loki (`POST /loki/api/v1/push`): streams of lines, each with its time and
 * structured metadata, all values of which are strings. Lines of a stream are sorted by time, as
 * Loki requires. A line is the native event.
 *
 * A request covers less time than Loki accepts out of order, an hour by default. So the lines of
 * one request can be sent again: Loki drops those that it has. Loki would refuse lines that are
 * further apart as too far behind.
 *
 * Streams are counted over the output's lifetime: each costs Loki an index entry and a chunk in
 * memory.
 */
struct loki_entry {
    struct span line;
    int64_t nanos; /* since 1970 */
    uint32_t slice;
    uint32_t stream;
    uint32_t record; /* of the delivery */
};

/* State of a record at Loki. */
enum loki_state { LOKI_OPEN, LOKI_STORED, LOKI_REFUSED };

struct loki_stream {
    struct span labels; /* `"job":"etwship",…` */
    uint32_t index;
    bool has_overflowed; /* overflow stream, for events beyond max_streams */
};

struct loki_frame {
    enum loki_encoding encoding;
    unsigned labels; /* a bit per enum loki_label */
    size_t max_streams;
    struct arena texts; /* labels of streams */
    struct map streams; /* by these: struct loki_stream */
    struct loki_stream **list;
    size_t stream_count;
    bool has_overflowed; /* some events went to the overflow stream */

    struct loki_entry *entries; /* of the current piece, by slice, stream and time */
    size_t entry_count;
    size_t entry_capacity;
    struct buf labels_text;
    struct buf body;
};

bool loki_frame_init(
    struct loki_frame *frame, enum loki_encoding encoding, unsigned labels, size_t max_streams);
void loki_frame_fini(struct loki_frame *frame);

/* Sort the unsettled records of ${piece} (by record of the delivery) into slices and streams.
 * False: a record is not a native event, ${ret_actor}; or out of memory, ${ret_actor} is
 * HTTP_PIECES_UNKNOWN. */
bool loki_frame_sort(struct loki_frame *frame, const struct http_piece *piece,
    const enum loki_state *states, size_t *ret_actor);

/* The end of the slice, or of the stream in its slice, that begins at entry ${first}. */
size_t loki_frame_slice_end(const struct loki_frame *frame, size_t first);
size_t loki_frame_stream_end(const struct loki_frame *frame, size_t first);

/* Write entries [first, end) to `body`. False: out of memory. */
bool loki_frame_write(struct loki_frame *frame, size_t first, size_t end);

/* For writers: true if the text of ${place} (loki_event.h) is structured metadata of lines in
 * ${stream}. */
bool loki_frame_is_metadata(const struct loki_frame *frame, uint32_t stream, size_t place);

#endif
