#ifndef ETWSHIP_STATUS_METRIC_TEXT_H
#define ETWSHIP_STATUS_METRIC_TEXT_H

#include "base/buf.h"
#include "status/metric_set.h"

/*
 * A set as text for Prometheus: its own format 0.0.4, or OpenMetrics 1.0, which differ in the names
 * of counters' families, in units, and in the terminator. Families come in the order of the table.
 */
enum metric_text_format { METRIC_TEXT_PROMETHEUS, METRIC_TEXT_OPENMETRICS };

const char *metric_text_type(enum metric_text_format format); /* value of Content-Type */

void metric_text_write(
    const struct metric_set *set, enum metric_text_format format, struct buf *out);

#endif
