#ifndef ETWSHIP_FILTER_FILTER_INDEX_OWN_H
#define ETWSHIP_FILTER_FILTER_INDEX_OWN_H

#include "filter/filter_index.h"
#include "filter/filter_trie.h"

/* The tables of an index; shared by filter_index.c and filter_group.c. */

/* A rule that compares with a value, in a list of such rules. */
struct filter_asker {
    uint16_t rule;
    uint32_t next; /* index; UINT32_MAX: none */
};

/* A value for equality, by its hash; collisions only cost a useless evaluation. */
struct filter_entry {
    uint64_t hash;
    uint32_t first; /* asker; UINT32_MAX: the slot is free */
};

enum { FILTER_GROUP_TRIES = 3 }; /* by enum filter_trie_kind */

/* The values that rules compare one field with. */
struct filter_group {
    struct event_path path;
    uint8_t need;
    uint64_t *members; /* a bit for each rule */

    struct filter_asker *askers;
    uint32_t asker_count;
    uint32_t asker_room;
    struct filter_entry *entries;
    uint32_t entry_mask;
    bool has_texts;                                     /* some entries are texts */
    struct filter_trie_text *texts[FILTER_GROUP_TRIES]; /* ids are rules */
    uint32_t text_counts[FILTER_GROUP_TRIES];
    struct filter_trie tries[FILTER_GROUP_TRIES];
};

struct filter_index {
    struct filter_group groups[FILTER_MAX_GROUPS];
    unsigned count;
    uint8_t *group_of; /* by rule */
};

/* An empty group for ${values} values. */
bool filter_group_init(struct filter_group *group, uint32_t values, struct arena *arena);

/* ${rule} compares with ${literal} by ${test}. */
bool filter_group_add(struct filter_group *group, enum filter_test test,
    const struct filter_literal *literal, uint16_t rule, struct arena *arena);

/* Call after all values were added. */
bool filter_group_complete(struct filter_group *group, size_t max_trie_bytes, struct arena *arena);

void filter_group_find(const struct filter_group *group, const struct filter_look *look,
    uint64_t *found, size_t word_count);

struct span filter_index_like_part(struct span pattern);

#endif
