/*
 * Files are loaded one by one, within the limits of config_yaml.h, and copied into one document.
 * A copy keeps aliases as they are: each node of a file is copied once, however many edges lead to
 * it, so a bomb does not expand.
 *
 * A mapping that exists in both is merged in place. If an alias leads to it elsewhere in its file,
 * it grows there, too.
 */
#include "config/config_tree.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "config/config_path.h"
#include "config/config_text.h"
#include "config/config_walk.h"
#include "config/config_yaml.h"

/* A file that is being copied into the tree. */
struct import {
    struct config_tree *tree;
    yaml_document_t *from;
    int *copies; /* by number of the node in `from`; 0: not copied yet */
};

static void fail(struct config_tree *tree, size_t file, const char *why)
{
    if (!tree->failed) {
        config_report_add(tree->report, tree->config->files[file].name, 0, 0, "%s", why);
    }
    tree->failed = true;
}

void config_tree_complain(struct config_tree *tree, const yaml_node_t *node, const char *what)
{
    config_report_add(tree->report, tree->config->files[config_tree_file(node)].name,
        config_yaml_line(&node->start_mark), config_yaml_column(&node->start_mark), "%s", what);
}

int config_tree_add_file(struct config_tree *tree, const char *name, struct span base)
{
    struct config *config = tree->config;
    struct span name_copy;
    struct span base_copy;
    if (config->file_count == sizeof(config->files) / sizeof(config->files[0])) {
        fail(tree, 0, "too many files and settings. merge some");
        return -1;
    }
    if (!arena_copy(&config->arena, span_text(name), &name_copy) ||
        !arena_copy(&config->arena, base, &base_copy)) {
        fail(tree, 0, "out of memory. free some and retry");
        return -1;
    }
    config_report_name(tree->report, name);
    config->files[config->file_count] = (struct config_file){
        .name = (const char *)name_copy.data, .base = (const char *)base_copy.data};
    return (int)config->file_count++;
}

/* ---- copying --------------------------------------------------------------------------------- */

static size_t node_count(const yaml_document_t *document)
{
    return (size_t)(document->nodes.top - document->nodes.start);
}

/* Note the origin of the node ${index} of the tree; 0: it could not be made. */
static int mark(struct config_tree *tree, int index, yaml_mark_t start, yaml_mark_t end)
{
    if (!index) {
        fail(tree, start.index, "out of memory. free some and retry");
    } else {
        yaml_node_t *node = yaml_document_get_node(&tree->document, index);
        node->start_mark = start;
        node->end_mark = end;
    }
    return index;
}

static int copy_node(struct import *import, int index);

static void copy_children(struct import *import, int from_index, int to_index)
{
    yaml_document_t *to = &import->tree->document;
    const yaml_node_t *from = yaml_document_get_node(import->from, from_index);
    bool good = true;
    if (from->type == YAML_SEQUENCE_NODE) {
        for (yaml_node_item_t *item = from->data.sequence.items.start;
             good && item < from->data.sequence.items.top; item++) {
            int copy = copy_node(import, *item);
            good = copy && yaml_document_append_sequence_item(to, to_index, copy);
        }
    } else if (from->type == YAML_MAPPING_NODE) {
        for (yaml_node_pair_t *pair = from->data.mapping.pairs.start;
             good && pair < from->data.mapping.pairs.top; pair++) {
            int key = copy_node(import, pair->key);
            int value = key ? copy_node(import, pair->value) : 0;
            good = value && yaml_document_append_mapping_pair(to, to_index, key, value);
        }
    }
    if (!good) {
        fail(import->tree, config_tree_file(from), "out of memory. free some and retry");
    }
}

/* The copy of a node in the tree, 0 if there is no memory. */
static int copy_node(struct import *import, int index)
{
    int *copy = &import->copies[index];
    if (*copy || import->tree->failed) {
        return *copy;
    }
    yaml_document_t *to = &import->tree->document;
    const yaml_node_t *from = yaml_document_get_node(import->from, index);
    switch (from->type) {
    case YAML_SCALAR_NODE:
        *copy = yaml_document_add_scalar(to, from->tag, from->data.scalar.value,
            (int)from->data.scalar.length, from->data.scalar.style);
        break;
    case YAML_SEQUENCE_NODE:
        *copy = yaml_document_add_sequence(to, from->tag, from->data.sequence.style);
        break;
    default:
        *copy = yaml_document_add_mapping(to, from->tag, from->data.mapping.style);
        break;
    }
    if (mark(import->tree, *copy, from->start_mark, from->end_mark)) {
        copy_children(import, index, *copy);
    }
    return *copy;
}

