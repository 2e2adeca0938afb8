#ifndef ETWSHIP_OUTPUTS_HTTP_CURL_H
#define ETWSHIP_OUTPUTS_HTTP_CURL_H

#include <curl/curl.h>

#include "outputs/http/http_client.h"

/* Helpers around libcurl, for http_client.c only. */

/* Set the options of ${easy} for every request. False with ${err} set: this libcurl does not
 * support them. */
bool http_curl_set_up(CURL *easy, const struct http_options *options, struct error *err);

/* True if the last request of ${easy} had a connection to its server, perhaps through a tunnel. */
bool http_curl_was_connected(CURL *easy);

/* The class of ${code} for the last request of ${easy}; ${reason}: its CURLOPT_ERRORBUFFER;
 * ${before_proxy}: it failed before it reached its proxy. */
enum http_failure http_curl_failure(
    CURL *easy, CURLcode code, const char *reason, bool before_proxy);

#endif
