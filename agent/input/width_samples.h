#ifndef ETWSHIP_INPUT_WIDTH_SAMPLES_H
#define ETWSHIP_INPUT_WIDTH_SAMPLES_H

#include "event/record.h"

/*
 * Which classic events the first pass over a trace gives as samples (input_sink.sample): of each
 * class, version, width in the header and process the first ones of a trace, so that their number
 * does not grow with the trace. The choice depends on the trace alone. One thread at a time.
 */
struct width_samples;

enum { WIDTH_SAMPLES_EACH = 1024 };

struct width_samples *width_samples_create(void);          /* NULL: out of memory */
void width_samples_destroy(struct width_samples *samples); /* NULL is fine */

/* Is ${record}, the next one of its trace, a sample? ${samples} NULL: it is none. */
bool width_samples_take(struct width_samples *samples, const struct event_record *record);

#endif
