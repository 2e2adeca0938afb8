#ifndef ETWSHIP_STORE_STREAMS_H
#define ETWSHIP_STORE_STREAMS_H

#include "base/buf.h"
#include "store/catalogue/catalogue.h"
#include "store/disk/frame.h"

/*
 * All streams that the catalogue knows, in memory. New ones are made here and written with the next
 * commit. One thread at a time.
 */
enum { STREAMS_MAX = 65536 };

struct stream_entry; /* stream_entry.h */
struct streams;

struct streams *streams_create(void); /* NULL: out of memory */
void streams_destroy(struct streams *streams);
void streams_clear(struct streams *streams);

/* Read all; ${streams} is empty. False: it may be half read. */
bool streams_load(struct streams *streams, struct catalogue *catalogue, struct error *err);

struct stream_entry *streams_get(const struct streams *streams, uint64_t id); /* NULL: none */
struct stream_entry *streams_find(const struct streams *streams, struct span key);
struct stream_entry *streams_at(
    const struct streams *streams, size_t index); /* NULL: not as many */

/* Each in turn, round and round, over all commits. NULL: there is none. */
struct stream_entry *streams_take_turn(struct streams *streams);

/* Is it described to the segments of this run? */
bool streams_is_described(const struct streams *streams, uint64_t id);

/* That of the next new one. */
uint64_t streams_next_id(const struct streams *streams);

/* Add one; its id is that of ${stream}, or a new one where that is 0. NULL with ${err} set.
 * Pointers to others move. */
struct stream_entry *streams_add(
    struct streams *streams, const struct frame_stream *stream, struct error *err);

/* Key, hash and words of one that is there. Pointers stay. */
bool streams_rename(struct streams *streams, const struct frame_stream *stream, struct error *err);

/* Inside a transaction: those that are not written. streams_written: it was committed. */
bool streams_write(const struct streams *streams, struct catalogue *catalogue, struct error *err);
void streams_written(struct streams *streams);

/* What commit_remove_streams has settled and removed was committed. Pointers move. */
void streams_settled(struct streams *streams);

/* The catalogue was lost: the next streams_write writes everything. */
void streams_unwritten(struct streams *streams);

#endif
