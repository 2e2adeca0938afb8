#include "support/path_oracle.h"

#include <stdlib.h>

#include "support/json_tree.h"

enum { MAX_PATH = 4096 };

struct oracle {
    const struct event *event;
    struct event_path_context *context;
    struct buf *out;
};

/* All nodes that one path names, in order, and how far the values have come. */
struct nodes {
    struct oracle *oracle;
    struct span path;
    const struct json_node **list;
    size_t count;
    size_t seen;
    bool ok;
};

static bool complain(struct nodes *nodes, const char *what, struct span got, struct span expected)
{
    struct buf *out = nodes->oracle->out;
    buf_reset(out);
    buf_add_span(out, nodes->path);
    buf_printf(out, ": %s: got ", what);
    buf_add_span(out, got);
    buf_add_text(out, ", expected ");
    buf_add_span(out, expected);
    nodes->ok = false;
    return false;
}

static enum json_type type_of(enum event_value_type type)
{
    switch (type) {
    case EVENT_VALUE_NONE:
    case EVENT_VALUE_NULL:
        return JSON_NULL;
    case EVENT_VALUE_BOOL:
        return JSON_BOOL;
    case EVENT_VALUE_INT:
    case EVENT_VALUE_UINT:
    case EVENT_VALUE_REAL:
        return JSON_NUMBER;
    case EVENT_VALUE_LIST:
        return JSON_ARRAY;
    case EVENT_VALUE_OBJECT:
        return JSON_OBJECT;
    default:
        return JSON_STRING;
    }
}

/* event_path_each_fn */
static bool compare(void *self, const struct event_value *value)
{
    struct nodes *nodes = self;
    struct span none = span_make(NULL, 0);
    if (nodes->seen == nodes->count) {
        return complain(nodes, "one value too many", none, none);
    }
    const struct json_node *node = nodes->list[nodes->seen++];
    struct span text = event_value_text(&nodes->oracle->context->values, value);
    if (type_of(value->type) != node->type) {
        return complain(nodes, "another type", text, node->text);
    }
    if (!span_equal(text, node->text)) {
        return complain(nodes, "another text", text, node->text);
    }
    if (value->type == EVENT_VALUE_REAL) {
        double real = strtod((const char *)node->text.data, NULL);
        if (memcmp(&real, &value->real, sizeof(real)) != 0) {
            return complain(nodes, "another number", text, node->text);
        }
    }
    return true;
}

static bool is_plain(struct span name)
{
    for (size_t i = 0; i < name.size; i++) {
        uint8_t c = name.data[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            c != '_' && c != '@') {
            return false;
        }
    }
    return name.size > 0;
}

/* `a.b`, or `a['b c']`. False for names that no path can say. */
static bool join(struct buf *path, struct span parent, struct span name)
{
    buf_add_span(path, parent);
    if (is_plain(name)) {
        buf_add_text(path, parent.size ? "." : "");
        buf_add_span(path, name);
        return true;
    }
    bool has_single = name.size && memchr(name.data, '\'', name.size);
    bool has_double = name.size && memchr(name.data, '"', name.size);
    const char *quote = has_single ? "\"" : "'";
    buf_printf(path, "[%s%.*s%s]", quote, SPAN_ARG(name), quote);
    return name.size && parent.size && !(has_single && has_double);
}

static bool check_nodes(struct nodes *nodes);

/* The nodes below ${parent}, into ${list} unless that is NULL; how many. */
static size_t gather(
    const struct nodes *parent, const struct span *name, const struct json_node **list)
{
    size_t count = 0;
    for (size_t i = 0; i < parent->count; i++) {
        const struct json_node *node = parent->list[i];
        const struct json_node *child = name                       ? json_tree_member(node, *name)
                                        : node->type == JSON_ARRAY ? node->child
                                                                   : NULL;
        for (; child; child = name ? NULL : child->next) {
            if (list) {
                list[count] = child;
            }
            count++;
        }
    }
    return count;
}

