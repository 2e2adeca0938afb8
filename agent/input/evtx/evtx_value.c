#include "input/evtx/evtx_value.h"

#include "base/bytes.h"
#include "base/put.h"
#include "base/text/rfc3339.h"
#include "base/utf.h"
#include "event/model/schema.h"
#include "input/evtx/evtx_format.h"

enum { ARRAY_BEHIND_COUNT = 0x40, MAX_COUNTED_BYTES = UINT16_MAX };

void evtx_out_add(struct evtx_out *out, const void *bytes, size_t size)
{
    if (out->full || size > (size_t)(out->end - out->at)) {
        out->full = true;
        return;
    }
    if (size) {
        memcpy(out->at, bytes, size);
        out->at += size;
    }
}

static void add_u16(struct evtx_out *out, size_t value)
{
    uint8_t bytes[2];
    store_le16(bytes, (uint16_t)value);
    evtx_out_add(out, bytes, sizeof(bytes));
}

/* ---- in a payload ---------------------------------------------------------------------------- */

/* How a payload stores a type; size 0: its values vary in size. */
struct fixed {
    uint8_t in_type;
    uint8_t size;
};

/* ${is_wide}: sizes and handles have 8 bytes instead of 4. */
static struct fixed fixed_of(uint8_t type, bool is_wide)
{
    static const struct fixed table[] = {
        [EVTX_INT8] = {IN_INT8, 1},
        [EVTX_UINT8] = {IN_UINT8, 1},
        [EVTX_INT16] = {IN_INT16, 2},
        [EVTX_UINT16] = {IN_UINT16, 2},
        [EVTX_INT32] = {IN_INT32, 4},
        [EVTX_UINT32] = {IN_UINT32, 4},
        [EVTX_INT64] = {IN_INT64, 8},
        [EVTX_UINT64] = {IN_UINT64, 8},
        [EVTX_FLOAT] = {IN_FLOAT, 4},
        [EVTX_DOUBLE] = {IN_DOUBLE, 8},
        [EVTX_BOOL] = {IN_BOOLEAN, 4},
        [EVTX_GUID] = {IN_GUID, 16},
        [EVTX_FILETIME] = {IN_FILETIME, 8},
        [EVTX_SYSTEMTIME] = {IN_SYSTEMTIME, 16},
        [EVTX_HEX32] = {IN_HEX_INT32, 4},
        [EVTX_HEX64] = {IN_HEX_INT64, 8},
    };
    if (type == EVTX_SIZE || type == EVTX_HANDLE) {
        return (struct fixed){is_wide ? IN_HEX_INT64 : IN_HEX_INT32, is_wide ? 8 : 4};
    }
    return type < sizeof(table) / sizeof(table[0]) ? table[type] : (struct fixed){0, 0};
}

static bool is_text(uint8_t type)
{
    return type == EVTX_TEXT16 || type == EVTX_TEXT8 || type == EVTX_XML;
}

static size_t unit_of(uint8_t type)
{
    return type == EVTX_TEXT8 ? 1 : 2;
}

/* Remove the NULs at the end. */
static struct span trim(uint8_t type, struct span text)
{
    size_t unit = unit_of(type);
    text.size -= text.size % unit;
    while (text.size && text.data[text.size - 1] == 0 && text.data[text.size - unit] == 0) {
        text.size -= unit;
    }
    return text;
}

static void add_counted(struct evtx_out *out, struct span bytes)
{
    if (bytes.size > MAX_COUNTED_BYTES) {
        out->full = true;
        return;
    }
    add_u16(out, bytes.size);
    evtx_out_add(out, bytes.data, bytes.size);
}

static uint8_t text_type(uint8_t type)
{
    return type == EVTX_TEXT8 ? IN_MANIFEST_COUNTED_ANSI_STRING : IN_MANIFEST_COUNTED_STRING;
}

/* Bytes of the SID at the start of ${bytes} ([MS-DTYP] 2.4.2.2); 0: there is none. */
static size_t sid_bytes(struct span bytes)
{
    enum { HEAD_BYTES = 8, MAX_PARTS = 15 };
    if (bytes.size < HEAD_BYTES || bytes.data[1] > MAX_PARTS) {
        return 0;
    }
    size_t size = HEAD_BYTES + 4u * bytes.data[1];
    return size <= bytes.size ? size : 0;
}

