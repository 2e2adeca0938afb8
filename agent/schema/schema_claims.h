#ifndef ETWSHIP_SCHEMA_SCHEMA_CLAIMS_H
#define ETWSHIP_SCHEMA_SCHEMA_CLAIMS_H

#include "base/arena.h"
#include "base/map.h"
#include "event/record.h"

/*
 * Which processes sent .NET ManifestData of which providers, as a provider can mean different things in
 * different processes. At most so many as the maps hold; further ones count as none. One thread at a
 * time.
 */
struct schema_claims {
    struct arena *arena;  /* borrowed; keeps the keys */
    struct map providers; /* GUID */
    struct map processes; /* GUID and process id */
};

void schema_claims_init(struct schema_claims *claims, struct arena *arena, size_t max_claims);
void schema_claims_fini(struct schema_claims *claims);

/* The process of ${record} sent a manifest of its provider. */
void schema_claims_add(struct schema_claims *claims, const struct event_record *record);

/* Did any process? */
bool schema_claims_knows(const struct schema_claims *claims, const struct event_record *record);

/* Did the record's process? Others share what the provider has. */
bool schema_claims_has(const struct schema_claims *claims, const struct event_record *record);

#endif
