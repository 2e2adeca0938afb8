#ifndef ETWSHIP_STORE_STAGE_H
#define ETWSHIP_STORE_STAGE_H

#include "base/error.h"
#include "base/map.h"

/*
 * Changes that wait for a commit, in the order in which they came; a later one for the same key takes
 * the earlier one's place. Everything is copied. Bounded. One thread at a time.
 */
enum stage_kind {
    STAGE_SOURCE,   /* key: session, stream. sequence, may it fall? */
    STAGE_STATE,    /* key: session. state */
    STAGE_LIVE,     /* key: session. time */
    STAGE_DONE,     /* key: session, file id. sequence */
    STAGE_GAP,      /* key: session, output, stage, reason, unit. count, exact, from, to */
    STAGE_LEFTOVER, /* key: output, batch. left */
    STAGE_REMOVED,  /* key: batch */
    STAGE_PROGRESS, /* key: output. sessions, checkpoint */
    STAGE_KINDS
};

enum { STAGE_NUMBERS = 4, STAGE_TEXTS = 5 };

/* Those of the key first, then the value, in the order above. */
struct stage_entry {
    enum stage_kind kind;
    uint64_t numbers[STAGE_NUMBERS];
    struct span texts[STAGE_TEXTS];
};

struct stage_item;

struct stage {
    struct stage_item **items;
    size_t count;
    size_t capacity;
    struct map by_key;
    size_t bytes;
    size_t max_bytes;
};

void stage_init(struct stage *stage, size_t max_bytes);
void stage_fini(struct stage *stage);

/* A sequence and a live time never go back, unless it may fall: the higher one stays.
 * False, and nothing changed: ERR_MEMORY; ERR_LIMIT: more than the maximum waits. */
bool stage_put(struct stage *stage, const struct stage_entry *entry, struct error *err);

/* The staged entry with a key of numbers (LEFTOVER, REMOVED; ${second} is 0 for a key of one
 * number), or NULL. Valid until the stage changes. */
const struct stage_entry *stage_find(
    const struct stage *stage, enum stage_kind kind, uint64_t first, uint64_t second);

/* Entry ${index} of `count`, in order. */
const struct stage_entry *stage_at(const struct stage *stage, size_t index);

/* Forget all but those that ${keep} wants; NULL: all. */
void stage_clear(struct stage *stage, bool (*keep)(const struct stage_entry *entry));

#endif
