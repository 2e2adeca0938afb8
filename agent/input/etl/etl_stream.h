#ifndef ETWSHIP_INPUT_ETL_STREAM_H
#define ETWSHIP_INPUT_ETL_STREAM_H

#include "base/error.h"
#include "input/bytes/etl_bytes.h"
#include "input/record/etl_buffer.h"
#include "input/record/etl_record.h"

/*
 * Reads the records of buffers through a window, so that memory does not depend on the buffer size:
 * plain buffers are read in pieces, compressed ones are unpacked as a stream with the history its
 * format needs. A stream reads one buffer at a time and is reused.
 */
struct etl_stream;

/* Upper bound of a stream's memory for any trace. A stream of an event log needs up to two
 * megabytes more. */
enum { ETL_STREAM_MAX_BYTES = 256 * 1024 };

enum etl_step {
    ETL_STEP_RECORD,
    ETL_STEP_END,     /* end of the buffer */
    ETL_STEP_DAMAGED, /* the rest of the buffer is unreadable; see etl_stream_problem */
    ETL_STEP_FAILED,  /* the file is unreadable; see etl_stream_error */
};

struct etl_stream *etl_stream_create(void); /* NULL: out of memory */
void etl_stream_destroy(struct etl_stream *stream);

/* For callers that need streams occasionally: one returned stream is kept for the next use. Zeroed:
 * empty. */
struct etl_stream_pool {
    struct etl_stream *spare; /* owned; the user destroys it at the end */
    size_t taken;
};

struct etl_stream *etl_stream_take(struct etl_stream_pool *pool); /* NULL: out of memory */
void etl_stream_give_back(struct etl_stream_pool *pool, struct etl_stream *stream); /* or NULL */

/*
 * Start reading the records of ${buffer} (copied) of ${bytes} (borrowed until the buffer is done).
 * ${format} is the file's compression (enum unpack_format), used if the buffer is compressed.
 * ${scope} (copied) is what its records inherit; position.record_offset is set here.
 */
void etl_stream_open(struct etl_stream *stream, struct etl_bytes *bytes,
    const struct etl_buffer *buffer, uint16_t format, const struct etl_scope *scope);

/* Like etl_stream_open, for a chunk of the event log ${file} (borrowed like the bytes). Damage is
 * skipped silently, because the first pass reported it. */
struct etl_file;
void etl_stream_open_log(struct etl_stream *stream, struct etl_file *file,
    const struct etl_buffer *chunk, const struct etl_scope *scope);

/* Set the last time in ${scope} to that of the stream's records so far, if it belongs to the same
 * trace. The first records of a processor's next buffer inherit it. */
void etl_stream_last_time(const struct etl_stream *stream, struct etl_scope *scope);

/* Read the next record, valid until the next call. Call again only after ETL_STEP_RECORD. */
enum etl_step etl_stream_next(struct etl_stream *stream);

/* Skip records that are certainly plain events (etl_record_is_plain_event), as far as the window
 * reaches. The next record may be one, too. */
void etl_stream_skip_plain_events(struct etl_stream *stream);

const struct event_record *etl_stream_record(const struct etl_stream *stream);

/* The record's bytes in the file, including its header. Not for event logs. */
struct span etl_stream_record_bytes(const struct etl_stream *stream);

/* The problem after ETL_STEP_DAMAGED (with the buffer) or ETL_STEP_RECORD (with that record); NULL
 * if there is none. Static text. */
const char *etl_stream_problem(const struct etl_stream *stream);

/* After ETL_STEP_END: true if the records reached the end of the buffer instead of filler. */
bool etl_stream_is_complete(const struct etl_stream *stream);

/* File offset of the record, or of the whole buffer if it is compressed. */
uint64_t etl_stream_offset(const struct etl_stream *stream);

const struct error *etl_stream_error(const struct etl_stream *stream);

#endif
