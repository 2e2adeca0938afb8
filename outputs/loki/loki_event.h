#ifndef ETWSHIP_OUTPUTS_LOKI_EVENT_H
#define ETWSHIP_OUTPUTS_LOKI_EVENT_H

#include <stddef.h>

#include "base/span.h"

/*
 * Values of a native event for Loki beside its line, from fixed places. The first LOKI_LABEL_COUNT
 * may be labels (enum loki_label); the others are structured metadata.
 */
enum { LOKI_PLACE_COUNT = 13 };

/* The name of ${place} in Loki. Static. */
const char *loki_event_name(size_t place);

/* The raw JSON texts of all places, with their escapes; empty if missing. Views of ${line}. */
void loki_event_texts(struct span line, struct span ret_texts[LOKI_PLACE_COUNT]);

/* Nanoseconds since 1970, in Loki's range; 0 before it. False: the event has no time. */
bool loki_event_time(struct span line, int64_t *ret_nanos);

#endif
