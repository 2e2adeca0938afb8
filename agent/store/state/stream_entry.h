#ifndef ETWSHIP_STORE_STREAM_ENTRY_H
#define ETWSHIP_STORE_STREAM_ENTRY_H

#include "base/buf.h"

/* One of streams.h. */
struct stream_entry {
    uint64_t id;
    uint32_t hash;
    struct buf key;
    struct buf about;
    uint64_t found;    /* of a rebuild: id of its first batch; 0: none */
    uint64_t settled;  /* up to this id its batches were removed, as committed */
    uint64_t settling; /* the same, as in the transaction that is open */
    bool is_going;     /* it is removed in the transaction that is open */
    bool is_written;
    bool is_lost;      /* its key is not known */
    bool is_described; /* to the segments of this run */
};

#endif
