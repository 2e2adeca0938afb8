#ifndef ETWSHIP_TESTS_INTEGRATION_SIM_SCRIPT_H
#define ETWSHIP_TESTS_INTEGRATION_SIM_SCRIPT_H

#include <stdio.h>

#include "platform/plat_thread.h"
#include "support/etw_sim/etw_sim.h"

/*
 * What happens in a simulated Windows while the agent runs in it, by the script that ETWSIM_SCRIPT
 * names, a line each:
 *
 *   provider NAME [unregistered]    a provider of that name, as TraceLogging has them
 *   await SESSION PROVIDER          until SESSION has PROVIDER enabled and is read
 *   left SESSION                    until no program reads SESSION
 *   burst PROVIDER COUNT RATE [LEVEL]
 *                                   so many events, RATE a second (0: as fast as it goes)
 *   replay FILE PROVIDER RATE       the events of PROVIDER in a trace, likewise
 *   consume SESSION                 another consumer of it, which does nothing with events, on a
 *                                   thread "idle"
 *   register PROVIDER
 *   stop SESSION                    as another program would
 *   replace SESSION                 and start one of that name, too
 *   disable SESSION PROVIDER        and this one be switched off
 *   fail FUNCTION TIMES CODE        the next calls of FUNCTION do nothing and answer CODE
 *   mend FUNCTION                   further ones work again
 *   file PATH                       until the test has made this file
 *   settle                          until consumers have all there is
 *   report SESSION                  counts of SESSION, one JSON object
 *   enablement SESSION PROVIDER     how SESSION has PROVIDER, one JSON object
 *   boot                            Windows starts its autologgers, those of the registry in
 *                                   ETWSIM_REGISTRY; how many, one JSON object
 *   shutdown                        and goes down: every session ends
 *   leave                           the agent is asked to stop
 *
 * Reports go to stderr.
 */

/* NULL where there is no script. Intervals of the agent of this process become short. */
struct plat_thread *sim_script_start(struct etw_sim *sim, struct error *err);

/* Wait for its end, and report what is left of sessions and connections. NULL is fine. */
void sim_script_end(struct plat_thread *script);

/* One line at a time, in ${sim}, which sim_script_begin has told of. True: it has written a line to
 * ${out}. */
void sim_script_begin(struct etw_sim *sim);
bool sim_script_act(char *line, FILE *out);

/* The agent of this process looks at its sessions more often than else, so that tests are short. */
void sim_script_shorten_intervals(void);

#endif
