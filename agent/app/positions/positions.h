#ifndef ETWSHIP_APP_POSITIONS_H
#define ETWSHIP_APP_POSITIONS_H

#include "app/log/log.h"
#include "app/plan/agent_plan.h"

/*
 * How far an agent's sources and outputs are, in a store that remembers it: a catalogue in the data
 * folder. Without one it is in memory, for the next agent in this process. If batches wait on the
 * disk, they are in the same store, and its owner is the spool's thread. If not, the positions own
 * it.
 *
 * Order: open, restore each input, set what the pipeline needs, create the pipeline, begin, run,
 * end, destroy the pipeline, close.
 */
struct positions;
struct store;

/* Events that are undelivered when the agent ends. */
enum positions_rest {
    POSITIONS_REST_WAITS,   /* on the disk */
    POSITIONS_REST_REPLAYS, /* they are read again: all sessions can be */
    POSITIONS_REST_LOST,
};

struct positions_settings {
    const struct app_config *config;
    struct agent_plan *plan; /* its streams get their keys, its outputs their checkpoints */
    struct log *log;
    struct store **
        memory; /* the store without a data folder: made here if it is NULL, and left to the next */
};

/* Everything in the settings is borrowed. NULL with ${err} set. */
struct positions *positions_open(const struct positions_settings *settings, struct error *err);

/* The pipeline was destroyed, or never created. NULL is fine. */
void positions_close(struct positions *positions);

enum positions_rest positions_rest(const struct positions *positions);

/* FILETIME up to which an earlier run took a live session; 0: unknown. */
uint64_t positions_last_time(const struct positions *positions, size_t session);

/* Hand ${input}, which reads the session, what it needs to continue as before. It is asked for its
 * state until the positions are closed. */
void positions_restore(struct positions *positions, size_t session, void *input);

/* Set `resume`, `restarted` and `store`, and the checkpoints of the plan's outputs. Let `save` be
 * NULL if nothing is remembered beyond the process. */
void positions_set(struct positions *positions, struct pipeline_settings *settings);

/* The pipeline was made, and has not started: take over what a run whose batches waited in memory
 * has left. */
bool positions_begin(struct positions *positions, struct pipeline *pipeline, struct error *err);

/* pipeline_settings: any thread. */
bool positions_is_done(struct positions *positions, uint32_t session, const uint8_t file_id[16],
    uint64_t *ret_last_sequence);
void positions_file_end(struct positions *positions, uint32_t session, const uint8_t file_id[16],
    uint64_t last_sequence);

/* Take what the outputs have acked, and write it, unless batches wait on the disk. Any thread. */
bool positions_save(struct positions *positions, struct error *err);

/* The same, for the thread that keeps time; a failure is a line of the log. */
void positions_save_or_warn(struct positions *positions);

/* Nothing is under way any more: save a last time. */
void positions_end(struct positions *positions);

/* The last positions_save_or_warn did not store them. Any thread. */
bool positions_failed(const struct positions *positions);

/* Dead letters that were lost with the catalogue, while the store was open. */
uint64_t positions_letters_lost(const struct positions *positions);

#endif
