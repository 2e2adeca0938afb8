#ifndef ETWSHIP_CONFIG_CONFIG_SHOW_H
#define ETWSHIP_CONFIG_CONFIG_SHOW_H

#include "base/buf.h"
#include "config/config.h"

/*
 * Append the values of the keys of ${fields} in ${settings}, bound by ${config}, with defaults: as
 * YAML in indented lines, or as one JSON object. Of a secret it only says that it is set; a value
 * with variables is shown as the file has it.
 */
void config_show_yaml(const struct config *config, const struct config_field *fields,
    const void *settings, unsigned indent, struct buf *out);
void config_show_json(const struct config *config, const struct config_field *fields,
    const void *settings, struct buf *out);

#endif
