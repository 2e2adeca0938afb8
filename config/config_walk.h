#ifndef ETWSHIP_CONFIG_CONFIG_WALK_H
#define ETWSHIP_CONFIG_CONFIG_WALK_H

#include <yaml.h>

#include "config/config_field.h"
#include "config/config_report.h"
#include "config/config_tree.h"
#include "config/config_yaml.h"

/*
 * The state of a walk over a YAML tree, and the steps that all kinds of values share. The tree may
 * share nodes through aliases, or contain itself: every visit of a node counts against
 * CONFIG_MAX_NODES, and nesting against CONFIG_MAX_DEPTH.
 */
struct config_walk {
    struct config *config;
    struct config_report *report;
    yaml_document_t *document;
    size_t visits;
    size_t depth;
    bool stopped; /* a limit was hit and reported: no further visits */
};

/* Add an error at ${node}. */
#define CONFIG_COMPLAIN(walk, node, ...)                                                  \
    config_report_add((walk)->report, (walk)->config->files[config_tree_file(node)].name, \
        config_yaml_line(&(node)->start_mark), config_yaml_column(&(node)->start_mark),   \
        __VA_ARGS__)

/* Keep ${text}, "what. what to do", for config_report_remarks. Copied; without memory it is not
 * kept. */
void config_remark_add(struct config *config, const yaml_node_t *node, const char *text);

/* Stop at ${node}: one error, and no node is visited any more. */
void config_walk_stop(struct config_walk *walk, const yaml_node_t *node, const char *why);

/* Zeroed memory of the configuration; NULL stops the walk. */
void *config_walk_alloc(
    struct config_walk *walk, const yaml_node_t *node, size_t count, size_t size);

/* The node with number ${index} of the document; NULL once the walk is stopped. */
yaml_node_t *config_walk_visit(struct config_walk *walk, int index);

/* Visit a key. NULL with an error added if it is no text. */
yaml_node_t *config_walk_key(struct config_walk *walk, int index, struct span *ret_key);

/* Note the place of the value bound at ${start}, for config_error_at. Returns its number, for
 * config_walk_mark_flawed. */
size_t config_walk_remember(
    struct config_walk *walk, const yaml_node_t *node, const void *start, size_t size);

/* If the text of ${node} has variables, keep it as what is shown of value ${number}: not every user
 * may see the environment. */
void config_walk_keep_written(struct config_walk *walk, const yaml_node_t *node, size_t number);

/* Value ${number} is flawed (config_is_flawed) if there are more errors now than
 * ${errors_before}. */
void config_walk_mark_flawed(struct config_walk *walk, size_t number, size_t errors_before);

/* Is the value empty, `~` or `null`, not in quotes? */
bool config_walk_is_null(const yaml_node_t *node);

/* Has ${node} the wanted type, without a tag of its own? If not, report it. */
bool config_walk_check_type(struct config_walk *walk, const struct config_field *field,
    const yaml_node_t *node, yaml_node_type_t type);

/* Does the row allow so many items? If not, report it. */
bool config_walk_check_count(struct config_walk *walk, const struct config_field *field,
    const yaml_node_t *node, size_t count);

/* Is ${node} a mapping with as many pairs as the row, and CONFIG_MAX_PAIRS, allow? If not, report
 * it. */
bool config_walk_check_pairs(struct config_walk *walk, const struct config_field *field,
    const yaml_node_t *node, size_t *ret_count);

/* Report that ${key} at ${node} was given before, at ${first}. */
void config_walk_twice(
    struct config_walk *walk, const yaml_node_t *node, struct span key, const yaml_node_t *first);

/* Items of a sequence, pairs of a mapping. */
size_t config_walk_items(const yaml_node_t *sequence);
size_t config_walk_pairs(const yaml_node_t *mapping);

#endif
