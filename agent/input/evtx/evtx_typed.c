#include "input/evtx/evtx_typed.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/put.h"
#include "base/text/rfc3339.h"
#include "base/utf.h"
#include "input/evtx/evtx_format.h"
#include "input/evtx/evtx_value.h"

enum { MAX_SLOTS = 512, TEXT_BYTES = 256 };

/* The places of values in the XML: elements and attributes. */
struct slots {
    uint16_t nodes[MAX_SLOTS];
    size_t count;
    bool is_full;
};

static void add_slot(struct slots *slots, uint16_t node)
{
    slots->is_full |= slots->count == MAX_SLOTS;
    if (!slots->is_full) {
        slots->nodes[slots->count++] = node;
    }
}

static bool is_namespace(struct span name)
{
    enum { XMLNS_BYTES = 10 };
    return evtx_tree_is_name(span_first(name, XMLNS_BYTES), "xmlns");
}

static uint16_t first_element(const struct evtx_tree *tree, uint16_t parent)
{
    uint16_t at = tree->nodes[parent].first;
    while (at != EVTX_TREE_NONE && tree->nodes[at].kind != EVTX_NODE_ELEMENT) {
        at = tree->nodes[at].next;
    }
    return at;
}

/* The value of a Data is its text. Its attribute Name comes from the template. */
static void find_in_event_data(const struct evtx_tree *tree, uint16_t parent, struct slots *slots)
{
    for (uint16_t at = tree->nodes[parent].first; at != EVTX_TREE_NONE; at = tree->nodes[at].next) {
        if (tree->nodes[at].kind == EVTX_NODE_ELEMENT) {
            add_slot(slots, at);
        }
    }
}

/* The node below ${top} that follows ${at} in document order. */
static uint16_t step(const struct evtx_tree *tree, uint16_t top, uint16_t at)
{
    if (tree->nodes[at].first != EVTX_TREE_NONE) {
        return tree->nodes[at].first;
    }
    while (at != top && tree->nodes[at].next == EVTX_TREE_NONE) {
        at = tree->nodes[at].parent;
    }
    return at == top ? EVTX_TREE_NONE : tree->nodes[at].next;
}

static void find_in_user_data(const struct evtx_tree *tree, uint16_t parent, struct slots *slots)
{
    for (uint16_t at = step(tree, parent, parent); at != EVTX_TREE_NONE;
         at = step(tree, parent, at)) {
        const struct evtx_node *node = &tree->nodes[at];
        bool is_leaf = node->kind == EVTX_NODE_ELEMENT && first_element(tree, at) == EVTX_TREE_NONE;
        if (is_leaf || (node->kind == EVTX_NODE_ATTRIBUTE && !is_namespace(node->bytes))) {
            add_slot(slots, at);
        }
    }
}

static void find_slots(const struct evtx_tree *tree, struct slots *slots)
{
    uint16_t root = evtx_tree_find(tree, 0, EVTX_NODE_ELEMENT, "Event");
    uint16_t data = evtx_tree_find(tree, root, EVTX_NODE_ELEMENT, "EventData");
    uint16_t user = evtx_tree_find(tree, root, EVTX_NODE_ELEMENT, "UserData");
    if (data != EVTX_TREE_NONE) {
        find_in_event_data(tree, data, slots);
    } else if (user != EVTX_TREE_NONE) {
        find_in_user_data(tree, user, slots);
    }
}

/* ---- comparing a value with its text --------------------------------------------------------- */

/* Copy ${text} as a C string. False: it is empty or does not fit. */
static bool copy_number(struct span text, char *digits, size_t room)
{
    if (text.size == 0 || text.size >= room) {
        return false;
    }
    memcpy(digits, text.data, text.size);
    digits[text.size] = 0;
    return true;
}

static bool is_number(struct span text, uint64_t number, bool is_signed)
{
    char digits[32];
    char *end;
    if (!copy_number(text, digits, sizeof(digits))) {
        return false;
    }
    bool is_hex = text.size > 2 && digits[0] == '0' && (digits[1] | 0x20) == 'x';
    uint64_t value = is_signed && !is_hex ? (uint64_t)strtoll(digits, &end, 10)
                                          : strtoull(digits, &end, is_hex ? 16 : 10);
    return end == digits + text.size && value == number;
}

