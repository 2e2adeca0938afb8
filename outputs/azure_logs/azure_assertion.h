#ifndef ETWSHIP_OUTPUTS_AZURE_ASSERTION_H
#define ETWSHIP_OUTPUTS_AZURE_ASSERTION_H

#include "outputs/azure_logs/azure_settings.h"

/*
 * The assertion that an application with a certificate sends to get a token: a JSON Web Token (RFC
 * 7523), signed with its key and valid for ten minutes ("Microsoft identity platform application
 * authentication certificate credentials"). Both files are PEM (RFC 7468) and read each time; the
 * key is PKCS#8 or PKCS#1, without a password.
 */

/* Replace ${out} by the assertion for ${auth}. ${now}: seconds since 1970. False with ${err}
 * set. */
bool azure_assertion_write(
    const struct azure_auth *auth, uint64_t now, struct buf *out, struct error *err);

#endif
