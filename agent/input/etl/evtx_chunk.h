#ifndef ETWSHIP_INPUT_EVTX_CHUNK_H
#define ETWSHIP_INPUT_EVTX_CHUNK_H

#include "input/etl/etl_stream.h"

/*
 * The records of one chunk of an event log after the other. A chunk is to a log what a buffer is to a trace, and
 * stands as a struct etl_buffer: so merging, positions and statistics know one thing only.
 */
struct evtx_chunk;
struct evtx_hosts;

/* Do these, the first bytes of a file, begin an event log? */
bool evtx_chunk_is_log(struct span head);

/* The bytes of a chunk's header that evtx_chunk_parse looks at. */
enum { EVTX_CHUNK_HEAD_BYTES = 128 };

/* The chunk at ${offset}. False: there is no chunk header. */
bool evtx_chunk_parse(
    const uint8_t head[EVTX_CHUNK_HEAD_BYTES], uint64_t offset, struct etl_buffer *ret_buffer);

struct evtx_chunk *evtx_chunk_create(void); /* NULL: out of memory */
void evtx_chunk_destroy(struct evtx_chunk *chunk);

/* As etl_stream_open. ${hosts} (borrowed for as long) has the traces of the records. */
void evtx_chunk_open(struct evtx_chunk *chunk, struct etl_bytes *bytes,
    const struct etl_buffer *buffer, const struct etl_scope *scope, struct evtx_hosts *hosts);

/* As etl_stream_next, but after ETL_STEP_DAMAGED more may follow: something was left out. */
enum etl_step evtx_chunk_next(struct evtx_chunk *chunk);

const struct event_record *evtx_chunk_record(const struct evtx_chunk *chunk);
const char *evtx_chunk_problem(const struct evtx_chunk *chunk); /* static; NULL: none */
const struct error *evtx_chunk_error(const struct evtx_chunk *chunk);
uint64_t evtx_chunk_offset(const struct evtx_chunk *chunk); /* of the problem, in the file */

#endif