static bool is_sid(struct span bytes)
{
    return bytes.size && sid_bytes(bytes) == bytes.size;
}

static uint8_t add_binary(struct evtx_out *out, struct span bytes)
{
    add_counted(out, bytes);
    return IN_BINARY; /* a self-describing event has its size before it */
}

bool evtx_value_next_text(uint8_t type, struct span *rest, struct span *ret_text)
{
    size_t unit = unit_of(type);
    if (rest->size < unit) {
        return false;
    }
    size_t size;
    if (unit == 2) {
        size = utf16_until_nul(*rest);
    } else {
        const uint8_t *nul = memchr(rest->data, 0, rest->size);
        size = nul ? (size_t)(nul - rest->data) : rest->size;
    }
    *ret_text = span_first(*rest, size);
    *rest = span_from(*rest, size + unit);
    return true;
}

static bool is_size(uint8_t type)
{
    return type == EVTX_SIZE || type == EVTX_HANDLE;
}

/* Iterates over the elements of an array. */
struct elements {
    struct span rest;
    uint8_t type;
    uint8_t size; /* of each; 0: it varies */
};

/* False: the ends of the elements are unknown. */
static bool begin_elements(
    struct elements *elements, uint8_t type, struct span bytes, size_t pointer_size)
{
    struct fixed fixed = fixed_of(type, is_size(type) && bytes.size % 8 == 0 && pointer_size == 8);
    *elements = (struct elements){.rest = bytes, .type = type, .size = fixed.size};
    return is_text(type) || type == EVTX_SID || (fixed.size && bytes.size % fixed.size == 0);
}

/* Take the next element. False: none is left, or the rest is not a SID. */
static bool next_element(struct elements *elements, struct span *ret_element)
{
    if (is_text(elements->type)) {
        return evtx_value_next_text(elements->type, &elements->rest, ret_element);
    }
    size_t size = elements->size ? elements->size : sid_bytes(elements->rest);
    if (size == 0 || size > elements->rest.size) {
        return false;
    }
    *ret_element = span_first(elements->rest, size);
    elements->rest = span_from(elements->rest, size);
    return true;
}

/* Number of elements; SIZE_MAX: the rest of the array is not an element. */
static size_t count_elements(struct elements elements)
{
    struct span element;
    size_t count = 0;
    while (next_element(&elements, &element)) {
        count++;
    }
    return elements.type == EVTX_SID && elements.rest.size ? SIZE_MAX : count;
}

static uint8_t add_array(struct evtx_out *out, uint8_t type, struct span bytes, size_t pointer_size)
{
    struct elements elements;
    struct span element;
    size_t count = begin_elements(&elements, type, bytes, pointer_size) ? count_elements(elements)
                                                                        : SIZE_MAX;
    if (count > UINT16_MAX) {
        return add_binary(out, bytes);
    }
    add_u16(out, count);
    if (!is_text(type)) {
        evtx_out_add(out, bytes.data, bytes.size);
        return (type == EVTX_SID ? IN_SID : fixed_of(type, elements.size == 8).in_type) |
               ARRAY_BEHIND_COUNT;
    }
    while (next_element(&elements, &element)) {
        add_counted(out, element);
    }
    return text_type(type) | ARRAY_BEHIND_COUNT;
}

/* Some providers write booleans with a size other than four bytes. */
static bool is_true(struct span bytes)
{
    bool is_set = false;
    for (size_t i = 0; i < bytes.size; i++) {
        is_set |= bytes.data[i] != 0;
    }
    return is_set;
}

static uint8_t add_bool(struct evtx_out *out, struct span bytes)
{
    const uint8_t value[4] = {is_true(bytes)};
    evtx_out_add(out, value, sizeof(value));
    return IN_BOOLEAN;
}

size_t evtx_value_pointer_size(const struct evtx_tree *tree, bool *ret_has_arrays)
{
    bool is_narrow = false;
    bool is_wide = false;
    *ret_has_arrays = false;
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct evtx_node *node = &tree->nodes[i];
        if (node->kind != EVTX_NODE_VALUE || !is_size(node->type & EVTX_ELEMENT_MASK)) {
            continue;
        }
        bool is_array = node->type & EVTX_ARRAY;
        *ret_has_arrays |= is_array;
        is_narrow |= is_array ? node->bytes.size % 8 == 4 : node->bytes.size == 4;
        is_wide |= !is_array && node->bytes.size == 8;
    }
    return is_narrow && !is_wide ? 4 : 8;
}

