#ifndef ETWSHIP_BASE_JSON_ESCAPE_H
#define ETWSHIP_BASE_JSON_ESCAPE_H

#include "base/span.h"

/* Escapes in strings of JSON (RFC 8259, 7). Any bytes are read within their bounds. */

/* The character of the escape at the start of ${text}, which is a backslash; ${ret_size}: its
 * bytes, with those of a second surrogate. An unpaired surrogate is U+FFFD. If it is no escape: the
 * byte after the backslash, or at the end of the text the backslash. */
uint32_t json_escape_read(struct span text, size_t *ret_size);

/* Put what they mean in place of the escapes of the inside of a string. Returns its new size, which
 * is not larger. */
size_t json_escape_undo(uint8_t *text, size_t size);

#endif
