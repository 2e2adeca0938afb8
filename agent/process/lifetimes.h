#ifndef ETWSHIP_PROCESS_LIFETIMES_H
#define ETWSHIP_PROCESS_LIFETIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which process or thread had an id at a time; ids are reused. Statements about an id (started, was
 * alive, ended) may arrive in any order, because traces are read buffer by buffer and two sources
 * report a process; the resulting lives do not depend on the order. Not locked; no clock. All times
 * are FILETIME.
 *
 * Lives of one id do not overlap: [first, last] is when the life was observed. The time between two
 * lives belongs to the one that is open on that side: one without a known end, or one without a
 * known start.
 */
struct life {
    /* Internal to lifetimes.c. */
    struct life *queue_before;
    struct life *queue_behind;

    /* For the owner of the values. */
    size_t bytes;
    uint32_t owner;

    uint32_t id;
    uint64_t machine; /* a boot of a machine, in which ids are unique at a time */
    /* What a look-up reads, with the value right behind it. */
    bool start_known; /* it started at `first` */
    bool end_known;   /* it ended at `last` */
    uint8_t start_source;
    uint8_t end_source;
    uint64_t first;
    uint64_t last;
    void *value; /* life_ops.value_bytes bytes, for the owner */
};

enum life_news {
    LIFE_STARTED,
    LIFE_ENDED,
    LIFE_ALIVE, /* observed at that time */
    LIFE_GONE,  /* ended then or before */
};

/* Operations on the owner's values. */
struct life_ops {
    size_t value_bytes; /* size of the value of a life; zeroed in a new one */
    /* True unless ${news} contradicts the life. */
    bool (*fits)(const struct life *life, const void *news);
    /* Add ${news} to the life. False: no memory. */
    bool (*take)(void *self, struct life *life, const void *news);
    /* A life was split: copy the value of ${life} to ${copy}. False: no memory. */
    bool (*copy)(void *self, const struct life *life, struct life *copy);
    /* The interval of the life changed. */
    void (*changed)(void *self, struct life *life);
    /* The life is removed. */
    void (*drop)(void *self, struct life *life);
};

struct life_queue {
    struct life *oldest;
    struct life *newest;
};

/* Lives with one hash of their ids, ascending by machine, id and `first`. These keys are copied
 * here, so that a look-up searches an array instead of following pointers. */
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
    struct life_queue ended; /* by the time at which the end was reported */
    struct life_queue going;
};

/* ${slots}: a power of two. False: no memory. */
bool lifetimes_init(struct lifetimes *lives, size_t slots, const struct life_ops *ops, void *self);
void lifetimes_fini(struct lifetimes *lives); /* Zero-initialised is fine. */

struct life_key {
    uint64_t machine;
    uint32_t id;
};

/* Add a statement about ${key} at ${time}. ${source}: two sources may report one start or end with
 * times up to a second apart. Returns the life, or NULL: no memory. */
struct life *lifetimes_note(struct lifetimes *lives, const struct life_key *key,
    enum life_news what, uint64_t time, uint8_t source, const void *news);

/* The life with the id at ${time}; NULL: unknown. The answer is valid for all times in [*ret_from,
 * *ret_to]. ${late}: events within a second after the end still belong to it, because an id is not
 * reused before the process is completely gone. */
struct life *lifetimes_find(const struct lifetimes *lives, const struct life_key *key,
    uint64_t time, bool late, uint64_t *ret_from, uint64_t *ret_to);

/* Life ${index} of an id, counted from 0, the oldest first. NULL after the last. */
struct life *lifetimes_at(const struct lifetimes *lives, const struct life_key *key, size_t index);

/* Remove the life that ended first, else the oldest one without an end; never ${keep}. False if
 * there is none. */
bool lifetimes_evict_one(struct lifetimes *lives, const struct life *keep);

#endif
