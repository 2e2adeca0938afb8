#ifndef ETWSHIP_APP_AGENT_TAKEOVER_H
#define ETWSHIP_APP_AGENT_TAKEOVER_H

#include "base/buf.h"
#include "input/input.h"

/* ETW sessions that an agent leaves running for the next agent of the process, by session name
 * (input_ops.takeover). One thread at a time. */
struct agent_takeover_item {
    char *session;
    const struct input_ops *ops;
    struct buf state;
};

struct agent_takeover {
    struct agent_takeover_item *items;
    size_t count;
};

/* Take from ${input}, which has ended, what it leaves running for the next input of ${session}, if
 * anything. A zeroed ${takeover} is empty. False: out of memory; the ETW session is ended. */
bool agent_takeover_add(
    struct agent_takeover *takeover, const char *session, const struct input_ops *ops, void *input);

/* Empty: none. Valid until the next change. */
struct span agent_takeover_find(
    const struct agent_takeover *takeover, const char *session, const struct input_ops *ops);

/* Free it; the sessions of the next agent have taken it over. */
void agent_takeover_fini(struct agent_takeover *takeover);

/* Free it where no agent follows: the sessions that were left running are ended. */
void agent_takeover_end(struct agent_takeover *takeover);

#endif
