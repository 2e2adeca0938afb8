#include "schema/mof/mof_lexer.h"

#include "base/hex.h"
#include "base/utf.h"

enum { MAX_HEX_DIGITS = 4, AT_END = 0x100 };

void mof_lexer_init(struct mof_lexer *lexer, struct span text, struct arena *arena)
{
    *lexer = (struct mof_lexer){.text = text, .line = 1, .column = 1, .arena = arena};
}

/* The byte ${ahead} of the next one; AT_END after the end. */
static unsigned peek(const struct mof_lexer *lexer, size_t ahead)
{
    size_t at = lexer->at + ahead;
    return at < lexer->text.size ? lexer->text.data[at] : AT_END;
}

static void step(struct mof_lexer *lexer)
{
    uint8_t byte = lexer->text.data[lexer->at++];
    if (byte == '\n') {
        lexer->line++;
        lexer->column = 1;
    } else if ((byte & 0xc0) != 0x80) {
        lexer->column++;
    }
}

static bool is_digit(unsigned c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(unsigned c)
{
    unsigned letter = c | 0x20;
    return is_digit(c) || (letter >= 'a' && letter <= 'z') || c == '_' || (c >= 0x80 && c < AT_END);
}

static bool is_blank(unsigned c)
{
    return c <= ' ' || c == 0x7f;
}

/* ---- blanks and comments --------------------------------------------------------------------- */

static void skip_line(struct mof_lexer *lexer)
{
    while (peek(lexer, 0) != AT_END && peek(lexer, 0) != '\n') {
        step(lexer);
    }
}

/* False if the comment has no end. */
static bool skip_comment(struct mof_lexer *lexer)
{
    step(lexer);
    step(lexer);
    while (peek(lexer, 0) != AT_END) {
        bool closes = peek(lexer, 0) == '*' && peek(lexer, 1) == '/';
        step(lexer);
        if (closes) {
            step(lexer);
            return true;
        }
    }
    return false;
}

static bool skip_blanks(struct mof_lexer *lexer)
{
    for (;;) {
        unsigned c = peek(lexer, 0);
        if (is_blank(c)) {
            step(lexer);
        } else if (c == '/' && peek(lexer, 1) == '/') {
            skip_line(lexer);
        } else if (c != '/' || peek(lexer, 1) != '*') {
            return true;
        } else if (!skip_comment(lexer)) {
            return false;
        }
    }
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Write the character of the escape at ${*at}, after its backslash. The result is never longer than
 * the escape. */
static size_t put_escape(struct span raw, size_t *at, uint8_t *out)
{
    static const char letters[] = "btnfr";
    static const char meant[] = "\b\t\n\f\r";
    uint8_t c = raw.data[(*at)++];
    const char *letter = c ? strchr(letters, c) : NULL;
    uint32_t value = 0;
    size_t digits = 0;
    if (c != 'x' && c != 'X') {
        *out = letter ? (uint8_t)meant[letter - letters] : c;
        return 1;
    }
    while (digits < MAX_HEX_DIGITS && *at < raw.size && hex_digit(raw.data[*at]) != HEX_NONE) {
        value = value << 4 | hex_digit(raw.data[(*at)++]);
        digits++;
    }
    return digits ? utf8_put(value, out) : 0;
}

static bool resolve_escapes(struct arena *arena, struct span raw, struct span *ret_text)
{
    uint8_t *out = arena_alloc(arena, raw.size + UTF_SLACK);
    size_t size = 0;
    if (!out) {
        return false;
    }
    for (size_t at = 0; at < raw.size;) {
        uint8_t c = raw.data[at++];
        if (c == '\\' && at < raw.size) {
            size += put_escape(raw, &at, out + size);
        } else {
            out[size++] = c;
        }
    }
    *ret_text = span_make(out, size);
    return true;
}

static void take_text(struct mof_lexer *lexer, struct mof_token *token)
{
    unsigned quote = peek(lexer, 0);
    bool has_escapes = false;
    step(lexer);
    size_t start = lexer->at;
    for (unsigned c = peek(lexer, 0); c != quote; c = peek(lexer, 0)) {
        if (c == AT_END || c == '\n') {
            token->kind = MOF_BAD;
            token->text = span_text("a text has no closing quote on its line");
            return;
        }
        has_escapes = has_escapes || c == '\\';
        step(lexer);
        if (c == '\\' && peek(lexer, 0) != AT_END && peek(lexer, 0) != '\n') {
            step(lexer);
        }
    }
    token->kind = MOF_TEXT;
    token->text = span_make(lexer->text.data + start, lexer->at - start);
    step(lexer);
    if (has_escapes && !resolve_escapes(lexer->arena, token->text, &token->text)) {
        token->kind = MOF_BAD;
        token->text = span_text("no memory left for texts");
    }
}

/* ---- other tokens ---------------------------------------------------------------------------- */

static void take_number(struct mof_lexer *lexer)
{
    step(lexer); /* a digit or a sign */
    for (unsigned c = peek(lexer, 0); is_name(c) || c == '.'; c = peek(lexer, 0)) {
        step(lexer);
        bool is_exponent = (c | 0x20) == 'e' && (peek(lexer, 0) == '+' || peek(lexer, 0) == '-') &&
                           is_digit(peek(lexer, 1));
        if (is_exponent) {
            step(lexer);
        }
    }
}

static void take_name(struct mof_lexer *lexer)
{
    step(lexer);
    while (is_name(peek(lexer, 0))) {
        step(lexer);
    }
}

struct mof_token mof_lexer_next(struct mof_lexer *lexer)
{
    struct mof_token token = {.line = lexer->line, .column = lexer->column};
    if (!skip_blanks(lexer)) {
        token.kind = MOF_BAD;
        token.text = span_text("a comment has no end");
        return token;
    }
    token.line = lexer->line;
    token.column = lexer->column;
    size_t start = lexer->at;
    unsigned c = peek(lexer, 0);
    if (c == AT_END) {
        token.kind = MOF_END;
        return token;
    }
    if (c == '"' || c == '\'') {
        take_text(lexer, &token);
        return token;
    }
    if (is_digit(c) || ((c == '-' || c == '+') && is_digit(peek(lexer, 1)))) {
        token.kind = MOF_NUMBER;
        take_number(lexer);
    } else if (is_name(c) || c == '$') {
        token.kind = MOF_NAME;
        take_name(lexer);
    } else {
        token.kind = MOF_MARK;
        step(lexer);
    }
    token.text = span_make(lexer->text.data + start, lexer->at - start);
    return token;
}
