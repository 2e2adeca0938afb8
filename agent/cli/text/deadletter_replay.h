#ifndef ETWSHIP_CLI_DEADLETTER_REPLAY_H
#define ETWSHIP_CLI_DEADLETTER_REPLAY_H

#include "app/config/app_config.h"
#include "pipeline/deliver/dead_letters.h"

/* Sending dead letters through their output once more. */

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

    /* They have no place of their own: when they were refused, the output had one for all events, and
     * now it makes one of what each event holds. They stay. */
    uint64_t unplaced;
    uint64_t first_unplaced; /* number of a letter; 0: none */
};

/*
 * Deliver the letters of one output and remove those that arrived, a batch at a time, so that one
 * that ends halfway can be repeated. False with ${err} set at the first failure that is not a refusal;
 * ${ret_counts} says how far it came in any case. A running agent is not in the way: each letter is
 * removed by its number, and its document has the id that it had at first.
 */
bool deadletter_replay_run(const struct deadletter_replay *replay,
    struct deadletter_replay_counts *ret_counts, struct error *err);

#endif
