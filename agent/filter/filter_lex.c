#include "filter/filter_lex.h"

#include "event/write/event_path.h"

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_word_byte(uint8_t c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

static bool starts_with(struct span text, const char *sign)
{
    return span_is(span_first(text, strlen(sign)), sign);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* The text with doubled quotes reduced to single ones. */
static bool undouble(struct span inside, uint8_t quote, struct arena *arena, struct span *ret_text)
{
    if (!inside.size || !memchr(inside.data, quote, inside.size)) {
        *ret_text = inside;
        return true;
    }
    uint8_t *copy = arena_alloc(arena, inside.size);
    size_t size = 0;
    for (size_t i = 0; copy && i < inside.size; i++) {
        copy[size++] = inside.data[i];
        i += inside.data[i] == quote;
    }
    *ret_text = span_make(copy, size);
    return copy != NULL;
}

static bool lex_text(
    struct span rest, struct arena *arena, struct filter_token *token, struct error *err)
{
    uint8_t quote = rest.data[0];
    size_t at = 1;
    while (at < rest.size &&
           (rest.data[at] != quote || (at + 1 < rest.size && rest.data[at + 1] == quote))) {
        at += rest.data[at] == quote ? 2 : 1;
    }
    if (at >= rest.size) {
        return error_set(err, ERR_CONFIG, "this text has no closing %c", quote);
    }
    token->type = TOKEN_TEXT;
    if (!undouble(span_make(rest.data + 1, at - 1), quote, arena, &token->text)) {
        return error_set(err, ERR_MEMORY, "no memory left for filters");
    }
    at++;
    token->exact = at < rest.size && rest.data[at] == 'c' &&
                   (at + 1 == rest.size || !is_word_byte(rest.data[at + 1]));
    token->written = span_first(rest, at + token->exact);
    return true;
}

size_t filter_lex_place(const struct filter_token *token, size_t at)
{
    uint8_t quote = token->written.data[0];
    size_t place = 1;
    for (size_t i = 0; i < at && place < token->written.size; i++) {
        place += token->written.data[place] == quote ? 2 : 1;
    }
    return token->offset + place;
}

/* ---- numbers, signs -------------------------------------------------------------------------- */

/* Digits with point and exponent, or 0x; the value is parsed later. */
static bool lex_number(struct span rest, struct filter_token *token)
{
    size_t at = 0;
    bool is_hex = starts_with(rest, "0x") || starts_with(rest, "0X");
    while (at < rest.size) {
        uint8_t c = rest.data[at];
        bool sign = !is_hex && at && (rest.data[at - 1] | 0x20) == 'e' && (c == '-' || c == '+');
        bool point = c == '.' && at + 1 < rest.size && is_digit(rest.data[at + 1]);
        if (!is_word_byte(c) && !point && !sign) {
            break;
        }
        at++;
    }
    token->type = TOKEN_NUMBER;
    token->written = span_first(rest, at);
    return true;
}

static const struct {
    const char *sign;
    enum filter_token_type type;
} signs[] = {
    {"(", TOKEN_LEFT},
    {")", TOKEN_RIGHT},
    {",", TOKEN_COMMA},
    {"-", TOKEN_MINUS},
    {"==", TOKEN_EQUAL},
    {"!=", TOKEN_UNEQUAL},
    {"<=", TOKEN_LESS_EQUAL},
    {"<", TOKEN_LESS},
    {">=", TOKEN_GREATER_EQUAL},
    {">", TOKEN_GREATER},
};

/* Symbols of other languages: checked before ours, and where ours do not match. */
struct foreign {
    const char *sign;
    const char *ours;
};

static const struct foreign foreign_first[] = {
    {"===", "=="},
    {"!==", "!="},
    {"<>", "!="},
    {NULL, NULL},
};

static const struct foreign foreign_last[] = {
    {"&&", "and"},
    {"&", "and"},
    {"||", "or"},
    {"|", "or"},
    {"!", "not"},
    {"=~", "matches"},
    {"~", "matches"},
    {"=", "=="},
    {"[", "( ) around a list"},
    {NULL, NULL},
};

static bool refuse(struct span rest, const struct foreign *list, struct error *err)
{
    for (; list->sign; list++) {
        if (starts_with(rest, list->sign)) {
            error_set(err, ERR_CONFIG, "%s is not part of this language. write %s", list->sign,
                list->ours);
            return true;
        }
    }
    return false;
}

/* ${is_behind}: directly after a word. */
static bool lex_sign(
    struct span rest, bool is_behind, struct filter_token *token, struct error *err)
{
    uint8_t c = rest.data[0];
    if (is_behind && c == '[') {
        return error_set(
            err, ERR_CONFIG, "only [*], for any element, or ['NAME'] may follow a name");
    }
    if (refuse(rest, foreign_first, err)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (starts_with(rest, signs[i].sign)) {
            token->type = signs[i].type;
            token->written = span_first(rest, strlen(signs[i].sign));
            return true;
        }
    }
    if (refuse(rest, foreign_last, err)) {
        return false;
    }
    if (c < ' ' || c >= 0x7f) {
        return error_set(err, ERR_CONFIG, "unexpected byte 0x%02x", c);
    }
    return error_set(err, ERR_CONFIG, "unexpected %c%s", c,
        strchr("*?/\\{:", c) ? ". write text in quotes" : "");
}

bool filter_lex_next(struct span expression, size_t offset, struct arena *arena,
    struct filter_token *ret_token, struct error *err)
{
    while (offset < expression.size && strchr(" \t\r\n", expression.data[offset]) &&
           expression.data[offset]) {
        offset++;
    }
    struct span rest = span_from(expression, offset);
    *ret_token = (struct filter_token){.offset = offset, .written = rest};
    if (rest.size == 0) {
        return true;
    }
    uint8_t c = rest.data[0];
    if (c == '\'' || c == '"') {
        return lex_text(rest, arena, ret_token, err);
    }
    if (is_digit(c)) {
        return lex_number(rest, ret_token);
    }
    size_t path = c == '-' ? 0 : event_path_scan(rest);
    if (path) {
        ret_token->type = TOKEN_WORD;
        ret_token->written = span_first(rest, path);
        return true;
    }
    bool is_behind = offset > 0 && is_word_byte(expression.data[offset - 1]);
    return lex_sign(rest, is_behind, ret_token, err);
}
