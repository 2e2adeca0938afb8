#include "input/evtx/evtx_event.h"

#include <stdio.h>

#include "base/bytes.h"
#include "base/utf.h"
#include "event/model/schema.h"
#include "input/evtx/evtx_format.h"
#include "input/evtx/evtx_system.h"

void evtx_event_add_item(struct evtx_event *event, uint16_t type, struct span data)
{
    event->items[event->record.extended_count++] = (struct extended_item){type, data};
}

static uint16_t element(const struct evtx_tree *tree, uint16_t parent, const char *name)
{
    return evtx_tree_find(tree, parent, EVTX_NODE_ELEMENT, name);
}

/* ---- message --------------------------------------------------------------------------------- */

/* Remove each CR before LF, and white space at the end. */
static size_t tidy_lines(uint8_t *text, size_t size)
{
    size_t to = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '\r' || i + 1 == size || text[i + 1] != '\n') {
            text[to++] = text[i];
        }
    }
    while (to && span_is_blank(text[to - 1])) {
        to--;
    }
    return to;
}

void evtx_event_set_message(struct evtx_event *event, struct span utf16)
{
    struct span cut = span_first(utf16, (size_t)EVTX_EVENT_MESSAGE_CHARS * 2);
    size_t size = utf16_to_utf8(span_first(cut, utf16_until_nul(cut)), event->message);
    struct span message = span_make(event->message, tidy_lines(event->message, size));
    for (size_t i = 0; i < event->record.extended_count; i++) {
        if (event->items[i].type == EXTENDED_LOG_MESSAGE) {
            event->items[i].data = message;
            return;
        }
    }
    if (message.size) {
        evtx_event_add_item(event, EXTENDED_LOG_MESSAGE, message);
    }
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* TraceLogging metadata: names, each with its NUL, and types (TraceLoggingProvider.h). */
enum { IS_CHAINED = 0x80, MAX_MEMBERS = 0x7f, MAX_OPEN = SCHEMA_MAX_DEPTH - 1 };

struct fields {
    const struct evtx_tree *tree;
    struct evtx_steps *steps;
    struct evtx_out blob;
    struct evtx_out payload;
    unsigned open;       /* structs that are open */
    uint32_t members;    /* of the innermost open struct */
    uint32_t count;      /* of all fields begun so far */
    uint16_t left_out;   /* the message, which becomes no field */
    uint16_t field_name; /* the attribute that names the field */
    size_t pointer_size;
    const char *problem;
};

static void fail(struct fields *f, const char *what)
{
    if (!f->problem) {
        f->problem = what;
    }
}

/* Add a name, cut to EVTX_EVENT_NAME_BYTES of UTF-16, as UTF-8 with a NUL. */
static void add_name(struct fields *f, struct span name)
{
    uint8_t utf8[EVTX_EVENT_NAME_BYTES * 3 + UTF_SLACK];
    struct span cut = span_first(name, EVTX_EVENT_NAME_BYTES);
    size_t size = utf16_to_utf8(span_first(cut, utf16_until_nul(cut)), utf8);
    utf8[size] = 0;
    evtx_out_add(&f->blob, utf8, size + 1);
}

static void add_type(struct fields *f, uint8_t type)
{
    evtx_out_add(&f->blob, &type, 1);
    f->blob.full |= ++f->count > SCHEMA_MAX_FIELDS;
    f->members++;
}

/* If the field does not fit, remove what was added since ${blob} and ${payload}. */
static bool settle(struct fields *f, uint8_t *blob, uint8_t *payload)
{
    if (!f->blob.full && !f->payload.full) {
        return true;
    }
    f->blob.at = blob;
    f->payload.at = payload;
    f->blob.full = false;
    f->payload.full = false;
    fail(f, "damaged record: its values are too large for one event");
    return false;
}

static void note_step(struct fields *f, uint16_t node, uint8_t type)
{
    struct evtx_steps *steps = f->steps;
    if (steps->count == EVTX_EVENT_STEPS) {
        steps->varies = true;
        return;
    }
    steps->list[steps->count++] = (struct evtx_event_step){.node = node, .type = type};
}

/* Returns the type of the field; EVTX_STEP_NOTHING if there is no value. */
static uint8_t add_value(struct fields *f, struct span name, uint8_t type, struct span bytes)
{
    uint8_t *blob = f->blob.at;
    uint8_t *payload = f->payload.at;
    uint32_t members = f->members;
    uint8_t in_type;
    if (!evtx_value_add(&f->payload, type, bytes, f->pointer_size, &in_type)) {
        return EVTX_STEP_NOTHING;
    }
    add_name(f, name);
    add_type(f, in_type);
    f->members = settle(f, blob, payload) ? f->members : members;
    return in_type;
}

/* The content of an element or attribute: nothing, one value with its type, or pieces of a text. */
struct content {
    uint16_t value; /* first value; EVTX_TREE_NONE: none */
    uint32_t count;
    bool has_elements;
    bool has_attributes; /* apart from namespace declarations */
};

static bool is_namespace(const struct evtx_node *node)
{
    enum { XMLNS_BYTES = 10, PREFIXED_BYTES = 12 };
    return evtx_tree_is_name(span_first(node->bytes, XMLNS_BYTES), "xmlns") &&
           (node->bytes.size == XMLNS_BYTES ||
               evtx_tree_is_name(span_first(node->bytes, PREFIXED_BYTES), "xmlns:"));
}

static struct content look(const struct evtx_tree *tree, uint16_t parent)
{
    struct content content = {.value = EVTX_TREE_NONE};
    for (uint16_t at = tree->nodes[parent].first; at != EVTX_TREE_NONE; at = tree->nodes[at].next) {
        const struct evtx_node *node = &tree->nodes[at];
        content.has_elements |= node->kind == EVTX_NODE_ELEMENT;
        content.has_attributes |= node->kind == EVTX_NODE_ATTRIBUTE && !is_namespace(node);
        if (node->kind == EVTX_NODE_VALUE && content.count++ == 0) {
            content.value = at;
        }
    }
    return content;
}

/* Write the values of ${parent} as one text, after its size. */
static void put_pieces(
    struct evtx_out *out, const struct evtx_tree *tree, uint16_t parent, size_t pointer_size)
{
    uint8_t *from = out->at;
    uint8_t size[2] = {0};
    evtx_out_add(out, size, sizeof(size));
    for (uint16_t at = tree->nodes[parent].first; at != EVTX_TREE_NONE; at = tree->nodes[at].next) {
        if (tree->nodes[at].kind == EVTX_NODE_VALUE) {
            evtx_value_add_text(out, tree->nodes[at].type, tree->nodes[at].bytes, pointer_size);
        }
    }
    size_t used = (size_t)(out->at - from);
    out->full |= used > UINT16_MAX;
    if (!out->full) {
        store_le16(from, (uint16_t)(used - sizeof(size)));
    }
}

static void add_pieces(struct fields *f, struct span name, uint16_t parent)
{
    uint8_t *blob = f->blob.at;
    uint8_t *payload = f->payload.at;
    uint32_t members = f->members;
    put_pieces(&f->payload, f->tree, parent, f->pointer_size);
    add_name(f, name);
    add_type(f, IN_MANIFEST_COUNTED_STRING);
    f->members = settle(f, blob, payload) ? f->members : members;
    note_step(f, parent, EVTX_STEP_PIECES);
}

static void add_text(
    struct fields *f, struct span name, uint16_t parent, const struct content *content)
{
    if (content->count == 1) {
        const struct evtx_node *node = &f->tree->nodes[content->value];
        note_step(f, content->value, add_value(f, name, node->type, node->bytes));
    } else if (content->count) {
        add_pieces(f, name, parent);
    }
}

static struct span without_prefix(struct span name)
{
    for (size_t i = 0; i + 2 < name.size; i += 2) {
        if (load_le16(name.data + i) == ':') {
            return span_from(name, i + 2);
        }
    }
    return name;
}

static void add_element(struct fields *f, uint16_t node);

/* Add the attributes, elements and text of ${node} as fields. */
static void add_members(struct fields *f, uint16_t node, const struct content *content)
{
    static const uint8_t text_name[] = {'t', 0, 'e', 0, 'x', 0, 't', 0};
    const struct evtx_tree *tree = f->tree;
    for (uint16_t at = tree->nodes[node].first; at != EVTX_TREE_NONE; at = tree->nodes[at].next) {
        const struct evtx_node *child = &tree->nodes[at];
        if (child->kind == EVTX_NODE_ELEMENT && at != f->left_out) {
            add_element(f, at);
        } else if (child->kind == EVTX_NODE_ATTRIBUTE && at != f->field_name &&
                   !is_namespace(child)) {
            struct content inner = look(tree, at);
            add_text(f, without_prefix(child->bytes), at, &inner);
        }
    }
    if (!content->has_elements) {
        add_text(f, span_make(text_name, sizeof(text_name)), node, content);
    }
}

/* Add the members as a struct. A struct with more members than the metadata can state is left
 * out. */
static void add_struct(
    struct fields *f, struct span name, uint16_t node, const struct content *content)
{
    uint8_t *blob = f->blob.at;
    uint8_t *payload = f->payload.at;
    uint32_t members = f->members;
    add_name(f, name);
    const uint8_t type[2] = {IN_RESERVED24 | IS_CHAINED, 0};
    evtx_out_add(&f->blob, type, sizeof(type));
    f->blob.full |= ++f->count > SCHEMA_MAX_FIELDS;
    if (!settle(f, blob, payload)) {
        return;
    }
    uint8_t *count = f->blob.at - 1;
    f->members = 0;
    f->open++;
    add_members(f, node, content);
    f->open--;
    if (f->members == 0 || f->members > MAX_MEMBERS) {
        if (f->members) {
            fail(f, "damaged record: an element has too many members");
        }
        f->blob.at = blob;
        f->payload.at = payload;
        f->members = members;
        return;
    }
    *count = (uint8_t)f->members;
    f->members = members + 1;
}

static void add_element(struct fields *f, uint16_t node)
{
    struct content content = look(f->tree, node);
    struct span name = without_prefix(f->tree->nodes[node].bytes);
    if (!content.has_elements && !content.has_attributes) {
        add_text(f, name, node, &content);
    } else if (f->open < MAX_OPEN) {
        add_struct(f, name, node, &content);
    } else {
        fail(f, "damaged record: its elements are nested too deep for one event");
    }
}

/* ---- EventData ------------------------------------------------------------------------------- */

/* Add a Data or Binary, which contains text, a value, or XML. */
static void add_content(
    struct fields *f, struct span name, uint16_t node, const struct content *content)
{
    if (content->has_elements && f->open < MAX_OPEN) {
        add_struct(f, name, node, content);
    } else {
        add_text(f, name, node, content);
    }
}

enum { PARAM_BYTES = 48 };

/* UTF-16 name of the Data at ${place}, counted from 1. */
static struct span param_name(uint32_t place, uint8_t memory[PARAM_BYTES])
{
    char text[PARAM_BYTES / 2];
    int size = snprintf(text, sizeof(text), "param%lu", (unsigned long)place);
    for (int i = 0; i < size; i++) {
        store_le16(memory + 2 * i, (uint8_t)text[i]);
    }
    return span_make(memory, (size_t)size * 2);
}

/* Windows shows an array in a Data without a name as one Data for each element. */
static void add_unnamed(struct fields *f, uint16_t node, uint32_t *place)
{
    uint8_t memory[PARAM_BYTES];
    struct content content = look(f->tree, node);
    const struct evtx_node *value = content.count == 1 ? &f->tree->nodes[content.value] : NULL;
    uint8_t type = value ? value->type & EVTX_ELEMENT_MASK : EVTX_NULL;
    if (!value || !(value->type & EVTX_ARRAY) || (type != EVTX_TEXT16 && type != EVTX_TEXT8)) {
        add_content(f, param_name(++*place, memory), node, &content);
        return;
    }
    f->steps->varies = true; /* the number of fields depends on the array */
    struct span rest = value->bytes;
    struct span text;
    while (!f->problem && evtx_value_next_text(type, &rest, &text)) {
        add_value(f, param_name(++*place, memory), type, text);
    }
}

static void add_data(struct fields *f, uint16_t node, uint32_t *place)
{
    enum { MAX_UTF16_BYTES = 2 * EVTX_EVENT_NAME_BYTES };
    const struct evtx_tree *tree = f->tree;
    uint16_t named = evtx_tree_find(tree, node, EVTX_NODE_ATTRIBUTE, "Name");
    uint16_t first = named == EVTX_TREE_NONE ? EVTX_TREE_NONE : tree->nodes[named].first;
    if (first == EVTX_TREE_NONE || tree->nodes[first].bytes.size == 0) {
        add_unnamed(f, node, place);
        return;
    }
    uint8_t memory[MAX_UTF16_BYTES];
    struct evtx_out name = {.at = memory, .end = memory + sizeof(memory)};
    for (uint16_t at = first; at != EVTX_TREE_NONE; at = tree->nodes[at].next) {
        evtx_value_add_text(&name, tree->nodes[at].type, tree->nodes[at].bytes, f->pointer_size);
        f->steps->varies |= tree->nodes[at].given != EVTX_TREE_NONE;
    }
    struct content content = look(tree, node);
    ++*place;
    f->field_name = named;
    add_content(f, span_make(memory, (size_t)(name.at - memory)), node, &content);
}

static void add_event_data(struct fields *f, uint16_t parent)
{
    static const uint8_t binary[] = {'b', 0, 'i', 0, 'n', 0, 'a', 0, 'r', 0, 'y', 0};
    const struct evtx_tree *tree = f->tree;
    uint32_t place = 0;
    for (uint16_t at = tree->nodes[parent].first; at != EVTX_TREE_NONE; at = tree->nodes[at].next) {
        if (tree->nodes[at].kind != EVTX_NODE_ELEMENT) {
            continue;
        }
        struct content content = look(tree, at);
        if (evtx_tree_is_name(tree->nodes[at].bytes, "Data")) {
            add_data(f, at, &place);
        } else if (evtx_tree_is_name(tree->nodes[at].bytes, "Binary")) {
            add_content(f, span_make(binary, sizeof(binary)), at, &content);
        } else {
            add_element(f, at);
        }
    }
}

static void add_user_data(struct fields *f, uint16_t parent)
{
    const struct evtx_tree *tree = f->tree;
    for (uint16_t at = tree->nodes[parent].first; at != EVTX_TREE_NONE; at = tree->nodes[at].next) {
        if (tree->nodes[at].kind == EVTX_NODE_ELEMENT) {
            add_element(f, at);
        }
    }
}

static const char *fill_payload(
    struct evtx_event *event, const struct evtx_tree *tree, uint16_t root)
{
    enum { SIZE_TAGS_NAME_BYTES = 4 };
    uint16_t rendered = element(tree, element(tree, root, "RenderingInfo"), "Message");
    struct fields fields = {.tree = tree,
        .steps = &event->steps,
        .left_out = rendered,
        .field_name = EVTX_TREE_NONE,
        .blob = {.at = event->blob, .end = event->blob + sizeof(event->blob)},
        .payload = {.at = event->payload, .end = event->payload + sizeof(event->payload)}};
    static const uint8_t head[SIZE_TAGS_NAME_BYTES];
    event->steps.count = 0;
    fields.pointer_size = evtx_value_pointer_size(tree, &event->steps.varies);
    event->steps.varies |= rendered != EVTX_TREE_NONE;
    evtx_out_add(&fields.blob, head, sizeof(head));
    for (uint16_t at = tree->nodes[root].first; at != EVTX_TREE_NONE; at = tree->nodes[at].next) {
        struct span name = tree->nodes[at].bytes;
        if (tree->nodes[at].kind != EVTX_NODE_ELEMENT || evtx_tree_is_name(name, "System")) {
            continue;
        }
        if (evtx_tree_is_name(name, "EventData")) {
            add_event_data(&fields, at);
        } else if (evtx_tree_is_name(name, "UserData")) {
            add_user_data(&fields, at);
        } else {
            add_element(&fields, at);
        }
    }
    size_t blob_size = (size_t)(fields.blob.at - event->blob);
    store_le16(event->blob, (uint16_t)blob_size);
    evtx_event_add_item(event, EXTENDED_SCHEMA_TL, evtx_event_blob(event));
    event->record.payload = span_make(event->payload, (size_t)(fields.payload.at - event->payload));
    uint16_t text = rendered == EVTX_TREE_NONE ? EVTX_TREE_NONE : tree->nodes[rendered].first;
    if (text != EVTX_TREE_NONE && tree->nodes[text].type == EVTX_TEXT16) {
        evtx_event_set_message(event, tree->nodes[text].bytes);
    }
    return fields.problem;
}

struct span evtx_event_blob(const struct evtx_event *event)
{
    return span_make(event->blob, load_le16(event->blob));
}

/* ---- events ---------------------------------------------------------------------------------- */

static void begin(struct evtx_event *event)
{
    struct event_record *record = &event->record;
    record->kind = RECORD_EVENT;
    record->pointer_size = 8;
    record->present |= RECORD_OF_LOG | RECORD_HAS_TIME;
    record->extended = event->items;
    record->extended_count = 0;
}

bool evtx_event_fill(
    struct evtx_event *event, const struct evtx_tree *tree, const char **ret_problem)
{
    uint16_t root = element(tree, 0, "Event");
    uint16_t system = element(tree, root, "System");
    struct evtx_system parts;
    if (system == EVTX_TREE_NONE) {
        *ret_problem = "damaged record: its XML has no System";
        return false;
    }
    begin(event);
    evtx_system_find(tree, system, &parts);
    evtx_system_fill(event, tree, &parts, NULL);
    *ret_problem = fill_payload(event, tree, root);
    return true;
}

static bool repeat_payload(struct evtx_out *payload, const struct evtx_outline *outline)
{
    const size_t pointer_size = 8; /* records with arrays of sizes are never repeated */
    for (size_t i = 0; i < outline->step_count; i++) {
        const struct evtx_event_step *step = &outline->steps[i];
        const struct evtx_node *node = &outline->tree->nodes[step->node];
        if (step->type == EVTX_STEP_PIECES) {
            put_pieces(payload, outline->tree, step->node, pointer_size);
            continue;
        }
        uint8_t type = EVTX_STEP_NOTHING;
        evtx_value_add(payload, node->type, node->bytes, pointer_size, &type);
        if (type != step->type) {
            return false;
        }
    }
    return !payload->full;
}

bool evtx_event_repeat(struct evtx_event *event, const struct evtx_outline *outline)
{
    struct evtx_out payload = {
        .at = event->payload, .end = event->payload + sizeof(event->payload)};
    if (!repeat_payload(&payload, outline)) {
        return false;
    }
    begin(event);
    evtx_system_fill(event, outline->tree, outline->system, outline->shared);
    evtx_event_add_item(event, EXTENDED_SCHEMA_TL, outline->blob);
    event->record.payload = span_make(event->payload, (size_t)(payload.at - event->payload));
    return true;
}
