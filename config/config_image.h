#ifndef ETWSHIP_CONFIG_CONFIG_IMAGE_H
#define ETWSHIP_CONFIG_CONFIG_IMAGE_H

#include "base/buf.h"
#include "config/config.h"

/*
 * Append the values of the keys of ${fields} in ${settings}, and nothing that the table does not
 * know. Two settings have the same bytes only if they were bound alike. Secrets are among them:
 * this is for comparing, not for showing. ${read}, which may be NULL, is called with each path that
 * is_read.
 */
void config_image_write(const struct config_field *fields, const void *settings, struct buf *out,
    void (*read)(void *self, const char *path), void *self);

/* More than an image of any configuration has. */
enum { CONFIG_IMAGE_MAX_BYTES = 2 * CONFIG_MAX_MEMORY_BYTES };

/* Do both settings have the same value for each key of ${fields}? False: no memory, too. */
bool config_image_equal(const struct config_field *fields, const void *a, const void *b);

/* Without what may be secret: values of secret keys, and values of maps, such as headers. */
void config_image_write_shown(
    const struct config_field *fields, const void *settings, struct buf *out);

#endif
