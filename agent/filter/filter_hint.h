#ifndef ETWSHIP_FILTER_FILTER_HINT_H
#define ETWSHIP_FILTER_FILTER_HINT_H

#include "base/error.h"
#include "base/span.h"

/*
 * Error texts for words in the wrong place: users know other languages, and make typing errors.
 * Each function fills ${err} and returns false, like error_set.
 */

/* ${word} is in the place of an operator. */
bool filter_hint_operator(struct span word, struct error *err);

/* ${word} is in the place of a value for ${field}. */
bool filter_hint_value(struct span word, struct span field, struct error *err);

/* ${word} is followed by a parenthesis like a function. */
bool filter_hint_function(struct span word, struct error *err);

/* ${number} begins like a number. */
bool filter_hint_number(struct span number, struct error *err);

#endif
