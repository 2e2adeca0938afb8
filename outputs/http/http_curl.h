#ifndef ETWSHIP_OUTPUTS_HTTP_CURL_H
#define ETWSHIP_OUTPUTS_HTTP_CURL_H

#include <curl/curl.h>

#include "outputs/http/http_client.h"

/* libcurl in our words, for http_client.c alone. */

/* Tell ${easy} what holds for every request. False with ${err} set: this libcurl cannot do it. */
bool http_curl_set_up(CURL *easy, const struct http_options *options, struct error *err);

/* Has the request that ${easy} has just ended had a connection to its server, through a tunnel if need be? */
bool http_curl_was_connected(CURL *easy);

/* What ${code} says of the request that ${easy} has just ended; ${reason}: its CURLOPT_ERRORBUFFER;
 * ${before_proxy}: it goes through a proxy, and did not come so far. */
enum http_failure http_curl_failure(
    CURL *easy, CURLcode code, const char *reason, bool before_proxy);

#endif
