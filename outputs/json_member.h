#ifndef ETWSHIP_OUTPUTS_JSON_MEMBER_H
#define ETWSHIP_OUTPUTS_JSON_MEMBER_H

#include "base/buf.h"

/*
 * A few members of a finished event, found without reading all of it as a tree. For JSON that a format
 * has written (RFC 8259); of other bytes something or nothing is found, within their bounds.
 */

/* The value of the member ${name}, whose letters need no escapes, of ${object}: as it stands there. An
 * empty span: there is none. Only members of the object itself count, the first of the name. */
struct span json_member_find(struct span object, const char *name);

/* The member of ${object} at ${*at}, 0 for the first, which moves after it: its key, what stands between the
 * quotes, and its value. False: there is none any more. */
bool json_member_next(struct span object, size_t *at, struct span *ret_key, struct span *ret_value);

/* What stands between the quotes of a string, escapes and all. False: ${value} is no string. */
bool json_member_inner(struct span value, struct span *ret_inner);

/* Append the text of a string: ${inner} without its escapes. Half a pair of \uXXXX is U+FFFD. */
void json_member_text(struct span inner, struct buf *out);

#endif
