#ifndef ETWSHIP_OUTPUTS_HTTP_CA_H
#define ETWSHIP_OUTPUTS_HTTP_CA_H

#include <curl/curl.h>

#include "outputs/http/http_fingerprint.h"

/*
 * The trusted authority of a server's certificate (tls.ca), for http_client.c only.
 *
 * For a fingerprint the certificate itself is unknown at first. So the client fetches the server's
 * certificates over a separate, untrusted connection without any HTTP. The certificate with the
 * fingerprint is the authority, from any server. From then on only that one is trusted, and libcurl
 * checks every connection against it as against a file: chain, time, name. Before that no TLS
 * connection is possible.
 */

/* Trust only the file ${ca}; for a fingerprint, trust nothing yet. */
bool http_ca_set_up(CURL *easy, const char *ca);

/* A handle that fetches the certificates of the server of ${easy}. Free it with curl_easy_cleanup.
 * NULL: out of memory, or this libcurl cannot do it. */
CURL *http_ca_ask(CURL *easy);

/* Make ${easy} trust the certificate with ${fingerprint} that ${asked} received. False: there was
 * none; nothing is trusted. */
bool http_ca_trust(CURL *easy, CURL *asked, const struct http_fingerprint *fingerprint);

#endif
