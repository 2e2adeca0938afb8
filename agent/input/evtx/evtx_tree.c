#include "input/evtx/evtx_tree.h"

#include "base/reader.h"
#include "input/evtx/evtx_format.h"

/*
 * Design: read_stream() is one loop over the tokens of a stream of binary XML. Streams are the
 * record itself, the definition of a template with the record's values, and values that are binary
 * XML themselves. read_stream() recurses only into such inner streams, at most MAX_STREAMS deep. A
 * template may use one of its values any number of times, and a value may be a template again, so
 * the work for a chunk is limited, too.
 *
 * A record refers to names and templates in other records of its chunk. Where only some pages of a
 * chunk reached the disk, something else is there. So each name must have its hash, and each
 * template its id.
 */
enum { MAX_STREAMS = 12, MAX_ELEMENTS = 64, BYTES_OF_A_TOKEN = 4 };

struct parse {
    struct evtx_tree *tree;
    struct evtx_room *room;
    struct span chunk;
    uint32_t work; /* work that is left */
    const char *problem;
};

/* A stream of binary XML. */
struct stream {
    struct reader r;
    uint16_t parent;      /* node that gets its elements as children */
    uint32_t first_value; /* first one of the template's instance, in the room */
    uint32_t value_count;
    unsigned depth;
    bool is_template; /* each element starts with the number of a value */
    bool is_given;  /* it is part of the record itself: instances in it have values of the record */
    bool has_given; /* its values come from the record */
};

static bool fail(struct parse *p, const char *what)
{
    if (!p->problem) {
        p->problem = what;
    }
    return false;
}

static bool cut_short(struct parse *p)
{
    return fail(p, "damaged record: its binary XML is cut short");
}

static bool spend(struct parse *p, size_t work)
{
    if (work > p->work) {
        p->work = 0;
        return fail(p, "damaged record: the templates of its chunk repeat too much");
    }
    p->work -= (uint32_t)work;
    return true;
}

uint32_t evtx_tree_cost(struct span bytes)
{
    return (uint32_t)(bytes.size / BYTES_OF_A_TOKEN);
}

static uint16_t add(
    struct parse *p, uint16_t parent, enum evtx_node_kind kind, uint8_t type, struct span bytes)
{
    /* later steps read the bytes of each node, even if a template repeats them */
    if (!spend(p, evtx_tree_cost(bytes))) {
        return EVTX_TREE_NONE;
    }
    uint16_t index = evtx_tree_add(p->tree, parent, kind, type, bytes);
    if (index == EVTX_TREE_NONE) {
        fail(p, "damaged record: it has too many elements");
    }
    return index;
}

static struct reader reader_at(const struct parse *p, uint32_t offset)
{
    return reader_make(span_from(p->chunk, offset));
}

