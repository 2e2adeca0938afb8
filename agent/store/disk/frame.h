#ifndef ETWSHIP_STORE_FRAME_H
#define ETWSHIP_STORE_FRAME_H

#include "base/buf.h"

/*
 * What stands in a segment file. All numbers are little-endian.
 *
 *   Segment head, 40 bytes     Frame head, 104 bytes
 *    0  8  "\xf5" "ETWSEG\n"    0  4  "\xf5" "EWF"                 40  8  epoch
 *    8  4  format version: 1    4  2  bytes of the head: 104       48  8  batch
 *   12  4  bytes of the head    6  1  kind                         56  8  stream
 *   16  8  epoch                7  1  flags: 1 the body is zstd    64  8  first record
 *   24  8  segment id           8  4  bytes of the sources         72  8  first event's time
 *   32  4  0                   12  4  bytes of the body            80  8  last event's time
 *   36  4  CRC of bytes 0-35   16  4  its bytes unpacked           88  8  time when it entered
 *                              20  4  records                      96  4  CRC of sources and body
 *                              24  8  segment id                  100  4  CRC of bytes 0-99
 *                              32  8  offset in the file
 *
 * After a frame head stand the sources: their number (4), and of each the bytes of its session's
 * name (2), the name, and the sequence (8) up to which everything of the session that belongs to
 * the stream is in this batch or in one before it. Then comes the body, which belongs to the
 * caller. The body of a frame that describes a stream: the stream's hash (4), bytes of the key (4),
 * the key, bytes of what is said about it (4), and that.
 *
 * A frame says where it stands, and in which epoch: what the disk gives back in another place, or
 * from an earlier file that lay there, is no frame, nor is one inside an event. CRCs are
 * CRC-32C, times are FILETIME. Nothing is believed: sizes are checked against limits before
 * anything is reserved for them, and a head with a good CRC that says what cannot be is damage.
 */
enum {
    FRAME_VERSION = 1,
    FRAME_SEGMENT_HEAD_BYTES = 40,
    FRAME_HEAD_BYTES = 104,
    FRAME_MAX_BODY_BYTES = 64 << 20, /* packed or not */
    FRAME_MAX_RECORDS = 1 << 24,
    FRAME_MAX_NAME_BYTES = 512, /* and at least 1 */
    FRAME_MAX_SOURCES = 4096,
    FRAME_MAX_SOURCES_BYTES = 4 + FRAME_MAX_SOURCES * (2 + FRAME_MAX_NAME_BYTES + 8),
    FRAME_MAX_STREAM_BYTES = 1 << 20, /* key and about together */
    FRAME_MAX_BYTES = FRAME_HEAD_BYTES + FRAME_MAX_SOURCES_BYTES + FRAME_MAX_BODY_BYTES,
};

enum frame_kind { FRAME_BATCH = 1, FRAME_STREAM = 2 };

struct frame {
    enum frame_kind kind;
    bool zstd; /* the body is packed */
    uint64_t segment;
    uint64_t offset;
    uint64_t epoch;
    uint64_t stream; /* not 0 */
    /* Of a batch; 0 in others. */
    uint64_t batch; /* not 0 */
    uint64_t first_record;
    uint32_t records;
    uint64_t first_time;
    uint64_t last_time;
    uint64_t entered;
    /* Views. */
    struct span sources; /* encoded: frame_sources_begin */
    struct span body;
    uint32_t raw_bytes; /* the body's, unpacked; the same where it is not packed */
};

struct frame_source {
    struct span session; /* name */
    uint64_t sequence;
};

struct frame_stream {
    uint64_t stream;
    uint32_t hash;
    struct span key;
    struct span about;
};

/* Bytes of the whole frame. */
static inline uint32_t frame_bytes(const struct frame *frame)
{
    return (uint32_t)(FRAME_HEAD_BYTES + frame->sources.size + frame->body.size);
}

/* Add the encoded sources. ERR_LIMIT: too many, or a name of 0 or more than 512 bytes. */
bool frame_put_sources(
    struct buf *out, const struct frame_source *sources, size_t count, struct error *err);

/* Add the body of a frame that describes a stream. ERR_LIMIT: too long. */
bool frame_put_stream(struct buf *out, const struct frame_stream *stream, struct error *err);

/* True if frame_read would accept the head, else ERR_LIMIT. Does not read the body. */
bool frame_check(const struct frame *frame, struct error *err);

/* Write the head of ${frame}, after which its sources and body are to stand. ERR_LIMIT if it says
 * what frame_read would refuse. */
bool frame_put_head(
    const struct frame *frame, uint8_t ret_head[FRAME_HEAD_BYTES], struct error *err);

void frame_put_segment_head(
    uint64_t segment, uint64_t epoch, uint8_t ret_head[FRAME_SEGMENT_HEAD_BYTES]);

/* ERR_FORMAT: damaged, or of another segment. ERR_UNSUPPORTED: of a newer version. */
bool frame_read_segment_head(
    struct span bytes, uint64_t segment, uint64_t *ret_epoch, struct error *err);

/* The head alone, from at least 104 bytes: the views have sizes but no bytes.
 * ERR_FORMAT: damaged. */
bool frame_read_head(struct span bytes, struct frame *ret_frame, struct error *err);

/* A whole frame, which begins ${bytes}; its views point into them. ERR_FORMAT: damaged, cut off. */
bool frame_read(struct span bytes, struct frame *ret_frame, struct error *err);

/* The description of a stream in a frame that was read. */
bool frame_read_stream(
    const struct frame *frame, struct frame_stream *ret_stream, struct error *err);

/* The sources of a frame that was read, one after the other. */
struct frame_sources {
    struct span rest;
    uint32_t left;
};

struct frame_sources frame_sources_begin(const struct frame *frame);
bool frame_sources_next(struct frame_sources *sources, struct frame_source *ret_source);

#endif
