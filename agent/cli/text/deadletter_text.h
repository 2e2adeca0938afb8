#ifndef ETWSHIP_CLI_DEADLETTER_TEXT_H
#define ETWSHIP_CLI_DEADLETTER_TEXT_H

#include "pipeline/deliver/dead_letter.h"

/* Dead letters for people. What came from a destination or from a trace cannot steer a terminal. */

enum { DEADLETTER_COLUMNS = 7 };

/* Widths of the columns of a table. */
struct deadletter_widths {
    size_t columns[DEADLETTER_COLUMNS];
};

/* Those of a table without letters. */
void deadletter_text_widths(struct deadletter_widths *widths);

/* Make room for ${letter}. */
void deadletter_text_measure(struct deadletter_widths *widths, const struct dead_letter *letter);

/* A line of the table; its head, if ${letter} is NULL. */
void deadletter_text_row(
    const struct deadletter_widths *widths, const struct dead_letter *letter, struct buf *out);

/* All of a letter, a line for each thing that is known, and the document. */
void deadletter_text_details(const struct dead_letter *letter, struct buf *out);

#endif
