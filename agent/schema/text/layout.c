#include "schema/text/layout.h"

void layout_init(struct layout *layout, struct arena *arena)
{
    *layout = (struct layout){.arena = arena};
    layout->open = &layout->root;
}

struct layout_node *layout_add(struct layout *layout, struct error *err)
{
    if (layout->count >= SCHEMA_MAX_FIELDS) {
        error_set(err, ERR_LIMIT, "more than %d properties", SCHEMA_MAX_FIELDS);
        return NULL;
    }
    struct layout_node *node = arena_alloc(layout->arena, sizeof(*node));
    if (!node) {
        error_set(err, ERR_MEMORY, "no memory left for event schemas");
        return NULL;
    }
    struct layout_node *parent = layout->open;
    node->parent = parent;
    node->previous = layout->newest;
    if (parent->last) {
        parent->last->next = node;
    } else {
        parent->first = node;
    }
    parent->last = node;
    layout->newest = node;
    layout->count++;
    return node;
}

bool layout_open(struct layout *layout, struct error *err)
{
    if (layout->depth >= SCHEMA_MAX_DEPTH) {
        return error_set(err, ERR_LIMIT, "structs nested more than %d deep", SCHEMA_MAX_DEPTH);
    }
    layout->newest->field.flags |= FIELD_STRUCT;
    layout->open = layout->newest;
    layout->depth++;
    return true;
}

void layout_close(struct layout *layout)
{
    if (layout->open->parent) {
        layout->open = layout->open->parent;
        layout->depth--;
    }
}

/* Number the children of ${parent} from ${next} on; returns the next free number. */
static uint16_t number_children(
    const struct layout_node *parent, uint16_t next, struct layout_node **by_index)
{
    for (struct layout_node *node = parent->first; node; node = node->next) {
        node->index = next;
        by_index[next++] = node;
    }
    return next;
}

/* The last property called ${name} before ${node} among its siblings and the siblings of enclosing
 * structs. Members of other structs are excluded because they have no single value. */
static const struct layout_node *find_earlier(const struct layout_node *node, struct span name)
{
    for (const struct layout_node *at = node->previous; at; at = at->previous) {
        if (!span_equal(at->field.name, name)) {
            continue;
        }
        for (const struct layout_node *around = node->parent; around; around = around->parent) {
            if (around == at->parent) {
                return at;
            }
        }
    }
    return NULL;
}

static bool resolve(const struct layout_node *node, struct span name, const char *what,
    uint16_t *ret_index, struct error *err)
{
    const struct layout_node *holder = find_earlier(node, name);
    if (!holder) {
        return error_set(err, ERR_FORMAT, "property %.*s: its %s %.*s is not an earlier property",
            SPAN_ARG(node->field.name), what, SPAN_ARG(name));
    }
    *ret_index = holder->index;
    return true;
}

static bool resolve_names(struct layout_node *node, struct error *err)
{
    struct schema_field *field = &node->field;
    if (node->count_name.size) {
        if (!resolve(node, node->count_name, "count", &field->count, err)) {
            return false;
        }
        field->flags |= FIELD_PARAM_COUNT;
    }
    if (node->length_name.size) {
        if (!resolve(node, node->length_name, "length", &field->length, err)) {
            return false;
        }
        field->flags |= FIELD_PARAM_LENGTH;
    }
    return true;
}

bool layout_write(const struct layout *layout, struct event_schema *schema, struct arena *arena,
    struct error *err)
{
    size_t count = layout->count;
    struct schema_field *fields = arena_alloc_array(arena, count, sizeof(*fields));
    struct layout_node **nodes = arena_alloc_array(
        layout->arena, count, sizeof(struct layout_node *));
    if (!fields || !nodes) {
        return error_set(err, ERR_MEMORY, "no memory left for event schemas");
    }
    uint16_t top_count = number_children(&layout->root, 0, nodes);
    uint16_t next = top_count;
    for (size_t i = 0; i < count; i++) {
        struct layout_node *node = nodes[i];
        if (node->field.flags & FIELD_STRUCT) {
            uint16_t first = next;
            next = number_children(node, first, nodes);
            node->field.struct_start = first;
            node->field.struct_members = (uint16_t)(next - first);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!resolve_names(nodes[i], err)) {
            return false;
        }
        fields[i] = nodes[i]->field;
    }
    schema->fields = fields;
    schema->field_count = (uint16_t)count;
    schema->top_count = top_count;
    return true;
}
