#ifndef ETWSHIP_CONFIG_CONFIG_HINT_H
#define ETWSHIP_CONFIG_CONFIG_HINT_H

#include "config/config_walk.h"

/* A mapping is bound to one table, or to the common and the own table of a variant. */
struct config_part {
    const struct config_field *fields;
    uint8_t *base;
};

struct config_target {
    struct config_part parts[2];
    size_t part_count;
    bool open;      /* the type is unknown: only the common keys can be checked */
    bool shorthand; /* one value would be valid in place of the mapping */
    const struct config_variants *variants; /* the list that the mapping belongs to; else NULL */
};

/* Report the key of ${pair}, which no table of ${target} has, if that is certain. Returns the key
 * that was probably meant, NULL if none is near. */
const char *config_hint_unknown(struct config_walk *walk, const yaml_node_t *mapping,
    const yaml_node_pair_t *pair, struct span key, const struct config_target *target);

/* A text in place of a mapping, item ${at} of ${sequence}: is it the rest of the previous item,
 * which YAML split at a comma? Then that is reported. */
bool config_hint_rest(
    struct config_walk *walk, const yaml_node_t *sequence, size_t at, const yaml_node_t *item);

#endif
