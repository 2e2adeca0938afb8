#ifndef ETWSHIP_SCHEMA_WINDOWS_TDH_ASK_H
#define ETWSHIP_SCHEMA_WINDOWS_TDH_ASK_H

#include "base/map.h"
#include "etw/etw_api.h"
#include "event/schema.h"

/*
 * The calls of TDH: an event's TRACE_EVENT_INFO, then the EVENT_MAP_INFO of each map that it names,
 * made into a schema (tdhgeteventinformation and tdhgeteventmapinformation on learn.microsoft.com).
 * One thread at a time; calls take as long as Windows likes.
 */
struct tdh_room {
    uint8_t *data;
    uint32_t size;
};

struct tdh_ask {
    const struct etw_api *api;
    struct arena arena; /* schemas and maps */
    struct map maps;    /* provider or class GUID and name -> struct schema_map */
    struct tdh_room info;
    struct tdh_room map;
    struct etw_event_record *record; /* the question, while it is answered */
};

enum { TDH_MAX_ANSWER_BYTES = 4 * 1024 * 1024 };

/* ${max_bytes}: of schemas and maps. */
void tdh_ask_init(struct tdh_ask *ask, size_t max_bytes);
void tdh_ask_fini(struct tdh_ask *ask);

/* Does this system answer at all? */
bool tdh_ask_is_possible(const struct tdh_ask *ask);

/* The schema of ${record}, which lives as long as ${ask}; NULL: TDH knows none, or none that makes
 * sense. */
const struct event_schema *tdh_ask_event(struct tdh_ask *ask, struct etw_event_record *record);

/* The same of a registered provider's event by its descriptor alone. */
const struct event_schema *tdh_ask_manifest(struct tdh_ask *ask, const struct guid *provider,
    const struct etw_event_descriptor *descriptor);

#endif
