#ifndef ETWSHIP_TESTS_SUPPORT_EVT_SIM_SIGNAL_H
#define ETWSHIP_TESTS_SUPPORT_EVT_SIM_SIGNAL_H

#include <stdbool.h>

#include "evt/evt_types.h"

/* The functions of the system that the simulated Event Log needs: event objects that reset
 * themselves, and names of languages. */
evt_handle evt_sim_signal_make(void);
void evt_sim_signal_raise(evt_handle handle);
void evt_sim_signal_wait(evt_handle handle, uint32_t timeout_ms);
void evt_sim_signal_close(evt_handle handle);

uint32_t evt_sim_locale_find(const evt_char *name);

#endif
