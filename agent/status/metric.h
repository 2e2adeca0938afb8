#ifndef ETWSHIP_STATUS_METRIC_H
#define ETWSHIP_STATUS_METRIC_H

#include "base/span.h"

/* The table of metrics (metrics.def): name, kind and meaning of each. */

enum metric_kind {
    METRIC_KIND_COUNTER,
    METRIC_KIND_GAUGE,
    METRIC_KIND_FLAG,
    METRIC_KIND_HISTOGRAM,
    METRIC_KIND_TEXT,
    METRIC_KIND_LIST,
};

enum metric_id {
#define METRIC(id, kind, name, unit, divisor, labels, path, help) METRIC_##id,
#include "status/metrics.def"
#undef METRIC
    METRIC_COUNT
};

enum { METRIC_MAX_LABELS = 4 };

struct metric {
    enum metric_kind kind;
    const char *name; /* without etwship_ and _total; "": JSON only */
    const char *unit;
    unsigned divisor;
    const char *labels; /* names, as in "a,b" */
    const char *path;   /* "": not in JSON */
    const char *help;
};

const struct metric *metric_of(enum metric_id id);

/* Remove the first name from ${labels}, as in "a,b"; false: none left. */
bool metric_next_label(const char **labels, struct span *ret_name);

/* Index of ${name} among the metric's labels; METRIC_MAX_LABELS: none. */
size_t metric_label_index(const struct metric *metric, struct span name);

#endif
