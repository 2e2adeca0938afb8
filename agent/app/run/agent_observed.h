#ifndef ETWSHIP_APP_AGENT_OBSERVED_H
#define ETWSHIP_APP_AGENT_OBSERVED_H

#include <stddef.h>
#include <stdint.h>

/*
 * Up to which event the summary of a process has counted each session, by the session's name.
 * An agent that makes way after a reload leaves events undelivered; the next agent reads them
 * again, and they are not counted again. Zeroed it is empty. One thread at a time.
 */
struct agent_observed {
    struct agent_observed_session *sessions;
    size_t count;
};

/* Note ${sequence} of ${session}, which is copied. Without memory nothing is noted, and events may
 * be counted twice. */
void agent_observed_note(struct agent_observed *observed, const char *session, uint64_t sequence);

/* 0: nothing was counted yet. */
uint64_t agent_observed_find(const struct agent_observed *observed, const char *session);

void agent_observed_fini(struct agent_observed *observed);

#endif
