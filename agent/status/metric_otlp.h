#ifndef ETWSHIP_STATUS_METRIC_OTLP_H
#define ETWSHIP_STATUS_METRIC_OTLP_H

#include "base/buf.h"
#include "status/metric_set.h"

/*
 * A set as one request of OpenTelemetry (ExportMetricsServiceRequest, opentelemetry/proto/metrics/v1/metrics.proto),
 * in protobuf or as OTLP/JSON: counters as cumulative monotonic sums, histograms cumulative, too, all else as gauges.
 * Names are those for Prometheus without `_total`, which exporters to Prometheus put behind them; attributes are its
 * labels. Numbers that have a divisor are doubles, all others whole numbers.
 */
enum metric_otlp_encoding { METRIC_OTLP_PROTOBUF, METRIC_OTLP_JSON };

/* Whom the numbers are of, and since when they count. Times are nanoseconds since 1970. */
struct metric_otlp_source {
    struct span version;  /* of the service, which is called etwship */
    struct span instance; /* its id */
    struct span host;
    uint64_t now;
    uint64_t
        started; /* the process; other counters begin with each configuration, as the set itself says */
};

/* Append it to ${out}, which fails if the set has failed. */
void metric_otlp_write(const struct metric_set *set, const struct metric_otlp_source *source,
    enum metric_otlp_encoding encoding, struct buf *out);

#endif
