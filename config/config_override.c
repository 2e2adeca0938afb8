/*
 * A setting of the command line replaces a node of the tree, or adds one, before anything is bound.
 * So it gets the checks of a file. The walk knows no tables; config_bind.c checks whether a key
 * exists.
 */
#include "config/config_override.h"

#include <stdio.h>

#include "config/config_text.h"
#include "config/config_walk.h"
#include "config/config_yaml.h"

enum { SHOWN_NAMES = 64, NAME_BYTES = 72 };

/* The node to replace is a child: a mapping's value or a sequence's item, by number, because nodes
 * move when the tree grows. */
struct step {
    struct config_tree *tree;
    int file;
    int node;         /* the node that the walk has reached */
    struct span rest; /* rest of the key, from that node on */
};

static bool refuse(const struct step *step, const char *what)
{
    struct config_tree *tree = step->tree;
    config_report_add(tree->report, tree->config->files[step->file].name, 0, 0, "%s", what);
    return false;
}

static yaml_node_t *node_at(const struct step *step, int index)
{
    return yaml_document_get_node(&step->tree->document, index);
}

/* Does the key continue with ${name}? Names may contain dots. */
static bool goes_on_with(struct span rest, struct span name)
{
    return name.size && span_equal(span_first(rest, name.size), name) &&
           (rest.size == name.size || rest.data[name.size] == '.');
}

static struct span first_part(struct span rest)
{
    const uint8_t *dot = rest.size ? memchr(rest.data, '.', rest.size) : NULL;
    return dot ? span_first(rest, (size_t)(dot - rest.data)) : rest;
}

/* The text of ${key} in a mapping; empty if there is none. */
static struct span text_of(const struct step *step, const yaml_node_t *mapping, const char *key)
{
    const yaml_node_pair_t *pair = mapping->type == YAML_MAPPING_NODE
                                       ? config_tree_find(step->tree, mapping, span_text(key))
                                       : NULL;
    const yaml_node_t *value = pair ? node_at(step, pair->value) : NULL;
    return value && value->type == YAML_SCALAR_NODE ? config_yaml_text(value) : span_text("");
}

/* The item that the key continues with: the longest name counts, then the first item without a name
 * that has the type. Its number, SIZE_MAX if there is none. */
static size_t find_named(const struct step *step, const yaml_node_t *sequence, size_t *ret_size)
{
    size_t found = SIZE_MAX;
    size_t by_type = SIZE_MAX;
    size_t type_size = 0;
    *ret_size = 0;
    for (size_t i = 0; i < config_walk_items(sequence); i++) {
        const yaml_node_t *item = node_at(step, sequence->data.sequence.items.start[i]);
        struct span name = text_of(step, item, "name");
        struct span type = text_of(step, item, "type");
        if (name.size > *ret_size && goes_on_with(step->rest, name)) {
            found = i;
            *ret_size = name.size;
        } else if (!name.size && by_type == SIZE_MAX && goes_on_with(step->rest, type)) {
            by_type = i;
            type_size = type.size;
        }
    }
    if (found == SIZE_MAX && by_type != SIZE_MAX) {
        found = by_type;
        *ret_size = type_size;
    }
    return found;
}

/* A number below ${end}, or SIZE_MAX. */
static size_t read_number(struct span part, size_t end)
{
    size_t number = 0;
    for (size_t i = 0; i < part.size; i++) {
        if (part.data[i] < '0' || part.data[i] > '9' || number >= end) {
            return SIZE_MAX;
        }
        number = number * 10 + (size_t)(part.data[i] - '0');
    }
    return part.size && number < end ? number : SIZE_MAX;
}

static bool refuse_item(const struct step *step, const yaml_node_t *sequence)
{
    struct config_nearest nearest = {.text = first_part(step->rest)};
    struct config_names known = {.size = 0};
    char names[SHOWN_NAMES][NAME_BYTES];
    for (size_t i = 0; i < config_walk_items(sequence) && i < SHOWN_NAMES; i++) {
        const yaml_node_t *item = node_at(step, sequence->data.sequence.items.start[i]);
        struct span name = text_of(step, item, "name");
        name = name.size ? name : text_of(step, item, "type");
        snprintf(names[i], sizeof(names[i]), "%.*s", SPAN_ARG(span_first(name, 64)));
        if (names[i][0]) {
            config_text_consider(&nearest, names[i]);
            config_text_list(&known, names[i]);
        }
    }
    char text[CONFIG_REPORT_MAX_TEXT];
    const char *meant = config_text_meant(&nearest);
    if (meant) {
        snprintf(text, sizeof(text), "there is no element %s. did you mean '%s'?",
            config_text_quote(nearest.text).text, meant);
    } else {
        snprintf(text, sizeof(text), "there is no element %s. write a number from 0 to %zu%s%s",
            config_text_quote(nearest.text).text, config_walk_items(sequence),
            known.size ? ", or one of: " : "", known.text);
    }
    return refuse(step, text);
}

