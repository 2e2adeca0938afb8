#ifndef ETWSHIP_APP_AGENT_SPOOL_H
#define ETWSHIP_APP_AGENT_SPOOL_H

#include "app/agent_internal.h"

/*
 * The agent's side of a durable spool: its folder and its store, what sources need to go on behind what
 * is in it, and what becomes true with each commit beside batches. agent_store.c asks it where the
 * configuration has a spool that keeps.
 */

/* Hold the data folder, open the store in it, name the plan's streams and fill `resume`. False with
 * ${err} set; close is allowed. */
bool agent_spool_open(struct agent *agent, struct error *err);

/* Dead letters that were lost with the catalogue, while the store was open. Before agent_spool_close. */
uint64_t agent_spool_letters_lost(const struct agent *agent);

/* The pipeline is gone, or was never made. Never opened is fine. */
void agent_spool_close(struct agent *agent);

/* What the pipeline needs to know of it; without an open spool: none. */
struct pipeline_store agent_spool_store(const struct agent *agent);

/* What output ${name} had come to in an earlier run without this spool; empty: nothing, or nothing that
 * is not in the spool. */
struct span agent_spool_checkpoint(const struct agent *agent, const char *name);

/* The pipeline was made, and has not started: what an earlier run without this spool has left is all in it
 * now. */
bool agent_spool_begin(struct agent *agent, struct error *err);

/* Hand the inputs what they need to go on as before. */
void agent_spool_restore(struct agent *agent);

/* Is the file in the spool already? Any thread. */
bool agent_spool_is_done(
    struct agent *agent, size_t session, const uint8_t file_id[16], uint64_t *ret_last_sequence);

/* FILETIME up to which an earlier run took a live session; 0: unknown. */
uint64_t agent_spool_last_time(const struct agent *agent, size_t session);

/* Stage that a live session is in the spool up to FILETIME ${time}. While staging. */
bool agent_spool_put_time(struct agent *agent, size_t session, uint64_t time, struct error *err);

#endif
