#ifndef ETWSHIP_OUTPUTS_LOKI_EVENT_H
#define ETWSHIP_OUTPUTS_LOKI_EVENT_H

#include <stddef.h>

#include "base/span.h"

/*
 * What Loki is told of a native event beside its line: texts from fixed places of it. The first LOKI_LABEL_COUNT
 * may be labels (enum loki_label); what is no label is structured metadata.
 */
enum { LOKI_PLACE_COUNT = 13 };

/* The name of ${place} at Loki. Static. */
const char *loki_event_name(size_t place);

/* The texts of all places, as they stand in JSON, with their escapes; empty ones where there is none. Views of
 * ${line}. */
void loki_event_texts(struct span line, struct span ret_texts[LOKI_PLACE_COUNT]);

/* Nanoseconds since 1970, as far as Loki has them; 0 before that. False: the event has no time. */
bool loki_event_time(struct span line, int64_t *ret_nanos);

#endif
