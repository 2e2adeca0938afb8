#ifndef ETWSHIP_OUTPUTS_JSON_VALUE_H
#define ETWSHIP_OUTPUTS_JSON_VALUE_H

#include "base/span.h"

/*
 * The value at ${path} ("version.number": names of objects within objects) of the object that ${body} begins with:
 * a string without escapes, a number or a word; an object or a list is none. Written to ${ret_value}, which has
 * ${room} bytes with the NUL; what is longer is cut. Returns its size, 0: there is none before the body ends, is no
 * JSON any more, or is nested deeper than JSON_SCAN_MAX_DEPTH.
 */
size_t json_value_find(struct span body, const char *path, char *ret_value, size_t room);

#endif
