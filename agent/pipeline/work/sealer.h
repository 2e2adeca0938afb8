#ifndef ETWSHIP_PIPELINE_SEALER_H
#define ETWSHIP_PIPELINE_SEALER_H

#include "pipeline/slab/losses.h"
#include "pipeline/spool/spool.h"

/*
 * Puts decoded slabs back into the order of their tickets, gathers each stream's records into
 * batches, seals those by bytes, events and age, and hands them to the spool. Entries in the ledger
 * are made here, per slab.
 */
struct sealer;

struct sealer_stream {
    const struct event_format *format;
    size_t route_count; /* templates that its records are routed by */
    size_t max_bytes;   /* of a batch; a longer record is a batch of its own */
    size_t max_events;
    bool whole_pieces; /* a piece that is longer than that is not cut, which would copy it */
    uint64_t max_age_ns;
    const size_t *outputs; /* that read it; borrowed */
    size_t output_count;
};

struct sealer_session {
    const size_t *streams; /* by piece of a slab; borrowed */
    size_t stream_count;
    bool replayable; /* events without room can be read again: wait as long as needed */
    bool waits;      /* events without room in the spool are read again in the next run */
};

struct sealer_settings {
    const struct sealer_stream *streams; /* borrowed, as is what they point to */
    size_t stream_count;
    const struct sealer_session *sessions;
    size_t session_count;
    size_t output_count;
    const uint64_t *resume; /* [session * output_count + output]: the output has everything up to
                               this sequence; NULL: nothing anywhere */
    size_t worker_count;
    struct block_pool *pool; /* borrowed; may be NULL */
    struct spool *spool;     /* borrowed */
    struct ledger *ledger;   /* borrowed */
    struct losses *losses;   /* borrowed; NULL: they are not shipped */
};

/* Starts the thread that seals by age. NULL with ${err} set on failure. */
struct sealer *sealer_create(const struct sealer_settings *settings, struct error *err);

/* No thread may be in a call. What was not sealed is lost. NULL is fine. */
void sealer_destroy(struct sealer *sealer);

/*
 * Take a decoded slab and free it. May wait: for the slabs before it, and for room in the spool.
 * Each ticket must come exactly once, from 0. Worker threads.
 */
void sealer_finish(struct sealer *sealer, struct slab *slab);

/*
 * Take what a slab has become so far, up to its done_sequence: its pieces are empty then. For slabs
 * that become very large. Waits for its turn and for room. False: cancelled; the slab is to be
 * given to sealer_finish as it is.
 */
bool sealer_take(struct sealer *sealer, struct slab *slab);

/* Has the spool been cancelled? Then slabs need not be decoded: sealer_finish counts them as
 * dropped. */
bool sealer_is_cancelled(const struct sealer *sealer);

/* Wait until all slabs with tickets below ${ticket} were sealed. */
void sealer_wait(struct sealer *sealer, uint64_t ticket);

/* Seal what is open, whatever its age. */
void sealer_flush(struct sealer *sealer);

#endif
