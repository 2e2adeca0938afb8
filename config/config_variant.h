#ifndef ETWSHIP_CONFIG_CONFIG_VARIANT_H
#define ETWSHIP_CONFIG_CONFIG_VARIANT_H

#include "config/config_walk.h"

/* The variant that a mapping asks for, or NULL with an error added (here, or when the rows are
 * bound: `type` is one, and so are the keys of a merge key). */
const struct config_variant *config_variant_pick(
    struct config_walk *walk, const struct config_variants *variants, const yaml_node_t *mapping);

/* Is ${node} the name of a type where ${field} takes a mapping with it?
 * Then the error is reported. */
bool config_variant_is_bare(
    struct config_walk *walk, const struct config_field *field, const yaml_node_t *node);

#endif
