#include "base/protobuf_buf.h"
#include "base/utf.h"
#include "status/metric_otlp_own.h"

/* Numbers of fields: opentelemetry/proto/{collector/metrics,metrics,common,resource}/v1. */
enum {
    REQUEST_RESOURCE_METRICS = 1,
    RESOURCE_METRICS_RESOURCE = 1,
    RESOURCE_METRICS_SCOPE_METRICS = 2,
    RESOURCE_ATTRIBUTES = 1,
    SCOPE_METRICS_SCOPE = 1,
    SCOPE_METRICS_METRICS = 2,
    SCOPE_NAME = 1,
    SCOPE_VERSION = 2,
    METRIC_NAME = 1,
    METRIC_DESCRIPTION = 2,
    METRIC_UNIT = 3,
    METRIC_GAUGE = 5,
    METRIC_SUM = 7,
    METRIC_HISTOGRAM = 9,
    DATA_POINTS = 1, /* of a gauge, sum and histogram */
    DATA_TEMPORALITY = 2,
    SUM_IS_MONOTONIC = 3,
    POINT_START = 2, /* of both kinds of points */
    POINT_TIME = 3,
    NUMBER_ATTRIBUTES = 7,
    NUMBER_DOUBLE = 4,
    NUMBER_INT = 6,
    HISTOGRAM_COUNT = 4,
    HISTOGRAM_SUM = 5,
    HISTOGRAM_COUNTS = 6,
    HISTOGRAM_BOUNDS = 7,
    HISTOGRAM_ATTRIBUTES = 9,
    PAIR_KEY = 1,
    PAIR_VALUE = 2,
    VALUE_STRING = 1,
};

/* Invalid UTF-8 becomes U+FFFD: protobuf requires UTF-8 in strings. */
static void add_text(struct buf *out, unsigned number, struct span text)
{
    struct protobuf_place place = protobuf_buf_open(out, number, SIZE_MAX);
    for (size_t at = 0; at < text.size && buf_reserve(out, 4);) {
        out->size += utf8_put(utf8_next(text, &at), out->data + out->size);
    }
    protobuf_buf_close(out, place);
}

static void add_attribute(struct buf *out, unsigned number, struct span key, struct span value)
{
    struct protobuf_place pair = protobuf_buf_open(out, number, SIZE_MAX);
    protobuf_buf_bytes(out, PAIR_KEY, key);
    struct protobuf_place any = protobuf_buf_open(out, PAIR_VALUE, SIZE_MAX);
    add_text(out, VALUE_STRING, value);
    protobuf_buf_close(out, any);
    protobuf_buf_close(out, pair);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static void add_histogram(struct buf *out, const struct histogram *histogram)
{
    uint64_t count = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        count += histogram->counts[i];
    }
    protobuf_buf_fixed64(out, HISTOGRAM_COUNT, count);
    protobuf_buf_fixed64(out, HISTOGRAM_SUM, bits_of((double)histogram->sum_ms / 1000));
    struct protobuf_place counts = protobuf_buf_open(out, HISTOGRAM_COUNTS, SIZE_MAX);
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        buf_add_le64(out, histogram->counts[i]);
    }
    protobuf_buf_close(out, counts);
    struct protobuf_place bounds = protobuf_buf_open(out, HISTOGRAM_BOUNDS, SIZE_MAX);
    for (size_t i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
        buf_add_le64(out, bits_of((double)histogram_bounds_ms[i] / 1000));
    }
    protobuf_buf_close(out, bounds);
}

static void add_number(struct buf *out, const struct metric *metric, uint64_t value)
{
    if (metric->divisor == 1) {
        protobuf_buf_fixed64(out, NUMBER_INT, value < INT64_MAX ? value : INT64_MAX);
    } else {
        protobuf_buf_fixed64(out, NUMBER_DOUBLE, bits_of((double)value / metric->divisor));
    }
}

