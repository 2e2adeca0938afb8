#ifndef ETWSHIP_STORE_STAGE_ENTRY_H
#define ETWSHIP_STORE_STAGE_ENTRY_H

#include "base/span.h"

/* A staged change (stage.h). */
enum stage_kind {
    STAGE_SOURCE,   /* key: session, stream. sequence, may it fall? */
    STAGE_STATE,    /* key: session. state */
    STAGE_LIVE,     /* key: session. time */
    STAGE_DONE,     /* key: session, file id. sequence */
    STAGE_GAP,      /* key: session, output, stage, reason, unit. count, exact, from, to */
    STAGE_LEFTOVER, /* key: output, batch. left */
    STAGE_REMOVED,  /* key: batch */
    STAGE_PROGRESS, /* key: output. sessions, checkpoint */
    STAGE_KINDS
};

enum { STAGE_NUMBERS = 4, STAGE_TEXTS = 5 };

/* Those of the key first, then the value, in the order above. */
struct stage_entry {
    enum stage_kind kind;
    uint64_t numbers[STAGE_NUMBERS];
    struct span texts[STAGE_TEXTS];
};

#endif
