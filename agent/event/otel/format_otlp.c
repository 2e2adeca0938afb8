#include "event/otel/otel_event.h"

/* Log records of OpenTelemetry as protobuf (otel_proto.c), for the output of that name. */

static void otlp_event(struct event_writer *writer, const struct event *event, struct buf *out)
{
    otel_event_write(writer, &otel_proto, event, out);
}

static void otlp_gap(struct event_writer *writer, const struct gap *gap, uint64_t now,
    uint64_t sequence, struct buf *out)
{
    otel_agent_gap(writer, &otel_proto, gap, now, sequence, out);
}

static void otlp_guard(
    struct event_writer *writer, const struct guard_report *report, struct buf *out)
{
    otel_agent_guard(writer, &otel_proto, report, out);
}

static void otlp_status(struct event_writer *writer, const struct status *status, uint64_t now,
    uint64_t sequence, struct buf *out)
{
    otel_agent_status(writer, &otel_proto, status, now, sequence, out);
}

static void otlp_rollup(const struct event_rollup *rollup, struct buf *out)
{
    otel_event_rollup(&otel_proto, rollup, out);
}

const struct event_format event_format_otlp = {
    .name = "otlp",
    .event = otlp_event,
    .gap = otlp_gap,
    .guard = otlp_guard,
    .status = otlp_status,
    .rollup = otlp_rollup,
};
