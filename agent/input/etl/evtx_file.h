#ifndef ETWSHIP_INPUT_EVTX_FILE_H
#define ETWSHIP_INPUT_EVTX_FILE_H

#include "input/etl/etl_file.h"
#include "input/evtx/evtx_chunk.h"
#include "input/record/etl_record.h"

/*
 * An event log (.evtx) as a trace with one session, for the functions of etl_file.h. Its chunks are
 * the buffers of one processor, in the order of their records: a log that Windows writes in a
 * circle is read from its oldest chunk.
 */

/*
 * Read header and identity of an open file that is an event log. The identity covers the headers of
 * the file and of all chunks, so a log that has grown has another one. With naming.follows it
 * covers the head of the oldest record, which does not change until Windows overwrites that record.
 */
bool evtx_file_begin(struct etl_file *file, struct error *err);

/* True if the file is an event log. */
static inline bool evtx_file_is_one(const struct etl_file *file)
{
    return file->log != NULL;
}

/* ${ret_is_dirty}: the log was open, or was never closed, when its header was written. False: the
 * file cannot be read. */
bool evtx_file_is_dirty(struct etl_bytes *bytes, bool *ret_is_dirty, struct error *err);

/* Read the chunk at ${offset}; ${ret_found}: there is one. False: the file cannot be read. */
bool evtx_file_chunk(struct etl_file *file, uint64_t offset, struct etl_buffer *ret_buffer,
    bool *ret_found, struct error *err);

/* Like evtx_file_chunk, for the bytes after the records at a chunk's place; the chunk itself may be
 * missing. */
bool evtx_file_leftover(struct etl_file *file, uint64_t offset, struct etl_buffer *ret_buffer,
    bool *ret_found, struct error *err);

enum evtx_file_pass {
    EVTX_FILE_FIRST_PASS,      /* compares checksums, and takes leftovers */
    EVTX_FILE_UNCHECKED_CHUNK, /* the first pass without checksums */
    EVTX_FILE_SECOND_PASS,
};

/* Calls evtx_chunk_open for a chunk of these functions and the scope of etl_file_scope. */
void evtx_file_open_chunk(struct evtx_chunk *reader, struct etl_file *file,
    const struct etl_buffer *chunk, const struct etl_scope *scope, enum evtx_file_pass pass);

/* etl_file_walk for an event log. */
bool evtx_file_walk(struct etl_file *file, const struct etl_visitor *visitor, struct error *err);

#endif
