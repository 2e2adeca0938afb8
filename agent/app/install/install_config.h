#ifndef ETWSHIP_APP_INSTALL_CONFIG_H
#define ETWSHIP_APP_INSTALL_CONFIG_H

#include "base/buf.h"
#include "base/error.h"

/*
 * The first configuration of the service, as an installer writes it where there is none.
 */
struct install_config {
    /* of Elasticsearch; NULL: the agent reads and sends nothing until a user changes that */
    const char *url;
    const char
        *key_file; /* absolute path of a file with an API key, which is not read; NULL: none */
};

/*
 * Append the text of it. Whatever the values hold stays inside of theirs. ERR_CONFIG, naming the
 * value: no address with http:// or https://, an address with a password, which belongs into a
 * file; a relative path; what YAML cannot hold (control characters, no UTF-8).
 */
bool install_config_write(const struct install_config *config, struct buf *out, struct error *err);

/* Is ${url} an address with http:// or https://, and a host, and without a name or a password?
 * ERR_CONFIG, which does not show it. */
bool install_config_check_url(const char *url, struct error *err);

/* Append ${text} as a YAML scalar in single quotes that etwship's configuration reads back as it
 * is. False (ERR_CONFIG, with ${name}) if there is none. */
bool install_config_quote(const char *name, const char *text, struct buf *out, struct error *err);

#endif
