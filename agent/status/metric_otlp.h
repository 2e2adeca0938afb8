#ifndef ETWSHIP_STATUS_METRIC_OTLP_H
#define ETWSHIP_STATUS_METRIC_OTLP_H

#include "base/buf.h"
#include "status/metric_set.h"

/*
 * A set as one request of OpenTelemetry (ExportMetricsServiceRequest,
 * opentelemetry/proto/metrics/v1/metrics.proto), in protobuf or as OTLP/JSON. Counters become
 * cumulative monotonic sums, histograms cumulative histograms, and all other metrics gauges.
 * Names are those for Prometheus without the suffix `_total`, which exporters to Prometheus add.
 * Labels become attributes. Numbers with a divisor become doubles, all others integers.
 */
enum metric_otlp_encoding { METRIC_OTLP_PROTOBUF, METRIC_OTLP_JSON };

/* The agent that the numbers describe, and the start of its counters.
 * Times are nanoseconds since 1970. */
struct metric_otlp_origin {
    struct span version;  /* of the service etwship */
    struct span instance; /* its id */
    struct span host;
    uint64_t now;
    /* start of the process; the set has the start of counters that each configuration resets */
    uint64_t started;
};

/* Append the request to ${out}, which fails if the set has failed. */
void metric_otlp_write(const struct metric_set *set, const struct metric_otlp_origin *origin,
    enum metric_otlp_encoding encoding, struct buf *out);

#endif
