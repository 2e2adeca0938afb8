#ifndef ETWSHIP_SCHEMA_EVENTSOURCE_CHUNKS_H
#define ETWSHIP_SCHEMA_EVENTSOURCE_CHUNKS_H

#include "event/model/record.h"

/*
 * Reassembles the manifests of EventSources, which arrive in chunks (ManifestEnvelope,
 * EventSource.cs of dotnet/runtime). Chunks are collected per provider, process and thread in any
 * order, because file order is not time order. A chunk that contradicts the previous ones starts
 * over. Not thread-safe.
 */
struct eventsource_pending;

struct eventsource_chunks {
    struct eventsource_pending *pending; /* newest first */
    size_t count;
    size_t bytes;
    size_t max_bytes;
    uint64_t dropped;   /* incomplete manifests evicted to make room */
    struct guid victim; /* provider of the manifest evicted last */
};

void eventsource_chunks_init(struct eventsource_chunks *chunks, size_t max_bytes);
void eventsource_chunks_fini(struct eventsource_chunks *chunks);

/* Add the chunk in ${record}'s payload. Returns the whole text of ${ret_size} bytes once complete;
 * the caller frees it. NULL if the text is incomplete, ${record} is not a chunk, or memory is
 * short. */
uint8_t *eventsource_chunks_add(
    struct eventsource_chunks *chunks, const struct event_record *record, size_t *ret_size);

#endif
