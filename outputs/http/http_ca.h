#ifndef ETWSHIP_OUTPUTS_HTTP_CA_H
#define ETWSHIP_OUTPUTS_HTTP_CA_H

#include <curl/curl.h>

#include "outputs/http/http_fingerprint.h"

/*
 * Which authority a server's certificate must come from (tls.ca), for http_client.c alone.
 *
 * Where it is a fingerprint, the certificate itself is not known yet. So a server is asked for its
 * certificates first, on a connection of its own, over which not one byte of HTTP goes and whose server
 * is not trusted. Whichever of them has the fingerprint is the authority, whoever sent it. From then on
 * it is trusted and nothing else, and libcurl checks every connection against it as it does against a
 * file: chain, time, name. Until then no connection over TLS can be made at all.
 */

/* Trust the file ${ca} alone, or with a fingerprint nobody yet. */
bool http_ca_set_up(CURL *easy, const char *ca);

/* A handle that asks for certificates whom ${easy} is about to ask for anything. NULL: out of memory, or
 * this libcurl cannot do it. curl_easy_cleanup. */
CURL *http_ca_ask(CURL *easy);

/* Trust, in ${easy}, the certificate with ${fingerprint} that ${asked} was shown. False: there was none;
 * nobody is trusted. */
bool http_ca_trust(CURL *easy, CURL *asked, const struct http_fingerprint *fingerprint);

#endif
