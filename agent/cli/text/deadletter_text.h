#ifndef ETWSHIP_CLI_DEADLETTER_TEXT_H
#define ETWSHIP_CLI_DEADLETTER_TEXT_H

#include "pipeline/deliver/dead_letter.h"

/* Dead letters for people. Text from a destination or a trace is escaped, so it cannot control the
 * terminal. */

enum { DEADLETTER_COLUMNS = 7 };

/* Widths of the columns of a table. */
struct deadletter_widths {
    size_t columns[DEADLETTER_COLUMNS];
};

/* Widths for a table without letters. */
void deadletter_text_widths(struct deadletter_widths *widths);

/* Make room for ${letter}. */
void deadletter_text_measure(struct deadletter_widths *widths, const struct dead_letter *letter);

/* A row of the table; its heading if ${letter} is NULL. */
void deadletter_text_row(
    const struct deadletter_widths *widths, const struct dead_letter *letter, struct buf *out);

/* A letter in full: a line per known value, and the document. */
void deadletter_text_details(const struct dead_letter *letter, struct buf *out);

#endif
