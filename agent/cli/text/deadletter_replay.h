#ifndef ETWSHIP_CLI_DEADLETTER_REPLAY_H
#define ETWSHIP_CLI_DEADLETTER_REPLAY_H

#include "app/config/app_config.h"
#include "pipeline/deliver/dead_letters.h"

/* Sends dead letters through their output again. */

struct deadletter_replay {
    const struct app_output *output;
    struct dead_letters *letters;
    bool (*wants)(const void *self, const struct dead_letter *letter); /* of all of the output */
    const void *self;
};

struct deadletter_replay_counts {
    uint64_t delivered; /* and removed */
    uint64_t refused;   /* again: they stay */
    uint64_t skipped;   /* their documents were not kept */

    /* They have no route: the output had a constant one when they were rejected, and now has one
     * per event. They stay. */
    uint64_t unplaced;
    uint64_t first_unplaced; /* number of a letter; 0: none */
};

/*
 * Deliver the letters of one output and remove those that arrived, batch by batch, so that an
 * interrupted call can be repeated. False with ${err} set at the first failure that is not a
 * refusal; ${ret_counts} is set in any case. It works beside a running agent: each letter is
 * removed by its number, and its document keeps its first id.
 */
bool deadletter_replay_run(const struct deadletter_replay *replay,
    struct deadletter_replay_counts *ret_counts, struct error *err);

#endif
