#include "pipeline/dead_letter.h"

#include "base/base64.h"
#include "base/put.h"
#include "base/rfc3339.h"
#include "base/utf.h"
#include "event/value_json.h"

/*
 * The document is the last member, and its length stands before it: so a line that was cut off is
 * never taken for a whole one, and a document, whose bytes are kept as they are, need not be parsed.
 */
enum { MAX_DIGITS = 20 };

/* In front of a document that is no text, as that of a format in protobuf, which begins with a control
 * character as no text of a format does. */
static const char encoded[] = "base64:";

/* ---- writing ------------------------------------------------------------------------------------ */

static void add_text(struct buf *out, const char *name, struct span text)
{
    buf_printf(out, ",\"%s\":", name);
    if (text.size) {
        value_json_string(text, out);
    } else {
        buf_add_text(out, "null");
    }
}

static void add_head(const struct dead_letter *letter, struct buf *out)
{
    uint8_t time[PUT_MAX];
    uint8_t *end = put_filetime_or_hex(time, letter->time);
    buf_printf(out, "{\"id\":%llu,\"time\":\"%.*s\"", (unsigned long long)letter->id,
        (int)(end - time), (const char *)time);
    add_text(out, "output", letter->output);
    if (letter->status > 0) {
        buf_printf(out, ",\"status\":%d", letter->status);
    } else {
        buf_add_text(out, ",\"status\":null");
    }
    add_text(out, "type", letter->type);
    add_text(out, "reason", letter->reason);
    add_text(out, "index", letter->index);
}

static bool is_object(struct span text)
{
    return text.size >= 2 && text.data[0] == '{' && text.data[text.size - 1] == '}' &&
           !memchr(text.data, '\n', text.size);
}

static bool is_binary(struct span document)
{
    return document.size && document.data[0] < ' ';
}

static void add_document(struct span document, struct buf *out)
{
    if (document.size == 0) {
        buf_add_text(out, "null");
    } else if (is_object(document)) {
        buf_add_span(out, document);
    } else if (is_binary(document)) {
        buf_printf(out, "\"%s", encoded);
        base64_write(out, document);
        buf_add_byte(out, '"');
    } else {
        value_json_string(document, out);
    }
}

void dead_letter_json(const struct dead_letter *letter, struct buf *out)
{
    add_head(letter, out);
    buf_add_text(out, ",\"document\":");
    add_document(letter->document, out);
    buf_add_byte(out, '}');
}

void dead_letter_write(const struct dead_letter *letter, struct buf *out)
{
    add_head(letter, out);
    add_text(out, "route", letter->route);
    add_text(out, "document_id", letter->document_id);
    /* The length is known behind the document: a place of fixed width is kept for it. */
    buf_add_text(out, ",\"document_bytes\":");
    size_t length_at = out->size;
    buf_add_text(out, "          ,\"document\":");
    size_t start = out->size;
    add_document(letter->document, out);
    size_t size = out->size - start;
    buf_add_text(out, "}\n");
    if (!out->failed) {
        uint8_t *digit = out->data + length_at + 10;
        do {
            *--digit = (uint8_t)('0' + size % 10);
            size /= 10;
        } while (size);
    }
}

/* ---- reading ------------------------------------------------------------------------------------ */

struct letter_reader {
    struct span rest;
    struct buf *texts; /* with room for all of them, so that views into it stay */
};

static bool expect(struct letter_reader *r, const char *text)
{
    struct span wanted = span_text(text);
    if (!span_equal(span_first(r->rest, wanted.size), wanted)) {
        return false;
    }
    r->rest = span_from(r->rest, wanted.size);
    return true;
}

