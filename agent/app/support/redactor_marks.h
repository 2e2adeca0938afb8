#ifndef ETWSHIP_APP_REDACTOR_MARKS_H
#define ETWSHIP_APP_REDACTOR_MARKS_H

#include "base/span.h"

/* What looks like a secret, by what stands around it: for redactor.c. Pure. */

/* Set the bytes of ${marks} that belong to users, passwords and queries of addresses, to values of names such
 * as password and Authorization, and to credentials that follow Bearer and other schemes. */
void redactor_marks_guess(struct span text, uint8_t *marks);

/* The next value in ${text}, YAML, right or wrong, whose key says that it is a secret. ${*at} is how far the
 * text was searched. What only names a variable or a file is none. */
bool redactor_marks_next_value(struct span text, size_t *at, struct span *ret_value);

#endif
