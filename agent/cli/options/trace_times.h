#ifndef ETWSHIP_CLI_TRACE_TIMES_H
#define ETWSHIP_CLI_TRACE_TIMES_H

#include "cli/options/cli.h"
#include "event/model/event_zone.h"

/* The options --utc-offset, --start and --end. Errors are printed to stderr. */

/* --utc-offset as a zone; UTC without it. False: invalid. */
bool trace_times_zone(const struct cli_args *args, struct event_zone *ret_zone);

/*
 * The time ${text} of option ${option}, in UTC, as RFC 3339 text: a time, of which the end may be
 * left out, in the zone of --utc-offset unless it has its own; or a negative duration from the
 * latest end of the traces among the operands. Traces are opened only for durations.
 */
enum { TRACE_TIMES_TEXT_BYTES = 40 };
bool trace_times_resolve(const struct cli_args *args, const char *option, const char *text,
    char ret_text[TRACE_TIMES_TEXT_BYTES], struct error *err);

#endif