static bool is_float(struct span text, double value)
{
    char digits[64];
    char *end;
    if (!copy_number(text, digits, sizeof(digits))) {
        return false;
    }
    double other = strtod(digits, &end);
    double apart = other > value ? other - value : value - other;
    double size = value < 0 ? -value : value;
    return end == digits + text.size && apart <= size * 1e-5;
}

static uint64_t extended(struct span bytes)
{
    unsigned shift = 64 - 8 * (unsigned)bytes.size;
    return (uint64_t)((int64_t)(load_le(bytes.data, bytes.size) << shift) >> shift);
}

/* ${wide} is UTF-16, because a binary value may be too long for a copy in UTF-8. */
static bool is_bytes(struct span wide, struct span bytes)
{
    if (wide.size != bytes.size * 4) {
        return false;
    }
    for (size_t i = 0; i < bytes.size; i++) {
        uint8_t digits[2];
        put_hex_bytes(digits, span_make(bytes.data + i, 1));
        const uint8_t pair[2] = {wide.data[4 * i], wide.data[4 * i + 2]};
        if (wide.data[4 * i + 1] || wide.data[4 * i + 3] ||
            !span_equal_nocase(span_make(digits, 2), span_make(pair, 2))) {
            return false;
        }
    }
    return true;
}

static bool is_guid(struct span text, struct span bytes)
{
    struct guid guid;
    if (text.size > 2 && text.data[0] == '{' && text.data[text.size - 1] == '}') {
        text = span_make(text.data + 1, text.size - 2);
    }
    return bytes.size == sizeof(guid.bytes) && guid_parse(text, &guid) &&
           memcmp(guid.bytes, bytes.data, bytes.size) == 0;
}

static bool is_sid(struct span text, struct span bytes)
{
    uint8_t memory[TEXT_BYTES];
    uint8_t *end = memory;
    return bytes.size <= EVTX_VALUE_SID_BYTES && put_sid(&end, bytes) &&
           span_equal(text, span_make(memory, (size_t)(end - memory)));
}

static bool is_filetime(struct span text, struct span bytes)
{
    uint64_t time;
    return bytes.size == 8 && rfc3339_parse(text, &time) && time == load_le64(bytes.data);
}

static bool is_systemtime(struct span text, struct span bytes)
{
    enum { SECONDS_CHARS = 19 }; /* `2026-11-28T17:00:00` */
    uint8_t memory[PUT_MAX];
    uint8_t *end = memory;
    return bytes.size == 16 && text.size >= SECONDS_CHARS && put_systemtime(&end, bytes.data) &&
           memcmp(memory, text.data, SECONDS_CHARS) == 0;
}

static bool is_truth(struct span text, struct span bytes)
{
    bool is_true = load_le(bytes.data, bytes.size) != 0;
    return span_is(text, is_true ? "true" : "false") || span_is(text, is_true ? "1" : "0");
}

size_t evtx_typed_size(uint8_t type)
{
    static const uint8_t sizes[] = {[EVTX_INT8] = 1,
        [EVTX_UINT8] = 1,
        [EVTX_INT16] = 2,
        [EVTX_UINT16] = 2,
        [EVTX_INT32] = 4,
        [EVTX_UINT32] = 4,
        [EVTX_INT64] = 8,
        [EVTX_UINT64] = 8,
        [EVTX_FLOAT] = 4,
        [EVTX_DOUBLE] = 8,
        [EVTX_BOOL] = 4,
        [EVTX_SIZE] = 8,
        [EVTX_FILETIME] = 8,
        [EVTX_HEX32] = 4,
        [EVTX_HEX64] = 8};
    return type < sizeof(sizes) ? sizes[type] : 0;
}

