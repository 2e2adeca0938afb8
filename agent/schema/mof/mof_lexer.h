#ifndef ETWSHIP_SCHEMA_MOF_LEXER_H
#define ETWSHIP_SCHEMA_MOF_LEXER_H

#include "base/arena.h"

/*
 * Tokens of MOF text (DSP0004, annex "MOF syntax grammar"): names, numbers, texts, characters and
 * marks. Blanks and both kinds of comments are skipped. Adjacent texts are separate tokens.
 */
enum mof_token_kind {
    MOF_END,
    MOF_NAME,   /* letters, digits, `_`, and `$` before an alias */
    MOF_NUMBER, /* as written, with its sign */
    MOF_TEXT,   /* content of double or single quotes, escapes resolved */
    MOF_MARK,   /* one character */
    MOF_BAD,    /* `text` has the reason */
};

struct mof_token {
    enum mof_token_kind kind;
    struct span text;
    uint32_t line; /* line and column count from 1; the column counts characters */
    uint32_t column;
};

struct mof_lexer {
    struct span text;
    size_t at;
    uint32_t line;
    uint32_t column;
    struct arena *arena;
};

/* ${text} is UTF-8 without a byte order mark. It must outlive the tokens, as must ${arena}, which
 * holds texts with escapes. */
void mof_lexer_init(struct mof_lexer *lexer, struct span text, struct arena *arena);

/* The next token. After the end always MOF_END; after MOF_BAD reading continues. */
struct mof_token mof_lexer_next(struct mof_lexer *lexer);

#endif
