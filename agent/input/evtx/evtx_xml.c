#include "input/evtx/evtx_xml.h"

#include "base/bytes.h"
#include "base/hex.h"
#include "input/evtx/evtx_format.h"

enum { MAX_ELEMENTS = 64 };

struct xml {
    struct evtx_tree *tree;
    uint8_t *at;
    uint8_t *end;
    uint16_t element; /* the innermost open element */
    unsigned open;
    const char *problem;
};

static bool fail(struct xml *x, const char *what)
{
    if (!x->problem) {
        x->problem = what;
    }
    return false;
}

static bool cut_short(struct xml *x)
{
    return fail(x, "damaged record: its XML is cut short");
}

/* The next unit; 0: the end. */
static uint16_t peek(const struct xml *x)
{
    return x->at == x->end ? 0 : load_le16(x->at);
}

static bool take(struct xml *x, uint16_t unit)
{
    if (x->at == x->end || load_le16(x->at) != unit) {
        return false;
    }
    x->at += 2;
    return true;
}

/* Take the ASCII ${text} if it comes next. */
static bool take_text(struct xml *x, const char *text)
{
    uint8_t *at = x->at;
    for (; *text; text++) {
        if (!take(x, (uint8_t)*text)) {
            x->at = at;
            return false;
        }
    }
    return true;
}

static bool is_space(uint16_t unit)
{
    return unit == ' ' || unit == '\t' || unit == '\r' || unit == '\n';
}

static void skip_spaces(struct xml *x)
{
    while (is_space(peek(x))) {
        x->at += 2;
    }
}

static bool skip_past(struct xml *x, const char *text)
{
    while (x->at < x->end) {
        if (take_text(x, text)) {
            return true;
        }
        x->at += 2;
    }
    return cut_short(x);
}

static uint16_t add(
    struct xml *x, uint16_t parent, enum evtx_node_kind kind, uint8_t type, struct span bytes)
{
    uint16_t index = evtx_tree_add(x->tree, parent, kind, type, bytes);
    if (index == EVTX_TREE_NONE) {
        fail(x, "damaged record: it has too many elements");
    }
    return index;
}

/* ---- references ------------------------------------------------------------------------------ */

/* Read a character reference, after `&#`. */
static bool read_number(struct xml *x, uint32_t *ret_character)
{
    enum { LAST = 0x10ffff };
    unsigned base = take(x, 'x') ? 16 : 10;
    uint32_t number = 0;
    uint8_t *from = x->at;
    for (unsigned digit; (digit = hex_digit(peek(x))) < base; x->at += 2) {
        number = number * base + digit;
        if (number > LAST) {
            return fail(x, "damaged record: a reference to an invalid character");
        }
    }
    *ret_character = number;
    return (x->at > from && take(x, ';')) ||
           fail(x, "damaged record: a reference to an invalid character");
}

/* Read a reference, after `&`. */
static bool read_reference(struct xml *x, uint32_t *ret_character)
{
    static const struct {
        const char *text;
        uint32_t character;
    } entities[] = {{"amp;", '&'}, {"lt;", '<'}, {"gt;", '>'}, {"quot;", '"'}, {"apos;", '\''}};
    if (take(x, '#')) {
        return read_number(x, ret_character);
    }
    for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
        if (take_text(x, entities[i].text)) {
            *ret_character = entities[i].character;
            return true;
        }
    }
    return fail(x, "damaged record: an entity that XML does not define");
}

/* Write a character as UTF-16 in place of its reference, which is longer. */
static uint8_t *put_character(uint8_t *to, uint32_t character)
{
    enum { FIRST_OF_TWO = 0x10000 };
    if (character >= FIRST_OF_TWO) {
        character -= FIRST_OF_TWO;
        store_le16(to, (uint16_t)(0xd800 | character >> 10));
        to += 2;
        character = 0xdc00 | (character & 0x3ff);
    }
    store_le16(to, (uint16_t)character);
    return to + 2;
}

/* Read text up to ${stop}, which is not taken, or to the end of the XML. */
static bool read_text(struct xml *x, uint16_t stop, struct span *ret_text)
{
    uint8_t *from = x->at;
    uint8_t *to = x->at;
    while (x->at < x->end) {
        uint16_t unit = load_le16(x->at);
        uint32_t character;
        if (unit == stop) {
            break;
        }
        x->at += 2;
        if (unit == '&') {
            if (!read_reference(x, &character)) {
                return false;
            }
            to = put_character(to, character);
        } else {
            store_le16(to, unit);
            to += 2;
        }
    }
    *ret_text = span_make(from, (size_t)(to - from));
    return true;
}

