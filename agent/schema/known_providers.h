#ifndef ETWSHIP_SCHEMA_KNOWN_PROVIDERS_H
#define ETWSHIP_SCHEMA_KNOWN_PROVIDERS_H

#include "base/guid.h"
#include "base/span.h"

/*
 * Names of providers that are known without a manifest (known_providers.tsv). A name in a trace, in
 * a definition or on the machine goes before that of this table. The table lies in the program's
 * read-only memory; any thread may call these functions at any time, and every span is static.
 */

/* The name of ${provider}; the empty span if the table has none. */
struct span known_providers_name(const struct guid *provider);

/* The GUID of the provider called ${name}, without regard to the case of ASCII letters; false: the
 * table has no such name. A few names had two GUIDs: this is the one of newer Windows versions. */
bool known_providers_guid(struct span name, struct guid *ret_guid);

/* Call ${each} for every provider of the table once, with the name it is shown by. */
void known_providers_each(
    void (*each)(void *self, const struct guid *provider, struct span name), void *self);

#endif
