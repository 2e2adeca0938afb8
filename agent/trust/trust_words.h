#ifndef ETWSHIP_TRUST_TRUST_WORDS_H
#define ETWSHIP_TRUST_TRUST_WORDS_H

#include "trust/trust_path.h"

/*
 * A finding for people: `PATH: ACCOUNT may ACTION. to correct it: COMMAND`, on one line. Names of
 * users and groups are not looked up. A command is given only for a place of the agent's own:
 * changing the rights of folders on the path, shared folders or a user's home would harm others, so
 * the text suggests another place.
 */
void trust_words_write(
    const struct trust_system *system, const struct trust_finding *finding, struct buf *out);

#endif
