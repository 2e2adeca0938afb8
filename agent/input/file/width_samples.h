#ifndef ETWSHIP_INPUT_WIDTH_SAMPLES_H
#define ETWSHIP_INPUT_WIDTH_SAMPLES_H

#include "event/model/record.h"

/*
 * Selects the classic events that the first pass over a trace passes on as samples
 * (input_sink.sample): the first ones of each class, version, header width and process, so that
 * their number does not grow with the trace. The choice depends only on the trace. Not thread-safe.
 */
struct width_samples;

enum { WIDTH_SAMPLES_EACH = 1024 };

struct width_samples *width_samples_create(void);          /* NULL: out of memory */
void width_samples_destroy(struct width_samples *samples); /* NULL is fine */

/* True if ${record}, the next one of its trace, is a sample; always false if ${samples} is NULL. */
bool width_samples_take(struct width_samples *samples, const struct event_record *record);

#endif
