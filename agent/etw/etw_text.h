#ifndef ETWSHIP_ETW_ETW_TEXT_H
#define ETWSHIP_ETW_ETW_TEXT_H

#include "base/span.h"
#include "etw/etw_types.h"

/* Text on its way to and from ETW: UTF-8 here, UTF-16 there, both in memory of a fixed size. */

/* Room in UTF-8 for the longest name that ETW takes, with its NUL. */
enum { ETW_NAME_BYTES = 3 * ETW_MAX_NAME_CHARS };

/*
 * ${utf8} as UTF-16 with a NUL, at most ${capacity} units; broken sequences become U+FFFD. False,
 * and nothing is written, if it does not fit or has a NUL inside. ${ret_units} (NULL is fine): how
 * many, without the NUL.
 */
bool etw_text_encode(struct span utf8, etw_char *ret_text, size_t capacity, size_t *ret_units);

/*
 * ${text} up to its NUL, or its first ${max_units} units, as UTF-8 with a NUL in ${capacity} bytes
 * (at least 1): cut between characters if it does not fit. The bytes without the NUL.
 */
size_t etw_text_decode(const etw_char *text, size_t max_units, char *ret_utf8, size_t capacity);

/* True if ETW treats two names as equal: without regard to case; UTF-8. */
bool etw_text_same_name(const char *a, const char *b);

#endif
