#ifndef ETWSHIP_ETW_ETW_KNOWN_H
#define ETWSHIP_ETW_ETW_KNOWN_H

#include "base/span.h"
#include "etw/etw_types.h"

/*
 * Which provider a name means on this machine, for all sessions of the process. Windows' list of providers
 * (etw_names.h) takes it some 100 ms to make, so all who ask within a while share one. It holds those with a
 * manifest or MOF. A TraceLogging provider is on no list: its GUID follows from its name, and Windows knows
 * it while some program has registered it. Any thread.
 */

/* Callers ask between these two calls. The last close frees the list. */
void etw_known_open(void);
void etw_known_close(void);

/*
 * Does this machine know a provider ${name}? ${ret_guid} holds the GUID that follows from the name, and is
 * changed where the list has another one. True also where the system has no list to tell by. ${now_ns} is
 * plat_monotonic_ns(); a list that is older than ${max_age_ns} is made anew.
 */
bool etw_known_find(struct span name, uint64_t now_ns, uint64_t max_age_ns, struct guid *ret_guid);

#endif
