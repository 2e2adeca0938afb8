#ifndef ETWSHIP_SCHEMA_EVENTSOURCE_KNOWN_H
#define ETWSHIP_SCHEMA_EVENTSOURCE_KNOWN_H

#include "base/map.h"
#include "event/model/record.h"
#include "schema/manifest/manifest_events.h"
#include "schema/source/schema_source.h"

/*
 * Which manifests EventSources have sent, which process uses which, and the names of their
 * providers. Not thread-safe.
 *
 * Threat model. Any process may send any number of manifests, under any GUID, with any names, so:
 * - A process gets at most a quarter of the entries and half of the memory, a provider three
 *   quarters of the entries. A process that needs more evicts its own least recently used versions,
 *   those that other processes use last. When all memory is used, the least recently used version
 *   of all goes. The name of a provider outlives its manifests.
 * - A process determines how its own events are decoded, not those of others. Its manifest serves
 *   other processes only if it calls the provider by the provider's name.
 * - That name is the one in known_providers.h, else one that the GUID is derived from
 *   (guid_from_name), else the first that was sent. All events show it, whatever the manifest says.
 *   Other names are counted as conflicts.
 * - Remaining risk: a process that uses the right name may send a different layout. If it is the
 *   latest, it decodes the events of processes that sent no manifest.
 * - Windows reuses process ids. If records carry the start key of the process
 *   (EXTENDED_PROCESS_START_KEY), a manifest belongs to exactly one process. Without it, a manifest
 *   belongs to all processes with the id, until one of them sends its own.
 */
struct eventsource_version {
    uint8_t key[32]; /* provider, then hash of the text */
    struct manifest *manifest;
    struct eventsource_provider *provider;
    struct eventsource_sender *sender;   /* first process that sent it */
    struct eventsource_claim *claims;    /* processes that use it */
    struct eventsource_version *newer;   /* of this provider, by time last sent */
    struct eventsource_version *older;   /* of this provider */
    struct eventsource_version *later;   /* of all providers, by time last used or sent */
    struct eventsource_version *earlier; /* of all providers */
    struct span name;                    /* provider name in the manifest */
    size_t bytes;
    bool is_renaming; /* that name differs from the provider's */
};

struct eventsource_known {
    struct map versions;  /* by their keys */
    struct map claims;    /* by provider and process */
    struct map providers; /* by GUID */
    struct map senders;   /* by process */
    struct eventsource_version *latest;
    struct eventsource_version *earliest;
    struct eventsource_claim *last_claim; /* of all claims, by time made */
    struct eventsource_claim *first_claim;
    struct eventsource_provider *nameless; /* providers without manifests, newest first */
    size_t bytes;
    size_t max_bytes;
    struct schema_losses losses;
};

void eventsource_known_init(struct eventsource_known *known, size_t max_bytes);
void eventsource_known_fini(struct eventsource_known *known);

/* Version of ${provider} with this text hash, or NULL. */
struct eventsource_version *eventsource_known_find(
    struct eventsource_known *known, const struct guid *provider, const uint8_t hash[16]);

/* Add ${manifest} for the record's provider; all its events must be of that provider. Takes
 * ownership of ${manifest}, also on failure. NULL: no memory. */
struct eventsource_version *eventsource_known_add(struct eventsource_known *known,
    const struct event_record *record, const uint8_t hash[16], struct manifest *manifest);

/* Note that the record's process uses ${version} now. True if that is new. */
bool eventsource_known_claim(struct eventsource_known *known, const struct event_record *record,
    struct eventsource_version *version);

/* The version that the record's process uses, or NULL. eventsource_known_newest() returns the
 * latest version of a provider or NULL; follow `older` for the others. */
struct eventsource_version *eventsource_known_own(
    const struct eventsource_known *known, const struct event_record *record);
struct eventsource_version *eventsource_known_newest(
    const struct eventsource_known *known, const struct guid *provider);

/* Mark ${version} as recently used: others are evicted before it. */
void eventsource_known_use(struct eventsource_known *known, struct eventsource_version *version);

/* Name of the provider; empty if unknown. */
struct span eventsource_known_name(
    const struct eventsource_known *known, const struct guid *provider);

#endif
