#ifndef ETWSHIP_STATUS_METRIC_H
#define ETWSHIP_STATUS_METRIC_H

#include "base/span.h"

/* The table of metrics (metrics.def): what each is called, is, and means. */

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
    const char *name; /* without etwship_ and _total; "": JSON alone */
    const char *unit;
    unsigned divisor;
    const char *labels; /* names, as in "a,b" */
    const char *path;   /* "": not in JSON */
    const char *help;
};

const struct metric *metric_of(enum metric_id id);

/* Take the first of ${labels}, names as in "a,b", off; false: there are none left. */
bool metric_next_label(const char **labels, struct span *ret_name);

/* Which of the metric's labels ${name} is; METRIC_MAX_LABELS: none. */
size_t metric_label_index(const struct metric *metric, struct span name);

#endif
