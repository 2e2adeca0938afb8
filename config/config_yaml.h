#ifndef ETWSHIP_CONFIG_CONFIG_YAML_H
#define ETWSHIP_CONFIG_CONFIG_YAML_H

#include <yaml.h>

#include "base/span.h"
#include "config/config_report.h"

/*
 * Text to one YAML document within the limits of config.h. On failure one error is added to
 * ${report}, under the name ${file}; else the caller frees ${ret_document} with
 * yaml_document_delete. The document has no root if the text has only comments.
 */
bool config_yaml_load(struct span text, const char *file, yaml_document_t *ret_document,
    struct config_report *report);

/* The text of a scalar. */
static inline struct span config_yaml_text(const yaml_node_t *scalar)
{
    return span_make(scalar->data.scalar.value, scalar->data.scalar.length);
}

/* libyaml counts from 0, people from 1. Columns are characters.
 * A node that is in no file has line 0. */
#define CONFIG_YAML_NO_LINE SIZE_MAX

static inline uint32_t config_yaml_line(const yaml_mark_t *mark)
{
    return (uint32_t)(mark->line + 1);
}

static inline uint32_t config_yaml_column(const yaml_mark_t *mark)
{
    return (uint32_t)mark->column + 1;
}

#endif
