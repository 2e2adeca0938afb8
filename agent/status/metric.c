#include "status/metric.h"

static const struct metric metrics[] = {
#define METRIC(id, kind, name, unit, divisor, labels, path, help) \
    [METRIC_##id] = {METRIC_KIND_##kind, name, unit, divisor, labels, path, help},
#include "status/metrics.def"
#undef METRIC
};

const struct metric *metric_of(enum metric_id id)
{
    return &metrics[id];
}

bool metric_next_label(const char **labels, struct span *ret_name)
{
    const char *at = *labels;
    size_t size = strcspn(at, ",");
    *ret_name = span_make(at, size);
    *labels = at + size + (at[size] == ',');
    return size > 0;
}

size_t metric_label_index(const struct metric *metric, struct span name)
{
    const char *labels = metric->labels;
    struct span label;
    for (size_t i = 0; metric_next_label(&labels, &label); i++) {
        if (span_equal(label, name)) {
            return i;
        }
    }
    return METRIC_MAX_LABELS;
}
