#ifndef ETWSHIP_SCHEMA_WPP_SPEC_H
#define ETWSHIP_SCHEMA_WPP_SPEC_H

#include "event/wpp_format.h"

/* A conversion specification as it stands between the marks of an insert, without percent sign:
 * `-08.3I64x`. What is none, or empty, is `s`. C11 7.21.6.1 and Microsoft's I, I32, I64, w. */
struct wpp_spec wpp_spec_parse(struct span text);

#endif
