#ifndef ETWSHIP_SCHEMA_WINDOWS_TDH_REGISTRY_H
#define ETWSHIP_SCHEMA_WINDOWS_TDH_REGISTRY_H

#include "schema/windows/tdh_ask.h"

/*
 * Lists every event of providers that are registered on this machine with a manifest, by
 * TdhEnumerateManifestProviderEvents and TdhGetManifestEventInformation (Windows 8.1). Blocks the
 * calling thread; for commands.
 */
struct tdh_registry {
    struct tdh_ask ask;
    const struct event_schema **schemas;
    size_t count;
    size_t capacity;
    size_t unknown; /* events that are listed but not described */
    bool failed;    /* memory ran out; the list is incomplete */
};

void tdh_registry_init(struct tdh_registry *registry);
void tdh_registry_fini(struct tdh_registry *registry); /* also destroys the schemas */

/* Add the events of ${provider}, if it is registered. */
void tdh_registry_add(struct tdh_registry *registry, const struct guid *provider);

/* Add the events of all providers. ERR_IO, ERR_UNSUPPORTED: this system cannot list them. */
bool tdh_registry_add_all(struct tdh_registry *registry, struct error *err);

#endif
