#ifndef ETWSHIP_BASE_VISIBLE_H
#define ETWSHIP_BASE_VISIBLE_H

#include "base/buf.h"

/*
 * For terminals and logs, which names and values from traces must not steer: the one way in which
 * characters that are not seen, or that change how others are seen (utf_is_unseen), are written for
 * people. They are spelt as JSON spells them: \n, \r, \t, \b, \f, else \uXXXX. What is no UTF-8
 * becomes U+FFFD; a backslash stays as it is.
 */

/* Rewrite ${text} behind ${start}, all but line breaks: for text of several lines whose names were
 * added with visible_add, or cannot hold line breaks. Without memory for that everything behind
 * ${start} is taken back, and the buffer has failed. */
void visible_make(struct buf *text, size_t start);

/* Append ${name} on one line: line breaks are rewritten, too. Nothing is appended without memory. */
void visible_add(struct buf *out, struct span name);

/* Rewrite what ${out} holds from ${start} on as one line: line breaks are rewritten, too. */
void visible_make_line(struct buf *out, size_t start);

/* Rewrite ${text} as one line where it stands, in ${room} bytes with its NUL, cut on a character if it
 * grows beyond that: for messages in arrays. Without memory it becomes empty. */
void visible_fit(char *text, size_t room);

#endif
