#ifndef ETWSHIP_SCHEMA_EVENTSOURCE_KNOWN_H
#define ETWSHIP_SCHEMA_EVENTSOURCE_KNOWN_H

#include "base/map.h"
#include "event/record.h"
#include "schema/manifest_events.h"
#include "schema/schema_source.h"

/*
 * The manifests that EventSources have sent, which process uses which, and what their providers are
 * called. One thread at a time.
 *
 * Threat model. Any process may send any number of manifests, under any GUID, with any names, so:
 * - A process has at most a quarter of the places and half of the memory, a provider three quarters of
 *   the places. Who wants more gives up what it was asked for least recently itself, and what other
 *   processes use, too, last; where all memory is used, what was asked for least recently of all goes.
 *   The name of a provider outlives its manifests.
 * - A process decides what its own events are made of, and no others: a manifest counts for other
 *   processes only if it calls the provider by the name that the provider has.
 * - That name is the one that Windows knows the GUID by (known_providers.h), else one that the GUID is
 *   made of (guid_from_name), else the one that came first. All events are shown under it, whatever the
 *   manifests of their processes say. Other names are counted as conflicts.
 * - What remains: a process that uses the right name may still send another layout, which events of
 *   processes without a manifest of their own are read with if it is the latest.
 * - A process id may be used again. Where records have the process's start key (EXTENDED_PROCESS_START_KEY)
 *   a manifest is that of one process in all time; where they have none, it is that of all that have the
 *   id, until one of these sends its own.
 */
struct eventsource_version {
    uint8_t key[32]; /* provider, then hash of the text */
    struct manifest *manifest;
    struct eventsource_provider *provider;
    struct eventsource_sender *sender;   /* who sent it first */
    struct eventsource_claim *claims;    /* processes that use it */
    struct eventsource_version *newer;   /* of the same provider, by when they were last sent */
    struct eventsource_version *older;   /* … */
    struct eventsource_version *later;   /* of all, by when they were last asked for or sent */
    struct eventsource_version *earlier; /* … */
    struct span name;                    /* of the provider, as the manifest has it */
    size_t bytes;
    bool is_renaming; /* that is another name than the provider has */
};

struct eventsource_known {
    struct map versions;  /* by their keys */
    struct map claims;    /* by provider and process */
    struct map providers; /* by GUID */
    struct map senders;   /* by process */
    struct eventsource_version *latest;
    struct eventsource_version *earliest;
    struct eventsource_claim *last_claim; /* of all, by when they were made */
    struct eventsource_claim *first_claim;
    struct eventsource_provider
        *nameless; /* … that have no manifest any more, the last one first */
    size_t bytes;
    size_t max_bytes;
    struct schema_losses losses;
};

void eventsource_known_init(struct eventsource_known *known, size_t max_bytes);
void eventsource_known_fini(struct eventsource_known *known);

/* The version of ${provider} whose text has this hash; NULL: there is none. */
struct eventsource_version *eventsource_known_find(
    struct eventsource_known *known, const struct guid *provider, const uint8_t hash[16]);

/* Add ${manifest}, which is the table's from then on, also on failure, as one of the record's provider,
 * all of whose events are that provider's. NULL: no memory. */
struct eventsource_version *eventsource_known_add(struct eventsource_known *known,
    const struct event_record *record, const uint8_t hash[16], struct manifest *manifest);

/* The record's process uses ${version}, and has just said so. True if that is news. */
bool eventsource_known_claim(struct eventsource_known *known, const struct event_record *record,
    struct eventsource_version *version);

/* The version that the record's process uses; the latest of a provider, see `older`; NULL: none. */
struct eventsource_version *eventsource_known_own(
    const struct eventsource_known *known, const struct event_record *record);
struct eventsource_version *eventsource_known_newest(
    const struct eventsource_known *known, const struct guid *provider);

/* It was asked for: others give way before it. */
void eventsource_known_use(struct eventsource_known *known, struct eventsource_version *version);

/* What the provider is called; empty: not known. */
struct span eventsource_known_name(
    const struct eventsource_known *known, const struct guid *provider);

#endif
