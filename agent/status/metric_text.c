#include "status/metric_text.h"

#include <stdio.h>

#include "base/put.h"
#include "base/utf.h"
#include "status/metric_order.h"

const char *metric_text_type(enum metric_text_format format)
{
    return format == METRIC_TEXT_OPENMETRICS
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

static bool is_plain(uint8_t c)
{
    return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

/* In both formats a label's value escapes the backslash,
 * the quote and the line feed, and is UTF-8. */
static void add_label_value(struct buf *out, struct span value)
{
    size_t plain = 0;
    while (plain < value.size && is_plain(value.data[plain])) {
        plain++;
    }
    buf_add_span(out, span_first(value, plain));
    for (size_t at = plain; at < value.size;) {
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
        buf_add_byte(out, (uint8_t)before);
        buf_add_span(out, name);
        buf_add_text(out, "=\"");
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

/* Most of the text is numbers: printf would take half of the time. */
static void add_count(struct buf *out, uint64_t value)
{
    uint8_t text[PUT_MAX];
    uint8_t *end = text;
    *end++ = ' ';
    end = put_u64(end, value);
    *end++ = '\n';
    buf_add(out, text, (size_t)(end - text));
}

static void add_name(struct buf *out, const struct metric *metric, const char *suffix)
{
    buf_add_text(out, "etwship_");
    buf_add_text(out, metric->name);
    buf_add_text(out, suffix);
}

/* Without rounding: divisors are 1 or 1000. */
static void add_value(struct buf *out, const struct metric *metric, uint64_t value)
{
    if (metric->divisor == 1) {
        add_count(out, value);
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
        add_name(out, metric, "_bucket");
        add_labels(out, metric, sample, bound);
        add_count(out, count);
    }
    add_name(out, metric, "_sum");
    add_labels(out, metric, sample, NULL);
    add_value(out, metric, histogram->sum_ms);
    add_name(out, metric, "_count");
    add_labels(out, metric, sample, NULL);
    add_count(out, count);
}

static void add_sample(
    struct buf *out, const struct metric *metric, const struct metric_sample *sample)
{
    if (metric->kind == METRIC_KIND_HISTOGRAM) {
        add_histogram(out, metric, sample);
        return;
    }
    add_name(out, metric, metric->kind == METRIC_KIND_COUNTER ? "_total" : "");
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