static yaml_mark_t place_of(int file)
{
    return (yaml_mark_t){.index = (size_t)file, .line = CONFIG_YAML_NO_LINE};
}

int config_tree_add_text(struct config_tree *tree, int file, struct span text)
{
    int index = yaml_document_add_scalar(&tree->document, NULL, (const yaml_char_t *)text.data,
        (int)text.size, YAML_SINGLE_QUOTED_SCALAR_STYLE);
    return mark(tree, index, place_of(file), place_of(file));
}

int config_tree_add_mapping(struct config_tree *tree, int file)
{
    int index = yaml_document_add_mapping(&tree->document, NULL, YAML_BLOCK_MAPPING_STYLE);
    return mark(tree, index, place_of(file), place_of(file));
}

int config_tree_add_sequence(struct config_tree *tree, int file)
{
    int index = yaml_document_add_sequence(&tree->document, NULL, YAML_BLOCK_SEQUENCE_STYLE);
    return mark(tree, index, place_of(file), place_of(file));
}

/* ---- merging --------------------------------------------------------------------------------- */

static void complain_twice(
    struct config_tree *tree, const yaml_node_t *key, const yaml_node_t *first)
{
    char text[2 * CONFIG_REPORT_MAX_TEXT];
    snprintf(text, sizeof(text), "the key %s is given twice, first in %.600s:%u:%u. remove one",
        config_text_quote(config_yaml_text(key)).text,
        tree->config->files[config_tree_file(first)].name, config_yaml_line(&first->start_mark),
        config_yaml_column(&first->start_mark));
    config_tree_complain(tree, key, text);
}

static void merge_mapping(struct import *import, int to, const yaml_node_t *from, size_t depth);

/* Values of one key, from the tree and from the file. */
static void merge_value(
    struct import *import, yaml_node_pair_t in_tree, const yaml_node_pair_t *added, size_t depth)
{
    struct config_tree *tree = import->tree;
    const yaml_node_t *to = yaml_document_get_node(&tree->document, in_tree.value);
    const yaml_node_t *from = yaml_document_get_node(import->from, added->value);
    const yaml_node_t *key = yaml_document_get_node(import->from, added->key);
    if (to->type == YAML_MAPPING_NODE && from->type == YAML_MAPPING_NODE &&
        depth < CONFIG_MAX_DEPTH) {
        merge_mapping(import, in_tree.value, from, depth + 1);
    } else if (to->type == YAML_SEQUENCE_NODE && from->type == YAML_SEQUENCE_NODE) {
        copy_children(import, added->value, in_tree.value);
    } else if (depth == 0 && span_is(config_yaml_text(key), "version") &&
               to->type == YAML_SCALAR_NODE && from->type == YAML_SCALAR_NODE &&
               span_equal(config_yaml_text(to), config_yaml_text(from))) {
        return; /* each file may name its own version */
    } else {
        complain_twice(tree, key, yaml_document_get_node(&tree->document, in_tree.key));
    }
}

/* The scalar keys of a mapping of the tree, each with the number of its first pair, which is one of
 * ${numbers}. */
static bool index_keys(
    struct config_tree *tree, const yaml_node_t *mapping, struct map *keys, size_t *numbers)
{
    size_t count = config_walk_pairs(mapping);
    for (size_t i = 0; i < count; i++) {
        const yaml_node_t *key = yaml_document_get_node(
            &tree->document, mapping->data.mapping.pairs.start[i].key);
        numbers[i] = i;
        if (key->type == YAML_SCALAR_NODE && !map_get(keys, config_yaml_text(key)) &&
            !map_put(keys, config_yaml_text(key), &numbers[i])) {
            return false;
        }
    }
    return true;
}

static bool merge_pair(struct import *import, int to, const struct map *keys,
    const yaml_node_pair_t *added, size_t depth)
{
    yaml_document_t *document = &import->tree->document;
    const yaml_node_t *key = yaml_document_get_node(import->from, added->key);
    const size_t *number = key->type == YAML_SCALAR_NODE ? map_get(keys, config_yaml_text(key))
                                                         : NULL;
    if (number) {
        const yaml_node_t *mapping = yaml_document_get_node(document, to);
        merge_value(import, mapping->data.mapping.pairs.start[*number], added, depth);
        return true;
    }
    int key_copy = copy_node(import, added->key);
    int value_copy = copy_node(import, added->value);
    return key_copy && value_copy &&
           yaml_document_append_mapping_pair(document, to, key_copy, value_copy);
}

