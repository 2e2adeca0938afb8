#ifndef ETWSHIP_TRUST_TRUST_WORDS_H
#define ETWSHIP_TRUST_TRUST_WORDS_H

#include "trust/trust_path.h"

/* What was found, for people: `PATH: WHO may DO WHAT. to mend it: COMMAND`, on one line. Numbers of users
 * and groups are not looked up. */
void trust_words_write(
    const struct trust_system *system, const struct trust_finding *finding, struct buf *out);

#endif
