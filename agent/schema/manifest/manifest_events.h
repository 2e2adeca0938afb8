#ifndef ETWSHIP_SCHEMA_MANIFEST_EVENTS_H
#define ETWSHIP_SCHEMA_MANIFEST_EVENTS_H

#include "event/model/schema.h"

/* A finished manifest: schemas of all events of all its providers. */
struct manifest {
    struct arena arena;
    struct event_schema **events; /* ascending by provider, id, version; then in file order */
    size_t event_count;
};

/* Options of all readers of manifests. */
struct manifest_options {
    const char *source;    /* event_schema.source of every event; static */
    const char *file;      /* prefix of warnings; may be NULL */
    const char *wanted;    /* language of texts, where there are several; NULL: en-US */
    uint16_t language;     /* of a compiled manifest's texts: LANGID; 0: unknown */
    enum schema_kind kind; /* SCHEMA_UNKNOWN: detect whether it is an EventSource's */
    size_t max_bytes;      /* memory for the result and for parsing */
    /* charged for both, outlives the manifest; NULL: no shared budget */
    struct arena_budget *budget;
    void (*warn)(void *warn_self, const char *text); /* one line each; may be NULL */
    void *warn_self;
};

void manifest_events_destroy(struct manifest *manifest); /* NULL is fine */

/* Sort the events, which are in file order before, for look-up. */
void manifest_events_sort(struct manifest *manifest);

/* Number of events with this provider, id and version; ${ret_first} is the index of the first. */
size_t manifest_events_find(const struct manifest *manifest, const struct guid *provider,
    uint16_t id, uint8_t version, size_t *ret_first);

#endif