static bool take_number(struct letter_reader *r, uint64_t max, uint64_t *ret_number)
{
    uint64_t number = 0;
    size_t size = 0;
    for (; size < r->rest.size && size <= MAX_DIGITS; size++) {
        uint8_t digit = (uint8_t)(r->rest.data[size] - '0');
        if (digit > 9) {
            break;
        }
        if (number > (max - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    r->rest = span_from(r->rest, size);
    *ret_number = number;
    return size > 0;
}

/* Four hexadecimal digits at ${at}; UINT32_MAX if they are not there. */
static uint32_t hex_at(struct span text, size_t at)
{
    uint32_t value = 0;
    for (size_t i = at; i < at + 4; i++) {
        if (i >= text.size) {
            return UINT32_MAX;
        }
        uint8_t c = text.data[i] | 0x20;
        if (c >= '0' && c <= '9') {
            value = value * 16 + (uint32_t)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            value = value * 16 + (uint32_t)(c - 'a' + 10);
        } else {
            return UINT32_MAX;
        }
    }
    return value;
}

/* What stands behind a backslash at ${*at}, which is moved behind it (RFC 8259, 7). */
static bool unescape(struct span text, size_t *at, struct buf *out)
{
    static const char escapes[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    uint8_t c = *at < text.size ? text.data[(*at)++] : 0;
    const char *escape = c ? strchr(escapes, c) : NULL;
    if (escape) {
        buf_add_byte(out, (uint8_t)meanings[escape - escapes]);
        return true;
    }
    uint32_t unit = c == 'u' ? hex_at(text, *at) : UINT32_MAX;
    if (unit == UINT32_MAX) {
        return false;
    }
    *at += 4;
    if (unit >= 0xd800 && unit < 0xdc00 && *at + 2 <= text.size && text.data[*at] == '\\' &&
        text.data[*at + 1] == 'u') {
        uint32_t low = hex_at(text, *at + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            *at += 6;
        }
    }
    uint8_t utf8[4];
    buf_add(out, utf8, utf8_put(unit, utf8));
    return true;
}

static bool take_string(struct letter_reader *r, struct span *ret_text)
{
    size_t start = r->texts->size;
    if (!expect(r, "\"")) {
        return false;
    }
    size_t at = 0;
    while (at < r->rest.size && r->rest.data[at] != '"') {
        uint8_t c = r->rest.data[at++];
        if (c == '\\') {
            if (!unescape(r->rest, &at, r->texts)) {
                return false;
            }
        } else {
            buf_add_byte(r->texts, c);
        }
    }
    if (at == r->rest.size) {
        return false;
    }
    r->rest = span_from(r->rest, at + 1);
    *ret_text = span_make(r->texts->data + start, r->texts->size - start);
    return true;
}

static bool take_text(struct letter_reader *r, const char *name, struct span *ret_text)
{
    *ret_text = span_make(NULL, 0);
    return expect(r, ",\"") && expect(r, name) && expect(r, "\":") &&
           (expect(r, "null") || take_string(r, ret_text));
}

static bool take_status(struct letter_reader *r, int *ret_status)
{
    uint64_t status = 0;
    if (!expect(r, ",\"status\":") || (!expect(r, "null") && !take_number(r, INT32_MAX, &status))) {
        return false;
    }
    *ret_status = (int)status;
    return true;
}

/* Put the bytes in the place of a text that stands for bytes. */
static bool decode(struct letter_reader *r, struct span *document)
{
    struct span text = *document;
    size_t front = sizeof(encoded) - 1;
    if (!span_equal(span_first(text, front), span_make(encoded, front))) {
        return true;
    }
    size_t start = r->texts->size;
    if (!base64_read(span_from(text, front), r->texts)) {
        r->texts->size = start;
        return true; /* it stands for itself */
    }
    struct span bytes = span_make(r->texts->data + start, r->texts->size - start);
    *document = is_binary(bytes) ? bytes : text;
    return true;
}

static bool take_document(struct letter_reader *r, struct span *ret_document)
{
    uint64_t size;
    if (!expect(r, ",\"document_bytes\":")) {
        return false;
    }
    while (expect(r, " ")) {}
    if (!take_number(r, SIZE_MAX, &size) || !expect(r, ",\"document\":") || size == 0 ||
        r->rest.size == 0 || size != r->rest.size - 1 || r->rest.data[size] != '}') {
        return false;
    }
    r->rest.size--;
    if (is_object(r->rest)) {
        *ret_document = r->rest;
        return true;
    }
    *ret_document = span_make(NULL, 0);
    return (expect(r, "null") || take_string(r, ret_document)) && r->rest.size == 0 &&
           decode(r, ret_document);
}

bool dead_letter_read(struct span line, struct buf *texts, struct dead_letter *ret_letter)
{
    struct dead_letter letter = {.id = 0};
    struct letter_reader r = {.rest = line, .texts = texts};
    struct span time;
    buf_reset(texts);
    /* Unescaped, a text is no longer than before, and decoded it is shorter still. */
    bool good = buf_reserve(texts, 2 * line.size + 1) && expect(&r, "{\"id\":") &&
                take_number(&r, INT64_MAX, &letter.id) && take_text(&r, "time", &time) &&
                rfc3339_parse(time, &letter.time) && take_text(&r, "output", &letter.output) &&
                take_status(&r, &letter.status) && take_text(&r, "type", &letter.type) &&
                take_text(&r, "reason", &letter.reason) && take_text(&r, "index", &letter.index) &&
                take_text(&r, "route", &letter.route) &&
                take_text(&r, "document_id", &letter.document_id) &&
                take_document(&r, &letter.document);
    if (good) {
        *ret_letter = letter;
    }
    return good;
}
