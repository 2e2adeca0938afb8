#ifndef ETWSHIP_PIPELINE_GAP_LIST_H
#define ETWSHIP_PIPELINE_GAP_LIST_H

#include <stdatomic.h>

#include "pipeline/slab/slab.h"

/*
 * The open gaps of a source, one per stage, reason and provider, each with the slab that will ship
 * it. Embedded; one thread, except that slabs are freed on any.
 */
enum { GAP_LIST_MAX = 16 };

struct gap_list {
    struct open_gap {
        bool is_open;
        struct gap gap;
        uint64_t opened_ns;
        struct slab *room;
    } gaps[GAP_LIST_MAX];
    uint32_t session;
    atomic_size_t in_flight;
};

/* False: out of memory, and fini is allowed. The list stays where it is. */
bool gap_list_init(struct gap_list *list, uint32_t session);
void gap_list_fini(struct gap_list *list); /* its slabs are gone; zeroed is fine */

/* Lost are ${more}: opens a gap, or adds to the one that is open. */
void gap_list_add(struct gap_list *list, const struct gap *more);

/* Has gap ${index} been open for ${age_ns}? */
bool gap_list_is_old(const struct gap_list *list, size_t index, uint64_t now_ns, uint64_t age_ns);

/* May a gap be taken without force? While too many are under way they stay open and grow. */
bool gap_list_may_take(struct gap_list *list);

/* Close gap ${index}: the slab to ship it in, without time and number. NULL: it is not open, or may
 * not be taken and there is no ${force}, or there is no memory for it now. */
struct slab *gap_list_take(struct gap_list *list, size_t index, bool force);

#endif
