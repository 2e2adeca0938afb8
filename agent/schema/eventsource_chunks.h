#ifndef ETWSHIP_SCHEMA_EVENTSOURCE_CHUNKS_H
#define ETWSHIP_SCHEMA_EVENTSOURCE_CHUNKS_H

#include "event/record.h"

/*
 * Manifests of EventSources that are under way: they are sent in chunks (ManifestEnvelope,
 * EventSource.cs of dotnet/runtime), which are put together per provider, process and thread, in
 * whatever order they come (file order is not time order). A chunk that cannot belong to the others
 * starts over. One thread at a time.
 */
struct eventsource_pending;

struct eventsource_chunks {
    struct eventsource_pending *pending; /* newest first */
    size_t count;
    size_t bytes;
    size_t max_bytes;
    uint64_t dropped;   /* manifests that were not whole when their room was needed */
    struct guid victim; /* whose that was */
};

void eventsource_chunks_init(struct eventsource_chunks *chunks, size_t max_bytes);
void eventsource_chunks_fini(struct eventsource_chunks *chunks);

/* The text that is whole with ${record}, whose payload is a chunk: ${ret_size} bytes, to be freed by the
 * caller. NULL: it is not, or ${record} is no chunk, or there is no memory. */
uint8_t *eventsource_chunks_add(
    struct eventsource_chunks *chunks, const struct event_record *record, size_t *ret_size);

#endif
