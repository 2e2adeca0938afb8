#ifndef ETWSHIP_PIPELINE_SOURCE_H
#define ETWSHIP_PIPELINE_SOURCE_H

#include "input/input.h"
#include "pipeline/slab/losses.h"
#include "pipeline/source/source_gates.h"
#include "pipeline/work/provider_budget.h"
#include "process/process_table.h"

/*
 * The first part of a session: what its input hands over is joined with its stacks, numbered,
 * copied into slabs and queued for the decode workers. All on the thread of input_ops.run.
 *
 * When the queue is full, a replayable source waits. A live one waits for block_for, then drops
 * until the queue is half empty, and a gap record says how many (queue, full), and another one how
 * many records that describe others went unlearned (queue, metadata). Room for them is kept
 * beforehand (gap_list.h). A gap is closed with the next event that is accepted, or after gap_age.
 *
 * Before that, a live source leaves out what a provider sends beyond its budget
 * (provider_budget.h); gaps, one per provider and reason, say so every gap_age (guard,
 * budget_sampled).
 */
struct source;

/* What the owner of sources is told and asked, on their threads. */
struct source_hooks {
    /* A provider keeps to its budget in another way than before; may be NULL. */
    void (*step)(void *self, uint32_t session, const struct provider_change *change);
    /* See input_sink.damage and .progress; may be NULL. */
    void (*damage)(void *self, uint32_t session, const struct trace_info *trace, uint64_t offset,
        const char *what);
    void (*progress)(void *self, uint32_t session, uint64_t done_bytes, uint64_t total_bytes);
    /* For sessions whose positions are kept, else NULL: see input_sink.file_end and is_done, and
     * what the file's last event is numbered. */
    void (*file_end)(
        void *self, uint32_t session, const uint8_t file_id[16], uint64_t last_sequence);
    bool (*is_done)(
        void *self, uint32_t session, const uint8_t file_id[16], uint64_t *ret_last_sequence);
    void *self;
};

struct source_settings {
    uint32_t session;
    struct slab_queue *queue; /* borrowed */
    struct ledger *ledger;    /* borrowed */
    struct losses *losses;    /* borrowed; NULL: they are not shipped */
    struct block_pool *pool;  /* for slabs, borrowed; may be NULL */
    size_t slab_bytes;        /* of a slab, unless a record is larger */
    struct input_decoding decoding;
    struct process_table *processes; /* is told of them; borrowed; NULL: none */
    const struct codepage *ansi;     /* of their names */
    bool replayable;
    uint64_t block_for_ns; /* live sources */
    uint64_t slab_age_ns;  /* live sources: no event waits longer for its slab to fill */
    uint64_t gap_age_ns;
    struct provider_budget_settings budget; /* live sources; borrowed until source_destroy */
    struct source_gates *gates; /* of a replayable source, to be destroyed with it; NULL: none */
    uint64_t max_events;        /* 0: no limit */
    uint64_t resume; /* what is numbered up to here, all outputs had in an earlier run: left out */
    uint64_t resume_max; /* what is numbered above, no output had */
    struct source_hooks hooks;
};

struct source *source_create(const struct source_settings *settings, struct error *err);

/* Its slabs are gone. NULL is fine. */
void source_destroy(struct source *source);

/* What the input hands its records to: fill ${ret_sink}. */
void source_sink(struct source *source, struct input_sink *ret_sink);

/*
 * The input has ended: hand on what is held back. ${stopped}: before its end. Then a replayable
 * source leaves out events whose stacks may still have come, since they come again.
 */
void source_finish(struct source *source, bool stopped);

struct source_counts {
    uint64_t seen;     /* records that the input handed over */
    uint64_t resumed;  /* events left out, as delivered in an earlier run */
    uint64_t sequence; /* the last number that was given */
    bool complete;     /* everything up to `sequence` was queued */
};

/* On the source's thread, or after source_finish. */
struct source_counts source_counts(const struct source *source);

#endif
