#ifndef ETWSHIP_FILTER_FILTER_TRIE_H
#define ETWSHIP_FILTER_FILTER_TRIE_H

#include "base/arena.h"

/*
 * Which of many texts stand in another one: anywhere (Aho and Corasick: one step for each byte, however
 * many texts there are), at its start, or at its end. A table of steps, with a column for each byte
 * that occurs. Immutable once made, for any number of threads.
 */
enum filter_trie_kind { FILTER_TRIE_ANYWHERE, FILTER_TRIE_START, FILTER_TRIE_END };

struct filter_trie_text {
    struct span text;
    uint32_t id;   /* of the caller, below UINT32_MAX; texts of one id may be the same */
    uint32_t next; /* made by filter_trie_make: another one at the same state */
};

struct filter_trie {
    enum filter_trie_kind kind;
    uint16_t column[256]; /* 0: occurs nowhere */
    uint32_t column_count;
    uint32_t state_count;  /* state 0: nothing was found yet, or it leads nowhere */
    const uint32_t *steps; /* [state * column_count + column] */
    const uint32_t *first; /* by state: the first text that ends here, UINT32_MAX: none */
    const uint32_t
        *shorter;    /* by state: the next state that a text ends at, which is an end of what
                                leads here; 0: there is none. ANYWHERE */
    const bool *any; /* by state: is either of them there? */
    const struct filter_trie_text *texts;
};

/* ${texts} stay with the trie. False: no memory, or it would take more than ${max_bytes}. */
bool filter_trie_make(struct filter_trie *trie, enum filter_trie_kind kind,
    struct filter_trie_text *texts, uint32_t count, size_t max_bytes, struct arena *arena);

/* Give the ids of the texts that are found in ${text}, any of them any number of times, until ${take}
 * returns false. False if it did. */
typedef bool filter_trie_fn(void *self, uint32_t id);
bool filter_trie_find(
    const struct filter_trie *trie, struct span text, filter_trie_fn *take, void *self);

#endif
