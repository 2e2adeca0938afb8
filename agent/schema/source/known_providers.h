#ifndef ETWSHIP_SCHEMA_KNOWN_PROVIDERS_H
#define ETWSHIP_SCHEMA_KNOWN_PROVIDERS_H

#include "base/guid.h"
#include "base/span.h"

/*
 * Names of providers that are known without a manifest (known_providers.tsv). A name from a trace,
 * a definition or the machine takes precedence. The table is read-only: any thread may call these
 * functions at any time, and all spans are static.
 */

/* Name of ${provider}; empty if it is not in the table. */
struct span known_providers_name(const struct guid *provider);

/* GUID of the provider ${name}, ignoring the case of ASCII letters; false if it is not in the
 * table. A few names have had two GUIDs; the one of newer Windows versions is returned. */
bool known_providers_guid(struct span name, struct guid *ret_guid);

/* Call ${each} once for every provider of the table, with the name to show. */
void known_providers_each(
    void (*each)(void *self, const struct guid *provider, struct span name), void *self);

#endif
