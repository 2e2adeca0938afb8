#ifndef ETWSHIP_INPUT_ETL_FILE_H
#define ETWSHIP_INPUT_ETL_FILE_H

#include "input/bytes/etl_bytes.h"
#include "input/etl/etl_index.h"
#include "input/etl/etl_left_out.h"
#include "input/record/etl_buffer.h"
#include "input/record/etl_header.h"
#include "input/record/message_numbers.h"

/*
 * A trace or event log: its headers, and a walk over all buffers and records in file order. The
 * walk makes the index for the merge (etl_merge.h), finds damage, and serves `etwship stat`. Not
 * thread-safe.
 */

struct evtx_carve;
struct evtx_hosts;

/* How events name the machine and file they come from. Texts are UTF-8 and borrowed. */
struct trace_naming {
    struct span host; /* name of the recording machine; overrides the file; empty: use the file's */
    bool whole_path;  /* `etw.file` is the path as given; false: only the file name */
    bool follows;     /* an event log keeps its identity when it grows */
    bool carves;      /* also read leftovers of an event log (evtx_carve.h) */
};

/* One session's part of the file. Usually there is one; appending to a file adds another, with its
 * own header buffer and clock. */
struct etl_epoch {
    uint64_t offset; /* of the header buffer */
    uint16_t format; /* enum unpack_format of compressed buffers */
    struct etl_info info;
    struct message_numbers messages; /* updated by readers of message records */
};

struct etl_file {
    struct etl_bytes bytes;
    struct arena *arena; /* for what records refer to: outlives the file */
    struct etl_epoch *epochs[ETL_INDEX_MAX_EPOCHS];
    size_t epoch_count; /* as far as the walk has come */
    struct etl_index index;
    struct etl_left_out left_out; /* buffers that etl_visitor.leaves_out left out */
    uint8_t id[16];               /* identity of the file; the user may replace it */
    uint8_t records[16];          /* identity in positions of its records */
    struct trace_naming naming;
    struct evtx_hosts *log;   /* set for an event log (evtx_file.h); NULL: a trace */
    struct evtx_carve *carve; /* its leftovers; NULL: not wanted */
};

/*
 * Open ${path} with a handle from ${handles} (borrowed), read its header and compute its identity.
 * An empty or unreadable file, or one that is not a trace, fails with one line that names path and
 * offset. ${naming} (borrowed) determines host name and file in the records; NULL: all zero. What
 * records refer to (epochs, names, path) is allocated from ${arena} and outlives the file: about
 * 1 KB per session.
 *
 * Identity: XXH3-128 (canonical byte order) of the header record with EndTime, BuffersWritten,
 * EventsLost and BuffersLost zeroed, followed, unless the file is circular, by the records of the
 * buffer after the header buffer, if there is one. The first record alone does not suffice, because
 * programs write equal events repeatedly.
 */
struct etl_file *etl_file_open(const char *path, const struct trace_naming *naming,
    struct etl_handles *handles, struct arena *arena, struct error *err);

/* Like etl_file_open, for a trace that is part of an open file. The file is borrowed; ${name}
 * replaces the path in texts. */
struct etl_file *etl_file_open_part(const struct etl_part *part, const char *name,
    const struct trace_naming *naming, struct arena *arena, struct error *err);

/* Like etl_file_open, for a trace in memory, which is borrowed; ${name} replaces the path in
 * texts. */
struct etl_file *etl_file_open_memory(
    struct span memory, const char *name, struct arena *arena, struct error *err);

void etl_file_destroy(struct etl_file *file); /* NULL is fine */

/* The part of ${path} that events show as `etw.file`. */
struct span etl_file_shown(const struct trace_naming *naming, struct span path);

/* Header of the first session. */
const struct etl_info *etl_file_info(const struct etl_file *file);

/* Callbacks of a walk, in file order. All may be NULL. Returning false stops the walk. */
struct etl_visitor {
    void *self;
    bool (*buffer)(void *self, const struct etl_buffer *buffer, size_t epoch);
    bool (*record)(void *self, const struct event_record *record);
    bool skips_plain_events; /* records recognised by etl_record_is_plain_event may be left out */
    /*
     * True if the second pass may leave out the record that was just passed to `record`, with a
     * reason below ETL_LEFT_OUT_REASONS. Only called for some records that have a time of their
     * own. If etl_left_out_init was called, the walk notes buffers whose records may all be left
     * out. It discards the notes when it learns more about the trace, and makes none for a trace
     * with StackWalk records.
     */
    bool (*leaves_out)(void *self, const struct event_record *record, uint8_t *ret_reason);
    /* other threads use the trace's records already: do not modify their trace_info */
    bool leaves_trace;
    /* Byte ${offset} of the file is damaged; ${what} describes it. */
    void (*damage)(void *self, const struct trace_info *trace, uint64_t offset, const char *what);
    /* Polled while no buffer is found for long, and during no other call. True stops the walk. */
    bool (*is_stopped)(void *self);
};

/* Walk all buffers. False only if the file cannot be read or memory is short; damage or a stop by
 * the visitor is no failure. The trace gets its host name when a record contains it, unless
 * leaves_trace is set. */
bool etl_file_walk(struct etl_file *file, const struct etl_visitor *visitor, struct error *err);

/* Walk and build the index; ${visitor} may be NULL. The index is incomplete if the visitor stops
 * the walk. */
bool etl_file_index(struct etl_file *file, const struct etl_visitor *visitor, struct error *err);

/*
 * The number that represents a buffer in positions of its records, 48 bits. Usually its offset. In
 * a circular file parts are overwritten, so it consists of the buffer's number (24 bits) and the
 * part's number (24 bits), which distinguishes new content from overwritten content.
 */
uint64_t etl_file_place(const struct etl_file *file, uint64_t offset, uint64_t sequence);

/* What the records of ${buffer} inherit. ${epoch} must be below epoch_count. */
struct etl_scope;
struct etl_scope etl_file_scope(
    const struct etl_file *file, const struct etl_buffer *buffer, size_t epoch);

/*
 * Add the session that starts with the header buffer ${buffer} as the next epoch; epoch_count must
 * be below ETL_INDEX_MAX_EPOCHS. ${stream} is used for reading. False if the buffer has no trace
 * header (ERR_FORMAT, ERR_UNSUPPORTED) or on other failures. Used by the walk.
 */
struct etl_stream;
bool etl_file_add_epoch(struct etl_file *file, struct etl_stream *stream,
    const struct etl_buffer *buffer, struct error *err);

/* Cut ${buffer} to what the file contains. False if nothing is usable, as for an incomplete
 * compressed buffer. */
bool etl_file_clip(const struct etl_file *file, struct etl_buffer *buffer);

#endif
