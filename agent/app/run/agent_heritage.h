#ifndef ETWSHIP_APP_AGENT_HERITAGE_H
#define ETWSHIP_APP_AGENT_HERITAGE_H

#include "base/buf.h"
#include "input/input.h"

/* What sessions of one agent have left running for those of the next in the same process, by their names
 * (input_ops.legacy). One thread at a time. */
struct agent_heritage_item {
    char *session;
    const struct input_ops *ops;
    struct buf legacy;
};

struct agent_heritage {
    struct agent_heritage_item *items;
    size_t count;
};

/* Ask ${input}, which has ended, what it has left for the next one of ${session}; nothing is fine. Zeroed
 * ${heritage} is empty. False: out of memory; then what was left is ended. */
bool agent_heritage_add(
    struct agent_heritage *heritage, const char *session, const struct input_ops *ops, void *input);

/* Empty: none. Valid until the next change. */
struct span agent_heritage_find(
    const struct agent_heritage *heritage, const char *session, const struct input_ops *ops);

/* Forget it: somebody has it now. */
void agent_heritage_fini(struct agent_heritage *heritage);

/* The same where nobody comes: what was left running is ended. */
void agent_heritage_renounce(struct agent_heritage *heritage);

#endif
