#ifndef ETWSHIP_PIPELINE_SLAB_H
#define ETWSHIP_PIPELINE_SLAB_H

#include <stdatomic.h>

#include "pipeline/batch/piece.h"
#include "pipeline/batch/time_range.h"
#include "pipeline/record/ledger.h"
#include "pipeline/slab/roll_list.h"

/*
 * A piece of one session on its way from the source to the sealer: records copied once, side by
 * side, with the stacks that were joined to them. The source fills it, one worker decodes it, and
 * it goes to the sealer with what became of it. One owner at a time, so there is no lock.
 */
enum slab_kind {
    SLAB_RECORDS,  /* events */
    SLAB_METADATA, /* records that describe others: every worker learns them */
    SLAB_GAP,      /* one gap */
    SLAB_GUARD,    /* one report of a session's guard */
    SLAB_STATUS,   /* one report of the agent on itself */
};

enum { SLAB_BYTES = 256 * 1024 }; /* of records; recorded traces have larger ones (budget.h) */

struct slab_item {
    const struct event_record *record;
    const uint64_t *frames; /* NULL: none */
    uint32_t frame_count;
};

struct slab {
    /* Of the queue. */
    struct slab *next;
    uint64_t ticket;      /* of metadata: that of the first slab of records after it */
    size_t learners_left; /* workers that have yet to learn it */
    uint64_t metadata_number;

    /* Of the source. */
    enum slab_kind kind;
    bool completed; /* it has its counts */
    uint32_t session;
    uint32_t count;               /* items */
    uint64_t last_sequence;       /* of the session, up to here; 0: what is in it has no number */
    struct time_range times;      /* of its records */
    struct session_counts counts; /* what the source saw since the slab before; the worker adds */
    uint64_t left_out;            /* events that no stream wants, which are not in it */
    struct gap gap;               /* SLAB_GAP */
    struct guard_report guard;    /* SLAB_GUARD; its texts lie in the slab's memory */
    struct status status;         /* SLAB_STATUS; so do these */
    uint64_t now;                 /* FILETIME of an own event, whose number is last_sequence */
    atomic_size_t *in_flight;     /* counted down when the slab is freed; NULL: none */

    /* Of the worker: what became of it, by stream; and the sequence that it has come to. */
    struct piece *pieces;
    struct roll_list **rolls; /* by piece; NULL: nothing is rolled up there */
    size_t piece_count;
    uint64_t done_sequence;
    struct session_counts
        taken;      /* the part of the counts that the sealer has taken before the end */
    bool undecoded; /* the agent stops: its events are to be counted as dropped */

    struct block_pool *pool; /* where its memory goes back to */
    size_t block_bytes;      /* of it all */
    size_t capacity;
    size_t used;
    max_align_t memory[];
};

/* An empty slab with room for ${capacity} bytes, from ${pool}, which may be NULL. NULL: out of
 * memory. */
struct slab *slab_create(
    enum slab_kind kind, uint32_t session, size_t capacity, struct block_pool *pool);
void slab_destroy(struct slab *slab); /* NULL is fine; its pieces too */
void slab_clear_pieces(struct slab *slab);

/* Bytes that ${record} with ${frame_count} frames needs in a slab. */
size_t slab_item_size(const struct event_record *record, uint32_t frame_count);

static inline bool slab_has_room(const struct slab *slab, size_t size)
{
    return size <= slab->capacity - slab->used;
}

/* Copy a record of slab_item_size() ${size}, for which there is room, and number it. */
void slab_add(struct slab *slab, const struct event_record *record, const uint64_t *frames,
    uint32_t frame_count, size_t size, uint64_t sequence);

/* The items in order: start with *cursor = 0; false at the end. */
bool slab_next(const struct slab *slab, size_t *cursor, struct slab_item *ret_item);

#endif
