#ifndef ETWSHIP_EVENT_TYPE_NAMES_H
#define ETWSHIP_EVENT_TYPE_NAMES_H

#include "event/model/schema.h"

/* Names of in and out types as manifests spell them (winmeta.xml), without `win:` and `xs:`; for
 * types that manifests do not know, the name of TDH_IN_TYPE or TDH_OUT_TYPE in the same style.
 * "unknown" for anything else. */
const char *type_names_in(uint16_t in_type);
const char *type_names_out(uint16_t out_type);
bool type_names_knows_out(uint16_t out_type);

/* The type with this name, in any case. False if there is none. */
bool type_names_find_in(struct span name, uint16_t *ret_type);
bool type_names_find_out(struct span name, uint16_t *ret_type);

#endif
