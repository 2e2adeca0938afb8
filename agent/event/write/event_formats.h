#ifndef ETWSHIP_EVENT_EVENT_FORMATS_H
#define ETWSHIP_EVENT_EVENT_FORMATS_H

#include "event/write/event_writer.h"

/* Every format as event_format_<id>, for the registry and for who needs one of them. Other code
 * finds them by their names (event_format.h), so that a new line in formats.def rebuilds little. */
#define FORMAT(id) extern const struct event_format event_format_##id;
#include "event/write/formats.def"
#undef FORMAT

#endif
