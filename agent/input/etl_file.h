#ifndef ETWSHIP_INPUT_ETL_FILE_H
#define ETWSHIP_INPUT_ETL_FILE_H

#include "input/etl_buffer.h"
#include "input/etl_bytes.h"
#include "input/etl_header.h"
#include "input/etl_index.h"
#include "input/message_numbers.h"

/*
 * One trace, or one event log: what its headers say, and a walk over all its buffers and records in file order. The
 * walk makes the index for the merge (etl_merge.h), finds what is damaged and serves `etwship
 * stat`. One thread at a time.
 */

struct evtx_hosts;

/* How the events of a file name where they come from. Texts are UTF-8 and borrowed. */
struct trace_naming {
    struct span
        host; /* the recording machine, instead of what the file says; empty: as the file says */
    bool whole_path; /* `etw.file` is the path as given; false: only the file's name */
};

/* A session's part of the file. There is one; appending to a file starts another, with its own
 * header buffer and clock. */
struct etl_epoch {
    uint64_t offset; /* of the header buffer */
    uint16_t format; /* enum unpack_format of compressed buffers */
    struct etl_info info;
    struct message_numbers messages; /* as far as somebody has noted them */
};

struct etl_file {
    struct etl_bytes bytes;
    struct arena *arena; /* for what records refer to: outlives the file */
    struct etl_epoch *epochs[ETL_INDEX_MAX_EPOCHS];
    size_t epoch_count; /* as far as the walk has come */
    struct etl_index index;
    uint8_t id[16];      /* what it is known as: its identity, until somebody says otherwise */
    uint8_t records[16]; /* the same, in its records' positions */
    struct trace_naming naming;
    struct evtx_hosts *log; /* an event log (evtx_file.h): whose records it has; NULL: a trace */
};

/*
 * Open ${path} with a handle from ${handles} (borrowed), read its header and identity. A file that
 * is empty, no trace, or cannot be read fails with one line that names path and offset. ${naming}
 * (borrowed) decides about the records' host name and file; NULL: all zero. What records refer to (epochs, names, path) is allocated from ${arena} and stays when the file is
 * destroyed: some 1 KB per session.
 *
 * Identity: XXH3-128 (canonical byte order) of the header record with EndTime, BuffersWritten,
 * EventsLost and BuffersLost zeroed, followed, unless the file is circular, by the records of the
 * buffer that follows the header buffer, if there is one. The first record alone may be equal in different
 * traces, since programs write equal events again and again.
 */
struct etl_file *etl_file_open(const char *path, const struct trace_naming *naming,
    struct etl_handles *handles, struct arena *arena, struct error *err);

/* As etl_file_open, for a trace that is a part of an open file. The file is borrowed; ${name} stands
 * for the path in texts. */
struct etl_file *etl_file_open_part(const struct etl_part *part, const char *name,
    const struct trace_naming *naming, struct arena *arena, struct error *err);

/* The same for a trace in memory, borrowed; ${name} stands for the path in texts. */
struct etl_file *etl_file_open_memory(
    struct span memory, const char *name, struct arena *arena, struct error *err);

void etl_file_destroy(struct etl_file *file); /* NULL is fine */

/* What the events of ${path} show as `etw.file`: a part of it. */
struct span etl_file_shown(const struct trace_naming *naming, struct span path);

/* The header of the (first) session. */
const struct etl_info *etl_file_info(const struct etl_file *file);

/* What a walk calls, in file order; all members but self may be NULL. False stops the walk. */
struct etl_visitor {
    void *self;
    bool (*buffer)(void *self, const struct etl_buffer *buffer, size_t epoch);
    bool (*record)(void *self, const struct event_record *record);
    bool
        skips_mere_events; /* records of which etl_record_is_mere_event is sure need not be given */
    /* Other threads hold records already: what is known of their trace stays as it is. */
    bool leaves_trace;
    /* ${what} is wrong at byte ${offset} of the file. */
    void (*damage)(void *self, const struct trace_info *trace, uint64_t offset, const char *what);
    /* Asked now and then where no buffer comes for long, while nothing else is called. True stops the walk. */
    bool (*is_stopped)(void *self);
};

/* Walk all buffers. False only if the file cannot be read or memory is out; damage and a visitor's
 * stop are no failure. The records' trace has its host name from the record on that tells it, unless
 * the visitor leaves it. */
bool etl_file_walk(struct etl_file *file, const struct etl_visitor *visitor, struct error *err);

/* Walk and make the index; ${visitor} may be NULL. Not complete if the visitor stopped it. */
bool etl_file_index(struct etl_file *file, const struct etl_visitor *visitor, struct error *err);

/*
 * What stands for the buffer's offset in the positions of its records: the offset itself, but in a
 * circular file, whose parts are written to again and again, the number of the buffer, 24 bits, and
 * that of its part, 24 bits, so that what is read later is not taken for what was there before. 48
 * bits in all.
 */
uint64_t etl_file_place(const struct etl_file *file, uint64_t offset, uint64_t sequence);

/* What the records of ${buffer} inherit. ${epoch} is below epoch_count. */
struct etl_scope;
struct etl_scope etl_file_scope(
    const struct etl_file *file, const struct etl_buffer *buffer, size_t epoch);

/*
 * Take the session that starts with the header buffer ${buffer} as the file's next epoch; fewer
 * than ETL_INDEX_MAX_EPOCHS are known. ${stream} is used for reading. False if there is no trace
 * header in it (ERR_FORMAT, ERR_UNSUPPORTED) or on other failures. For the walk.
 */
struct etl_stream;
bool etl_file_add_epoch(struct etl_file *file, struct etl_stream *stream,
    const struct etl_buffer *buffer, struct error *err);

/* Cut ${buffer} to what the file holds of it. False if nothing of it can be used: a compressed one
 * that is not whole. */
bool etl_file_clip(const struct etl_file *file, struct etl_buffer *buffer);

#endif
