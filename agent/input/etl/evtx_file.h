#ifndef ETWSHIP_INPUT_EVTX_FILE_H
#define ETWSHIP_INPUT_EVTX_FILE_H

#include "input/etl/etl_file.h"
#include "input/evtx/evtx_chunk.h"
#include "input/record/etl_record.h"

/*
 * An event log (.evtx) as a trace of one session: etl_file.h has what is done with it. Its chunks are buffers of one
 * processor, in the order of their records: a log that Windows writes in a circle is read from its oldest one.
 */

/*
 * Begin the trace of an open file that is an event log: header and identity. The identity is made of the headers of the
 * file and of all chunks, so that a log that has grown is another one; with naming.follows, of the head of the oldest
 * record, which a log keeps until it has grown so far that Windows overwrites that.
 */
bool evtx_file_begin(struct etl_file *file, struct error *err);

/* Is the file an event log? */
static inline bool evtx_file_is_one(const struct etl_file *file)
{
    return file->log != NULL;
}

/* Was the log open, or never closed, when its header was written? False: the file cannot be read. */
bool evtx_file_is_dirty(struct etl_bytes *bytes, bool *ret_is_dirty, struct error *err);

/* The chunk at ${offset}, where there is one. False: the file cannot be read. */
bool evtx_file_chunk(struct etl_file *file, uint64_t offset, struct etl_buffer *ret_buffer,
    bool *ret_found, struct error *err);

/* Like evtx_file_chunk, for the bytes after the records at a chunk's place; the chunk itself may be
 * missing. */
bool evtx_file_leftover(struct etl_file *file, uint64_t offset, struct etl_buffer *ret_buffer,
    bool *ret_found, struct error *err);

enum evtx_file_pass {
    EVTX_FILE_FIRST_PASS,      /* compares checksums, and takes leftovers */
    EVTX_FILE_UNCHECKED_CHUNK, /* the same without checksums */
    EVTX_FILE_SECOND_PASS,
};

/* evtx_chunk_open for what these functions and etl_file_scope returned. */
void evtx_file_open_chunk(struct evtx_chunk *reader, struct etl_file *file,
    const struct etl_buffer *chunk, const struct etl_scope *scope, enum evtx_file_pass pass);

/* etl_file_walk of an event log. */
bool evtx_file_walk(struct etl_file *file, const struct etl_visitor *visitor, struct error *err);

#endif
