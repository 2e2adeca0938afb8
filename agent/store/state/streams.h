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

struct stream_entry {
    uint64_t id;
    uint32_t hash;
    struct buf key;
    struct buf about;
    uint64_t found;    /* of a rebuild: id of its first batch; 0: none */
    uint64_t settled;  /* up to this id its batches were removed, as committed */
    uint64_t settling; /* the same, as in the transaction that is open */
    bool is_written;
    bool is_lost;      /* its key is not known */
    bool is_described; /* to the segments of this run */
};

struct streams {
    struct stream_entry *entries; /* by id */
    size_t count;
    uint64_t next_id;
};

void streams_init(struct streams *streams);
void streams_fini(struct streams *streams);

/* Read all; ${streams} is fresh. False: it may be half read, and fini is allowed. */
bool streams_load(struct streams *streams, struct catalogue *catalogue, struct error *err);

struct stream_entry *streams_get(const struct streams *streams, uint64_t id); /* NULL: none */
struct stream_entry *streams_find(const struct streams *streams, struct span key);

/* Add one; its id is that of ${stream}, or a new one where that is 0. NULL with ${err} set. Pointers
 * to others move. */
struct stream_entry *streams_add(
    struct streams *streams, const struct frame_stream *stream, struct error *err);

/* Key, hash and words of one that is there. Pointers stay. */
bool streams_rename(struct streams *streams, const struct frame_stream *stream, struct error *err);

/* Forget one that nothing refers to. Pointers to others move. */
void streams_remove(struct streams *streams, uint64_t id);

/* Inside a transaction: those that are not written. streams_written: it was committed. */
bool streams_write(const struct streams *streams, struct catalogue *catalogue, struct error *err);
void streams_written(struct streams *streams);

#endif
