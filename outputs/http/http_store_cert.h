#ifndef ETWSHIP_OUTPUTS_HTTP_STORE_CERT_H
#define ETWSHIP_OUTPUTS_HTTP_STORE_CERT_H

#include "base/error.h"
#include "base/span.h"

/*
 * A certificate in the store of Windows, in libcurl's syntax for Schannel (CURLOPT_SSLCERT):
 * LOCATION\STORE\THUMBPRINT, as in LocalMachine\MY\ and 40 hexadecimal digits. The store has its
 * private key, too.
 */

/* False with the error and a remedy in ${err}. */
bool http_store_cert_check(struct span text, struct error *err);

#endif
