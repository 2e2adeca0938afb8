#ifndef ETWSHIP_SCHEMA_MOF_FIELDS_H
#define ETWSHIP_SCHEMA_MOF_FIELDS_H

#include "schema/mof/mof_model.h"
#include "schema/text/layout.h"

/*
 * Reads a property of an event type class into a field, by the types and qualifiers of "Event
 * Tracing MOF Qualifiers" on learn.microsoft.com. Where Windows' own classes differ from that page,
 * both forms are accepted: extensions on integers, Max on properties without brackets, PointerType.
 */

/* Size of a boolean: four bytes according to "Retrieving Event Data Using MOF", but the kernel
 * writes one. */
enum mof_boolean { MOF_BOOLEAN_LONG, MOF_BOOLEAN_BYTE };

/* Fill ${node} except its map. Returns NULL, or the reason why the size of the property is
 * unknown. */
const char *mof_fields_fill(
    const struct mof_property *property, enum mof_boolean boolean, struct layout_node *node);

/* Read the names of the property's values, from Values and ValueMap or BitValues and BitMap.
 * *ret_map is NULL if there are none. False if memory ran out. */
bool mof_fields_map(
    const struct mof_property *property, struct arena *arena, const struct schema_map **ret_map);

#endif
