#ifndef ETWSHIP_SCHEMA_WINDOWS_TDH_REGISTRY_H
#define ETWSHIP_SCHEMA_WINDOWS_TDH_REGISTRY_H

#include "schema/windows/tdh_ask.h"

/*
 * Every event of providers that are registered here with a manifest, as
 * TdhEnumerateManifestProviderEvents and TdhGetManifestEventInformation tell them (Windows 8.1).
 * Asked for on the calling thread: for commands.
 */
struct tdh_registry {
    struct tdh_ask ask;
    const struct event_schema **schemas;
    size_t count;
    size_t capacity;
    size_t unknown; /* events that are listed, but not described */
    bool failed;    /* out of memory: the list is not whole */
};

void tdh_registry_init(struct tdh_registry *registry);
void tdh_registry_fini(struct tdh_registry *registry); /* schemas end, too */

/* Add the events of ${provider}; none if nobody knows any. */
void tdh_registry_add(struct tdh_registry *registry, const struct guid *provider);

/* Add those of all providers. ERR_IO, ERR_UNSUPPORTED: this system does not list them. */
bool tdh_registry_add_all(struct tdh_registry *registry, struct error *err);

#endif
