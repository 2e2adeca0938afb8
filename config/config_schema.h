#ifndef ETWSHIP_CONFIG_CONFIG_SCHEMA_H
#define ETWSHIP_CONFIG_CONFIG_SCHEMA_H

#include "base/buf.h"
#include "config/config.h"

/*
 * Append a JSON schema (draft 2020-12) of the configurations that ${fields} take, for editors.
 * It describes the tree of YAML's core schema before ${…} is resolved: a value of any type may be a
 * text with a variable. Rules that concern several keys are not in it.
 */
void config_schema_write(
    const struct config_field *fields, const char *id, const char *title, struct buf *out);

#endif