bool evtx_value_add(
    struct evtx_out *out, uint8_t type, struct span bytes, size_t pointer_size, uint8_t *ret_type)
{
    struct fixed fixed = fixed_of(type, bytes.size == 8);
    if (type == EVTX_NULL) {
        return false;
    }
    if (type & EVTX_ARRAY) {
        *ret_type = add_array(out, type & EVTX_ELEMENT_MASK, bytes, pointer_size);
    } else if (is_text(type)) {
        add_counted(out, trim(type, bytes));
        *ret_type = text_type(type);
    } else if (bytes.size == 0 && type != EVTX_BINARY) {
        return false;
    } else if (type == EVTX_BOOL) {
        *ret_type = add_bool(out, bytes);
    } else if (type == EVTX_SID && is_sid(bytes)) {
        evtx_out_add(out, bytes.data, bytes.size);
        *ret_type = IN_SID;
    } else if (fixed.size && bytes.size == fixed.size) {
        evtx_out_add(out, bytes.data, bytes.size);
        *ret_type = fixed.in_type;
    } else {
        *ret_type = add_binary(out, bytes);
    }
    return true;
}

/* ---- as text --------------------------------------------------------------------------------- */

static void add_ascii(struct evtx_out *out, const uint8_t *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const uint8_t unit[2] = {text[i], 0};
        evtx_out_add(out, unit, sizeof(unit));
    }
}

static void add_hex(struct evtx_out *out, struct span bytes)
{
    for (size_t i = 0; i < bytes.size && !out->full; i++) {
        uint8_t digits[2];
        add_ascii(
            out, digits, (size_t)(put_hex_bytes(digits, span_make(bytes.data + i, 1)) - digits));
    }
}

static int64_t signed_of(struct span bytes)
{
    uint64_t value = load_le(bytes.data, bytes.size);
    unsigned shift = 64 - 8 * (unsigned)bytes.size;
    return (int64_t)(value << shift) >> shift;
}

/* Write a value that has the size of its type, at most PUT_MAX bytes. NULL: write it as hex. */
static uint8_t *put_fixed(uint8_t *p, uint8_t type, struct span bytes)
{
    float single;
    double wide;
    switch (type) {
    case EVTX_INT8:
    case EVTX_INT16:
    case EVTX_INT32:
    case EVTX_INT64:
        return put_i64(p, signed_of(bytes));
    case EVTX_UINT8:
    case EVTX_UINT16:
    case EVTX_UINT32:
    case EVTX_UINT64:
        return put_u64(p, load_le(bytes.data, bytes.size));
    case EVTX_FLOAT:
        memcpy(&single, bytes.data, sizeof(single));
        return put_float(p, single);
    case EVTX_DOUBLE:
        memcpy(&wide, bytes.data, sizeof(wide));
        return put_double(p, wide);
    case EVTX_SIZE:
    case EVTX_HANDLE:
    case EVTX_HEX32:
    case EVTX_HEX64:
        return put_hex(p, load_le(bytes.data, bytes.size));
    case EVTX_GUID:
        return put_guid(p, bytes.data);
    case EVTX_FILETIME:
        return put_filetime_or_hex(p, load_le64(bytes.data));
    case EVTX_SYSTEMTIME:
        return put_systemtime(&p, bytes.data) ? p : NULL;
    default:
        return NULL;
    }
}

static void add_ansi(struct evtx_out *out, struct span bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        add_u16(out, codepage_1252.single[bytes.data[i]]);
    }
}

