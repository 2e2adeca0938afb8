#ifndef ETWSHIP_EVENT_TEMPLATE_VALUE_H
#define ETWSHIP_EVENT_TEMPLATE_VALUE_H

#include "base/buf.h"

/* What templates (event_template.h) make of values that come from events. */

/* Append ${value} to ${out}, at most ${max} bytes of it, as part of a path.
 * What cannot stand in a name becomes `_`. */
void template_value_add_path(struct buf *out, struct span value, size_t max);

/* Append ${value} to ${out}, at most ${max} bytes of it, as part of the name of an index: small
 * letters, digits, `.` and `_`. */
void template_value_add_index(struct buf *out, struct span value, size_t max);

/* Make what data added to a component of a path, from ${start} of ${out} on, a plain name. */
void template_value_finish(struct buf *out, size_t start);

#endif
