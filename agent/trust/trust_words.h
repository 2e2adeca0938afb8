#ifndef ETWSHIP_TRUST_TRUST_WORDS_H
#define ETWSHIP_TRUST_TRUST_WORDS_H

#include "trust/trust_path.h"

/*
 * What was found, for people: `PATH: WHO may DO WHAT. to mend it: COMMAND`, on one line. Numbers of users
 * and groups are not looked up. A command is for a place of the agent's own alone: changed, the rights of
 * what is on the way, or shared, or somebody's home would harm others, so there is told where to go instead.
 */
void trust_words_write(
    const struct trust_system *system, const struct trust_finding *finding, struct buf *out);

#endif
