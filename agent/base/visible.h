#ifndef ETWSHIP_BASE_VISIBLE_H
#define ETWSHIP_BASE_VISIBLE_H

#include "base/buf.h"

/*
 * Makes names and values from traces safe for terminals and logs: characters that are invisible or
 * change how others are displayed (utf_is_unseen) are written as in JSON: \n, \r, \t, \b, \f, else
 * \uXXXX. Invalid UTF-8 becomes U+FFFD; a backslash is unchanged.
 */

/* Rewrite ${text} from ${start} on, except line breaks: for text of several lines with names that
 * were added by visible_add or cannot contain line breaks. If memory is short, everything from
 * ${start} on is removed and the buffer has failed. */
void visible_make(struct buf *text, size_t start);

/* Append ${name} on one line, rewriting line breaks, too. Nothing is appended if memory is
 * short. */
void visible_add(struct buf *out, struct span name);

/* Rewrite the content of ${out} from ${start} on as one line, including line breaks. */
void visible_make_line(struct buf *out, size_t start);

/* Rewrite ${text} in place as one line, in ${room} bytes including its NUL, cut at a character if
 * it does not fit: for messages in arrays. Becomes empty if memory is short. */
void visible_fit(char *text, size_t room);

#endif
