#ifndef ETWSHIP_INPUT_ETL_STREAM_H
#define ETWSHIP_INPUT_ETL_STREAM_H

#include "base/error.h"
#include "input/etl_buffer.h"
#include "input/etl_bytes.h"
#include "input/etl_record.h"

/*
 * The records of one buffer after the other, read through a window, so that memory does not depend
 * on the size of buffers: plain ones are read in pieces, compressed ones are unpacked as a stream
 * that keeps the history its format needs. One stream serves one buffer at a time and is reused.
 */
struct etl_stream;

/* Upper bound of one stream's memory, whatever the trace. One of an event log takes a megabyte besides. */
enum { ETL_STREAM_MAX_BYTES = 256 * 1024 };

enum etl_step {
    ETL_STEP_RECORD,
    ETL_STEP_END,     /* the buffer is done */
    ETL_STEP_DAMAGED, /* the rest of the buffer cannot be read: etl_stream_problem says why */
    ETL_STEP_FAILED,  /* the file cannot be read: etl_stream_error says why */
};

struct etl_stream *etl_stream_create(void); /* NULL: out of memory */
void etl_stream_destroy(struct etl_stream *stream);

/* For who needs streams now and then: the one given back first is kept for the next. Zeroed: none. */
struct etl_stream_pool {
    struct etl_stream *spare; /* owned; etl_stream_destroy it in the end */
    size_t taken;
};

struct etl_stream *etl_stream_take(struct etl_stream_pool *pool); /* NULL: out of memory */
void etl_stream_give_back(struct etl_stream_pool *pool, struct etl_stream *stream); /* or NULL */

/*
 * Start with the records of ${buffer} (copied) of ${bytes} (borrowed until the buffer is done).
 * ${format} is the file's compression (enum unpack_format), used if the buffer is compressed.
 * ${scope} (copied) is what its records inherit; position.record_offset is set here.
 */
void etl_stream_open(struct etl_stream *stream, struct etl_bytes *bytes,
    const struct etl_buffer *buffer, uint16_t format, const struct etl_scope *scope);

/* The same for a chunk of an event log, whose damage is left out in silence: evtx_chunk.h tells it. ${hosts} has
 * the traces of its records. */
struct evtx_hosts;
void etl_stream_open_log(struct etl_stream *stream, struct etl_bytes *bytes,
    const struct etl_buffer *chunk, const struct etl_scope *scope, struct evtx_hosts *hosts);

/* Set the last time in ${scope} to that of the stream's records so far, if it is of the same trace:
 * what the first records of a processor's next buffer inherit. */
void etl_stream_last_time(const struct etl_stream *stream, struct etl_scope *scope);

/* The next record, valid until the next call. Call again only after ETL_STEP_RECORD. */
enum etl_step etl_stream_next(struct etl_stream *stream);

/* Leave out records that are surely mere events (etl_record_is_mere_event), as far as the window
 * reaches. What stands behind them may be one, too. */
void etl_stream_skip_mere_events(struct etl_stream *stream);

const struct event_record *etl_stream_record(const struct etl_stream *stream);

/* The same bytes as they stand in the file, header included. Not of an event log. */
struct span etl_stream_record_bytes(const struct etl_stream *stream);

/* What is wrong: after ETL_STEP_DAMAGED with the buffer, after ETL_STEP_RECORD with that record,
 * NULL if nothing. Static text. */
const char *etl_stream_problem(const struct etl_stream *stream);

/* After ETL_STEP_END: did the records reach to the buffer's end, rather than to filler before it? */
bool etl_stream_is_complete(const struct etl_stream *stream);

/* Where in the file: the record, or the whole buffer if it is compressed. */
uint64_t etl_stream_offset(const struct etl_stream *stream);

const struct error *etl_stream_error(const struct etl_stream *stream);

#endif
