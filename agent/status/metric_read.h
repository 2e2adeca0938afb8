#ifndef ETWSHIP_STATUS_METRIC_READ_H
#define ETWSHIP_STATUS_METRIC_READ_H

#include "base/buf.h"
#include "base/span.h"

/* Parses lines of metric_text.h for commands that show them. The bytes are untrusted. */
struct metric_line {
    struct span name;   /* with etwship_ and _total */
    struct span labels; /* between the braces */
    double value;
};

/* Remove the next sample from ${rest}; false: none left. Comments and malformed lines are
 * skipped. */
bool metric_read_next(struct span *rest, struct metric_line *ret_line);

/* Append the value of label ${name}, unescaped. False: there is none. */
bool metric_read_label(const struct metric_line *line, const char *name, struct buf *out);

#endif
