#ifndef ETWSHIP_INPUT_EVTX_CHUNK_H
#define ETWSHIP_INPUT_EVTX_CHUNK_H

#include "event/model/record.h"
#include "input/bytes/etl_bytes.h"

/* Reads the records of a chunk of an event log, one after the other. */
struct evtx_chunk;
struct evtx_carve;
struct evtx_hosts;

/* A chunk as its header describes it. */
struct evtx_place {
    uint64_t offset;       /* in the file */
    uint64_t first_number; /* of its first record */
    uint64_t last_number;
    uint32_t end; /* of its records, in the chunk */
    bool empty;
    bool carves; /* read the leftovers after `end` instead of the records */
};

enum evtx_step {
    EVTX_STEP_RECORD,
    EVTX_STEP_END,     /* of the chunk */
    EVTX_STEP_DAMAGED, /* a part was left out; more may follow */
    EVTX_STEP_FAILED,  /* no memory, or the file cannot be read; see evtx_chunk_error */
};

/* True if ${head}, the first bytes of a file, begins an event log. */
bool evtx_chunk_is_log(struct span head);

/* Number of bytes of a chunk's header that evtx_chunk_parse reads. */
enum { EVTX_CHUNK_HEAD_BYTES = 128 };

/* Parse the header of the chunk at ${offset}. False: it is not a chunk header. */
bool evtx_chunk_parse(
    const uint8_t head[EVTX_CHUNK_HEAD_BYTES], uint64_t offset, struct evtx_place *ret_place);

struct evtx_chunk *evtx_chunk_create(void); /* NULL: out of memory */
void evtx_chunk_destroy(struct evtx_chunk *chunk);

/* What the records of a chunk inherit. */
struct evtx_scope {
    const struct trace_info *trace;
    struct record_position position; /* of the chunk */
    struct evtx_hosts *hosts;        /* traces of the machines in the log; borrowed */
    bool checks_sums;         /* report wrong checksums as damage; the records are read anyway */
    struct evtx_carve *carve; /* for places with `carves`; borrowed */
    bool carves_again;        /* this is the second pass */
};

/* Start reading the records of the chunk at ${place} of ${bytes}, which is borrowed until the chunk
 * is done. */
void evtx_chunk_open(struct evtx_chunk *chunk, struct etl_bytes *bytes,
    const struct evtx_place *place, const struct evtx_scope *scope);

/* For a chunk that is being written: read the opened chunk into memory now, and begin with the
 * record at ${from}. ${ret_place}: the chunk by its header at that moment. False: the file cannot
 * be read. */
bool evtx_chunk_load(struct evtx_chunk *chunk, uint32_t from, struct evtx_place *ret_place);

/* End of the complete records of a loaded chunk that follow each other from the first one to
 * read. */
uint32_t evtx_chunk_whole(const struct evtx_chunk *chunk);

/* Do not read records of a loaded chunk that begin at or after ${end}. */
void evtx_chunk_cut(struct evtx_chunk *chunk, uint32_t end);

/* Read the next record, valid until the next call. */
enum evtx_step evtx_chunk_next(struct evtx_chunk *chunk);

const struct event_record *evtx_chunk_record(const struct evtx_chunk *chunk);
const char *evtx_chunk_problem(const struct evtx_chunk *chunk); /* static; NULL: none */
const struct error *evtx_chunk_error(const struct evtx_chunk *chunk);
uint64_t evtx_chunk_offset(const struct evtx_chunk *chunk); /* of the problem, in the file */

#endif