/* The value of a missing node, or of the one that is set. */
static int make_node(const struct step *step, struct span rest, struct span value)
{
    if (rest.size) {
        return read_number(first_part(rest), 1) == 0
                   ? config_tree_add_sequence(step->tree, step->file)
                   : config_tree_add_mapping(step->tree, step->file);
    }
    bool is_yaml = value.size && (value.data[0] == '[' || value.data[0] == '{');
    return is_yaml ? config_tree_add_yaml(step->tree, step->file, value)
                   : config_tree_add_text(step->tree, step->file, value);
}

/* Must a node be made for the child ${index} (0: it does not exist)? */
static bool is_replaced(const struct step *step, int index, struct span rest)
{
    const yaml_node_t *node = index ? node_at(step, index) : NULL;
    return !node || rest.size == 0 || config_walk_is_null(node);
}

/* Enter the mapping that the walk has reached. */
static bool enter_mapping(struct step *step, struct span value)
{
    struct span part = first_part(step->rest);
    struct span rest = span_from(step->rest, part.size + 1);
    const yaml_node_pair_t *pair = config_tree_find(step->tree, node_at(step, step->node), part);
    int child = pair ? pair->value : 0;
    if (is_replaced(step, child, rest)) {
        child = make_node(step, rest, value);
        if (!child) {
            return false;
        }
        /* The tree has grown: look up the node again. */
        yaml_node_pair_t *again = config_tree_find(step->tree, node_at(step, step->node), part);
        if (again) {
            again->value = child;
        } else {
            int key = config_tree_add_text(step->tree, step->file, part);
            if (!key ||
                !yaml_document_append_mapping_pair(&step->tree->document, step->node, key, child)) {
                return refuse(step, "out of memory. free some and retry");
            }
        }
    }
    step->node = child;
    step->rest = rest;
    return true;
}

/* Enter the sequence that the walk has reached; a number after its last item adds one. */
static bool enter_sequence(struct step *step, struct span value)
{
    const yaml_node_t *sequence = node_at(step, step->node);
    size_t count = config_walk_items(sequence);
    size_t size;
    size_t at = find_named(step, sequence, &size);
    if (at == SIZE_MAX) {
        struct span part = first_part(step->rest);
        size = part.size;
        at = read_number(part, count + 1);
    }
    if (at == SIZE_MAX) {
        return refuse_item(step, sequence);
    }
    struct span rest = span_from(step->rest, size + 1);
    int child = at < count ? sequence->data.sequence.items.start[at] : 0;
    if (is_replaced(step, child, rest)) {
        child = make_node(step, rest, value);
        if (!child) {
            return false;
        }
        if (at < count) {
            node_at(step, step->node)->data.sequence.items.start[at] = child;
        } else if (!yaml_document_append_sequence_item(&step->tree->document, step->node, child)) {
            return refuse(step, "out of memory. free some and retry");
        }
    }
    step->node = child;
    step->rest = rest;
    return true;
}

static bool has_empty_part(struct span key)
{
    bool empty = true;
    for (size_t i = 0; i < key.size; i++) {
        if (key.data[i] == '.' && empty) {
            return true;
        }
        empty = key.data[i] == '.';
    }
    return empty;
}

void config_override_apply(struct config_tree *tree, const char *origin, const char *text)
{
    struct span all = span_text(text);
    const uint8_t *equals = memchr(text, '=', all.size);
    struct span key = equals ? span_first(all, (size_t)(equals - all.data)) : all;
    char name[sizeof(struct config_quote) + 16];
    snprintf(name, sizeof(name), "%s %s", origin, config_text_quote(key).text);
    struct step step = {.tree = tree, .node = 1, .rest = key};
    step.file = config_tree_add_file(tree, name, span_text(""));
    if (step.file < 0) {
        return;
    }
    tree->config->files[step.file].is_override = true;
    if (has_empty_part(key)) {
        refuse(&step, "the key has an empty part. write KEY=VALUE, as in agent.memory=64MB");
        return;
    }
    if (!equals) {
        refuse(&step, "this is not a setting. write KEY=VALUE, as in agent.memory=64MB");
        return;
    }
    struct span value = span_from(all, key.size + 1);
    if (value.size > CONFIG_MAX_VALUE_BYTES) {
        refuse(&step, "a value of more than 65536 bytes. shorten it");
        return;
    }
    bool good = true;
    while (good && step.rest.size) {
        switch (node_at(&step, step.node)->type) {
        case YAML_MAPPING_NODE:
            good = enter_mapping(&step, value);
            break;
        case YAML_SEQUENCE_NODE:
            good = enter_sequence(&step, value);
            break;
        default:
            good = refuse(&step, "this goes into a single value. end the key before it");
            break;
        }
    }
}
