#ifndef ETWSHIP_FILTER_FILTER_HINT_H
#define ETWSHIP_FILTER_FILTER_HINT_H

#include "base/error.h"
#include "base/span.h"

/*
 * What to say of words that stand where they cannot: people know other languages, and slips of the
 * pen. Each fills ${err} and returns false, as error_set does.
 */

/* ${word} stands where an operator belongs. */
bool filter_hint_operator(struct span word, struct error *err);

/* ${word} stands where a value for ${field} belongs. */
bool filter_hint_value(struct span word, struct span field, struct error *err);

/* ${word} is followed by a parenthesis as a function is. */
bool filter_hint_function(struct span word, struct error *err);

/* ${number} starts like one. */
bool filter_hint_number(struct span number, struct error *err);

#endif
