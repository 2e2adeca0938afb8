#ifndef ETWSHIP_CONFIG_CONFIG_SECRETS_H
#define ETWSHIP_CONFIG_CONFIG_SECRETS_H

#include "config/config.h"

/* One text of a configuration that must not be shown. */
struct config_secret {
    const char *text;
    const char *user; /* the user that it is a password of, or NULL */
};

/*
 * Call ${each} with every secret that the keys of ${fields} have in ${settings}: secrets, the
 * values of maps that are not shown, and the queries of addresses. ${settings} may be incomplete,
 * as after errors.
 */
void config_secrets_each(const struct config_field *fields, const void *settings,
    void (*each)(void *self, const struct config_secret *secret), void *self);

#endif
