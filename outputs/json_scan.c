#include "outputs/json_scan.h"

#include "base/hex.h"
#include "base/utf.h"

/*
 * Each byte advances the state; strings are read in runs. The nesting is a bit per level, so
 * nothing is allocated and nothing can overflow.
 */
enum state {
    STATE_START,       /* before the document */
    STATE_VALUE,       /* a value must follow */
    STATE_FIRST_VALUE, /* or the end of the array */
    STATE_FIRST_KEY,   /* a key or the end of the object */
    STATE_KEY,
    STATE_COLON,
    STATE_AFTER, /* after a value: a comma or an end */
    STATE_STRING,
    STATE_ESCAPE,
    STATE_HEX,
    STATE_NUMBER,
    STATE_WORD,
    STATE_END, /* after the document */
    STATE_BROKEN,
};

/* RFC 8259 section 6. */
enum number {
    NUMBER_NONE,
    NUMBER_MINUS,
    NUMBER_ZERO,
    NUMBER_INTEGER,
    NUMBER_POINT,
    NUMBER_FRACTION,
    NUMBER_E,
    NUMBER_SIGN,
    NUMBER_EXPONENT,
};

enum { HIGH_FIRST = 0xd800, LOW_FIRST = 0xdc00, LOW_LAST = 0xdfff, REPLACEMENT = 0xfffd };

