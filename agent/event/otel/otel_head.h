#ifndef ETWSHIP_EVENT_OTEL_HEAD_H
#define ETWSHIP_EVENT_OTEL_HEAD_H

#include "event/otel/otel_codec.h"
#include "event/write/event_writer_state.h"

/*
 * The parts of a log record that are constant per event type, per trace and per process, for
 * event_head_get_as, event_trace_of and event_process_text, encoded by event_writer.codec. Parts of
 * a head:
 *
 *     scope, and what stands before the times   at[0]
 *     severity, event name                      at[1]
 *     attributes
 *
 * Parts of the text of a trace:
 *
 *     start   resource, and what stands before the scope
 *     file    attributes: session, file
 *     end     empty
 */
extern const struct event_head_shape otel_head_shape;
event_trace_fn otel_head_trace;
event_process_fn otel_head_process;

/* Severity number and text of an ETW level in the data model; 0 and empty if it has none. ${name}:
 * the provider's name of the level. */
unsigned otel_head_severity(uint8_t level);
struct span otel_head_severity_text(uint8_t level, struct span name);

#endif
