#ifndef ETWSHIP_SCHEMA_PACK_WORDS_H
#define ETWSHIP_SCHEMA_PACK_WORDS_H

#include "event/model/schema.h"

/* Words of schema packs for numbers of schema.h. The tables end with a NULL word. */
struct pack_word {
    const char *word;
    uint16_t value;
};

extern const struct pack_word pack_words_flags[]; /* flags, which have no value */
extern const struct pack_word pack_words_kinds[]; /* kinds of schemas that packs can hold */

/* The word for ${value}, or NULL. */
const char *pack_words_of(const struct pack_word *table, uint16_t value);

/* False if ${word} is not in the table. */
bool pack_words_find(const struct pack_word *table, struct span word, uint16_t *ret_value);

#endif
