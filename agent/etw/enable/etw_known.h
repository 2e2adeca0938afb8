#ifndef ETWSHIP_ETW_ETW_KNOWN_H
#define ETWSHIP_ETW_ETW_KNOWN_H

#include "base/error.h"
#include "base/span.h"
#include "etw/etw_types.h"

/*
 * Finds providers by name on this machine, for all sessions of the process. Windows needs some 100
 * ms for its list of providers (etw_names.h), so callers share one for a while. It has providers
 * with a manifest or MOF. TraceLogging providers are in no list: the GUID is derived from the name,
 * and Windows knows it while a program has registered it. Any thread.
 */

/* Query between these two calls. The last close frees the list. */
void etw_known_open(void);
void etw_known_close(void);

enum etw_known_answer {
    ETW_KNOWN_LISTED,     /* the list has it, with the GUID that was returned */
    ETW_KNOWN_REGISTERED, /* the list has no such name, but a program has registered the GUID */
    ETW_KNOWN_NOWHERE,    /* neither */
    ETW_KNOWN_NO_LIST,    /* this system has no list */
    ETW_KNOWN_FAILED,     /* Windows failed to return its list this time */
};

/*
 * Find the provider ${name}. ${guid} is its presumed GUID, and becomes that of the list if the list
 * has the name (ETW_KNOWN_LISTED). ${now_ns} is plat_monotonic_ns(); a list older than
 * ${max_age_ns} is read again. ETW_KNOWN_FAILED sets ${err}, and the next call queries Windows
 * again.
 */
enum etw_known_answer etw_known_find(
    struct span name, uint64_t now_ns, uint64_t max_age_ns, struct guid *guid, struct error *err);

#endif
