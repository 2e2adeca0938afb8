#ifndef ETWSHIP_APP_AGENT_GENERATION_H
#define ETWSHIP_APP_AGENT_GENERATION_H

#include "base/error.h"

/*
 * One agent from its making to its end, on the thread of agent_run but where said. A process
 * (agent_runner.h) runs one agent after another: the first with the configuration at its start, and
 * a new one for each reloaded configuration.
 */
struct agent;
struct agent_common;
struct agent_run_result;
struct agent_runner;
struct agent_setup;

/* Everything that can fail before a thread runs. ${common}: of ${runner}. NULL with ${err} set. */
struct agent *agent_create(struct agent_runner *runner, struct agent_common *common,
    struct agent_setup *setup, struct error *err);

/* Run it, as the one of its process. False with ${err} set: nothing of it runs any more, and it is
 * freed; ${ret_stuck}: but an output inside a call, with all that it uses. */
bool agent_start(struct agent *agent, bool *ret_stuck, struct error *err);

/* The setup that it borrows. Any thread. */
const struct agent_setup *agent_setup_of(const struct agent *agent);

/* It has come to its end, or an output is stuck inside a call; the runner is woken then. */
bool agent_is_drained(struct agent *agent);

/* Ask every input to stop; outputs get the time that the configuration gives them. Any thread. */
void agent_stop(struct agent *agent);

/* Ask every input to stop for another agent in this process: sessions that ${next} continues leave
 * running what they run, and with a spool that keeps, outputs end once what they are sending has
 * arrived or failed. */
void agent_make_way(struct agent *agent, const struct agent_setup *next);

/* Wait for its end, which is asked for or near, and store positions a last time; no other thread
 * sees the agent any more then. False: an output is stuck inside a call. An agent that makes way
 * waits for such an output, unless the process is to stop. */
bool agent_finish(struct agent *agent);

/* It is finished: add what sessions have left running to what agents have in common. */
void agent_note_running(struct agent *agent);

/* Finished, not stuck, or never started. */
void agent_destroy(struct agent *agent);

/* agent_result.c: it is finished; add what it did to ${result}. */
void agent_result_add(struct agent *agent, struct agent_run_result *result);

#endif
