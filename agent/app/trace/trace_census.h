#ifndef ETWSHIP_APP_TRACE_CENSUS_H
#define ETWSHIP_APP_TRACE_CENSUS_H

#include "app/plan/provider_selection.h"
#include "app/trace/trace_run.h"

/*
 * The content of traces: providers with their events, names of events and processes. For
 * `etwship providers TRACE`, and for suggestions when a name matched nothing. One thread.
 */
struct trace_census;

struct census_provider {
    struct guid guid;
    struct span name; /* empty: unknown */
    const char *kind; /* provider.kind of the first event that is described, if one is */
    uint64_t events;
    uint64_t undecoded;
};

/* Names whose values are kept. */
enum census_name { CENSUS_PROVIDER, CENSUS_EVENT, CENSUS_PROCESS, CENSUS_NAMES };

struct trace_census *trace_census_create(void);         /* NULL: out of memory */
void trace_census_destroy(struct trace_census *census); /* NULL is fine */

/* Counts what it sees. */
struct event_observer trace_census_observer(struct trace_census *census);

/* Providers, those with the most events first; the array is the caller's to free, NULL if there are
 * none. ${ret_beyond}: events for whose providers there was no room. */
const struct census_provider **trace_census_providers(
    const struct trace_census *census, size_t *ret_count, uint64_t *ret_beyond);

/* May an event have such a name, but for ASCII case? It may if there was no room for some names.
 * If not, ${ret_meant} is the nearest name, or empty. */
bool trace_census_may_have(const struct trace_census *census, enum census_name kind,
    struct span name, struct span *ret_meant);

/* May a provider of an event have this GUID? */
bool trace_census_may_have_guid(const struct trace_census *census, const struct guid *guid);

#endif
