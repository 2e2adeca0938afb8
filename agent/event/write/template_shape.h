#ifndef ETWSHIP_EVENT_TEMPLATE_SHAPE_H
#define ETWSHIP_EVENT_TEMPLATE_SHAPE_H

#include "base/buf.h"
#include "base/span.h"

/*
 * What a path template may give, whatever the events: its text, with one byte for each part that is not
 * literal. Two outputs whose shapes meet may write to one file.
 */
enum template_shape_symbol {
    TEMPLATE_SHAPE_DIGIT = 1,  /* one */
    TEMPLATE_SHAPE_DIGITS = 2, /* any number of them, also none */
    TEMPLATE_SHAPE_FIELD = 3,  /* at least one byte, none of them a separator */
};

/* Append the shape of ${text}, a path template; what is no valid one is taken as plain text. */
void template_shape_make(struct span text, struct buf *out);

/* Append what rotation and compression add to a path: the ${index}th kind of ending. False: there are fewer. */
bool template_shape_add_rotation(size_t index, struct buf *out);

/*
 * Is there a text that both ${a} and ${b} may give? Slashes and backslashes are one; ${folds_case}: so are
 * letters of ASCII that differ in case. True if memory is lacking.
 */
bool template_shape_meet(struct span a, struct span b, bool folds_case);

/* The same where either of them may be rotated, too. */
bool template_shape_meet_rotated(struct span a, struct span b, bool folds_case);

/* May a file that ${shape} gives be called as another one of it is when it was rotated? */
bool template_shape_meets_itself(struct span shape);

/* Does time stand between two fields of one name, so that it cannot be found in what the template gave? */
bool template_shape_hides_time(struct span shape);

#endif
