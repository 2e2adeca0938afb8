#ifndef ETWSHIP_SCHEMA_PACK_WORDS_H
#define ETWSHIP_SCHEMA_PACK_WORDS_H

#include "event/schema.h"

/* The words of schema packs for numbers of schema.h: tables with a NULL word behind the last. */
struct pack_word {
    const char *word;
    uint16_t value;
};

extern const struct pack_word pack_words_flags[]; /* those that stand alone, without a value */
extern const struct pack_word pack_words_kinds[]; /* of schemas that packs can hold */

/* NULL if there is none. */
const char *pack_words_of(const struct pack_word *table, uint16_t value);

/* False if ${word} is not in the table. */
bool pack_words_find(const struct pack_word *table, struct span word, uint16_t *ret_value);

#endif
