#ifndef ETWSHIP_SCHEMA_WINDOWS_TDH_ASK_H
#define ETWSHIP_SCHEMA_WINDOWS_TDH_ASK_H

#include "base/map.h"
#include "etw/etw_api.h"
#include "event/model/schema.h"

/*
 * The calls of TDH: fetches an event's TRACE_EVENT_INFO and the EVENT_MAP_INFO of each map it
 * names, and makes a schema. Source: tdhgeteventinformation and tdhgeteventmapinformation on
 * learn.microsoft.com. Not thread-safe; calls may take arbitrarily long.
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
    struct etw_event_record *record; /* the record in question during a call */
};

enum { TDH_MAX_ANSWER_BYTES = 4 * 1024 * 1024 };

/* ${max_bytes}: limit for schemas and maps. */
void tdh_ask_init(struct tdh_ask *ask, size_t max_bytes);
void tdh_ask_fini(struct tdh_ask *ask);

/* True if this system has TDH. */
bool tdh_ask_is_possible(const struct tdh_ask *ask);

/* The schema of ${record}, which lives as long as ${ask}; NULL if TDH has none or an invalid
 * one. */
const struct event_schema *tdh_ask_event(struct tdh_ask *ask, struct etw_event_record *record);

/* The schema of a registered provider's event by its descriptor. */
const struct event_schema *tdh_ask_manifest(
    struct tdh_ask *ask, const struct guid *provider, const struct event_descriptor *descriptor);

#endif
