#ifndef ETWSHIP_SCHEMA_MOF_LEXER_H
#define ETWSHIP_SCHEMA_MOF_LEXER_H

#include "base/arena.h"

/*
 * Words of MOF text (DSP0004, annex "MOF syntax grammar"): names, numbers, texts, characters and
 * marks; blanks and comments of both kinds are left out. Texts side by side are still several.
 */
enum mof_token_kind {
    MOF_END,
    MOF_NAME,   /* letters, digits, `_`, and `$` in front of an alias */
    MOF_NUMBER, /* as written, with its sign */
    MOF_TEXT,   /* what stands in double or single quotes, escapes resolved */
    MOF_MARK,   /* one character */
    MOF_BAD,    /* `text` says why */
};

struct mof_token {
    enum mof_token_kind kind;
    struct span text;
    uint32_t line; /* both from 1; the column counts characters */
    uint32_t column;
};

struct mof_lexer {
    struct span text;
    size_t at;
    uint32_t line;
    uint32_t column;
    struct arena *arena;
};

/* ${text} is UTF-8 without a mark and outlives the tokens, and so does ${arena}, where texts with
 * escapes live. */
void mof_lexer_init(struct mof_lexer *lexer, struct span text, struct arena *arena);

/* The next one; MOF_END again and again behind the last. Behind a MOF_BAD it goes on. */
struct mof_token mof_lexer_next(struct mof_lexer *lexer);

#endif
