#ifndef ETWSHIP_CONFIG_CONFIG_TREE_H
#define ETWSHIP_CONFIG_CONFIG_TREE_H

#include <yaml.h>

#include "config/config_field.h"
#include "config/config_report.h"

/*
 * One YAML tree from several texts. Each node knows its text: start_mark.index, libyaml's byte
 * index, which no other code uses, has the number of the file in config.files.
 */
struct config_tree {
    struct config *config;
    struct config_report *report;
    yaml_document_t document;
    bool failed; /* a limit was hit and reported, or memory ended */
};

/*
 * Start with the YAML ${text} of the file ${name}, number 0. False, with an error reported, if it
 * is no YAML; there is nothing to free then. The root may still have any type, or be missing.
 */
bool config_tree_init(struct config_tree *tree, struct config *config, const char *name,
    struct span text, struct config_report *report);
void config_tree_fini(struct config_tree *tree);

/* The root, NULL if it is no mapping. It moves when the tree grows. */
yaml_node_t *config_tree_root(struct config_tree *tree);

/* Register another file, or another origin of values: its number, or -1 at the limit (reported).
 * ${base} as in struct config_file; both are copied. */
int config_tree_add_file(struct config_tree *tree, const char *name, struct span base);

/*
 * Merge the YAML ${text} of file ${file} into the root, a mapping: mappings key by key, lists
 * appended. Any other value that both have, and the key ${reserved}, is reported as an error.
 */
void config_tree_merge(struct config_tree *tree, int file, struct span text, const char *reserved);

/* Number of the file that has the node. */
static inline size_t config_tree_file(const yaml_node_t *node)
{
    return node->start_mark.index;
}

/* Add an error at ${node}. */
void config_tree_complain(struct config_tree *tree, const yaml_node_t *node, const char *what);

/* A new node that is in no file: its number in the document, 0 if there is no memory (reported). */
int config_tree_add_text(struct config_tree *tree, int file, struct span text);
int config_tree_add_mapping(struct config_tree *tree, int file);
int config_tree_add_sequence(struct config_tree *tree, int file);

/* Load ${text} and copy it into the tree: the number of its root, 0 if there is none (reported). */
int config_tree_add_yaml(struct config_tree *tree, int file, struct span text);

/* The first pair of ${mapping} whose key is ${key}, NULL if there is none. */
yaml_node_pair_t *config_tree_find(
    struct config_tree *tree, const yaml_node_t *mapping, struct span key);

#endif
