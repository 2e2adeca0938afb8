#ifndef ETWSHIP_CONFIG_CONFIG_REFERENCE_H
#define ETWSHIP_CONFIG_CONFIG_REFERENCE_H

#include "base/buf.h"
#include "config/config.h"

/*
 * Append Markdown tables of all keys of ${fields}, with types, defaults and limits: one for the
 * root, and for each list of variants one for the common keys and one for each variant.
 */
void config_reference_write(const struct config_field *fields, struct buf *out);

#endif
