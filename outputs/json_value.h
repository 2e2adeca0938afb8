#ifndef ETWSHIP_OUTPUTS_JSON_VALUE_H
#define ETWSHIP_OUTPUTS_JSON_VALUE_H

#include "base/span.h"

/*
 * The value at ${path} ("version.number": nested names) of the object at the start of ${body}: an
 * unescaped string, a number or a word, not an object or a list. Written to ${ret_value}, which has
 * ${room} bytes with the NUL; longer values are cut. Returns its size; 0: not found before the end,
 * invalid JSON, or nesting deeper than JSON_SCAN_MAX_DEPTH.
 */
size_t json_value_find(struct span body, const char *path, char *ret_value, size_t room);

/* The value at ${path} as written in ${body}: complete, a string with its quotes and escapes.
 * Empty: there is none. */
struct span json_value_raw(struct span body, const char *path);

#endif