static void add_point(
    const struct metric_otlp *self, const struct metric_sample *sample, struct buf *out)
{
    const struct metric *metric = metric_of(sample->id);
    bool is_histogram = metric->kind == METRIC_KIND_HISTOGRAM;
    uint64_t start = metric_otlp_start(self, sample->id);
    struct protobuf_place point = protobuf_buf_open(out, DATA_POINTS, SIZE_MAX);
    const char *labels = metric->labels;
    struct span name;
    for (size_t i = 0; metric_next_label(&labels, &name); i++) {
        add_attribute(
            out, is_histogram ? HISTOGRAM_ATTRIBUTES : NUMBER_ATTRIBUTES, name, sample->labels[i]);
    }
    if (start) {
        protobuf_buf_fixed64(out, POINT_START, start);
    }
    protobuf_buf_fixed64(out, POINT_TIME, self->origin->now);
    if (is_histogram) {
        add_histogram(out, sample->histogram);
    } else {
        add_number(out, metric, sample->number);
    }
    protobuf_buf_close(out, point);
}

static void add_metric(const struct metric_otlp *self, enum metric_id id, struct buf *out)
{
    const struct metric *metric = metric_of(id);
    bool is_sum = metric->kind == METRIC_KIND_COUNTER;
    bool is_histogram = metric->kind == METRIC_KIND_HISTOGRAM;
    struct protobuf_place place = protobuf_buf_open(out, SCOPE_METRICS_METRICS, SIZE_MAX);
    struct protobuf_place called = protobuf_buf_open(out, METRIC_NAME, SIZE_MAX);
    buf_printf(out, "etwship_%s", metric->name);
    protobuf_buf_close(out, called);
    protobuf_buf_bytes(out, METRIC_DESCRIPTION, span_text(metric->help));
    protobuf_buf_bytes(out, METRIC_UNIT, span_text(metric_otlp_unit(metric)));
    struct protobuf_place data = protobuf_buf_open(out,
        is_sum         ? METRIC_SUM
        : is_histogram ? METRIC_HISTOGRAM
                       : METRIC_GAUGE,
        SIZE_MAX);
    for (size_t i = self->order.first[id]; i != SIZE_MAX; i = self->order.next[i]) {
        add_point(self, &self->set->samples[i], out);
    }
    if (is_sum || is_histogram) {
        protobuf_buf_varint(out, DATA_TEMPORALITY, METRIC_OTLP_CUMULATIVE);
    }
    if (is_sum) {
        protobuf_buf_varint(out, SUM_IS_MONOTONIC, true);
    }
    protobuf_buf_close(out, data);
    protobuf_buf_close(out, place);
}

void metric_otlp_proto(const struct metric_otlp *self, struct buf *out)
{
    const char *key;
    struct span value;
    struct protobuf_place all = protobuf_buf_open(out, REQUEST_RESOURCE_METRICS, SIZE_MAX);
    struct protobuf_place resource = protobuf_buf_open(out, RESOURCE_METRICS_RESOURCE, SIZE_MAX);
    for (size_t i = 0; metric_otlp_resource(self->origin, i, &key, &value); i++) {
        if (value.size) {
            add_attribute(out, RESOURCE_ATTRIBUTES, span_text(key), value);
        }
    }
    protobuf_buf_close(out, resource);
    struct protobuf_place scoped = protobuf_buf_open(out, RESOURCE_METRICS_SCOPE_METRICS, SIZE_MAX);
    struct protobuf_place scope = protobuf_buf_open(out, SCOPE_METRICS_SCOPE, SIZE_MAX);
    protobuf_buf_bytes(out, SCOPE_NAME, span_text("etwship"));
    protobuf_buf_bytes(out, SCOPE_VERSION, self->origin->version);
    protobuf_buf_close(out, scope);
    for (int id = 0; id < METRIC_COUNT; id++) {
        if (metric_otlp_has(self, (enum metric_id)id)) {
            add_metric(self, (enum metric_id)id, out);
        }
    }
    protobuf_buf_close(out, scoped);
    protobuf_buf_close(out, all);
}
