#ifndef ETWSHIP_CONFIG_CONFIG_IMAGE_H
#define ETWSHIP_CONFIG_CONFIG_IMAGE_H

#include "base/buf.h"
#include "config/config.h"

/*
 * Append what the keys of ${fields} amount to in ${settings}, without what their table does not know: two that
 * were bound alike have the same bytes, and no others. Secrets are in it; it is for comparing, not for
 * showing. ${read}, which may be NULL, is called with each path that is_read.
 */
void config_image_write(const struct config_field *fields, const void *settings, struct buf *out,
    void (*read)(void *self, const char *path), void *self);

/* The same without what may be secret: values of keys that are, and those of maps, such as headers. */
void config_image_write_shown(
    const struct config_field *fields, const void *settings, struct buf *out);

#endif
