#ifndef ETWSHIP_TESTS_SUPPORT_PATH_ORACLE_H
#define ETWSHIP_TESTS_SUPPORT_PATH_ORACLE_H

#include "event/write/event_path.h"

/*
 * Does event_path give what format_native.c writes? Every member of the line, at any depth, must
 * be found at its path with its type and its text, and what is not in the line must not be found.
 * On a difference, false with a sentence in ${out}.
 */
bool path_oracle_check(const struct event *event, struct event_path_context *context,
    struct span native_line, struct buf *out);

#endif
