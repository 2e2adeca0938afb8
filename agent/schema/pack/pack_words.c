#include "schema/pack/pack_words.h"

const struct pack_word pack_words_flags[] = {
    {"fixed_length", FIELD_FIXED_LENGTH},
    {"fixed_count", FIELD_FIXED_COUNT},
    {"rest", FIELD_REST_COUNT},
    {"counted", FIELD_COUNTED},
    {"optional", FIELD_OPTIONAL},
    {NULL, 0},
};

const struct pack_word pack_words_kinds[] = {
    {"manifest", SCHEMA_MANIFEST},
    {"eventsource", SCHEMA_EVENTSOURCE},
    {"mof", SCHEMA_MOF},
    {NULL, 0},
};

const char *pack_words_of(const struct pack_word *table, uint16_t value)
{
    while (table->word && table->value != value) {
        table++;
    }
    return table->word;
}

bool pack_words_find(const struct pack_word *table, struct span word, uint16_t *ret_value)
{
    while (table->word && !span_is(word, table->word)) {
        table++;
    }
    if (!table->word) {
        return false;
    }
    *ret_value = table->value;
    return true;
}