/* ---- elements -------------------------------------------------------------------------------- */

static bool read_name(struct xml *x, struct span *ret_name)
{
    const uint8_t *from = x->at;
    for (uint16_t unit; (unit = peek(x)) && !is_space(unit); x->at += 2) {
        if (unit == '=' || unit == '/' || unit == '>' || unit == '<' || unit == '"' ||
            unit == '\'') {
            break;
        }
    }
    *ret_name = span_make(from, (size_t)(x->at - from));
    return ret_name->size || fail(x, "damaged record: its XML contains an empty name");
}

static bool read_attribute(struct xml *x)
{
    struct span name;
    struct span value;
    if (!read_name(x, &name)) {
        return false;
    }
    skip_spaces(x);
    if (!take(x, '=')) {
        return fail(x, "damaged record: an attribute of its XML has no value");
    }
    skip_spaces(x);
    uint16_t quote = peek(x);
    if (quote != '"' && quote != '\'') {
        return fail(x, "damaged record: an attribute of its XML has no value");
    }
    x->at += 2;
    if (!read_text(x, quote, &value)) {
        return false;
    }
    if (!take(x, quote)) {
        return cut_short(x);
    }
    uint16_t node = add(x, x->element, EVTX_NODE_ATTRIBUTE, 0, name);
    return node != EVTX_TREE_NONE &&
           (value.size == 0 || add(x, node, EVTX_NODE_VALUE, EVTX_TEXT16, value) != EVTX_TREE_NONE);
}

static void close_element(struct xml *x)
{
    x->element = x->tree->nodes[x->element].parent;
    x->open--;
}

/* Read a start tag, after `<`. */
static bool read_start(struct xml *x)
{
    struct span name;
    if (x->open == MAX_ELEMENTS) {
        return fail(x, "damaged record: elements are nested too deep");
    }
    if (!read_name(x, &name)) {
        return false;
    }
    uint16_t node = add(x, x->element, EVTX_NODE_ELEMENT, 0, name);
    if (node == EVTX_TREE_NONE) {
        return false;
    }
    x->element = node;
    x->open++;
    for (skip_spaces(x); x->at < x->end; skip_spaces(x)) {
        if (take(x, '>')) {
            return true;
        }
        if (take_text(x, "/>")) {
            close_element(x);
            return true;
        }
        if (!read_attribute(x)) {
            return false;
        }
    }
    return cut_short(x);
}

/* Read an end tag, after `</`. */
static bool read_end(struct xml *x)
{
    struct span name;
    if (!read_name(x, &name)) {
        return false;
    }
    if (x->open == 0 || !span_equal(name, x->tree->nodes[x->element].bytes)) {
        return fail(x, "damaged record: an end tag without its start tag");
    }
    close_element(x);
    skip_spaces(x);
    return take(x, '>') || cut_short(x);
}

static bool read_cdata(struct xml *x)
{
    uint8_t *from = x->at;
    if (!skip_past(x, "]]>")) {
        return false;
    }
    struct span text = span_make(from, (size_t)(x->at - from) - 2 * 3);
    return add(x, x->element, EVTX_NODE_VALUE, EVTX_TEXT16, text) != EVTX_TREE_NONE;
}

/* Read markup, after `<`. */
static bool read_markup(struct xml *x)
{
    if (take(x, '/')) {
        return read_end(x);
    }
    if (take(x, '?')) {
        return skip_past(x, "?>");
    }
    if (take_text(x, "!--")) {
        return skip_past(x, "-->");
    }
    if (take_text(x, "![CDATA[")) {
        return read_cdata(x);
    }
    return peek(x) == '!' ? fail(x, "damaged record: its XML has a document type") : read_start(x);
}

static bool read_content(struct xml *x)
{
    struct span text;
    if (take(x, '<')) {
        return read_markup(x);
    }
    return read_text(x, '<', &text) && (x->open == 0 || add(x, x->element, EVTX_NODE_VALUE,
                                                            EVTX_TEXT16, text) != EVTX_TREE_NONE);
}

const char *evtx_xml_read(struct evtx_tree *tree, struct evtx_room *room, uint8_t *xml, size_t size)
{
    struct xml x = {.tree = tree};
    x.at = xml;
    x.end = xml + size / 2 * 2;
    evtx_tree_begin(tree, room);
    while (x.at < x.end && read_content(&x)) {}
    if (!x.problem && x.open) {
        cut_short(&x);
    }
    return x.problem;
}
