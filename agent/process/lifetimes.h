#ifndef ETWSHIP_PROCESS_LIFETIMES_H
#define ETWSHIP_PROCESS_LIFETIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Who had an id, and when: processes and threads, whose ids are used again. Whatever is heard of an id
 * (somebody started, was alive, ended) may come in any order, as a trace is read buffer by buffer and
 * two sources tell of one process; the lives that follow from it are the same. No lock, no time of its
 * own; all times are FILETIME.
 *
 * The lives of one id do not overlap: [first, last] is when it was heard of. What lies between two of
 * them belongs to the one that is open on that side: to one that has not ended, or to one of which
 * nobody saw the start.
 */
struct life {
    uint64_t machine; /* what ids are unique in, at a time: a boot of a machine */
    uint32_t id;
    bool start_known; /* it started at `first` */
    bool end_known;   /* it ended at `last` */
    uint8_t start_source;
    uint8_t end_source;
    uint64_t first;
    uint64_t last;
    /* Of whoever has them. */
    void *value; /* life_ops.value_bytes */
    size_t bytes;
    uint32_t owner;

    /* lifetimes.c's own. */
    struct life *queue_before;
    struct life *queue_behind;
};

enum life_news {
    LIFE_STARTED,
    LIFE_ENDED,
    LIFE_ALIVE, /* seen at that time */
    LIFE_GONE,  /* ended then, or before */
};

/* What the owner of the values does with them. */
struct life_ops {
    size_t value_bytes; /* that come with a life, zeros in a new one */
    /* May ${news} be of this life? No, where they contradict each other. */
    bool (*fits)(const struct life *life, const void *news);
    /* It is. False: no memory. */
    bool (*take)(void *self, struct life *life, const void *news);
    /* What was taken for one life is two: ${copy} gets what ${life} has. False: no memory. */
    bool (*copy)(void *self, const struct life *life, struct life *copy);
    /* Its interval has changed. */
    void (*changed)(void *self, struct life *life);
    /* It is forgotten. */
    void (*drop)(void *self, struct life *life);
};

struct life_queue {
    struct life *oldest;
    struct life *newest;
};

/* Lives whose ids have one hash, ascending by machine, id and `first`, which stand here again: a look-up
 * is a search in a list, and not from life to life all over the memory. */
struct life_place {
    uint64_t machine;
    uint64_t first;
    struct life *life;
    uint32_t id;
};

struct life_chain {
    struct life_place *places;
    size_t count;
    size_t capacity;
};

struct lifetimes {
    const struct life_ops *ops;
    void *self;
    struct life_chain *chains; /* by hash */
    size_t mask;
    size_t count;
    struct life_queue ended; /* in the order in which it was heard that they had */
    struct life_queue going;
};

/* ${slots}: a power of two. False: no memory. */
bool lifetimes_init(struct lifetimes *lives, size_t slots, const struct life_ops *ops, void *self);
void lifetimes_fini(struct lifetimes *lives); /* zero-initialised is fine */

struct life_key {
    uint64_t machine;
    uint32_t id;
};

/* ${what} was heard of ${key} at ${time}. ${source}: of the news; two sources may tell of one start or
 * end with times up to a second apart. The life, or NULL: no memory. */
struct life *lifetimes_note(struct lifetimes *lives, const struct life_key *key,
    enum life_news what, uint64_t time, uint8_t source, const void *news);

/* Who had the id at ${time}; NULL: unknown. The same holds for all times in [*ret_from, *ret_to].
 * ${late}: events that come within a second after the end are still its own, as ids are not used again
 * before everything of a process is gone. */
struct life *lifetimes_find(const struct lifetimes *lives, const struct life_key *key,
    uint64_t time, bool late, uint64_t *ret_from, uint64_t *ret_to);

/* The lives of an id one by one, the oldest first: ${index} counts them from 0. NULL behind the last. */
struct life *lifetimes_at(const struct lifetimes *lives, const struct life_key *key, size_t index);

/* Forget the one that ended first, else the oldest that goes on; never ${keep}. False: there is none. */
bool lifetimes_forget_one(struct lifetimes *lives, const struct life *keep);

#endif
