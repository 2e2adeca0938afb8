#ifndef ETWSHIP_TESTS_SUPPORT_JSON_CHECK_H
#define ETWSHIP_TESTS_SUPPORT_JSON_CHECK_H

#include "base/span.h"

/*
 * Is ${text} one JSON value (RFC 8259) of valid UTF-8, with no key twice in an object? NULL if so,
 * else what is wrong; ${ret_at} is the offset where. A reader of its own, that shares nothing with
 * the writers it judges.
 */
const char *json_check(struct span text, size_t *ret_at);

#endif
