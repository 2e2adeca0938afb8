#ifndef ETWSHIP_ETW_ETW_NAMES_H
#define ETWSHIP_ETW_ETW_NAMES_H

#include "base/error.h"
#include "base/span.h"
#include "etw/etw_types.h"

/*
 * What this machine knows of providers by name: those that are registered with a manifest or MOF
 * (tdhenumerateproviders, tdhenumerateproviderfieldinformation, tdhenumeratemanifestproviderevents
 * on learn.microsoft.com). TraceLogging providers are in no list; their GUID follows from the name
 * (guid_from_name).
 */
struct etw_names;

/* The list as it is now; it may be asked by one thread at a time. NULL where the system does not
 * say (ERR_IO, ERR_UNSUPPORTED), or without memory. */
struct etw_names *etw_names_create(struct error *err);
void etw_names_destroy(struct etw_names *names); /* NULL is fine */

/* The provider called ${name}, without regard to case; false: nobody is. ${names} may be NULL. */
bool etw_names_find(const struct etw_names *names, struct span name, struct guid *ret_guid);

/* Is there a provider of this GUID? ${names} may be NULL. */
bool etw_names_has(const struct etw_names *names, const struct guid *guid);

/* The bits of a keyword of a registered provider, without regard to case; false: it has none of that
 * name, or nobody knows. */
bool etw_names_keyword(const struct guid *provider, struct span name, uint64_t *ret_bits);

/* The descriptors of the events ${id} of a registered provider, one per version; at most
 * ${capacity}. 0: there is none, or nobody knows. */
size_t etw_names_events(const struct guid *provider, uint16_t id,
    struct etw_event_descriptor *ret_events, size_t capacity);

#endif
