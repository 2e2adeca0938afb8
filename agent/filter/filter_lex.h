#ifndef ETWSHIP_FILTER_FILTER_LEX_H
#define ETWSHIP_FILTER_FILTER_LEX_H

#include "base/arena.h"
#include "base/error.h"

/* Words and symbols of the expression language. */
enum filter_token_type {
    TOKEN_END,
    TOKEN_WORD, /* a path or a keyword */
    TOKEN_TEXT,
    TOKEN_NUMBER,
    TOKEN_LEFT,
    TOKEN_RIGHT,
    TOKEN_COMMA,
    TOKEN_MINUS,
    TOKEN_EQUAL,
    TOKEN_UNEQUAL,
    TOKEN_LESS,
    TOKEN_LESS_EQUAL,
    TOKEN_GREATER,
    TOKEN_GREATER_EQUAL,
};

struct filter_token {
    enum filter_token_type type;
    size_t offset;       /* in the expression */
    struct span written; /* in the expression */
    struct span text;    /* TEXT: content of the quotes, doubled quotes reduced */
    bool exact;          /* TEXT: `c` follows the quote */
};

/* Read the token at ${offset}, after blanks; the next one starts where this one ends. Text with
 * doubled quotes is copied into ${arena}. ${ret_token}->offset is set on failure, too. */
bool filter_lex_next(struct span expression, size_t offset, struct arena *arena,
    struct filter_token *ret_token, struct error *err);

/* Offset in the expression of byte ${at} of the token's text. */
size_t filter_lex_place(const struct filter_token *token, size_t at);

#endif
