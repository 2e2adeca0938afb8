#ifndef ETWSHIP_STORE_IDS_H
#define ETWSHIP_STORE_IDS_H

#include "base/error.h"
#include "base/grow.h"

/* A list of numbers that grows. */
struct ids {
    uint64_t *at;
    size_t count;
    size_t capacity;
};

static inline bool ids_add(struct ids *ids, uint64_t id, struct error *err)
{
    if (!grow_list(&ids->at, ids->count, &ids->capacity, sizeof(*ids->at))) {
        return error_set(err, ERR_MEMORY, "out of memory");
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
