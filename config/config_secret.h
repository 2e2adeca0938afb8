#ifndef ETWSHIP_CONFIG_CONFIG_SECRET_H
#define ETWSHIP_CONFIG_CONFIG_SECRET_H

#include "base/buf.h"
#include "config/config.h"

/* Secrets that the configuration gives as the place where they are kept. */

/*
 * The secret of ${text}: the text itself; the content of a file, by `file:PATH`; what DPAPI has
 * protected on this machine, by `dpapi:BASE64`, which may be the content of a file, too. It is
 * appended to ${out} and valid by config_text_secret_fault. ${err} contains nothing of it.
 */
bool config_secret_resolve(
    struct config *config, struct span text, struct buf *out, struct error *err);

/* May ${text} be shown, because it names the place of the secret only? */
bool config_secret_is_place(struct span text);

#endif
