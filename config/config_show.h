#ifndef ETWSHIP_CONFIG_CONFIG_SHOW_H
#define ETWSHIP_CONFIG_CONFIG_SHOW_H

#include "base/buf.h"
#include "config/config.h"

/*
 * Append what the keys of ${fields} amount to in ${settings}, bound by ${config}, defaults included:
 * as YAML in indented lines, or as one JSON object. Secrets are only said to be set; a value with
 * variables in it is shown as it was written.
 */
void config_show_yaml(const struct config *config, const struct config_field *fields,
    const void *settings, unsigned indent, struct buf *out);
void config_show_json(const struct config *config, const struct config_field *fields,
    const void *settings, struct buf *out);

#endif
