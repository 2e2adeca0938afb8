#ifndef ETWSHIP_EVENT_OTEL_EVENT_H
#define ETWSHIP_EVENT_OTEL_EVENT_H

#include "event/otel/otel_codec.h"
#include "event/write/event_writer_state.h"

/* Events as log records of OpenTelemetry in either encoding, for format_otel.c and format_otlp.c.
 * Functions as in struct event_format. */
void otel_event_write(struct event_writer *writer, const struct otel_codec *codec,
    const struct event *event, struct buf *out);
void otel_event_rollup(
    const struct otel_codec *codec, const struct event_rollup *rollup, struct buf *out);

/* Events of the agent (otel_agent.c). */
void otel_agent_gap(struct event_writer *writer, const struct otel_codec *codec,
    const struct gap *gap, uint64_t now, uint64_t sequence, struct buf *out);
void otel_agent_guard(struct event_writer *writer, const struct otel_codec *codec,
    const struct guard_report *report, struct buf *out);
void otel_agent_status(struct event_writer *writer, const struct otel_codec *codec,
    const struct status *status, uint64_t now, uint64_t sequence, struct buf *out);

/* FILETIME ${filetime} as nanoseconds since 1970; 0: out of range. */
uint64_t otel_event_nanos(uint64_t filetime);

/* A time as a text, also one that is out of range in nanoseconds. */
void otel_event_add_time(
    struct event_writer *writer, const char *key, uint64_t filetime, struct buf *out);

#endif
