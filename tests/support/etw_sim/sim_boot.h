#ifndef ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_BOOT_H
#define ETWSHIP_TESTS_SUPPORT_ETW_SIM_SIM_BOOT_H

#include "support/etw_sim/etw_sim.h"

/*
 * What Windows does with autologgers when it starts, in the world whose table is in use, from the
 * registry that is in use (configuring-and-starting-an-autologger-session): sessions with Start 1
 * are started in the order of their keys and their providers enabled; Status says how it went.
 * FileMax appends FileCounter + 1 to the file's name, from 1 again when that is reached.
 * Missing values have their documented defaults, but MaximumBuffers, which is 20 above the least
 * there is.
 *
 * How many were started.
 */
unsigned sim_boot(void);

/* The machine goes down: every session ends, as StopTrace would. */
void sim_shutdown(void);

#endif
