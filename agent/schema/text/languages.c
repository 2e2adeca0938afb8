#include "schema/text/languages.h"

enum { EN_US = 0x409, PRIMARY = 0x3ff, ENGLISH = 0x09 };

static const struct {
    const char *tag;
    uint16_t id;
} known[] = {
#define LANGUAGE(tag, id) {tag, id},
#include "schema/text/languages.def"
#undef LANGUAGE
};

uint16_t languages_id(struct span tag)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (span_equal_nocase(tag, span_text(known[i].tag))) {
            return known[i].id;
        }
    }
    return 0;
}

bool languages_go_together(uint16_t a, uint16_t b)
{
    return a == 0 || b == 0 || (a & PRIMARY) == (b & PRIMARY);
}

enum rank { RANK_WANTED, RANK_PRIMARY, RANK_EN_US, RANK_NEUTRAL, RANK_ENGLISH, RANK_OTHER };

unsigned languages_rank(uint16_t wanted, uint16_t language)
{
    wanted = wanted ? wanted : EN_US;
    if (language == wanted) {
        return RANK_WANTED;
    }
    /* With en-US, the default, English of other countries ranks below texts without a language. */
    if (wanted != EN_US && language && (language & PRIMARY) == (wanted & PRIMARY)) {
        return RANK_PRIMARY;
    }
    return language == EN_US                 ? RANK_EN_US
           : language == 0                   ? RANK_NEUTRAL
           : (language & PRIMARY) == ENGLISH ? RANK_ENGLISH
                                             : RANK_OTHER;
}

/* The part of a tag before the country. */
static struct span primary_of(struct span tag)
{
    const uint8_t *dash = tag.size ? memchr(tag.data, '-', tag.size) : NULL;
    return span_first(tag, dash ? (size_t)(dash - tag.data) : tag.size);
}

unsigned languages_rank_tag(struct span wanted, struct span tag)
{
    static const char en_us[] = "en-US";
    wanted = wanted.size ? wanted : span_text(en_us);
    if (span_equal_nocase(tag, wanted)) {
        return RANK_WANTED;
    }
    bool is_en_us = span_equal_nocase(wanted, span_text(en_us));
    if (!is_en_us && tag.size && span_equal_nocase(primary_of(tag), primary_of(wanted))) {
        return RANK_PRIMARY;
    }
    return span_equal_nocase(tag, span_text(en_us))              ? RANK_EN_US
           : tag.size == 0                                       ? RANK_NEUTRAL
           : span_equal_nocase(primary_of(tag), span_text("en")) ? RANK_ENGLISH
                                                                 : RANK_OTHER;
}
