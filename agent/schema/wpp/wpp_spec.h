#ifndef ETWSHIP_SCHEMA_WPP_SPEC_H
#define ETWSHIP_SCHEMA_WPP_SPEC_H

#include "event/value/wpp_format.h"

/* Parse a conversion specification between the marks of an insert, without percent sign:
 * `-08.3I64x`. An invalid or empty one is `s`. Source: C11 7.21.6.1; Microsoft's I, I32, I64, w. */
struct wpp_spec wpp_spec_parse(struct span text);

#endif
