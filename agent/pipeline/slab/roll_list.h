#ifndef ETWSHIP_PIPELINE_ROLL_LIST_H
#define ETWSHIP_PIPELINE_ROLL_LIST_H

#include "pipeline/batch/piece.h"
#include "pipeline/batch/time_range.h"

/*
 * The events of a stream in one slab that `rollup` rules count: per key and window their number,
 * and the first of them, encoded. One owner at a time, like the slab.
 */

/* A count: which rule's, of which values, and of what time. */
struct roll_key {
    uint64_t values; /* filter_scratch.key */
    uint64_t begin;  /* FILETIME of the window's begin */
    uint64_t length; /* of the window, 100 ns */
    uint32_t gate;   /* whose rule … */
    uint32_t rule;   /* … it is */
};

struct roll {
    struct roll_key key;
    uint64_t count;
    uint64_t sequence; /* of the first */
    struct time_range times;
};

/* More keys than that in a slab pass through uncounted. */
enum { ROLL_LIST_MAX = 1024, ROLL_LIST_SLOTS = 2 * ROLL_LIST_MAX };

struct roll_list {
    struct roll *items; /* in the order of their first events */
    size_t count;
    size_t capacity;
    struct piece texts;              /* record i is the first event of item i */
    uint16_t slots[ROLL_LIST_SLOTS]; /* open addressing: index + 1; 0: free */
    uint16_t left[ROLL_LIST_MAX];    /* the sealer's: indexes of those that found no room … */
    size_t left_count;               /* … among the open windows */
};

/* NULL: out of memory. */
struct roll_list *roll_list_create(size_t route_count);
void roll_list_destroy(struct roll_list *list); /* NULL is fine */

bool roll_key_equal(const struct roll_key *a, const struct roll_key *b);
uint64_t roll_key_hash(const struct roll_key *key);

/* The window of ${length} that ${time} falls into: all begin at multiples of it since 1601. */
static inline uint64_t roll_window_begin(uint64_t time, uint64_t length)
{
    return time - time % length;
}

/* Count an event of ${time} in where its key is there already. */
bool roll_list_count(struct roll_list *list, const struct roll_key *key, uint64_t time);

/* Is there room for one key more? */
bool roll_list_has_room(struct roll_list *list);

/* The event ${sequence}, which was just written to `texts` as its last record, is the first of
 * ${key}, of which there is none; there is room. */
void roll_list_add(
    struct roll_list *list, const struct roll_key *key, uint64_t sequence, uint64_t time);

#endif
