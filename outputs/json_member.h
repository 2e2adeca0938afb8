#ifndef ETWSHIP_OUTPUTS_JSON_MEMBER_H
#define ETWSHIP_OUTPUTS_JSON_MEMBER_H

#include "base/buf.h"

/*
 * Finds a few members of an event that the agent wrote. It checks nothing that it skips, so it
 * takes a third of the time of json_scan.h, which reads foreign JSON. For bytes that are not JSON
 * (RFC 8259) the result is arbitrary, but within their bounds.
 */

/* The raw value of the member ${name}, which needs no escapes, of ${object}; empty: none. Only
 * members of the object itself count, the first with the name. */
struct span json_member_find(struct span object, const char *name);

/* The member of ${object} at ${*at}, 0 for the first; ${*at} moves past it: its key, without
 * quotes, and its value. False: no more members. */
bool json_member_next(struct span object, size_t *at, struct span *ret_key, struct span *ret_value);

/* The text between the quotes of a string, with its escapes. False: ${value} is not a string. */
bool json_member_inner(struct span value, struct span *ret_inner);

/* Append ${inner}, the inside of a string, unescaped. An unpaired \uXXXX surrogate becomes
 * U+FFFD. */
void json_member_text(struct span inner, struct buf *out);

#endif
