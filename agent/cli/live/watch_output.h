#ifndef ETWSHIP_CLI_WATCH_OUTPUT_H
#define ETWSHIP_CLI_WATCH_OUTPUT_H

#include "outputs/output.h"

/*
 * Standard output for `watch`: as the output `stdout`, but it closes after `max_events` lines (0:
 * never), as if the reader had closed it.
 */
extern const struct output_ops watch_output_ops;

#endif
