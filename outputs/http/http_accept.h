#ifndef ETWSHIP_OUTPUTS_HTTP_ACCEPT_H
#define ETWSHIP_OUTPUTS_HTTP_ACCEPT_H

#include "config/config_check.h"

/*
 * Which replies of success acknowledge a batch: the key `accept` of the http output.
 *
 * Without it each 2xx does, unless its body is a web page: a captive portal or a login page answers
 * any request with 200 and HTML (RFC 8952, 1). A collector that answers each batch in JSON, as Splunk's
 * does, must not answer 204 (No Content), either.
 */
enum { HTTP_ACCEPT_FIRST = 200, HTTP_ACCEPT_LAST = 299 };

struct http_accept {
    bool answers_body; /* set by the owner: the server answers a batch with a body */
    bool page;         /* a web page will do */
    bool listed;       /* statuses were named: no others count */
    bool status[HTTP_ACCEPT_LAST - HTTP_ACCEPT_FIRST + 1];
};

/* Take ${words} of the configuration, as http_accept_check lets pass. */
void http_accept_init(
    struct http_accept *accept, const struct config_strings *words, bool answers_body);

/* Report words that are neither a status of success nor `page`. No I/O. */
void http_accept_check(struct config_check *check, const struct config_strings *words);

/* Is ${content_type}, the value of that header, one of a web page: text/html, application/xhtml+xml? */
bool http_accept_is_page(struct span content_type);

/* Why a reply of ${status}, 2xx, acknowledges nothing: "what. what to do", static. NULL: it does.
 * ${page}: its body is a web page. */
const char *http_accept_objection(const struct http_accept *accept, int status, bool page);

#endif
