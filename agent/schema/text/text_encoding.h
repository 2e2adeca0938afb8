#ifndef ETWSHIP_SCHEMA_TEXT_ENCODING_H
#define ETWSHIP_SCHEMA_TEXT_ENCODING_H

#include "base/arena.h"

/*
 * Convert a text file to UTF-8 without byte order mark. Accepts what Windows programs write: UTF-8
 * or UTF-16 with or without a mark, else code page 1252. Converted text lives in ${arena}; UTF-8 is
 * returned as a view of ${bytes}. False if memory ran out.
 */
bool text_encoding_to_utf8(struct span bytes, struct arena *arena, struct span *ret_text);

#endif
