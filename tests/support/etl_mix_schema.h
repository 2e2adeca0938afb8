#ifndef ETWSHIP_TESTS_SUPPORT_ETL_MIX_SCHEMA_H
#define ETWSHIP_TESTS_SUPPORT_ETL_MIX_SCHEMA_H

#include "base/buf.h"
#include "event/model/schema.h"

/*
 * Event types of the sample providers, and the ways in which Windows describes them: a manifest,
 * TRACE_EVENT_INFO and EVENT_MAP_INFO records, a TraceLogging blob, an EventSource manifest, a
 * TMF file. All are made from the same tables, so that one trace can be decoded through each.
 */
enum { ETL_MIX_MAX_FIELDS = 12, ETL_MIX_MAX_ENTRIES = 6 };

struct etl_mix_map {
    const char *name;
    bool bits;
    size_t count;
    struct {
        uint32_t value;
        const char *text;
    } entries[ETL_MIX_MAX_ENTRIES];
};

struct etl_mix_field {
    const char *name;
    uint8_t in_type;               /* enum in_type */
    uint8_t out_type;              /* enum out_type; 0: the default */
    const struct etl_mix_map *map; /* or NULL */
    const char *count;             /* field that holds the number of elements, or NULL */
};

struct etl_mix_type {
    struct event_descriptor descriptor;
    const char *task; /* NULL: none */
    const char *symbol;
    const char *opcode; /* as the manifest spells it, "win:Start" */
    const char *level;
    const char *keyword; /* besides the channel's; NULL: none */
    const char *message;
    size_t field_count;
    struct etl_mix_field fields[ETL_MIX_MAX_FIELDS];
};

struct etl_mix_provider {
    const char *name;
    const char *symbol;
    const char *channel; /* full name; NULL: none */
    uint64_t keyword_mask;
    struct guid guid;
    size_t type_count;
    struct etl_mix_type types[2];
    const struct etl_mix_map *maps[2]; /* NULL: none */
};

extern const struct etl_mix_provider etl_mix_schema_dns;     /* manifest */
extern const struct etl_mix_provider etl_mix_schema_process; /* manifest */

/* Names from which the GUIDs of these two come. */
#define ETL_MIX_TELEMETRY_NAME "Etwship.Sample.Telemetry"      /* TraceLogging */
#define ETL_MIX_EVENT_SOURCE_NAME "Etwship-Sample-EventSource" /* .NET EventSource */

/* WPP message group of the sample driver. */
extern const struct guid etl_mix_schema_wpp_message;

/* A TRACE_EVENT_INFO (tdh.h), as KernelTraceControl embeds it: type 32 of its metadata class. */
void etl_mix_schema_event_info(
    struct buf *out, const struct etl_mix_provider *provider, const struct etl_mix_type *type);

/* Provider GUID and EVENT_MAP_INFO: type 33. */
void etl_mix_schema_map_info(
    struct buf *out, const struct etl_mix_provider *provider, const struct etl_mix_map *map);

/* Instrumentation manifest of the two manifest providers. */
void etl_mix_manifest_xml(struct buf *out);

/* TraceLogging blobs of the two telemetry events, and the traits that name their provider. */
void etl_mix_schema_request_blob(struct buf *out);
void etl_mix_schema_heartbeat_blob(struct buf *out);
void etl_mix_schema_telemetry_traits(struct buf *out);

/* The manifest that the sample EventSource sends. */
void etl_mix_manifest_event_source(struct buf *out);

/* TMF text of the WPP messages. */
void etl_mix_schema_tmf(struct buf *out);

#endif
