#ifndef ETWSHIP_SCHEMA_TEXT_ENCODING_H
#define ETWSHIP_SCHEMA_TEXT_ENCODING_H

#include "base/arena.h"

/*
 * The bytes of a text file as UTF-8 without a mark, in whatever form Windows programs write them:
 * UTF-8 or UTF-16 with or without a mark, else code page 1252. What had to be converted lives in
 * ${arena}; UTF-8 is a view of ${bytes}. False if memory ran out.
 */
bool text_encoding_to_utf8(struct span bytes, struct arena *arena, struct span *ret_text);

#endif
