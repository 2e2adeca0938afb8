#ifndef ETWSHIP_APP_AGENT_RELOAD_H
#define ETWSHIP_APP_AGENT_RELOAD_H

#include <stdbool.h>

struct agent_run_result;
struct agent_runner;
struct agent_setup;

/*
 * Read the configuration again and run an agent with it:
 *
 * 1. Build everything that can exist beside the running agent. An invalid or unchanged
 *    configuration ends the reload here.
 * 2. Stop the running agent. Its sessions end, except ETW sessions that continue. Its events are in
 *    the spool; with a spool in memory, outputs get agent.shutdown to deliver them.
 * 3. Start the new agent. If it does not start, start the previous configuration again, and repeat
 *    until an agent runs. A reload request in the meantime reads the configuration again and tries
 *    it first.
 *
 * On return an agent of ${setup} runs, with the new configuration if that was possible; or none
 * runs, and the process must stop. The counts of ended agents are added to ${result}. False: an
 * output is stuck inside a call with all its resources, and the process must stop. On the thread of
 * agent_run.
 */
bool agent_reload(
    struct agent_runner *runner, struct agent_setup **setup, struct agent_run_result *result);

#endif
