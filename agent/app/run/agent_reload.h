#ifndef ETWSHIP_APP_AGENT_RELOAD_H
#define ETWSHIP_APP_AGENT_RELOAD_H

#include "app/run/agent_process.h"

/*
 * The configuration is read again, and used if it can be.
 *
 * First everything is made of it that can be made beside what runs: mistakes end here, and so does a
 * configuration that says what it said before. Then the agent that runs makes way: its sessions end, all but
 * those of ETW that go on; what they gave is in the spool, or, in memory, goes out within agent.shutdown. If the
 * next agent does not start, the one before is started again, as often as it takes; a request for a reload
 * meanwhile has the source read again, and what it says tried first.
 *
 * When this returns, an agent of ${setup} runs, which is the new one if that was possible; or none does, and
 * the process is to stop. What agents did that have ended is added to ${result}. False: an output is stuck inside
 * a call, with all that it uses, and the process is to stop. On the thread of agent_run.
 */
bool agent_reload(
    struct agent_process *process, struct agent_setup **setup, struct agent_run_result *result);

#endif