void json_scan_init(struct json_scan *scan, json_scan_fn token, void *self)
{
    scan->token = token;
    scan->self = self;
    scan->objects = 0;
    scan->depth = 0;
    scan->state = STATE_START;
    scan->number = NUMBER_NONE;
    scan->word = NULL;
    scan->unit = 0;
    scan->hex_digits = 0;
    scan->high = 0;
    scan->is_key = false;
    scan->is_cut = false;
    scan->at = NULL;
    scan->start = NULL;
    scan->size = 0;
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool tell(struct json_scan *scan, enum json_token token)
{
    return scan->token(scan->self, token, span_make(scan->text, scan->size));
}

/* ---- text ------------------------------------------------------------------------------------ */

static void start_text(struct json_scan *scan, const uint8_t *start)
{
    scan->start = start;
    scan->size = 0;
    scan->is_cut = false;
    scan->high = 0;
}

static bool is_inside_character(uint8_t c)
{
    return (c & 0xc0) == 0x80;
}

/* Append ${bytes}, or as many whole characters as fit. */
static void add_text(struct json_scan *scan, const uint8_t *bytes, size_t size)
{
    size_t room = sizeof(scan->text) - scan->size;
    if (scan->is_cut) {
        return;
    }
    memcpy(scan->text + scan->size, bytes, size < room ? size : room);
    if (size <= room) {
        scan->size += size;
        return;
    }
    scan->is_cut = true;
    scan->size = sizeof(scan->text);
    if (is_inside_character(bytes[room])) {
        size_t back = 1;
        while (back < 4 && is_inside_character(scan->text[scan->size - back])) {
            back++;
        }
        scan->size -= back;
    }
}

static void add_character(struct json_scan *scan, uint32_t character)
{
    uint8_t bytes[4];
    add_text(scan, bytes, utf8_put(character, bytes));
}

/* An unpaired first surrogate. */
static void drop_half(struct json_scan *scan)
{
    if (scan->high) {
        add_character(scan, REPLACEMENT);
        scan->high = 0;
    }
}

static void add_unit(struct json_scan *scan, uint32_t unit)
{
    if (scan->high && unit >= LOW_FIRST && unit <= LOW_LAST) {
        uint32_t pair = (scan->high - HIGH_FIRST) << 10 | (unit - LOW_FIRST);
        scan->high = 0;
        add_character(scan, 0x10000 + pair);
        return;
    }
    drop_half(scan);
    if (unit >= HIGH_FIRST && unit < LOW_FIRST) {
        scan->high = unit;
    } else {
        add_character(scan, unit);
    }
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static bool is_in_object(const struct json_scan *scan)
{
    return scan->objects >> (scan->depth - 1) & 1;
}

static bool open(struct json_scan *scan, bool is_object)
{
    if (scan->depth == JSON_SCAN_MAX_DEPTH) {
        return false;
    }
    uint64_t bit = (uint64_t)1 << scan->depth++;
    scan->objects = is_object ? scan->objects | bit : scan->objects & ~bit;
    scan->state = is_object ? STATE_FIRST_KEY : STATE_FIRST_VALUE;
    start_text(scan, NULL);
    return tell(scan, is_object ? JSON_OBJECT : JSON_ARRAY);
}

static bool close(struct json_scan *scan, uint8_t c)
{
    bool is_object = is_in_object(scan);
    if (c != (is_object ? '}' : ']')) {
        return false;
    }
    scan->depth--;
    scan->state = scan->depth ? STATE_AFTER : STATE_END;
    start_text(scan, NULL);
    return tell(scan, is_object ? JSON_OBJECT_END : JSON_ARRAY_END);
}

static bool start_string(struct json_scan *scan, bool is_key)
{
    start_text(scan, scan->at);
    scan->is_key = is_key;
    scan->state = STATE_STRING;
    return true;
}

static bool end_string(struct json_scan *scan)
{
    drop_half(scan);
    scan->state = scan->is_key ? STATE_COLON : STATE_AFTER;
    return tell(scan, scan->is_key ? JSON_KEY : JSON_STRING);
}

static bool start_value(struct json_scan *scan, uint8_t c)
{
    static const char *const words[] = {"true", "false", "null"};
    if (c == '{' || c == '[') {
        return open(scan, c == '{');
    }
    if (c == '"') {
        return start_string(scan, false);
    }
    start_text(scan, scan->at);
    add_text(scan, &c, 1);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (words[i][0] == (char)c) {
            scan->word = words[i] + 1;
            scan->state = STATE_WORD;
            return true;
        }
    }
    scan->number = c == '-' ? NUMBER_MINUS : c == '0' ? NUMBER_ZERO : NUMBER_INTEGER;
    scan->state = STATE_NUMBER;
    return c == '-' || is_digit(c);
}

static bool next_in_word(struct json_scan *scan, uint8_t c)
{
    if (scan->word[0] != (char)c) {
        return false;
    }
    add_text(scan, &c, 1);
    scan->word++;
    if (*scan->word) {
        return true;
    }
    scan->state = STATE_AFTER;
    return tell(scan, JSON_WORD);
}

/* NUMBER_NONE: ${c} does not belong to a number. */
static enum number number_after(enum number at, uint8_t c)
{
    bool digit = is_digit(c);
    bool e = c == 'e' || c == 'E';
    switch (at) {
    case NUMBER_MINUS:
        return c == '0' ? NUMBER_ZERO : digit ? NUMBER_INTEGER : NUMBER_NONE;
    case NUMBER_ZERO:
        return c == '.' ? NUMBER_POINT : e ? NUMBER_E : NUMBER_NONE;
    case NUMBER_INTEGER:
        return digit ? NUMBER_INTEGER : c == '.' ? NUMBER_POINT : e ? NUMBER_E : NUMBER_NONE;
    case NUMBER_POINT:
        return digit ? NUMBER_FRACTION : NUMBER_NONE;
    case NUMBER_FRACTION:
        return digit ? NUMBER_FRACTION : e ? NUMBER_E : NUMBER_NONE;
    case NUMBER_E:
        return digit ? NUMBER_EXPONENT : c == '+' || c == '-' ? NUMBER_SIGN : NUMBER_NONE;
    default:
        return digit ? NUMBER_EXPONENT : NUMBER_NONE;
    }
}

static bool is_whole_number(int at)
{
    return at == NUMBER_ZERO || at == NUMBER_INTEGER || at == NUMBER_FRACTION ||
           at == NUMBER_EXPONENT;
}

static bool after_value(struct json_scan *scan, uint8_t c)
{
    if (is_space(c)) {
        return true;
    }
    if (c == ',') {
        scan->state = is_in_object(scan) ? STATE_KEY : STATE_VALUE;
        return true;
    }
    return close(scan, c);
}

static bool next_in_number(struct json_scan *scan, uint8_t c)
{
    enum number next = number_after((enum number)scan->number, c);
    if (next != NUMBER_NONE) {
        scan->number = (int)next;
        add_text(scan, &c, 1);
        return true;
    }
    scan->state = STATE_AFTER;
    return is_whole_number(scan->number) && tell(scan, JSON_NUMBER) && after_value(scan, c);
}

static bool next_in_escape(struct json_scan *scan, uint8_t c)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    if (c == 'u') {
        scan->unit = 0;
        scan->hex_digits = 0;
        scan->state = STATE_HEX;
        return true;
    }
    const char *letter = c ? strchr(letters, c) : NULL;
    if (!letter) {
        return false;
    }
    drop_half(scan);
    add_text(scan, (const uint8_t *)&meanings[letter - letters], 1);
    scan->state = STATE_STRING;
    return true;
}

