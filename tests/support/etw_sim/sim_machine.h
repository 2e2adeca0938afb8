#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_MACHINE_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_MACHINE_H

#include "support/etw_sim/etw_sim.h"

/*
 * A world that several programs share, as they share a Windows: what one has started, others see, and
 * what one leaves behind stays. The process that holds it listens; programs whose
 * etw_sim_options.machine names its port do their calls there: those of etwsim.dll, and etwship-sim,
 * find it in the environment variable ETWSIM_MACHINE.
 *
 * Files that sessions write are the machine's: their paths are those of its process. TDH, traces that
 * are read, and who may do what with a provider (EventAccess...) are each program's own. Without an
 * answer here are TraceEventInstance and EnumerateTraceGuids (ETW_ERROR_NOT_SUPPORTED).
 */
struct sim_machine;

/* Let programs use ${sim}, which outlives it. ${ret_port} is where. */
struct sim_machine *sim_machine_start(struct etw_sim *sim, uint16_t *ret_port, struct error *err);

/* Part with all programs. NULL is fine. */
void sim_machine_stop(struct sim_machine *machine);

#endif
