#ifndef ETWSHIP_INPUT_WINDOWS_ETW_PROVIDER_NAMES_H
#define ETWSHIP_INPUT_WINDOWS_ETW_PROVIDER_NAMES_H

#include "input/windows/etw_plan.h"
#include "input/windows/etw_provider_payload.h"

/* Which providers of ETW the entries of a plan mean. Names are looked up repeatedly, as providers are installed
 * while the agent runs (etw/etw_known.h). On the session's thread. */

struct etw_provider_entry {
    const struct etw_plan_entry *plan;
    struct guid guid; /* zero: nothing can be switched on for it */
    struct etw_provider_payload payload;
    bool is_settled; /* Windows has answered at least once */
    bool is_listed;  /* Windows' list has the name, or had it: so the GUID is no guess */
    bool is_unknown; /* this machine knows no provider of that name now */
};

struct etw_provider_names {
    struct etw_provider_entry *entries;
    size_t count;
    void (*note)(void *self, enum input_note level, const char *text); /* may be NULL */
    void *self;
    bool failure_told;
};

/* All zero before. False: no memory; etw_provider_names_fini is due in either case. ${plan} outlives it. */
bool etw_provider_names_init(struct etw_provider_names *names, const struct etw_plan *plan,
    void (*tell)(void *self, enum input_note level, const char *text), void *self);
void etw_provider_names_fini(struct etw_provider_names *names);

/* Is there one that has to be looked up again? */
bool etw_provider_names_are_missing(const struct etw_provider_names *names);

struct etw_provider_names_news {
    bool changed; /* the GUID or the payload filter of an entry is another one */
    bool soon;    /* Windows did not answer, or a provider has vanished: look again soon */
};

/*
 * Look all names up, in a list that is ${max_age_ns} old at most. A GUID from the list stays until the list has
 * another one for the name. So it also stays while Windows fails to give its list, and while the provider is not
 * installed, as during an update. A name that was never found means a TraceLogging provider.
 */
struct etw_provider_names_news etw_provider_names_look(
    struct etw_provider_names *names, uint64_t now_ns, uint64_t max_age_ns);

#endif
