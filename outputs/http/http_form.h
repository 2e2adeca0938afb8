#ifndef ETWSHIP_OUTPUTS_HTTP_FORM_H
#define ETWSHIP_OUTPUTS_HTTP_FORM_H

#include "base/buf.h"

/* Forms as application/x-www-form-urlencoded (WHATWG, URL, section 5). All bytes except the
 * unreserved characters of RFC 3986, 2.3 are written as %XX. */

/* Append ${value}, encoded. */
void http_form_add_value(struct buf *out, const char *value);

/* Append "${name}=${value}", after '&' if ${out} is not empty. ${name} needs no encoding. */
void http_form_add(struct buf *out, const char *name, const char *value);

#endif
