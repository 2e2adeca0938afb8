#ifndef ETWSHIP_CLI_WATCH_OUTPUT_H
#define ETWSHIP_CLI_WATCH_OUTPUT_H

#include "outputs/output.h"

/*
 * Standard output for `watch`: the output `stdout`, which closes after so many lines as its setting
 * `max_events` says (0: never), as a reader would that has seen enough. `style` as there.
 */
extern const struct output_ops watch_output_ops;

#endif
