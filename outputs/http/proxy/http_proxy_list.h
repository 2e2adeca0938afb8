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
    struct span host;   /* an IPv6 address has its brackets */
    uint32_t port;
    struct span whole; /* scheme, host and port, as written */
};

/* ${url}: an address that passed http_options_check_url. False: it is not an HTTP address. */
bool http_origin_read(struct span url, struct http_origin *ret_origin);

/* True if it leads to this machine itself (localhost, 127.0.0.0/8, ::1). */
bool http_origin_is_local(const struct http_origin *origin);

enum { HTTP_PROXY_ADDRESS_BYTES = 288 };

/*
 * Remove the next proxy for ${origin} from ${list} and write its address,
 * `http://gateway.example:8080`; "" for the word DIRECT of a script, which ends the list. False:
 * there is none left. SOCKS proxies are ignored, as by WinHTTP.
 */
bool http_proxy_list_next(struct span *list, const struct http_origin *origin,
    char ret_address[HTTP_PROXY_ADDRESS_BYTES]);

/* True if the list names ${origin} as reached without a proxy. */
bool http_proxy_list_bypasses(struct span list, const struct http_origin *origin);

#endif
