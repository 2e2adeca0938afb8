#ifndef ETWSHIP_BASE_VISIBLE_H
#define ETWSHIP_BASE_VISIBLE_H

#include "base/buf.h"

/*
 * For terminals and logs, which names and values from traces must not steer: the one way in which
 * characters that are not seen, or that change how others are seen, are written for people. They
 * are spelt as JSON spells them: \n, \r, \t, \b, \f, else \uXXXX. These are C0 controls, DEL, C1
 * controls (which JSON leaves as they are), line and paragraph separators, and the controls of
 * bidirectional text (Unicode Standard Annex 9, table 4), which show a name in another order than
 * it is read in. What is no UTF-8 becomes U+FFFD; a backslash stays as it is.
 */

/* Rewrite ${text} behind ${start}, all but line breaks: for text of several lines whose names were
 * added with visible_add, or cannot hold line breaks. Without memory for that everything behind
 * ${start} is taken back, and the buffer has failed. */
void visible_make(struct buf *text, size_t start);

/* Append ${name} on one line: line breaks are rewritten, too. Nothing is appended without memory. */
void visible_add(struct buf *out, struct span name);

/* Rewrite what ${out} holds from ${start} on as one line: line breaks are rewritten, too. */
void visible_make_line(struct buf *out, size_t start);

#endif
