#ifndef ETWSHIP_STORE_CHAIN_OWN_H
#define ETWSHIP_STORE_CHAIN_OWN_H

#include "store/chain.h"

/* The ranges of a chain, for those who follow or change them. */
enum { CHAIN_RANGES_MAX = 1024 };

struct chain_range {
    uint64_t ordinal;
    uint64_t stream;
    uint64_t after; /* batches with ids above this */
    uint64_t last;  /* and up to this */
    struct buf about;
    bool is_written;
};

struct chain {
    uint64_t id; /* of the output in the catalogue */
    struct buf name;
    uint64_t position;
    uint64_t *early; /* ascending */
    size_t early_count;
    uint64_t *left; /* batches of which only a part is to be delivered; ascending */
    size_t left_count;
    struct chain_range *ranges; /* by ordinal */
    size_t range_count;
    size_t first_range; /* those before it are settled, and go with the next commit */
    uint64_t seen;      /* FILETIME, when it was open last */
    bool is_open;
    bool is_changed;       /* since it was written */
    bool is_written;       /* the catalogue has it */
    struct buf checkpoint; /* as it stands now */
    bool is_checkpoint_written;
};

/* NULL: out of memory, or the name is too long. */
struct chain *chain_create(struct span name);
void chain_destroy(struct chain *chain);

/* The range that it reads at last; NULL: there is none. */
struct chain_range *chain_last_range(const struct chain *chain);

/* Close the last range at ${boundary} and read ${stream} from there on. A range in which there
 * cannot be anything any more goes. */
bool chain_extend(
    struct chain *chain, uint64_t stream, struct span about, uint64_t boundary, struct error *err);

/* The id in a range after which reading continues. */
uint64_t chain_lower(const struct chain *chain, const struct chain_range *range);

/* Give it ids that it is done with beyond its position. */
bool chain_set_early(struct chain *chain, const uint64_t *early, size_t count, struct error *err);

/* Add a range after the others, with only its words set; it has no end. */
struct chain_range *chain_add_range(struct chain *chain, struct span about, struct error *err);

/* Everything of it was written to the catalogue. */
void chain_written(struct chain *chain);

#endif
