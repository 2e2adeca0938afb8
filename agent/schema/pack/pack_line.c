#include "schema/pack/pack_line.h"

#include "schema/text/names.h"

bool pack_line_fail(struct pack_line *in, const char *what)
{
    return error_set(in->err, ERR_FORMAT, "%s:%zu: %s", in->file, in->number, what);
}

bool pack_line_fail_word(struct pack_line *in, const char *what, struct span word)
{
    return error_set(in->err, ERR_FORMAT, "%s:%zu: %s \"%.*s\"", in->file, in->number, what,
        SPAN_ARG(span_first(word, 64)));
}

bool pack_line_fail_memory(struct pack_line *in)
{
    return error_set(
        in->err, ERR_MEMORY, "%s:%zu: no memory left for event schemas", in->file, in->number);
}

/* ---- words, texts, numbers ------------------------------------------------------------------- */

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct pack_line *in)
{
    while (in->line.size && is_blank(in->line.data[0])) {
        in->line = span_from(in->line, 1);
    }
    if (in->line.size && in->line.data[0] == '#') {
        in->line.size = 0;
    }
}

bool pack_line_at_end(struct pack_line *in)
{
    skip_blanks(in);
    return in->line.size == 0;
}

static bool at_text(struct pack_line *in)
{
    skip_blanks(in);
    return in->line.size && in->line.data[0] == '"';
}

struct span pack_line_word(struct pack_line *in)
{
    skip_blanks(in);
    size_t size = 0;
    while (size < in->line.size && !is_blank(in->line.data[size]) && in->line.data[size] != '"') {
        size++;
    }
    struct span word = span_first(in->line, size);
    in->line = span_from(in->line, size);
    return word;
}

static int hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decode the escape at ${text}, after the backslash. Returns the number of bytes used, 0 if
 * invalid. */
static size_t unescape(struct span text, uint8_t *ret_byte)
{
    static const char letters[] = "\"\\nrt";
    static const char bytes[] = "\"\\\n\r\t";
    if (text.size == 0) {
        return 0;
    }
    const char *letter = text.data[0] ? strchr(letters, text.data[0]) : NULL;
    if (letter) {
        *ret_byte = (uint8_t)bytes[letter - letters];
        return 1;
    }
    if (text.data[0] != 'x' || text.size < 3) {
        return 0;
    }
    int high = hex_value(text.data[1]);
    int low = hex_value(text.data[2]);
    if (high < 0 || low < 0) {
        return 0;
    }
    *ret_byte = (uint8_t)(high << 4 | low);
    return 3;
}

/* Read a quoted text into the arena of the pack. */
bool pack_line_text(struct pack_line *in, struct span *ret_text)
{
    if (!at_text(in)) {
        return pack_line_fail(in, "a text in double quotes is missing");
    }
    const uint8_t *p = in->line.data;
    size_t size = 1;
    while (size < in->line.size && p[size] != '"') {
        size += p[size] == '\\' ? 2 : 1;
    }
    if (size >= in->line.size) {
        return pack_line_fail(in, "the closing double quote is missing");
    }
    struct span quoted = span_make(p + 1, size - 1);
    in->line = span_from(in->line, size + 1);
    uint8_t *text = arena_alloc(in->arena, quoted.size + 1);
    if (!text) {
        return pack_line_fail_memory(in);
    }
    size_t used = 0;
    for (size_t at = 0; at < quoted.size; used++) {
        if (quoted.data[at] != '\\') {
            text[used] = quoted.data[at++];
            continue;
        }
        size_t escape = unescape(span_from(quoted, at + 1), &text[used]);
        if (escape == 0) {
            return pack_line_fail(in, "a backslash must be followed by one of \\ \" n r t x");
        }
        at += 1 + escape;
    }
    *ret_text = span_make(text, used);
    return true;
}

bool pack_line_number(struct pack_line *in, uint64_t max, uint64_t *ret_value)
{
    struct span word = pack_line_word(in);
    if (!names_number(word, max, ret_value)) {
        return error_set(in->err, ERR_FORMAT, "%s:%zu: \"%.*s\" is not a number from 0 to %llu",
            in->file, in->number, SPAN_ARG(span_first(word, 64)), (unsigned long long)max);
    }
    return true;
}

bool pack_line_guid(struct pack_line *in, struct guid *ret_guid)
{
    return guid_parse(pack_line_word(in), ret_guid) || pack_line_fail(in, "a GUID is missing");
}

bool pack_line_at_reference(struct pack_line *in)
{
    return at_text(in) || (in->line.size && in->line.data[0] == '@');
}

bool pack_line_reference(struct pack_line *in, uint16_t *ret_index, struct span *ret_name)
{
    if (at_text(in)) {
        return pack_line_text(in, ret_name);
    }
    if (in->line.size && in->line.data[0] == '@') {
        in->line = span_from(in->line, 1);
        uint64_t index;
        if (!pack_line_number(in, UINT16_MAX, &index)) {
            return false;
        }
        *ret_index = (uint16_t)index;
        return true;
    }
    return pack_line_fail(in, "a field is missing: its name in double quotes, or @ and its number");
}

bool pack_line_next(struct pack_line *in)
{
    if (in->rest.size == 0) {
        return false;
    }
    const uint8_t *end = memchr(in->rest.data, '\n', in->rest.size);
    size_t size = end ? (size_t)(end - in->rest.data) : in->rest.size;
    in->line = span_first(in->rest, size);
    in->rest = span_from(in->rest, size + 1);
    in->number++;
    return true;
}
