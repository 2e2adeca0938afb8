#ifndef ETWSHIP_CONFIG_CONFIG_REFERENCE_H
#define ETWSHIP_CONFIG_CONFIG_REFERENCE_H

#include "base/buf.h"
#include "config/config.h"

/*
 * Append Markdown tables of all keys that ${fields} have, with types, defaults and limits: one of
 * the root, and of each list of variants one for the keys they share and one for each variant.
 */
void config_reference_write(const struct config_field *fields, struct buf *out);

#endif
