#ifndef ETWSHIP_APP_STREAM_KEY_H
#define ETWSHIP_APP_STREAM_KEY_H

#include "app/plan/agent_plan.h"

/*
 * The name of a stream of the plan, stable over restarts, in at most STREAM_KEY_BYTES with the
 * terminator: its format, and a hash of everything that decides the content of its batches
 * (options, sessions, the rules of its outputs, routes). Streams of two configurations have equal
 * keys if and only if an output can continue in one at its position in the other.
 */
enum { STREAM_KEY_BYTES = 64 };

/* False: out of memory. */
bool stream_key_write(
    const struct agent_plan *plan, size_t stream, char key[STREAM_KEY_BYTES], struct error *err);

#endif
