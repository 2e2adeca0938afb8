#ifndef ETWSHIP_APP_REDACTOR_MARKS_H
#define ETWSHIP_APP_REDACTOR_MARKS_H

#include "base/span.h"

/* Finds text that looks like a secret because of its surroundings, for redactor.c. Pure. */

/* Set the bytes of ${marks} that belong to users, passwords and queries of addresses, to values of
 * names such as password and Authorization, and to credentials that follow Bearer and other
 * schemes. */
void redactor_marks_guess(struct span text, uint8_t *marks);

/* Find the next value in ${text}, valid or invalid YAML, whose key names a secret. ${*at}: how far
 * the text was searched. A value that only names a variable or a file does not count. */
bool redactor_marks_next_value(struct span text, size_t *at, struct span *ret_value);

#endif
