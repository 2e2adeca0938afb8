#ifndef ETWSHIP_OUTPUTS_HTTP_PROXY_LIST_H
#define ETWSHIP_OUTPUTS_HTTP_PROXY_LIST_H

#include "base/span.h"

/*
 * Lists of proxies as Windows keeps them (WINHTTP_PROXY_INFO, INTERNET_PROXY_INFO):
 * `gateway.example:8080`, `http=a:80;https=b:80`, and hosts that are reached without one:
 * `<local>;*.example.com;10.*`. Entries are separated by semicolons or white space. Invalid ones
 * are left out.
 */

/* The address of a request. */
struct http_origin {
    struct span scheme; /* http or https */
    struct span host;   /* of an IPv6 address with its brackets */
    uint32_t port;
    struct span whole; /* scheme, host and port, as written */
};

/* ${url}: as http_options_check_url lets pass. False: it is none. */
bool http_origin_read(struct span url, struct http_origin *ret_origin);

/* Does it lead to this machine itself (localhost, 127.0.0.0/8, ::1)? */
bool http_origin_is_local(const struct http_origin *origin);

enum { HTTP_PROXY_ADDRESS_BYTES = 288 };

/*
 * Take the next proxy that is meant for ${origin} off ${list} and write its address,
 * `http://gateway.example:8080`; "" for the word DIRECT of a script, after which nothing counts. False: there
 * is none left. Proxies of SOCKS are left out, as WinHTTP does.
 */
bool http_proxy_list_next(struct span *list, const struct http_origin *origin,
    char ret_address[HTTP_PROXY_ADDRESS_BYTES]);

/* Is ${origin} among those that are reached without a proxy? */
bool http_proxy_list_bypasses(struct span list, const struct http_origin *origin);

#endif