static bool next_in_hex(struct json_scan *scan, uint8_t c)
{
    unsigned digit = hex_digit(c);
    if (digit == HEX_NONE) {
        return false;
    }
    scan->unit = scan->unit << 4 | digit;
    if (++scan->hex_digits == 4) {
        add_unit(scan, scan->unit);
        scan->state = STATE_STRING;
    }
    return true;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static bool step(struct json_scan *scan, uint8_t c)
{
    switch (scan->state) {
    case STATE_START:
        return is_space(c) || ((c == '{' || c == '[') && open(scan, c == '{'));
    case STATE_VALUE:
        return is_space(c) || start_value(scan, c);
    case STATE_FIRST_VALUE:
        return is_space(c) || (c == ']' ? close(scan, c) : start_value(scan, c));
    case STATE_FIRST_KEY:
        return is_space(c) || (c == '}' && close(scan, c)) ||
               (c == '"' && start_string(scan, true));
    case STATE_KEY:
        return is_space(c) || (c == '"' && start_string(scan, true));
    case STATE_COLON:
        scan->state = c == ':' ? STATE_VALUE : STATE_COLON;
        return is_space(c) || c == ':';
    case STATE_AFTER:
        return after_value(scan, c);
    case STATE_ESCAPE:
        return next_in_escape(scan, c);
    case STATE_HEX:
        return next_in_hex(scan, c);
    case STATE_NUMBER:
        return next_in_number(scan, c);
    case STATE_WORD:
        return next_in_word(scan, c);
    case STATE_END:
        return is_space(c);
    default:
        return false;
    }
}

/* Bytes of ${rest} up to what ends a run of plain text. */
static size_t plain_size(struct span rest)
{
    size_t size = 0;
    while (size < rest.size && rest.data[size] >= ' ' && rest.data[size] != '"' &&
           rest.data[size] != '\\') {
        size++;
    }
    return size;
}

/* A byte of a string that is not plain text. */
static bool step_in_string(struct json_scan *scan, uint8_t c)
{
    if (c == '\\') {
        scan->state = STATE_ESCAPE;
        return true;
    }
    return c == '"' && end_string(scan);
}

bool json_scan_feed(struct json_scan *scan, struct span bytes)
{
    scan->start = NULL;
    for (size_t i = 0; i < bytes.size; i++) {
        if (scan->state == STATE_STRING) {
            size_t size = plain_size(span_from(bytes, i));
            if (size) {
                drop_half(scan);
                add_text(scan, bytes.data + i, size);
            }
            i += size;
            if (i == bytes.size) {
                break;
            }
        }
        scan->at = bytes.data + i;
        bool good = scan->state == STATE_STRING ? step_in_string(scan, bytes.data[i])
                                                : step(scan, bytes.data[i]);
        if (!good) {
            scan->state = STATE_BROKEN;
            return false;
        }
    }
    return scan->state != STATE_BROKEN;
}

struct span json_scan_raw(const struct json_scan *scan, enum json_token token)
{
    if (!scan->start) {
        return span_make(NULL, 0);
    }
    /* A number is only complete with the byte after it. */
    return span_make(scan->start, (size_t)(scan->at - scan->start) + (token != JSON_NUMBER));
}

bool json_scan_is_whole(const struct json_scan *scan)
{
    return scan->state == STATE_END;
}
