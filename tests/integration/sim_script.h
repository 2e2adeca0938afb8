#ifndef ETWSHIP_TESTS_INTEGRATION_SIM_SCRIPT_H
#define ETWSHIP_TESTS_INTEGRATION_SIM_SCRIPT_H

#include "platform/plat_thread.h"
#include "support/etw_sim/etw_sim.h"

/*
 * What happens in a simulated Windows while the agent runs in it, by the script that ETWSIM_SCRIPT
 * names, a line each:
 *
 *   provider NAME [unregistered]    a provider of that name, as TraceLogging has them
 *   await SESSION PROVIDER          until SESSION has PROVIDER enabled and is read
 *   burst PROVIDER COUNT RATE       so many events, RATE a second (0: as fast as it goes)
 *   register PROVIDER
 *   stop SESSION                    as somebody else would
 *   settle                          until consumers have all there is
 *   report SESSION                  counts of SESSION, one JSON object on stderr
 *   leave                           the agent is asked to stop
 *
 * The agent looks at its sessions more often than else, so that tests are short.
 */

/* NULL where there is no script. */
struct plat_thread *sim_script_start(struct etw_sim *sim, struct error *err);

/* Wait for its end, and report what is left of sessions and connections. NULL is fine. */
void sim_script_end(struct plat_thread *script);

#endif
