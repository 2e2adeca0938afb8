#include <inttypes.h>

#include "base/utf.h"
#include "status/metric_json.h"
#include "status/metric_otlp_own.h"

/* Members in the JSON form of proto3, where 64-bit integers are strings (OTLP,
 * "JSON Protobuf Encoding"). */

static void add_attribute(struct buf *out, const char *before, struct span key, struct span value)
{
    buf_printf(out, "%s{\"key\":\"%.*s\",\"value\":{\"stringValue\":", before, SPAN_ARG(key));
    metric_json_string(value, out);
    buf_add_text(out, "}}");
}

/* A number in units of 1/${divisor}, without rounding; the divisor is 1000. */
static void add_double(struct buf *out, uint64_t value, unsigned divisor)
{
    buf_printf(out, "%" PRIu64 ".%03u", value / divisor, (unsigned)(value % divisor));
}

static void add_histogram(struct buf *out, const struct histogram *histogram)
{
    uint64_t count = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        count += histogram->counts[i];
    }
    buf_printf(out, ",\"count\":\"%" PRIu64 "\",\"sum\":", count);
    add_double(out, histogram->sum_ms, 1000);
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        buf_printf(out, "%s\"%" PRIu64 "\"", i ? "," : ",\"bucketCounts\":[", histogram->counts[i]);
    }
    for (size_t i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
        buf_add_text(out, i ? "," : "],\"explicitBounds\":[");
        add_double(out, histogram_bounds_ms[i], 1000);
    }
    buf_add_byte(out, ']');
}

static void add_point(
    const struct metric_otlp *self, const struct metric_sample *sample, struct buf *out)
{
    const struct metric *metric = metric_of(sample->id);
    uint64_t start = metric_otlp_start(self, sample->id);
    const char *labels = metric->labels;
    struct span name;
    buf_add_text(out, "{\"attributes\":[");
    for (size_t i = 0; metric_next_label(&labels, &name); i++) {
        add_attribute(out, i ? "," : "", name, sample->labels[i]);
    }
    buf_add_byte(out, ']');
    if (start) {
        buf_printf(out, ",\"startTimeUnixNano\":\"%" PRIu64 "\"", start);
    }
    buf_printf(out, ",\"timeUnixNano\":\"%" PRIu64 "\"", self->origin->now);
    if (metric->kind == METRIC_KIND_HISTOGRAM) {
        add_histogram(out, sample->histogram);
    } else if (metric->divisor == 1) {
        buf_printf(out, ",\"asInt\":\"%" PRIu64 "\"",
            sample->number < INT64_MAX ? sample->number : (uint64_t)INT64_MAX);
    } else {
        buf_add_text(out, ",\"asDouble\":");
        add_double(out, sample->number, metric->divisor);
    }
    buf_add_byte(out, '}');
}

static void add_metric(const struct metric_otlp *self, enum metric_id id, struct buf *out)
{
    const struct metric *metric = metric_of(id);
    bool is_sum = metric->kind == METRIC_KIND_COUNTER;
    bool is_histogram = metric->kind == METRIC_KIND_HISTOGRAM;
    buf_printf(out, "{\"name\":\"etwship_%s\",\"description\":", metric->name);
    metric_json_string(span_text(metric->help), out);
    buf_printf(out, ",\"unit\":\"%s\",\"%s\":{\"dataPoints\":[", metric_otlp_unit(metric),
        is_sum         ? "sum"
        : is_histogram ? "histogram"
                       : "gauge");
    for (size_t i = self->order.first[id]; i != SIZE_MAX; i = self->order.next[i]) {
        buf_add_text(out, i == self->order.first[id] ? "" : ",");
        add_point(self, &self->set->samples[i], out);
    }
    buf_add_byte(out, ']');
    if (is_sum || is_histogram) {
        buf_printf(out, ",\"aggregationTemporality\":%d", METRIC_OTLP_CUMULATIVE);
    }
    buf_add_text(out, is_sum ? ",\"isMonotonic\":true}}" : "}}");
}

void metric_otlp_json(const struct metric_otlp *self, struct buf *out)
{
    const char *key;
    struct span value;
    const char *before = "";
    buf_add_text(out, "{\"resourceMetrics\":[{\"resource\":{\"attributes\":[");
    for (size_t i = 0; metric_otlp_resource(self->origin, i, &key, &value); i++) {
        if (value.size) {
            add_attribute(out, before, span_text(key), value);
            before = ",";
        }
    }
    buf_add_text(out, "]},\"scopeMetrics\":[{\"scope\":{\"name\":\"etwship\",\"version\":");
    metric_json_string(self->origin->version, out);
    buf_add_text(out, "},\"metrics\":[");
    before = "";
    for (int id = 0; id < METRIC_COUNT; id++) {
        if (metric_otlp_has(self, (enum metric_id)id)) {
            buf_add_text(out, before);
            add_metric(self, (enum metric_id)id, out);
            before = ",";
        }
    }
    buf_add_text(out, "]}]}]}");
}
