#ifndef ETWSHIP_OUTPUTS_OTLP_METRICS_H
#define ETWSHIP_OUTPUTS_OTLP_METRICS_H

#include "outputs/output.h"

/* output_ops.metrics: requests to /v1/metrics. */
extern const struct output_metrics otlp_metrics;

#endif
