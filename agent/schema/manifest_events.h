#ifndef ETWSHIP_SCHEMA_MANIFEST_EVENTS_H
#define ETWSHIP_SCHEMA_MANIFEST_EVENTS_H

#include "event/schema.h"

/* A finished manifest: the schemas of all its events, of all its providers. */
struct manifest {
    struct arena arena;
    struct event_schema **events; /* ascending by provider, id, version; then as in the file */
    size_t event_count;
};

/* What makes manifests, whatever they are read from. */
struct manifest_options {
    const char *source;          /* event_schema.source of every event; static */
    const char *file;            /* stands before warnings; may be NULL */
    enum schema_kind kind;       /* SCHEMA_UNKNOWN: an EventSource's if it looks like one */
    size_t max_bytes;            /* memory, both for the result and while parsing */
    struct arena_budget *budget; /* charged for both; outlives the manifest; NULL: none */
    void (*warn)(void *warn_self, const char *text); /* one line each; may be NULL */
    void *warn_self;
};

void manifest_events_destroy(struct manifest *manifest); /* NULL is fine */

/* Bring the events, in the order of their file until now, into the order in which they are found. */
void manifest_events_sort(struct manifest *manifest);

/* The events of exactly this provider, id and version: how many, and the index of the first. */
size_t manifest_events_find(const struct manifest *manifest, const struct guid *provider,
    uint16_t id, uint8_t version, size_t *ret_first);

#endif
