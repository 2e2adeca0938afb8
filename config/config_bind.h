#ifndef ETWSHIP_CONFIG_CONFIG_BIND_H
#define ETWSHIP_CONFIG_CONFIG_BIND_H

#include <yaml.h>

#include "config/config_field.h"
#include "config/config_report.h"

/*
 * Bind the root of ${document} to ${settings}, a zeroed struct of ${size} bytes owned by ${config}.
 * Errors are added to ${report}; a wrong value leaves the default in place.
 */
void config_bind(struct config *config, yaml_document_t *document,
    const struct config_field *fields, void *settings, size_t size, struct config_report *report);

#endif
