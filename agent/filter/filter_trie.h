#ifndef ETWSHIP_FILTER_FILTER_TRIE_H
#define ETWSHIP_FILTER_FILTER_TRIE_H

#include "base/arena.h"

/*
 * Finds which of many texts occur in another text: anywhere (Aho-Corasick: one step per byte,
 * however many texts), at its start, or at its end. A table of steps with a column for each byte
 * that occurs. Immutable; thread-safe.
 */
enum filter_trie_kind { FILTER_TRIE_ANYWHERE, FILTER_TRIE_START, FILTER_TRIE_END };

struct filter_trie_text {
    struct span text;
    uint32_t id;   /* the caller's, below UINT32_MAX; texts of one id may be equal */
    uint32_t next; /* set by filter_trie_make: another text at this state */
};

struct filter_trie {
    enum filter_trie_kind kind;
    uint16_t column[256]; /* 0: occurs nowhere */
    uint32_t column_count;
    uint32_t state_count;  /* state 0: nothing matched yet, or a dead end */
    const uint32_t *steps; /* [state * column_count + column] */
    const uint32_t *first; /* by state: first text that ends here; UINT32_MAX: none */
    const uint32_t
        /* by state: the longest proper suffix state at which a text ends; 0: none. ANYWHERE only */
        *shorter;
    const bool *any; /* by state: true if either is present */
    const struct filter_trie_text *texts;
};

/* ${texts} become part of the trie. False: no memory, or more than ${max_bytes} needed. */
bool filter_trie_make(struct filter_trie *trie, enum filter_trie_kind kind,
    struct filter_trie_text *texts, uint32_t count, size_t max_bytes, struct arena *arena);

/* Report the ids of texts found in ${text}, possibly repeatedly, until ${take} returns false. False
 * if it did. */
typedef bool filter_trie_fn(void *self, uint32_t id);
bool filter_trie_find(
    const struct filter_trie *trie, struct span text, filter_trie_fn *take, void *self);

#endif
