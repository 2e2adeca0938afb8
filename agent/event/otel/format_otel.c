#include "event/otel/otel_event.h"

/* Log records of OpenTelemetry as OTLP/JSON, a line each (otel_json.c). */

static void otel_event(struct event_writer *writer, const struct event *event, struct buf *out)
{
    otel_event_write(writer, &otel_json, event, out);
}

static void otel_gap(struct event_writer *writer, const struct gap *gap, uint64_t now,
    uint64_t sequence, struct buf *out)
{
    otel_agent_gap(writer, &otel_json, gap, now, sequence, out);
}

static void otel_guard(
    struct event_writer *writer, const struct guard_report *report, struct buf *out)
{
    otel_agent_guard(writer, &otel_json, report, out);
}

static void otel_status(struct event_writer *writer, const struct status *status, uint64_t now,
    uint64_t sequence, struct buf *out)
{
    otel_agent_status(writer, &otel_json, status, now, sequence, out);
}

static void otel_rollup(const struct event_rollup *rollup, struct buf *out)
{
    otel_event_rollup(&otel_json, rollup, out);
}

const struct event_format event_format_otel = {
    .name = "otel",
    .event = otel_event,
    .gap = otel_gap,
    .guard = otel_guard,
    .status = otel_status,
    .rollup = otel_rollup,
};
