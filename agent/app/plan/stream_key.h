#ifndef ETWSHIP_APP_STREAM_KEY_H
#define ETWSHIP_APP_STREAM_KEY_H

#include "app/plan/agent_plan.h"

/*
 * What a stream of the plan is called over restarts, in at most STREAM_KEY_BYTES with the terminator:
 * its format, and a hash of all that decides what stands in its batches (options, sessions, the rules of
 * its outputs, routes). Streams of two configurations have the same key if and only if outputs can
 * read on in one where they left off in the other.
 */
enum { STREAM_KEY_BYTES = 64 };

/* False: out of memory. */
bool stream_key_write(
    const struct agent_plan *plan, size_t stream, char key[STREAM_KEY_BYTES], struct error *err);

#endif