static bool matches(struct span text, const struct evtx_given *value)
{
    struct span bytes = value->bytes;
    bool is_sized = bytes.size == evtx_typed_size(value->type);
    float single;
    double wide;
    switch (value->type) {
    case EVTX_INT8:
    case EVTX_INT16:
    case EVTX_INT32:
    case EVTX_INT64:
        return is_sized && is_number(text, extended(bytes), true);
    case EVTX_UINT8:
    case EVTX_UINT16:
    case EVTX_UINT32:
    case EVTX_UINT64:
    case EVTX_SIZE:
    case EVTX_HEX32:
    case EVTX_HEX64:
        return is_sized && is_number(text, load_le(bytes.data, bytes.size), false);
    case EVTX_FLOAT:
        memcpy(&single, bytes.data, is_sized ? sizeof(single) : 0);
        return is_sized && is_float(text, (double)single);
    case EVTX_DOUBLE:
        memcpy(&wide, bytes.data, is_sized ? sizeof(wide) : 0);
        return is_sized && is_float(text, wide);
    case EVTX_BOOL:
        return is_sized && is_truth(text, bytes);
    case EVTX_GUID:
        return is_guid(text, bytes);
    case EVTX_SID:
        return is_sid(text, bytes);
    case EVTX_FILETIME:
        return is_filetime(text, bytes);
    case EVTX_SYSTEMTIME:
        return is_systemtime(text, bytes);
    default:
        return false;
    }
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* The only value among the children of ${slot}; EVTX_TREE_NONE: there is none, or several. */
static uint16_t value_of(const struct evtx_tree *tree, uint16_t slot)
{
    uint16_t found = EVTX_TREE_NONE;
    for (uint16_t at = tree->nodes[slot].first; at != EVTX_TREE_NONE; at = tree->nodes[at].next) {
        if (tree->nodes[at].kind == EVTX_NODE_VALUE) {
            if (found != EVTX_TREE_NONE) {
                return EVTX_TREE_NONE;
            }
            found = at;
        }
    }
    return found;
}

static bool has_text(const struct evtx_tree *tree, uint16_t slot)
{
    for (uint16_t at = tree->nodes[slot].first; at != EVTX_TREE_NONE; at = tree->nodes[at].next) {
        if (tree->nodes[at].kind != EVTX_NODE_ATTRIBUTE) {
            return true;
        }
    }
    return false;
}

static void add_empty(struct evtx_tree *tree, uint16_t slot)
{
    evtx_tree_add(tree, slot, EVTX_NODE_VALUE, EVTX_TEXT16, span_make(NULL, 0));
}

static bool is_text(uint8_t type)
{
    return type == EVTX_TEXT16 || type == EVTX_TEXT8 || type == EVTX_XML ||
           type == EVTX_BINARY_XML || type & EVTX_ARRAY;
}

/* False: the value and the XML contradict each other. */
static bool apply(struct evtx_tree *tree, uint16_t slot, const struct evtx_given *value)
{
    uint8_t memory[TEXT_BYTES];
    if (!has_text(tree, slot)) {
        if (value->type == EVTX_TEXT16 || value->type == EVTX_TEXT8) {
            add_empty(tree, slot);
        }
        return value->type == EVTX_NULL || value->bytes.size == 0 || is_text(value->type);
    }
    uint16_t node = value_of(tree, slot);
    if (is_text(value->type) || node == EVTX_TREE_NONE) {
        return value->type != EVTX_NULL;
    }
    bool agrees = value->type == EVTX_BINARY
                      ? is_bytes(tree->nodes[node].bytes, value->bytes)
                      : matches(evtx_value_utf8(tree, slot, memory, sizeof(memory)), value);
    if (!agrees) {
        return false;
    }
    tree->nodes[node].bytes = value->bytes;
    tree->nodes[node].type = value->type;
    return true;
}

size_t evtx_typed_apply(struct evtx_tree *tree, const struct evtx_given *values, size_t count)
{
    struct slots slots = {.count = 0};
    size_t wrong = 0;
    find_slots(tree, &slots);
    if (slots.is_full || slots.count != count) {
        evtx_typed_none(tree);
        return count;
    }
    for (size_t i = 0; i < count; i++) {
        wrong += !apply(tree, slots.nodes[i], &values[i]);
    }
    return wrong;
}

void evtx_typed_none(struct evtx_tree *tree)
{
    uint16_t root = evtx_tree_find(tree, 0, EVTX_NODE_ELEMENT, "Event");
    uint16_t data = evtx_tree_find(tree, root, EVTX_NODE_ELEMENT, "EventData");
    for (uint16_t at = data == EVTX_TREE_NONE ? data : tree->nodes[data].first;
         at != EVTX_TREE_NONE; at = tree->nodes[at].next) {
        if (tree->nodes[at].kind == EVTX_NODE_ELEMENT && !has_text(tree, at)) {
            add_empty(tree, at);
        }
    }
}
