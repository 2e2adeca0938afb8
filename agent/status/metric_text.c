#include "status/metric_text.h"

#include <stdio.h>

#include "base/utf.h"
#include "status/metric_order.h"

const char *metric_text_type(enum metric_text_format format)
{
    return format == METRIC_TEXT_OPENMETRICS
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

/* In both formats a label's value escapes the backslash, the quote and the line feed, and is UTF-8. */
static void add_label_value(struct buf *out, struct span value)
{
    for (size_t at = 0; at < value.size;) {
        uint32_t character = utf8_next(value, &at);
        if (character == '\n') {
            buf_add_text(out, "\\n");
        } else if (character == '"' || character == '\\') {
            buf_add_byte(out, '\\');
            buf_add_byte(out, (uint8_t)character);
        } else if (buf_reserve(out, 4)) {
            out->size += utf8_put(character, out->data + out->size);
        }
    }
}

/* ${bound}: of a bucket, or NULL. */
static void add_labels(struct buf *out, const struct metric *metric,
    const struct metric_sample *sample, const char *bound)
{
    const char *labels = metric->labels;
    struct span name;
    char before = '{';
    for (size_t i = 0; metric_next_label(&labels, &name); i++) {
        buf_printf(out, "%c%.*s=\"", before, SPAN_ARG(name));
        add_label_value(out, sample->labels[i]);
        buf_add_byte(out, '"');
        before = ',';
    }
    if (bound) {
        buf_printf(out, "%cle=\"%s\"", before, bound);
        before = ',';
    }
    if (before == ',') {
        buf_add_byte(out, '}');
    }
}

/* Without rounding: divisors are 1 or 1000. */
static void add_value(struct buf *out, const struct metric *metric, uint64_t value)
{
    if (metric->divisor == 1) {
        buf_printf(out, " %llu\n", (unsigned long long)value);
    } else {
        buf_printf(out, " %llu.%03u\n", (unsigned long long)(value / metric->divisor),
            (unsigned)(value % metric->divisor));
    }
}

static void add_histogram(
    struct buf *out, const struct metric *metric, const struct metric_sample *sample)
{
    const struct histogram *histogram = sample->histogram;
    uint64_t count = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        char bound[32] = "+Inf";
        if (i + 1 < HISTOGRAM_BUCKETS) {
            snprintf(bound, sizeof(bound), "%llu.%03u",
                (unsigned long long)(histogram_bounds_ms[i] / 1000),
                (unsigned)(histogram_bounds_ms[i] % 1000));
        }
        count += histogram->counts[i];
        buf_printf(out, "etwship_%s_bucket", metric->name);
        add_labels(out, metric, sample, bound);
        buf_printf(out, " %llu\n", (unsigned long long)count);
    }
    buf_printf(out, "etwship_%s_sum", metric->name);
    add_labels(out, metric, sample, NULL);
    add_value(out, metric, histogram->sum_ms);
    buf_printf(out, "etwship_%s_count", metric->name);
    add_labels(out, metric, sample, NULL);
    buf_printf(out, " %llu\n", (unsigned long long)count);
}

static void add_sample(
    struct buf *out, const struct metric *metric, const struct metric_sample *sample)
{
    if (metric->kind == METRIC_KIND_HISTOGRAM) {
        add_histogram(out, metric, sample);
        return;
    }
    buf_printf(
        out, "etwship_%s%s", metric->name, metric->kind == METRIC_KIND_COUNTER ? "_total" : "");
    add_labels(out, metric, sample, NULL);
    add_value(out, metric, sample->number);
}

static const char *type_name(const struct metric *metric)
{
    switch (metric->kind) {
    case METRIC_KIND_COUNTER:
        return "counter";
    case METRIC_KIND_HISTOGRAM:
        return "histogram";
    default:
        return "gauge";
    }
}

static void add_head(struct buf *out, const struct metric *metric, enum metric_text_format format)
{
    bool old = format == METRIC_TEXT_PROMETHEUS;
    const char *behind = old && metric->kind == METRIC_KIND_COUNTER ? "_total" : "";
    buf_printf(out, "# HELP etwship_%s%s %s\n# TYPE etwship_%s%s %s\n", metric->name, behind,
        metric->help, metric->name, behind, type_name(metric));
    if (!old && metric->unit[0]) {
        buf_printf(out, "# UNIT etwship_%s %s\n", metric->name, metric->unit);
    }
}

void metric_text_write(
    const struct metric_set *set, enum metric_text_format format, struct buf *out)
{
    struct metric_order order;
    if (!metric_order_init(&order, set)) {
        out->failed = true;
        return;
    }
    for (size_t id = 0; id < METRIC_COUNT; id++) {
        const struct metric *metric = metric_of((enum metric_id)id);
        if (!metric->name[0] || order.first[id] == SIZE_MAX) {
            continue;
        }
        add_head(out, metric, format);
        for (size_t i = order.first[id]; i != SIZE_MAX; i = order.next[i]) {
            add_sample(out, metric, &set->samples[i]);
        }
    }
    if (format == METRIC_TEXT_OPENMETRICS) {
        buf_add_text(out, "# EOF\n");
    }
    metric_order_fini(&order);
}
