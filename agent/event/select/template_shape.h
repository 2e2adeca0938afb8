#ifndef ETWSHIP_EVENT_TEMPLATE_SHAPE_H
#define ETWSHIP_EVENT_TEMPLATE_SHAPE_H

#include "base/buf.h"
#include "base/span.h"

/*
 * The shape of a path template's results over all events: its text, with one byte for each part
 * that is not literal. Two outputs with shapes that meet may write to one file.
 */
enum template_shape_symbol {
    TEMPLATE_SHAPE_DIGIT = 1,  /* one */
    TEMPLATE_SHAPE_DIGITS = 2, /* any number of bytes, also none */
    TEMPLATE_SHAPE_FIELD = 3,  /* at least one byte, no separators */
};

/* Append the shape of ${text}, a path template; an invalid one counts as plain text. */
void template_shape_make(struct span text, struct buf *out);

/* Append the ${index}th kind of ending that rotation and compression add to a path. False: there
 * are fewer. */
bool template_shape_add_rotation(size_t index, struct buf *out);

/*
 * True if ${a} and ${b} may give equal texts, or out of memory. Slash equals backslash;
 * ${folds_case}: ASCII letters are compared without case.
 */
bool template_shape_meet(struct span a, struct span b, bool folds_case);

/* True if they may give equal texts when either may be rotated too. */
bool template_shape_meet_rotated(struct span a, struct span b, bool folds_case);

/* True if a file of ${shape} may have the name of another file of it after rotation. */
bool template_shape_meets_itself(struct span shape);

/* True if a time is between two fields of one name, so that it cannot be found in a result. */
bool template_shape_hides_time(struct span shape);

#endif
