#ifndef ETWSHIP_APP_AGENT_SPOOL_H
#define ETWSHIP_APP_AGENT_SPOOL_H

#include "pipeline/assembly/pipeline.h"

/*
 * The agent's store: a catalogue of how far its sources and outputs are. It is in the data folder. Without one it
 * is in memory, for the next agent in this process. If agent->keeps, batches wait in it as well, and its owner is
 * the spool's thread. If not, agent_store.c owns it.
 */
struct agent;

/* Open the store. If it keeps batches on disk, name the plan's streams and fill `resume`. False
 * with ${err} set; closing is allowed. */
bool agent_spool_open(struct agent *agent, struct error *err);

/* Dead letters that were lost with the catalogue, while the store was open. Before agent_spool_close. */
uint64_t agent_spool_letters_lost(const struct agent *agent);

/* The pipeline was destroyed, or never created. A store that was never opened is fine. */
void agent_spool_close(struct agent *agent);

/* The settings that the pipeline needs; none unless the store keeps batches. */
struct pipeline_store agent_spool_store(const struct agent *agent);

/* The checkpoint that ${output} left in a run whose batches waited in memory; empty: it left none. */
struct span agent_spool_checkpoint(const struct agent *agent, size_t output);

/* The pipeline was made, and has not started: take over what a run whose batches waited in memory has left. */
bool agent_spool_begin(struct agent *agent, struct error *err);

/* Hand the inputs what they need to continue as before. */
void agent_spool_restore(struct agent *agent);

/* Was the file taken whole before? ${self}: the agent. Any thread. */
bool agent_spool_is_done(
    void *self, uint32_t session, const uint8_t file_id[16], uint64_t *ret_last_sequence);

/* FILETIME up to which an earlier run took a live session; 0: unknown. */
uint64_t agent_spool_last_time(const struct agent *agent, size_t session);

/* Stage that a live session was taken up to FILETIME ${time}. By the store's owner. */
bool agent_spool_put_time(struct agent *agent, size_t session, uint64_t time, struct error *err);

#endif
