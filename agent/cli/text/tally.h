#ifndef ETWSHIP_CLI_TALLY_H
#define ETWSHIP_CLI_TALLY_H

#include "base/arena.h"
#include "base/map.h"

/* Counters by key, for `stat`: how many records of each kind a trace has. */
struct tally_row {
    struct span key;
    uint64_t count;
    void *extra; /* the caller's, e.g. names seen for this key */
};

struct tally {
    struct arena arena;
    struct map map;
    uint64_t beyond; /* records without a row, as the table was full */
};

/* A hostile trace can have as many kinds as records: further kinds are only counted together. */
enum { TALLY_MAX_KEYS = 65536, TALLY_MAX_BYTES = 16 * 1024 * 1024 };

void tally_init(struct tally *tally);
void tally_fini(struct tally *tally);

/* Increment the counter of ${key}. Returns its row, or NULL if the table is full. */
struct tally_row *tally_add(struct tally *tally, struct span key);

/* The rows in byte order of their keys: an array that the caller frees; NULL if there are none. */
struct tally_row **tally_sorted(const struct tally *tally, size_t *ret_count);

#endif
