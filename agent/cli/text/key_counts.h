#ifndef ETWSHIP_CLI_KEY_COUNTS_H
#define ETWSHIP_CLI_KEY_COUNTS_H

#include "base/arena.h"
#include "base/map.h"

/* Counters by key, for `stat`: how many records of each kind a trace has. */
struct key_count {
    struct span key;
    uint64_t count;
    void *extra; /* the caller's, e.g. names seen for this key */
};

struct key_counts {
    struct arena arena;
    struct map map;
    uint64_t beyond; /* records without a row, as the table was full */
};

/* A hostile trace can have as many kinds as records: further kinds are only counted together. */
enum { KEY_COUNTS_MAX_KEYS = 65536, KEY_COUNTS_MAX_BYTES = 16 * 1024 * 1024 };

void key_counts_init(struct key_counts *counts);
void key_counts_fini(struct key_counts *counts);

/* Increment the counter of ${key}. Returns its row, or NULL if the table is full. */
struct key_count *key_counts_add(struct key_counts *counts, struct span key);

/* The rows in byte order of their keys: an array that the caller frees; NULL if there are none. */
struct key_count **key_counts_sorted(const struct key_counts *counts, size_t *ret_count);

#endif
