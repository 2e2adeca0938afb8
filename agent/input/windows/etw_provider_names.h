#ifndef ETWSHIP_INPUT_WINDOWS_ETW_PROVIDER_NAMES_H
#define ETWSHIP_INPUT_WINDOWS_ETW_PROVIDER_NAMES_H

#include "input/windows/etw_plan.h"
#include "input/windows/etw_provider_payload.h"

/* Resolves the providers of a plan's entries. Names are looked up repeatedly, because providers are
 * installed while the agent runs (etw/enable/etw_known.h). Runs on the session's thread. */

struct etw_provider_entry {
    const struct etw_plan_entry *plan;
    struct guid guid; /* zero: cannot be enabled */
    struct etw_provider_payload payload;
    bool is_settled; /* Windows has answered at least once */
    bool is_listed;  /* Windows' list has or had the name, so the GUID is certain */
    bool is_unknown; /* the machine knows no provider of that name now */
};

struct etw_provider_names {
    struct etw_provider_entry *entries;
    size_t count;
    void (*note)(void *self, enum input_note level, const char *text); /* may be NULL */
    void *self;
    bool failure_told;
};

/* ${names} must be zeroed. False: no memory. Call etw_provider_names_fini in either case. ${plan}
 * must outlive ${names}. */
bool etw_provider_names_init(struct etw_provider_names *names, const struct etw_plan *plan,
    void (*tell)(void *self, enum input_note level, const char *text), void *self);
void etw_provider_names_fini(struct etw_provider_names *names);

/* True if a name must be looked up again. */
bool etw_provider_names_are_missing(const struct etw_provider_names *names);

struct etw_provider_names_news {
    bool changed; /* GUID or payload filter of an entry changed */
    bool soon;    /* Windows did not answer, or a provider disappeared: look up again soon */
};

/*
 * Look up all names in a list that is at most ${max_age_ns} old. A GUID from the list stays until
 * the list has another one for the name: also while Windows fails to return its list, or the
 * provider is not installed, as during an update. A name that was never found stands for a
 * TraceLogging provider.
 */
struct etw_provider_names_news etw_provider_names_look(
    struct etw_provider_names *names, uint64_t now_ns, uint64_t max_age_ns);

#endif
