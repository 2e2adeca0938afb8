#ifndef ETWSHIP_STORE_CATALOGUE_BATCHES_H
#define ETWSHIP_STORE_CATALOGUE_BATCHES_H

#include "store/catalogue/catalogue.h"

/* Streams, segments and batches. Put and remove inside a transaction (catalogue.h). */

/* ---- streams --------------------------------------------------------------------------------- */

struct catalogue_stream {
    uint64_t id;
    uint64_t hash;
    struct span key;   /* unique; at most CATALOGUE_TEXT_MAX_BYTES */
    struct span about; /* the same; opaque */
};

/* Add it, or change all of it. */
bool catalogue_put_stream(
    struct catalogue *catalogue, const struct catalogue_stream *stream, struct error *err);

/* All, by id, until ${each} returns false. It must not use the catalogue. */
bool catalogue_streams(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_stream *stream), void *self, struct error *err);

/* Do batches or ranges name the stream, or does it alone say how far a session is? */
bool catalogue_stream_is_needed(
    struct catalogue *catalogue, uint64_t id, bool *ret_needed, struct error *err);

/* A stream that neither batches nor ranges name. Else ERR_LIMIT; one that is not there is fine. */
bool catalogue_remove_stream(struct catalogue *catalogue, uint64_t id, struct error *err);

/* ---- segments -------------------------------------------------------------------------------- */

enum catalogue_segment_state {
    CATALOGUE_SEGMENT_LIVE,
    CATALOGUE_SEGMENT_DELETING, /* decided, to be repeated until the file is gone */
};

struct catalogue_segment {
    uint64_t id;
    uint64_t bytes; /* committed size of the file; bytes after it are torn */
    enum catalogue_segment_state state;
    uint64_t batches;     /* that lie in it; kept by the catalogue */
    uint64_t batch_bytes; /* the same */
};

/* Add it, or change its bytes and state. */
bool catalogue_put_segment(
    struct catalogue *catalogue, const struct catalogue_segment *segment, struct error *err);

/* Forget a segment without batches. With some: ERR_LIMIT; one that is not there is fine. */
bool catalogue_remove_segment(struct catalogue *catalogue, uint64_t id, struct error *err);

/* All, by id, until ${each} returns false. It must not use the catalogue. */
bool catalogue_segments(struct catalogue *catalogue,
    bool (*each)(void *self, const struct catalogue_segment *segment), void *self,
    struct error *err);

/* ---- batches --------------------------------------------------------------------------------- */

struct catalogue_batch {
    uint64_t id;
    uint64_t stream;
    uint64_t segment;
    uint64_t offset; /* of its frame in the segment */
    uint64_t bytes;  /* of the frame */
    uint64_t raw_bytes;
    uint64_t epoch; /* that its records' numbers belong to */
    uint64_t first_record;
    uint32_t records;
    uint64_t first_time; /* FILETIME */
    uint64_t last_time;
    uint64_t entered;
};

/* Add a batch with a new id; its stream and segment exist. If the ids of a stream do not increase,
 * catalogue_sum_again must follow. */
bool catalogue_put_batch(
    struct catalogue *catalogue, const struct catalogue_batch *batch, struct error *err);

/* In a transaction: what the batches of a stream keep of those before them, by their ids. */
bool catalogue_sum_again(struct catalogue *catalogue, uint64_t stream, struct error *err);

/* The first ${max} batches of ${stream} (0: of all) with ids above ${after} and up to ${last}
 * (UINT64_MAX: no end), in order; ${ret_count} of them. Costs what it gives. */
bool catalogue_next_batches(struct catalogue *catalogue, uint64_t stream, uint64_t after,
    uint64_t last, struct catalogue_batch *batches, size_t max, size_t *ret_count,
    struct error *err);

/* One batch. ${ret_found} false: it is not there, and ${ret_batch} untouched. */
bool catalogue_find_batch(struct catalogue *catalogue, uint64_t id,
    struct catalogue_batch *ret_batch, bool *ret_found, struct error *err);

/* When the last batch entered; 0 if there is none. */
bool catalogue_newest_entered(
    struct catalogue *catalogue, uint64_t *ret_entered, struct error *err);

/* Move the time at which batches entered forward ${by}, but not beyond ${latest} (both below 2^62,
 * in 100 ns). Takes as long as there are batches, if ${by} is not 0. */
bool catalogue_shift_entered(
    struct catalogue *catalogue, uint64_t by, uint64_t latest, struct error *err);

/* Remove the oldest batches of ${stream} with ids up to ${last}, at most ${max} of them; fewer were
 * removed only if there are no more. */
bool catalogue_remove_batches(struct catalogue *catalogue, uint64_t stream, uint64_t last,
    size_t max, size_t *ret_removed, struct error *err);

/* Remove one. One that is not there is fine. */
bool catalogue_remove_batch(struct catalogue *catalogue, uint64_t id, struct error *err);

struct catalogue_sum {
    uint64_t batches;
    uint64_t records;
    uint64_t bytes;
};

/*
 * Count the batches of ${stream} with ids above ${after} and up to ${last} (UINT64_MAX: no end), in
 * constant time: each batch has totals of those before it. So a batch that was removed from between
 * others still counts until those before it are removed.
 */
bool catalogue_sum_batches(struct catalogue *catalogue, uint64_t stream, uint64_t after,
    uint64_t last, struct catalogue_sum *ret_sum, struct error *err);

#endif
