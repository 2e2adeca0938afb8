#ifndef ETWSHIP_SCHEMA_MOF_FIELDS_H
#define ETWSHIP_SCHEMA_MOF_FIELDS_H

#include "schema/layout.h"
#include "schema/mof_model.h"

/*
 * A property of an event type class as a field: types and qualifiers as "Event Tracing MOF Qualifiers"
 * on learn.microsoft.com has them. Where that page and what Windows' own classes say differ, both are
 * understood: extensions on integers, Max on properties without brackets, PointerType.
 */

/* How many bytes a boolean has: four by the page "Retrieving Event Data Using MOF", but the kernel
 * writes one. */
enum mof_boolean { MOF_BOOLEAN_LONG, MOF_BOOLEAN_BYTE };

/* Fill ${node}, but for its map. NULL, or why nobody knows how many bytes the property has. */
const char *mof_fields_fill(
    const struct mof_property *property, enum mof_boolean boolean, struct layout_node *node);

/* Names of the property's values, by Values and ValueMap, or BitValues and BitMap. *ret_map is NULL if
 * there are none. False if memory ran out. */
bool mof_fields_map(
    const struct mof_property *property, struct arena *arena, const struct schema_map **ret_map);

#endif
