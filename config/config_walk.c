#include "config/config_walk.h"

#include <stdlib.h>

#include "base/grow.h"
#include "config/config_text.h"
#include "config/config_yaml.h"

void config_walk_stop(struct config_walk *walk, const yaml_node_t *node, const char *why)
{
    if (!walk->stopped) {
        CONFIG_COMPLAIN(walk, node, "%s", why);
    }
    walk->stopped = true;
}

void *config_walk_alloc(
    struct config_walk *walk, const yaml_node_t *node, size_t count, size_t size)
{
    void *memory = arena_alloc_array(&walk->config->arena, count, size);
    if (!memory) {
        config_walk_stop(
            walk, node, "the configuration needs more than 64 MB of memory. shorten it");
    }
    return memory;
}

yaml_node_t *config_walk_visit(struct config_walk *walk, int index)
{
    yaml_node_t *node = yaml_document_get_node(walk->document, index);
    if (node && !walk->stopped && ++walk->visits > CONFIG_MAX_NODES) {
        config_walk_stop(
            walk, node, "more than 100000 values with aliases followed. use fewer aliases");
    }
    return walk->stopped ? NULL : node;
}

/* Number of characters from the mark of a scalar to its text,
 * if the line has the text unchanged. */
static uint32_t text_offset(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE || node->start_mark.line != node->end_mark.line ||
        memchr(node->data.scalar.value, '$', node->data.scalar.length)) {
        return CONFIG_NOT_AS_WRITTEN;
    }
    size_t characters = 0;
    for (size_t i = 0; i < node->data.scalar.length; i++) {
        characters += (node->data.scalar.value[i] & 0xc0) != 0x80;
    }
    bool plain = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    size_t width = node->end_mark.column - node->start_mark.column;
    return width == characters + (plain ? 0 : 2) ? !plain : CONFIG_NOT_AS_WRITTEN;
}

size_t config_walk_remember(
    struct config_walk *walk, const yaml_node_t *node, const void *start, size_t size)
{
    struct config *config = walk->config;
    if (!grow_list(&config->places, config->place_count, &config->place_capacity,
            sizeof(*config->places))) {
        config_walk_stop(walk, node, "out of memory. free some and retry");
        return SIZE_MAX;
    }
    config->places[config->place_count] = (struct config_place){
        .start = start,
        .size = size,
        .order = config->place_count,
        .position =
            {
                .file = config->files[config_tree_file(node)].name,
                .line = config_yaml_line(&node->start_mark),
                .column = config_yaml_column(&node->start_mark),
                .text_offset = text_offset(node),
            },
    };
    return config->place_count++;
}

void config_walk_keep_written(struct config_walk *walk, const yaml_node_t *node, size_t number)
{
    struct span text = config_yaml_text(node);
    struct span copy;
    if (number == SIZE_MAX || text.size == 0 || !memchr(text.data, '$', text.size)) {
        return;
    }
    if (arena_copy(&walk->config->arena, text, &copy)) {
        walk->config->places[number].written = (const char *)copy.data;
    } else {
        config_walk_stop(
            walk, node, "the configuration needs more than 64 MB of memory. shorten it");
    }
}

void config_walk_mark_flawed(struct config_walk *walk, size_t number, size_t errors_before)
{
    if (number != SIZE_MAX && walk->report->error_count > errors_before) {
        walk->config->places[number].flawed = true;
    }
}

bool config_walk_is_null(const yaml_node_t *node)
{
    if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE) {
        return false;
    }
    struct span text = config_yaml_text(node);
    return text.size == 0 || span_is(text, "~") || span_equal_nocase(text, span_text("null"));
}

static bool has_foreign_tag(const yaml_node_t *node)
{
    const char *tag = (const char *)node->tag;
    return tag && strcmp(tag, YAML_STR_TAG) != 0 && strcmp(tag, YAML_SEQ_TAG) != 0 &&
           strcmp(tag, YAML_MAP_TAG) != 0 && strcmp(tag, "!") != 0;
}