/* The nodes below ${parent}: members of one name, or the elements with NULL ${name}. */
static bool check_below(struct nodes *parent, const struct span *name)
{
    struct buf path;
    buf_init(&path, MAX_PATH);
    struct nodes below = {.oracle = parent->oracle, .ok = true};
    bool can_be_said = true;
    if (name) {
        can_be_said = join(&path, parent->path, *name);
    } else {
        buf_add_span(&path, parent->path);
        buf_add_text(&path, "[*]");
    }
    below.path = buf_span(&path);
    below.count = gather(parent, name, NULL);
    below.list = calloc(below.count + 1, sizeof(*below.list));
    if (below.list) {
        gather(parent, name, below.list);
    }
    bool ok = below.list && (!can_be_said || path.failed || check_nodes(&below));
    free(below.list);
    buf_fini(&path);
    return ok;
}

/* Has an earlier node a member of this name? Then it was checked with that one. */
static bool seen_before(const struct nodes *nodes, size_t index, struct span key)
{
    for (size_t i = 0; i < index; i++) {
        if (json_tree_member(nodes->list[i], key)) {
            return true;
        }
    }
    return false;
}

static bool check_nodes(struct nodes *nodes)
{
    struct span none = span_make(NULL, 0);
    struct event_path path;
    struct error err;
    if (nodes->path.size) {
        if (!event_path_compile(nodes->path, &path, &err)) {
            return complain(nodes, "does not compile", span_text(err.text), none);
        }
        event_path_each(&path, nodes->oracle->event, nodes->oracle->context, compare, nodes);
        if (!nodes->ok || nodes->seen < nodes->count) {
            return nodes->ok
                       ? complain(nodes, "a value is missing", none, nodes->list[nodes->seen]->text)
                       : false;
        }
    }
    bool any_list = false;
    for (size_t i = 0; i < nodes->count; i++) {
        any_list = any_list || nodes->list[i]->type == JSON_ARRAY;
        const struct json_node *child = nodes->list[i]->type == JSON_OBJECT ? nodes->list[i]->child
                                                                            : NULL;
        for (; child; child = child->next) {
            if (!seen_before(nodes, i, child->key) && !check_below(nodes, &child->key)) {
                return false;
            }
        }
    }
    return !any_list || check_below(nodes, NULL);
}

/* The paths of the table that the line does not have. */
static bool check_absent(struct oracle *oracle, const struct json_node *root)
{
    for (size_t i = 0; event_path_name(i); i++) {
        struct span left = span_text(event_path_name(i));
        struct event_path path;
        const struct json_node *node = root;
        while (node && left.size) {
            const uint8_t *dot = memchr(left.data, '.', left.size);
            size_t size = dot ? (size_t)(dot - left.data) : left.size;
            struct span key = span_first(left, size);
            node = json_tree_member(
                node, span_is(key, "id") && node->key.size == 5 && span_is(node->key, "event")
                          ? span_text("code")
                          : key);
            left = span_from(left, size + 1);
        }
        struct nodes none = {.oracle = oracle, .path = span_text(event_path_name(i))};
        if (!event_path_compile(none.path, &path, NULL)) {
            return complain(&none, "does not compile", left, left);
        }
        enum event_value_type type = event_path_get(&path, oracle->event, oracle->context).type;
        if ((type == EVENT_VALUE_NONE) != !node) {
            return complain(&none, node ? "is missing" : "should not be there", left, left);
        }
    }
    return true;
}

bool path_oracle_check(const struct event *event, struct event_path_context *context,
    struct span native_line, struct buf *out)
{
    struct oracle oracle = {.event = event, .context = context, .out = out};
    struct arena arena;
    arena_init(&arena, 1 << 28);
    const struct json_node *root = json_tree_parse(native_line, &arena);
    struct nodes nodes = {.oracle = &oracle, .list = &root, .count = 1, .ok = true};
    bool ok = root ? check_nodes(&nodes) && check_absent(&oracle, root)
                   : complain(&nodes, "not JSON", native_line, span_make(NULL, 0));
    arena_fini(&arena);
    return ok;
}