static void add_text(struct evtx_out *out, uint8_t type, struct span bytes)
{
    enum { SID_TEXT_BYTES = 256 };
    uint8_t text[SID_TEXT_BYTES];
    uint8_t *end = text;
    struct fixed fixed = fixed_of(type, bytes.size == 8);
    if (type == EVTX_TEXT8) {
        add_ansi(out, trim(type, bytes));
    } else if (is_text(type)) {
        struct span trimmed = trim(type, bytes);
        evtx_out_add(out, trimmed.data, trimmed.size);
    } else if (type == EVTX_BOOL) {
        end = is_true(bytes) ? put_literal(text, "true") : put_literal(text, "false");
        add_ascii(out, text, (size_t)(end - text));
    } else if (type == EVTX_SID && is_sid(bytes) && put_sid(&end, bytes)) {
        add_ascii(out, text, (size_t)(end - text));
    } else if (fixed.size && bytes.size == fixed.size && (end = put_fixed(text, type, bytes))) {
        add_ascii(out, text, (size_t)(end - text));
    } else {
        add_hex(out, bytes);
    }
}

void evtx_value_add_text(struct evtx_out *out, uint8_t type, struct span bytes, size_t pointer_size)
{
    struct elements elements;
    struct span element;
    uint8_t element_type = type & EVTX_ELEMENT_MASK;
    if (!(type & EVTX_ARRAY)) {
        add_text(out, type, bytes);
        return;
    }
    if (!begin_elements(&elements, element_type, bytes, pointer_size) ||
        count_elements(elements) == SIZE_MAX) {
        add_hex(out, bytes);
        return;
    }
    for (bool is_first = true; !out->full && next_element(&elements, &element); is_first = false) {
        add_ascii(out, (const uint8_t *)",", is_first ? 0 : 1);
        add_text(out, element_type, element);
    }
}

/* ---- values of nodes ------------------------------------------------------------------------- */

/* The only value of ${node}; NULL: it has none, or several. */
static const struct evtx_node *value_of(const struct evtx_tree *tree, uint16_t node)
{
    const struct evtx_node *found = NULL;
    if (node == EVTX_TREE_NONE) {
        return NULL;
    }
    for (uint16_t at = tree->nodes[node].first; at != EVTX_TREE_NONE; at = tree->nodes[at].next) {
        if (tree->nodes[at].kind == EVTX_NODE_VALUE) {
            if (found) {
                return NULL;
            }
            found = &tree->nodes[at];
        }
    }
    return found;
}

struct span evtx_value_utf8(
    const struct evtx_tree *tree, uint16_t node, uint8_t *memory, size_t size)
{
    enum { MAX_UTF16 = 2048 };
    uint8_t wide[MAX_UTF16];
    uint8_t utf8[MAX_UTF16 * 3 + UTF_SLACK];
    struct evtx_out out = {.at = wide, .end = wide + sizeof(wide)};
    if (node == EVTX_TREE_NONE) {
        return span_make(memory, 0);
    }
    for (uint16_t at = tree->nodes[node].first; at != EVTX_TREE_NONE; at = tree->nodes[at].next) {
        if (tree->nodes[at].kind == EVTX_NODE_VALUE) {
            evtx_value_add_text(&out, tree->nodes[at].type, tree->nodes[at].bytes, 8);
        }
    }
    size_t wide_size = utf16_until_nul(span_make(wide, (size_t)(out.at - wide)));
    size_t used = utf16_to_utf8(span_make(wide, wide_size), utf8);
    used = used > size ? 0 : used;
    memcpy(memory, utf8, used);
    return span_make(memory, used);
}

/* The value of a digit, or 16. */
static unsigned digit_of(uint8_t c)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t lower = c >= 'A' && c <= 'F' ? c | 0x20 : c;
    const char *found = memchr(digits, lower, sizeof(digits) - 1);
    return found ? (unsigned)(found - digits) : 16;
}

static bool parse_number(struct span text, uint64_t *ret_number)
{
    bool is_hex = text.size > 2 && text.data[0] == '0' && (text.data[1] | 0x20) == 'x';
    unsigned base = is_hex ? 16 : 10;
    uint64_t number = 0;
    text = span_from(text, is_hex ? 2 : 0);
    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = digit_of(text.data[i]);
        if (digit >= base || number > (UINT64_MAX - digit) / base) {
            return false;
        }
        number = number * base + digit;
    }
    *ret_number = number;
    return text.size > 0;
}

