#ifndef ETWSHIP_STATUS_METRIC_READ_H
#define ETWSHIP_STATUS_METRIC_READ_H

#include "base/buf.h"
#include "base/span.h"

/* Lines of metrics as metric_text.h writes them, for commands that show them. The bytes may come from anywhere. */
struct metric_line {
    struct span name;   /* with etwship_ and _total */
    struct span labels; /* between the braces */
    double value;
};

/* Take the next sample off ${rest}; false: there is none left. Comments, and lines of other forms, are passed over. */
bool metric_read_next(struct span *rest, struct metric_line *ret_line);

/* Append the value of label ${name}, unescaped. False: there is none. */
bool metric_read_label(const struct metric_line *line, const char *name, struct buf *out);

#endif
