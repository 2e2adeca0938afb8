#ifndef ETWSHIP_STORE_IDS_H
#define ETWSHIP_STORE_IDS_H

#include <stdlib.h>

#include "base/error.h"

/* A list of numbers that grows. */
struct ids {
    uint64_t *at;
    size_t count;
    size_t capacity;
};

static inline bool ids_add(struct ids *ids, uint64_t id, struct error *err)
{
    if (ids->count == ids->capacity) {
        size_t capacity = ids->capacity ? 2 * ids->capacity : 64;
        uint64_t *at = realloc(ids->at, capacity * sizeof(*at));
        if (!at) {
            return error_set(err, ERR_MEMORY, "out of memory");
        }
        ids->at = at;
        ids->capacity = capacity;
    }
    ids->at[ids->count++] = id;
    return true;
}

static inline void ids_fini(struct ids *ids)
{
    free(ids->at);
    *ids = (struct ids){.at = NULL};
}

#endif