/* Nodes of the tree move when it grows: look them up by number, and never keep a pointer. */
static void merge_mapping(struct import *import, int to, const yaml_node_t *from, size_t depth)
{
    struct config_tree *tree = import->tree;
    const yaml_node_t *mapping = yaml_document_get_node(&tree->document, to);
    struct map keys;
    map_init(&keys, CONFIG_MAX_NODES);
    size_t *numbers = calloc(config_walk_pairs(mapping) + 1, sizeof(*numbers));
    bool good = numbers && index_keys(tree, mapping, &keys, numbers);
    for (size_t i = 0; good && i < config_walk_pairs(from) && !tree->failed; i++) {
        good = merge_pair(import, to, &keys, &from->data.mapping.pairs.start[i], depth);
    }
    if (!good) {
        fail(tree, config_tree_file(from), "out of memory. free some and retry");
    }
    free(numbers);
    map_fini(&keys);
}

/* Load ${text} and mark every node with ${file}. If true, the caller deletes the document. */
static bool load(
    struct config_tree *tree, int file, struct span text, yaml_document_t *ret_document)
{
    if (!config_yaml_load(text, tree->config->files[file].name, ret_document, tree->report)) {
        return false;
    }
    for (yaml_node_t *node = ret_document->nodes.start; node < ret_document->nodes.top; node++) {
        node->start_mark.index = (size_t)file;
    }
    size_t others = ret_document == &tree->document ? 0 : node_count(&tree->document);
    if (node_count(ret_document) + others > CONFIG_MAX_NODES) {
        fail(tree, (size_t)file, "more than 100000 values in all files. remove some");
        yaml_document_delete(ret_document);
        return false;
    }
    return true;
}

static bool start_import(struct import *import)
{
    import->copies = calloc(node_count(import->from) + 1, sizeof(int));
    if (!import->copies) {
        fail(import->tree, 0, "out of memory. free some and retry");
    }
    return import->copies != NULL;
}

int config_tree_add_yaml(struct config_tree *tree, int file, struct span text)
{
    yaml_document_t document;
    if (!load(tree, file, text, &document)) {
        return 0;
    }
    struct import import = {.tree = tree, .from = &document};
    int copy = yaml_document_get_root_node(&document) && start_import(&import)
                   ? copy_node(&import, 1)
                   : 0;
    free(import.copies);
    yaml_document_delete(&document);
    return copy;
}

yaml_node_pair_t *config_tree_find(
    struct config_tree *tree, const yaml_node_t *mapping, struct span key)
{
    for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
         pair < mapping->data.mapping.pairs.top; pair++) {
        const yaml_node_t *node = yaml_document_get_node(&tree->document, pair->key);
        if (node->type == YAML_SCALAR_NODE && span_equal(config_yaml_text(node), key)) {
            return pair;
        }
    }
    return NULL;
}

bool config_tree_init(struct config_tree *tree, struct config *config, const char *name,
    struct span text, struct config_report *report)
{
    *tree = (struct config_tree){.config = config, .report = report};
    int file = config_tree_add_file(tree, name, config_path_folder(span_text(name)));
    return file == 0 && load(tree, file, text, &tree->document);
}

void config_tree_fini(struct config_tree *tree)
{
    yaml_document_delete(&tree->document);
}

yaml_node_t *config_tree_root(struct config_tree *tree)
{
    yaml_node_t *root = yaml_document_get_root_node(&tree->document);
    return root && root->type == YAML_MAPPING_NODE ? root : NULL;
}

static bool has_reserved_key(
    struct config_tree *tree, yaml_document_t *from, const yaml_node_t *root, const char *reserved)
{
    for (size_t i = 0; i < config_walk_pairs(root); i++) {
        const yaml_node_t *key = yaml_document_get_node(
            from, root->data.mapping.pairs.start[i].key);
        if (key->type == YAML_SCALAR_NODE && span_is(config_yaml_text(key), reserved)) {
            config_tree_complain(
                tree, key, "only the first file may include others. name the files there");
            return true;
        }
    }
    return false;
}

void config_tree_merge(struct config_tree *tree, int file, struct span text, const char *reserved)
{
    yaml_document_t document;
    if (!load(tree, file, text, &document)) {
        return;
    }
    struct import import = {.tree = tree, .from = &document};
    const yaml_node_t *root = yaml_document_get_root_node(&document);
    if (root && root->type != YAML_MAPPING_NODE && !config_walk_is_null(root)) {
        config_tree_complain(tree, root,
            "a configuration is a mapping. write {key: value}, or indented lines of key: value");
    } else if (root && root->type == YAML_MAPPING_NODE &&
               !has_reserved_key(tree, &document, root, reserved) && start_import(&import)) {
        merge_mapping(&import, 1, root, 0);
    }
    free(import.copies);
    yaml_document_delete(&document);
}