static bool is_here(const struct parse *p, const struct reader *r, uint32_t offset)
{
    return (size_t)(r->at - p->chunk.data) == offset;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The lower half of a hash with the factor 65599, over all units (libevtx). */
static uint16_t hash_of(struct span name)
{
    enum { FACTOR = 65599 };
    uint32_t hash = 0;
    for (size_t i = 0; i + 1 < name.size; i += 2) {
        hash = hash * FACTOR + load_le16(name.data + i);
    }
    return (uint16_t)hash;
}

/* A name is stored where it is used first; later uses contain its offset. One that has changed is a
 * problem, and read all the same, for the values of the record are its own. */
static bool read_name(struct parse *p, struct reader *r, struct span *ret_name)
{
    enum { NEXT_BYTES = 4 };
    uint32_t offset = reader_u32(r);
    if (r->failed) {
        return cut_short(p);
    }
    struct reader other = reader_at(p, offset);
    struct reader *from = is_here(p, r, offset) ? r : &other;
    reader_skip(from, NEXT_BYTES);
    uint16_t hash = reader_u16(from);
    *ret_name = reader_take(from, (size_t)reader_u16(from) * 2);
    bool is_whole = reader_u16(from) == 0 && hash == hash_of(*ret_name);
    if (from->failed || !is_whole) {
        fail(p, "damaged record: a name in it is overwritten, or outside of its chunk");
    }
    return !from->failed;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool read_text(struct parse *p, struct reader *r, uint16_t parent)
{
    struct span text = reader_take(r, (size_t)reader_u16(r) * 2);
    return r->failed ? cut_short(p)
                     : add(p, parent, EVTX_NODE_VALUE, EVTX_TEXT16, text) != EVTX_TREE_NONE;
}

static bool read_entity(struct parse *p, struct reader *r, uint16_t parent)
{
    static const struct {
        const char *name;
        uint8_t text[2];
    } entities[] = {{"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}};
    struct span name;
    if (!read_name(p, r, &name)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++) {
        if (evtx_tree_is_name(name, entities[i].name)) {
            struct span text = span_make(entities[i].text, 2);
            return add(p, parent, EVTX_NODE_VALUE, EVTX_TEXT16, text) != EVTX_TREE_NONE;
        }
    }
    return fail(p, "damaged record: an entity that XML does not define");
}

static bool read_stream(struct parse *p, struct stream *s);

static bool read_value_of(
    struct parse *p, const struct stream *s, struct reader *r, uint16_t parent, bool in_attribute)
{
    uint16_t index = reader_u16(r);
    reader_u8(r); /* type in the template; that in the record is used */
    if (r->failed) {
        return cut_short(p);
    }
    if (index >= s->value_count) {
        return fail(p, "damaged record: its template names a value that it lacks");
    }
    const struct evtx_given *given = &p->room->values[s->first_value + index];
    if (given->type == EVTX_NULL) {
        return true;
    }
    if (given->type != EVTX_BINARY_XML) {
        uint16_t node = add(p, parent, EVTX_NODE_VALUE, given->type, given->bytes);
        if (node != EVTX_TREE_NONE && s->has_given) {
            p->tree->nodes[node].given = (uint16_t)(s->first_value + index);
        }
        return node != EVTX_TREE_NONE;
    }
    if (in_attribute) {
        return fail(p, "damaged record: an attribute holds XML");
    }
    struct stream inner = {.r = reader_make(given->bytes),
        .parent = parent,
        .depth = s->depth + 1,
        .is_given = s->has_given};
    return read_stream(p, &inner);
}

/* ---- templates ------------------------------------------------------------------------------- */

/* Read a definition: offset of the next one, GUID, which begins with ${id}, size, binary XML. */
static struct span read_definition(uint32_t id, struct reader *r)
{
    enum { NEXT_BYTES = 4, REST_OF_GUID_BYTES = 12 };
    reader_skip(r, NEXT_BYTES);
    r->failed |= reader_u32(r) != id;
    reader_skip(r, REST_OF_GUID_BYTES);
    return reader_take(r, reader_u32(r));
}

/* Read the types and sizes of the values, then the values. */
static bool read_given(struct parse *p, struct reader *r, struct stream *ret_inner)
{
    struct evtx_room *room = p->room;
    uint32_t count = reader_u32(r);
    if (r->failed || count > reader_left(r) / 4) {
        return cut_short(p);
    }
    if (count > EVTX_TREE_VALUES - room->value_count) {
        return fail(p, "damaged record: it has too many values");
    }
    struct reader types = reader_make(reader_take(r, (size_t)count * 4));
    ret_inner->first_value = room->value_count;
    ret_inner->value_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct evtx_given *given = &room->values[room->value_count++];
        uint16_t size = reader_u16(&types);
        given->type = reader_u8(&types);
        reader_u8(&types);
        given->bytes = reader_take(r, size);
    }
    return !r->failed || cut_short(p);
}

/* Read what follows the token: the offset of the definition, and the definition itself if this
 * record is the first that uses it. */
static bool read_instance_head(
    struct parse *p, struct reader *r, uint32_t *ret_offset, struct span *ret_definition)
{
    reader_u8(r);
    uint32_t id = reader_u32(r);
    uint32_t offset = reader_u32(r);
    if (r->failed) {
        return cut_short(p);
    }
    struct reader other = reader_at(p, offset);
    struct reader *from = is_here(p, r, offset) ? r : &other;
    *ret_offset = offset;
    *ret_definition = read_definition(id, from);
    return !from->failed ||
           fail(p, "damaged record: its template is overwritten, or outside of its chunk");
}

static bool read_template(
    struct parse *p, const struct stream *s, struct reader *r, uint16_t parent)
{
    struct stream inner = {
        .parent = parent, .depth = s->depth + 1, .is_template = true, .has_given = s->is_given};
    uint32_t offset;
    struct span definition;
    if (!read_instance_head(p, r, &offset, &definition)) {
        return false;
    }
    inner.r = reader_make(definition);
    uint32_t values = p->room->value_count;
    bool good = read_given(p, r, &inner) && read_stream(p, &inner);
    p->room->value_count = values;
    return good;
}

/* ---- streams --------------------------------------------------------------------------------- */

/* Position in a stream: the current element and attribute. */
struct place {
    uint16_t element;
    uint16_t attribute; /* EVTX_TREE_NONE: not in an attribute */
    unsigned open;      /* open elements of this stream */
};

static bool open_element(
    struct parse *p, struct stream *s, struct place *place, bool has_attributes)
{
    enum { DEPENDENCY_BYTES = 2, SIZE_BYTES = 4 };
    struct span name;
    if (place->open == MAX_ELEMENTS) {
        return fail(p, "damaged record: elements are nested too deep");
    }
    reader_skip(&s->r, (s->is_template ? DEPENDENCY_BYTES : 0) + SIZE_BYTES);
    if (!read_name(p, &s->r, &name)) {
        return false;
    }
    reader_skip(&s->r, has_attributes ? SIZE_BYTES : 0);
    uint16_t node = add(p, place->element, EVTX_NODE_ELEMENT, 0, name);
    if (node == EVTX_TREE_NONE) {
        return false;
    }
    place->element = node;
    place->attribute = EVTX_TREE_NONE;
    place->open++;
    return true;
}

static bool close_element(struct parse *p, struct place *place)
{
    if (place->open == 0) {
        return fail(p, "damaged record: more ends of elements than starts");
    }
    place->open--;
    place->element = p->tree->nodes[place->element].parent;
    place->attribute = EVTX_TREE_NONE;
    return true;
}

static bool read_attribute(struct parse *p, struct stream *s, struct place *place)
{
    struct span name;
    if (place->open == 0) {
        return fail(p, "damaged record: an attribute outside of an element");
    }
    if (!read_name(p, &s->r, &name)) {
        return false;
    }
    place->attribute = add(p, place->element, EVTX_NODE_ATTRIBUTE, 0, name);
    return place->attribute != EVTX_TREE_NONE;
}

/* Skip a processing instruction. */
static bool skip_instruction(struct parse *p, struct stream *s, enum evtx_token token)
{
    struct span name;
    if (token == EVTX_TOKEN_PI_TARGET) {
        return read_name(p, &s->r, &name);
    }
    return reader_skip(&s->r, (size_t)reader_u16(&s->r) * 2) || cut_short(p);
}

/* Read one part of the content of an element or attribute. */
static bool read_content(
    struct parse *p, struct stream *s, const struct place *place, enum evtx_token token)
{
    struct reader *r = &s->r;
    bool in_attribute = place->attribute != EVTX_TREE_NONE;
    uint16_t parent = in_attribute ? place->attribute : place->element;
    struct span unit;
    switch (token) {
    case EVTX_TOKEN_VALUE:
        if (reader_u8(r) != EVTX_TEXT16) {
            return fail(p, "damaged record: its XML contains a value that is not text");
        }
        return read_text(p, r, parent);
    case EVTX_TOKEN_CDATA:
        return read_text(p, r, parent);
    case EVTX_TOKEN_CHAR_REF:
        unit = reader_take(r, 2);
        return r->failed ? cut_short(p)
                         : add(p, parent, EVTX_NODE_VALUE, EVTX_TEXT16, unit) != EVTX_TREE_NONE;
    case EVTX_TOKEN_ENTITY_REF:
        return read_entity(p, r, parent);
    case EVTX_TOKEN_TEMPLATE:
        return in_attribute ? fail(p, "damaged record: an attribute holds XML")
                            : read_template(p, s, r, parent);
    case EVTX_TOKEN_VALUE_OF:
    case EVTX_TOKEN_OPTIONAL_VALUE_OF:
        return read_value_of(p, s, r, parent, in_attribute);
    case EVTX_TOKEN_PI_TARGET:
    case EVTX_TOKEN_PI_DATA:
        return skip_instruction(p, s, token);
    default:
        return fail(p, "damaged record: an unknown token of binary XML");
    }
}

static bool read_token(struct parse *p, struct stream *s, struct place *place, uint8_t token)
{
    enum { FRAGMENT_BYTES = 3 };
    switch (token & EVTX_TOKEN_MASK) {
    case EVTX_TOKEN_FRAGMENT:
        return reader_skip(&s->r, FRAGMENT_BYTES) || cut_short(p);
    case EVTX_TOKEN_OPEN_ELEMENT:
        return open_element(p, s, place, token & EVTX_TOKEN_MORE);
    case EVTX_TOKEN_CLOSE_START:
        place->attribute = EVTX_TREE_NONE;
        return true;
    case EVTX_TOKEN_CLOSE_EMPTY:
    case EVTX_TOKEN_END_ELEMENT:
        return close_element(p, place);
    case EVTX_TOKEN_ATTRIBUTE:
        return read_attribute(p, s, place);
    default:
        return read_content(p, s, place, (enum evtx_token)(token & EVTX_TOKEN_MASK));
    }
}

static bool read_stream(struct parse *p, struct stream *s)
{
    struct place place = {.element = s->parent, .attribute = EVTX_TREE_NONE};
    if (s->depth == MAX_STREAMS) {
        return fail(p, "damaged record: templates are nested too deep");
    }
    while (reader_left(&s->r)) {
        if (!spend(p, 1)) {
            return false;
        }
        uint8_t token = reader_u8(&s->r);
        if (token == EVTX_TOKEN_END) {
            break;
        }
        if (!read_token(p, s, &place, token)) {
            return false;
        }
    }
    return place.open == 0 || cut_short(p);
}

/* ---- building -------------------------------------------------------------------------------- */

void evtx_tree_begin(struct evtx_tree *tree, struct evtx_room *room)
{
    room->nodes[0] = (struct evtx_node){.parent = EVTX_TREE_NONE,
        .first = EVTX_TREE_NONE,
        .last = EVTX_TREE_NONE,
        .next = EVTX_TREE_NONE,
        .given = EVTX_TREE_NONE};
    room->value_count = 0;
    *tree = (struct evtx_tree){.nodes = room->nodes, .count = 1};
}

uint16_t evtx_tree_add(struct evtx_tree *tree, uint16_t parent, enum evtx_node_kind kind,
    uint8_t type, struct span bytes)
{
    if (tree->count == EVTX_TREE_NODES) {
        return EVTX_TREE_NONE;
    }
    uint16_t index = (uint16_t)tree->count++;
    tree->nodes[index] = (struct evtx_node){.bytes = bytes,
        .parent = parent,
        .first = EVTX_TREE_NONE,
        .last = EVTX_TREE_NONE,
        .next = EVTX_TREE_NONE,
        .given = EVTX_TREE_NONE,
        .kind = (uint8_t)kind,
        .type = type};
    struct evtx_node *above = &tree->nodes[parent];
    if (above->first == EVTX_TREE_NONE) {
        above->first = index;
    } else {
        tree->nodes[above->last].next = index;
    }
    above->last = index;
    return index;
}

const char *evtx_tree_read(struct evtx_tree *tree, struct evtx_room *room,
    const struct evtx_fragment *fragment, uint32_t *work)
{
    struct parse parse = {.tree = tree, .room = room, .chunk = fragment->chunk, .work = *work};
    struct span bytes = span_first(span_from(fragment->chunk, fragment->at), fragment->size);
    struct stream stream = {.r = reader_make(bytes), .is_given = true};
    evtx_tree_begin(tree, room);
    read_stream(&parse, &stream);
    *work = parse.work;
    return parse.problem;
}

/* Read the only instance in ${bytes}. */
static bool read_instance(struct parse *p, struct span bytes, uint32_t *ret_definition)
{
    enum { FRAGMENT_BYTES = 3 };
    struct stream inner = {.value_count = 0};
    struct reader r = reader_make(bytes);
    struct span definition;
    uint8_t token = reader_u8(&r);
    if (token == EVTX_TOKEN_FRAGMENT) {
        reader_skip(&r, FRAGMENT_BYTES);
        token = reader_u8(&r);
    }
    /* the end token is 0, which a reader also returns after the last byte */
    return token == EVTX_TOKEN_TEMPLATE && read_instance_head(p, &r, ret_definition, &definition) &&
           read_given(p, &r, &inner) && reader_u8(&r) == EVTX_TOKEN_END;
}

/* Find the only value from ${first} on that is binary XML; empty: there is none. False: there are
 * several. */
static bool find_inner(const struct evtx_room *room, uint32_t first, struct span *ret_bytes)
{
    *ret_bytes = span_make(NULL, 0);
    for (uint32_t i = first; i < room->value_count; i++) {
        const struct evtx_given *given = &room->values[i];
        if (given->type == EVTX_BINARY_XML && given->bytes.size) {
            if (ret_bytes->size) {
                return false;
            }
            *ret_bytes = given->bytes;
        }
    }
    return true;
}

bool evtx_tree_read_instance(struct evtx_room *room, struct span chunk, uint32_t at, uint32_t size,
    struct evtx_instance *ret_instance)
{
    struct parse parse = {.room = room, .chunk = chunk};
    struct span bytes = span_first(span_from(chunk, at), size);
    room->value_count = 0;
    ret_instance->count = 0;
    do {
        uint32_t first = room->value_count;
        if (ret_instance->count == EVTX_TREE_INSTANCES ||
            !read_instance(&parse, bytes, &ret_instance->definitions[ret_instance->count]) ||
            !find_inner(room, first, &bytes)) {
            return false;
        }
        ret_instance->count++;
    } while (bytes.size);
    ret_instance->value_count = room->value_count;
    return true;
}

/* ---- queries --------------------------------------------------------------------------------- */

bool evtx_tree_is_name(struct span name, const char *text)
{
    size_t units = name.size / 2;
    for (size_t i = 0; i < units; i++) {
        if (text[i] == 0 || load_le16(name.data + 2 * i) != (uint8_t)text[i]) {
            return false;
        }
    }
    return text[units] == 0;
}

uint16_t evtx_tree_find(
    const struct evtx_tree *tree, uint16_t parent, enum evtx_node_kind kind, const char *name)
{
    uint16_t at = parent == EVTX_TREE_NONE ? EVTX_TREE_NONE : tree->nodes[parent].first;
    while (at != EVTX_TREE_NONE &&
           (tree->nodes[at].kind != kind || !evtx_tree_is_name(tree->nodes[at].bytes, name))) {
        at = tree->nodes[at].next;
    }
    return at;
}
