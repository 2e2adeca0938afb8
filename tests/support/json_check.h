#ifndef ETWSHIP_TESTS_SUPPORT_JSON_CHECK_H
#define ETWSHIP_TESTS_SUPPORT_JSON_CHECK_H

#include "base/span.h"

/*
 * Is ${text} one JSON value (RFC 8259) of valid UTF-8, with no key twice in an object? NULL if so,
 * else what is wrong; ${ret_at} is the offset where. A reader of its own, that shares nothing with
 * the writers it judges.
 */
const char *json_check(struct span text, size_t *ret_at);

/*
 * Is ${line} as outputs ship one: one JSON object, a line feed after it and none in it, every \u
 * escape of a surrogate half of a pair, no key twice however it is written, and an escape for each
 * character that is invisible or changes how others are shown (DEL, C1, zero width, separators of
 * lines, controls of bidirectional text).
 */
const char *json_check_line(struct span line, size_t *ret_at);

/* Is ${text} valid UTF-8 for a terminal, without control characters (C0, DEL, C1), and other
 * invisible ones, except line feeds? */
const char *json_check_utf8(struct span text, size_t *ret_at);

#endif