bool evtx_value_number(const struct evtx_tree *tree, uint16_t node, uint64_t *ret_number)
{
    enum { TEXT_BYTES = 32 };
    uint8_t memory[TEXT_BYTES];
    const struct evtx_node *value = value_of(tree, node);
    if (value && !is_text(value->type)) {
        struct fixed fixed = fixed_of(value->type, value->bytes.size == 8);
        if (fixed.size == 0 || fixed.size > 8 || value->bytes.size != fixed.size) {
            return false;
        }
        *ret_number = load_le(value->bytes.data, fixed.size);
        return true;
    }
    return value && parse_number(evtx_value_utf8(tree, node, memory, sizeof(memory)), ret_number);
}

bool evtx_value_guid(const struct evtx_tree *tree, uint16_t node, struct guid *ret_guid)
{
    enum { TEXT_BYTES = 64 };
    uint8_t memory[TEXT_BYTES];
    const struct evtx_node *value = value_of(tree, node);
    if (value && value->type == EVTX_GUID && value->bytes.size == sizeof(ret_guid->bytes)) {
        memcpy(ret_guid->bytes, value->bytes.data, sizeof(ret_guid->bytes));
        return true;
    }
    struct span text = evtx_value_utf8(tree, node, memory, sizeof(memory));
    if (text.size > 2 && text.data[0] == '{' && text.data[text.size - 1] == '}') {
        text = span_make(text.data + 1, text.size - 2);
    }
    return text.size && guid_parse(text, ret_guid);
}

bool evtx_value_filetime(const struct evtx_tree *tree, uint16_t node, uint64_t *ret_time)
{
    enum { TEXT_BYTES = 64 };
    uint8_t memory[TEXT_BYTES];
    const struct evtx_node *value = value_of(tree, node);
    if (value && value->type == EVTX_FILETIME && value->bytes.size == 8) {
        *ret_time = load_le64(value->bytes.data);
        return true;
    }
    struct span text = evtx_value_utf8(tree, node, memory, sizeof(memory));
    return text.size && rfc3339_parse(text, ret_time);
}

/* Take the number before the next `-`, and that `-`. */
static bool next_part(struct span *rest, uint64_t *ret_number)
{
    const uint8_t *dash = rest->size ? memchr(rest->data, '-', rest->size) : NULL;
    struct span part = span_first(*rest, dash ? (size_t)(dash - rest->data) : rest->size);
    *rest = span_from(*rest, part.size + (dash ? 1 : 0));
    return parse_number(part, ret_number);
}

/* Parse `S-1-AUTHORITY-SUB…` ([MS-DTYP] 2.4.2.1). Empty: it is invalid. */
static struct span parse_sid(struct span text, uint8_t memory[EVTX_VALUE_SID_BYTES])
{
    enum { HEAD_BYTES = 8, MAX_SUBS = 15 };
    const uint64_t max_authority = UINT64_C(0xffffffffffff);
    uint64_t number;
    size_t count = 0;
    struct span rest = span_from(text, 4);
    if (!span_equal_nocase(span_first(text, 4), span_text("S-1-")) || !next_part(&rest, &number) ||
        number > max_authority) {
        return span_make(memory, 0);
    }
    memory[0] = 1;
    for (unsigned i = 0; i < 6; i++) {
        memory[2 + i] = (uint8_t)(number >> (40 - 8 * i));
    }
    while (rest.size) {
        if (count == MAX_SUBS || !next_part(&rest, &number) || number > UINT32_MAX) {
            return span_make(memory, 0);
        }
        store_le32(memory + HEAD_BYTES + 4 * count++, (uint32_t)number);
    }
    memory[1] = (uint8_t)count;
    return span_make(memory, HEAD_BYTES + 4 * count);
}

struct span evtx_value_sid(
    const struct evtx_tree *tree, uint16_t node, uint8_t memory[EVTX_VALUE_SID_BYTES])
{
    enum { TEXT_BYTES = 256 };
    uint8_t text[TEXT_BYTES];
    const struct evtx_node *value = value_of(tree, node);
    if (value && value->type == EVTX_SID && is_sid(value->bytes)) {
        memcpy(memory, value->bytes.data, value->bytes.size);
        return span_make(memory, value->bytes.size);
    }
    return value && is_text(value->type)
               ? parse_sid(evtx_value_utf8(tree, node, text, sizeof(text)), memory)
               : span_make(memory, 0);
}
