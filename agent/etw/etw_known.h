#ifndef ETWSHIP_ETW_ETW_KNOWN_H
#define ETWSHIP_ETW_ETW_KNOWN_H

#include "base/error.h"
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

enum etw_known_answer {
    ETW_KNOWN_LISTED,     /* the list has it, with the GUID that was returned */
    ETW_KNOWN_REGISTERED, /* the list has no such name, but a program has registered the GUID */
    ETW_KNOWN_NOWHERE,    /* neither */
    ETW_KNOWN_NO_LIST,    /* this system has no list to tell by */
    ETW_KNOWN_FAILED,     /* Windows did not give its list this time, so nothing is known */
};

/*
 * Does this machine know a provider ${name}? ${guid} is the GUID to assume for it, and becomes that of the list
 * if the list has the name (ETW_KNOWN_LISTED). ${now_ns} is plat_monotonic_ns(); a list that is older than
 * ${max_age_ns} is made anew. ETW_KNOWN_FAILED sets ${err}, and the next call asks Windows again.
 */
enum etw_known_answer etw_known_find(
    struct span name, uint64_t now_ns, uint64_t max_age_ns, struct guid *guid, struct error *err);

#endif