/* Has ${node} the wanted type, without a tag of its own? If not, report it. */
bool config_walk_check_type(struct config_walk *walk, const struct config_field *field,
    const yaml_node_t *node, yaml_node_type_t type)
{
    static const char *const wanted[] = {
        [YAML_SCALAR_NODE] = "one value. write it as text or a number, without brackets",
        [YAML_SEQUENCE_NODE] = "a list. write [a, b], or lines that start with a dash",
        [YAML_MAPPING_NODE] = "a mapping. write {key: value}, or indented lines of key: value",
    };
    if (has_foreign_tag(node)) {
        CONFIG_COMPLAIN(walk, node,
            "%s: tags such as %s have no meaning here. remove it, or put a "
            "text that starts with ! in quotes",
            field->key, config_text_quote(span_text((const char *)node->tag)).text);
    } else if (type != YAML_SCALAR_NODE && config_walk_is_null(node)) {
        CONFIG_COMPLAIN(
            walk, node, "%s: there is no value. write one, or remove the key", field->key);
    } else if (node->type != type && type == YAML_MAPPING_NODE && field->fields) {
        struct config_names known = {.size = 0};
        for (const struct config_field *f = field->fields; f->key; f++) {
            config_text_list(&known, f->key);
        }
        CONFIG_COMPLAIN(walk, node, "%s: this must be %s. known keys: %s", field->key, wanted[type],
            known.text);
    } else if (node->type != type) {
        CONFIG_COMPLAIN(walk, node, "%s: this must be %s", field->key, wanted[type]);
    } else {
        return true;
    }
    return false;
}

size_t config_walk_items(const yaml_node_t *sequence)
{
    return (size_t)(sequence->data.sequence.items.top - sequence->data.sequence.items.start);
}

size_t config_walk_pairs(const yaml_node_t *mapping)
{
    return (size_t)(mapping->data.mapping.pairs.top - mapping->data.mapping.pairs.start);
}

bool config_walk_check_count(struct config_walk *walk, const struct config_field *field,
    const yaml_node_t *node, size_t count)
{
    struct error err;
    if (config_field_check_count(field, count, &err)) {
        return true;
    }
    CONFIG_COMPLAIN(walk, node, "%s: %s", field->key, err.text);
    return false;
}

bool config_walk_check_pairs(struct config_walk *walk, const struct config_field *field,
    const yaml_node_t *node, size_t *ret_count)
{
    if (!config_walk_check_type(walk, field, node, YAML_MAPPING_NODE)) {
        return false;
    }
    size_t count = config_walk_pairs(node);
    if (!config_walk_check_count(walk, field, node, count)) {
        return false;
    }
    if (count > CONFIG_MAX_PAIRS) {
        CONFIG_COMPLAIN(
            walk, node, "%s: more than %d entries. remove some", field->key, CONFIG_MAX_PAIRS);
        return false;
    }
    *ret_count = count;
    return true;
}

yaml_node_t *config_walk_key(struct config_walk *walk, int index, struct span *ret_key)
{
    yaml_node_t *node = config_walk_visit(walk, index);
    if (!node) {
        return NULL;
    }
    if (node->type != YAML_SCALAR_NODE || has_foreign_tag(node) || config_walk_is_null(node)) {
        CONFIG_COMPLAIN(walk, node, "a key must be plain text. write key: value");
        return NULL;
    }
    *ret_key = config_yaml_text(node);
    return node;
}

void config_walk_twice(
    struct config_walk *walk, const yaml_node_t *node, struct span key, const yaml_node_t *first)
{
    if (config_tree_file(node) == config_tree_file(first)) {
        CONFIG_COMPLAIN(walk, node, "the key %s is given twice, first in line %u. remove one",
            config_text_quote(key).text, config_yaml_line(&first->start_mark));
    } else {
        CONFIG_COMPLAIN(walk, node, "the key %s is given twice, first in %.600s:%u:%u. remove one",
            config_text_quote(key).text, walk->config->files[config_tree_file(first)].name,
            config_yaml_line(&first->start_mark), config_yaml_column(&first->start_mark));
    }
}
