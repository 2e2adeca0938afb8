#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_MACHINE_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_MACHINE_H

#include "support/etw_sim/etw_sim.h"

/*
 * A world that several programs share, like one Windows: they see each other's sessions, and what
 * one of them leaves stays. The process that owns the world listens. Programs whose
 * etw_sim_options.machine names its port make their calls there; those of etwsim.dll, and
 * etwship-sim, find the port in the environment variable ETWSIM_MACHINE.
 *
 * Files that sessions write are the machine's: their paths are those of its process. Each program
 * has its own TDH, its own traces that it reads, and its own rights of providers (EventAccess...).
 * TraceEventInstance and EnumerateTraceGuids have no answer here (ETW_ERROR_NOT_SUPPORTED).
 */
struct sim_machine;

/* Let programs use ${sim}, which outlives the machine. They connect to ${ret_port}. */
struct sim_machine *sim_machine_start(struct etw_sim *sim, uint16_t *ret_port, struct error *err);

/* Part with all programs. NULL is fine. */
void sim_machine_stop(struct sim_machine *machine);

#endif
