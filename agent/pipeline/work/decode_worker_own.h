#ifndef ETWSHIP_PIPELINE_DECODE_WORKER_OWN_H
#define ETWSHIP_PIPELINE_DECODE_WORKER_OWN_H

#include "pipeline/record/event_mark.h"
#include "pipeline/work/decode_worker.h"
#include "pipeline/work/edit_stage.h"
#include "pipeline/work/tap.h"
#include "process/process_reader.h"

/* Shared by the files of a decode worker, on its thread; not for users of decode_worker.h. */

/* A stream of a session, by piece of its slabs. */
struct context_stream {
    const struct worker_stream *stream;
    struct event_writer *writer;
    size_t last_bytes; /* of its last piece */
};

struct context {
    const struct worker_session *session;
    struct context_stream *streams;
    struct event_decode decode;
    struct process_reader *processes; /* NULL: not asked for */
    struct filter_scratch scratch;    /* for filters and routes */
    bool has_scratch;
    struct gate_view *gates;        /* of the session */
    struct gate_view *stream_gates; /* by piece; no gate: the stream keeps everything */
    bool has_gates;                 /* there is any of them … */
    bool is_edited;                 /* … one of them edits */
    bool rolls_up;                  /* … one of them makes one of many */
    bool is_filtered;               /* has_gates, or the session selects events */
    uint64_t observed;              /* the sequence that the observer has seen it up to */
    bool is_over;                   /* that has seen enough */
    struct schema_losses told;      /* of the cache, and counted; what is learned may come first */
};

struct decode_worker {
    struct decode_worker_settings settings;
    struct decoder decoder;
    struct edit_stage edits;
    struct context *contexts; /* by session */
    struct buf route;
    struct event_mark mark;        /* of the event at hand, by rules that decide … */
    struct event_mark edit_mark;   /* … by rules that edit … */
    struct event_mark stream_mark; /* … and by those of one stream that decide */
    struct tap_view taps;          /* of the slab at hand */
    struct buf tap_text;
    struct plat_thread *thread;
};

/* The process of the event; NULL: unknown, or not added. */
static inline const struct event_process *decode_worker_process(
    const struct context *context, const struct event_record *record)
{
    return context->processes ? process_reader_find(context->processes, record) : NULL;
}

/* The file that it uses; the same. */
static inline const struct event_file *decode_worker_file(
    const struct context *context, const struct event_record *record)
{
    return context->processes ? process_reader_file(context->processes, record) : NULL;
}

/* ---- decode_worker_context.c ----------------------------------------------------------------- */

/* Make the context of session ${index}. decode_worker_context_fini may be called after a failure,
 * and for a context that was never made. */
bool decode_worker_context_make(struct decode_worker *worker, size_t index, struct error *err);
void decode_worker_context_fini(struct decode_worker *worker, size_t index);

/* ---- decode_worker_gates.c ------------------------------------------------------------------- */

bool decode_worker_gates_make(struct decode_worker *worker, size_t index, struct error *err);
void decode_worker_gates_fini(struct decode_worker *worker, size_t index);

/* Decode ${event}, of which record and stack are there, as far as it is wanted. False: it is not,
 * and *ret_accepted says whether the session at least wants it. */
bool decode_worker_gates_decode(
    struct decode_worker *worker, const struct slab *slab, struct event *event, bool *ret_accepted);

/* Add the counts since the last slab to the shared counts. */
void decode_worker_gates_flush(struct decode_worker *worker, const struct slab *slab);

/* ---- decode_worker_tap.c --------------------------------------------------------------------- */

/* Show an event that some stream wants to the taps of its session; show one that was just written
 * as the last record of piece ${index} to the taps of that stream. */
void decode_worker_tap_session(
    struct decode_worker *worker, const struct slab *slab, const struct event *event);
void decode_worker_tap_stream(
    struct decode_worker *worker, const struct slab *slab, size_t index, const struct event *event);

#endif
