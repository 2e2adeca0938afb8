#ifndef ETWSHIP_CONFIG_CONFIG_SECRET_H
#define ETWSHIP_CONFIG_CONFIG_SECRET_H

#include "base/buf.h"
#include "config/config.h"

/* Secrets that are written as the place where they are kept. */

/*
 * The secret that ${text} stands for: the text itself; the content of a file, by `file:PATH`; what DPAPI has
 * protected on this machine, by `dpapi:BASE64`, which may be the content of a file, too. Appended to ${out},
 * fit to be one (config_text_secret_fault). Nothing of it is in ${err}.
 */
bool config_secret_resolve(
    struct config *config, struct span text, struct buf *out, struct error *err);

/* Can ${text} be shown to everybody, as it says where the secret is kept? */
bool config_secret_is_place(struct span text);

#endif
