#ifndef ETWSHIP_OUTPUTS_HTTP_ACCEPT_H
#define ETWSHIP_OUTPUTS_HTTP_ACCEPT_H

#include "config/config_check.h"

/*
 * The replies that acknowledge a batch: the key `accept` of the http output.
 *
 * Without it each 2xx does, unless its body is a web page: a captive portal or a login page answers
 * any request with 200 and HTML (RFC 8952, 1). A collector that answers each batch in JSON, as
 * Splunk's does, must not answer 204 (No Content), either.
 */
enum { HTTP_ACCEPT_FIRST = 200, HTTP_ACCEPT_LAST = 299 };

struct http_accept {
    bool answers_body; /* set by the owner: the server's replies have a body */
    bool page;         /* accept a web page */
    bool listed;       /* statuses were listed: only these count */
    bool status[HTTP_ACCEPT_LAST - HTTP_ACCEPT_FIRST + 1];
};

/* Set it from ${words} of the configuration, which passed http_accept_check. */
void http_accept_init(
    struct http_accept *accept, const struct config_strings *words, bool answers_body);

/* Report words that are neither a success status nor `page`. No I/O. */
void http_accept_check(struct config_check *check, const struct config_strings *words);

/* True if ${content_type}, the value of that header, is a web page: text/html,
 * application/xhtml+xml. */
bool http_accept_is_page(struct span content_type);

/* True if ${body} begins like one, for replies without that header. */
bool http_accept_begins_page(struct span body);

/* Why a reply with ${status}, 2xx, does not acknowledge: "what. what to do", static. NULL: it does.
 * ${page}: its body is a web page. */
const char *http_accept_objection(const struct http_accept *accept, int status, bool page);

#endif
