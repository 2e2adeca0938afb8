#ifndef ETWSHIP_SCHEMA_EVENT_INFO_H
#define ETWSHIP_SCHEMA_EVENT_INFO_H

#include "event/model/schema.h"

/*
 * TRACE_EVENT_INFO and EVENT_MAP_INFO (tdh.h): what TDH returns and what KernelTraceControl writes
 * into merged traces. All offsets count from the start of the structure; texts are UTF-16.
 */

/* DECODING_SOURCE. */
enum event_info_source {
    EVENT_INFO_XML = 0,
    EVENT_INFO_WBEM = 1,
    EVENT_INFO_WPP = 2,
    EVENT_INFO_TLG = 3,
};

/* The identity of the event that an info describes. */
struct event_info_key {
    enum event_info_source source;
    struct guid provider;
    struct guid event_guid; /* Wbem: class. XML with has_control: control GUID */
    bool has_control;       /* TEMPLATE_CONTROL_GUID */
    struct event_descriptor descriptor;
};

/* Read the head of ${info}. False if it is truncated or its source is unknown. */
bool event_info_read_key(struct span info, struct event_info_key *ret_key);

/* Looks up a map by provider and name; NULL if it is not known (yet). */
struct event_info_maps {
    const struct schema_map *(*find)(void *self, const struct guid *provider, struct span name);
    void *self;
};

/*
 * Make a finished schema of ${info} in ${arena}. A missing map is no error: ${ret_maps_missing}
 * says whether to try again when more maps are known. Names stay as they are except predefined
 * ones. Keyword names are those of exactly this event (mask 0). NULL with ${err} set if the info
 * contradicts itself or memory is short.
 */
struct event_schema *event_info_schema(struct span info, const struct event_info_maps *maps,
    struct arena *arena, bool *ret_maps_missing, struct error *err);

/* Like event_info_schema() but without a layout, for when memory is short. */
struct event_schema *event_info_names(struct span info, struct arena *arena, struct error *err);

/* Read an EVENT_MAP_INFO into ${arena}. False for pattern maps and maps of strings, which no
 * numeric property can use, and for truncated infos. */
bool event_info_map(struct span info, struct arena *arena, struct span *ret_name,
    const struct schema_map **ret_map, struct error *err);

#endif
