#ifndef ETWSHIP_PIPELINE_SEALER_OWN_H
#define ETWSHIP_PIPELINE_SEALER_OWN_H

#include <stdatomic.h>

#include "pipeline/slab/rollups.h"
#include "pipeline/work/sealer.h"
#include "platform/plat_thread.h"

/* Shared by the parts of the sealer. Every function: with the mutex held. */

struct stream {
    const struct sealer_stream *settings;
    struct batch *open; /* NULL: none */
};

struct sealer {
    struct sealer_settings settings;
    struct stream *streams;
    uint64_t *last_resume; /* by session: the highest of its outputs' */
    uint64_t *done;        /* by session: the sequence that its slabs have come to */
    bool *has_hole;        /* by session: events after `done` were dropped */
    struct rollups *rollups;

    struct plat_mutex mutex;
    struct plat_cond turn;   /* workers wait for their ticket, or for the ring */
    struct plat_cond opened; /* the clock waits for a batch to grow old */
    uint64_t clock_ns;       /* when it looks next without being woken */
    struct slab **ring;
    size_t ring_size;
    uint64_t next_ticket;
    bool busy;
    bool over;
    atomic_bool cancelled;
    struct plat_thread *clock;
};

/* ---- batches (sealer_batches.c) -------------------------------------------------------------- */

/* Wait as there is no memory. Outputs will free some, and they never need the mutex. The sealer
 * keeps it: a batch that was sealed now would have half of a piece, and the other half would be
 * lost. */
void sealer_wait_for_memory(void);

/* When the stream's open batch is to be sealed by age; UINT64_MAX: there is none. */
uint64_t sealer_due(const struct stream *stream);

/* Hand the stream's open batch to the spool, if there is one. */
void sealer_seal(struct sealer *sealer, size_t index);

/* The stream's open batch, made if there is none. */
struct batch *sealer_open_batch(struct sealer *sealer, size_t index);

bool sealer_is_full(const struct stream *stream);

/* How many of the piece's records from ${first} on fit into the open batch; at least one if it is
 * empty. */
size_t sealer_count_fitting(const struct stream *stream, const struct batch *batch,
    const struct piece *piece, size_t first, size_t end);

/* Records of a piece to the open batch. All of them become the batch where that is empty. */
void sealer_move_records(
    struct sealer *sealer, size_t index, struct piece *piece, size_t first, size_t count);

/* The open batch covers its session up to the end of ${segment}, but not beyond the first event of
 * an open window. */
void sealer_mark(struct sealer *sealer, size_t index, const struct batch_segment *segment);

/* ---- windows of rollup rules (sealer_windows.c) ---------------------------------------------- */

/* Ship the session's windows that are over: by event time ${time}, or by the clock. */
void sealer_close_windows_of(
    struct sealer *sealer, uint32_t session, uint64_t time, uint64_t now_ns);

/* Likewise for all sessions. */
void sealer_close_windows(struct sealer *sealer, uint64_t time, uint64_t now_ns);

/* When one may be over by the clock; UINT64_MAX: none is open. */
uint64_t sealer_next_window(const struct sealer *sealer);

/* Ship the counts of ${slab} that found no room in the shared windows as windows of their own. */
void sealer_add_left(struct sealer *sealer, size_t index, const struct slab *slab, size_t piece);

#endif
