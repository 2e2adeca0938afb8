#ifndef ETWSHIP_CONFIG_CONFIG_LEAF_H
#define ETWSHIP_CONFIG_CONFIG_LEAF_H

#include "config/config_walk.h"

/* Values without a table of their own. An error is reported and leaves ${member} as it is. */

/* One scalar: ${…} is resolved, then the row's type read. */
bool config_leaf_scalar(struct config_walk *walk, const struct config_field *field,
    const yaml_node_t *node, void *member);

/* CONFIG_STRINGS, CONFIG_PATHS. */
void config_leaf_strings(
    struct config_walk *walk, const struct config_field *field, yaml_node_t *node, void *member);

/* CONFIG_MAP. */
void config_leaf_map(
    struct config_walk *walk, const struct config_field *field, yaml_node_t *node, void *member);

#endif
