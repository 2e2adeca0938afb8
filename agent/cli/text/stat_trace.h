#ifndef ETWSHIP_CLI_STAT_TRACE_H
#define ETWSHIP_CLI_STAT_TRACE_H

#include "base/buf.h"
#include "cli/text/key_counts.h"
#include "input/etl/etl_file.h"

/*
 * Counts of the structure of one trace: buffers, records by header, group, provider and event,
 * extended items. Payloads are not decoded. Names are those of ntwmi.h, evntcons.h and evntrace.h
 * without their prefixes.
 */
struct stat_trace {
    uint64_t buffers;
    uint64_t empty_buffers;
    uint64_t records;
    bool cpus[2048];
    uint64_t header_types[256];
    uint64_t buffer_flags[16]; /* by bit */
    struct key_counts buffer_types;
    struct key_counts system_groups;
    struct key_counts system_events;
    struct key_counts classic_providers;
    struct key_counts classic_events;
    struct key_counts event_providers;
    struct key_counts events;
    struct key_counts event_header_flags;
    struct key_counts message_providers;
    struct key_counts messages;
    struct key_counts tracelogging;
    struct key_counts extended_data;
    struct key_counts manifest_records;
    struct key_counts metadata_opcodes;
};

void stat_trace_init(struct stat_trace *stat);
void stat_trace_fini(struct stat_trace *stat);

/* Callbacks of an etl_visitor with the stat_trace as its self. */
bool stat_trace_buffer(void *self, const struct etl_buffer *buffer, size_t epoch);
bool stat_trace_record(void *self, const struct event_record *record);

/* The members of the counts and of the header, `"name":value` separated by commas. */
void stat_trace_json(const struct stat_trace *stat, const struct etl_info *info, struct buf *out);

#endif
