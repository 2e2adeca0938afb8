#ifndef ETWSHIP_CLI_STAT_TRACE_H
#define ETWSHIP_CLI_STAT_TRACE_H

#include "base/buf.h"
#include "cli/text/tally.h"
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
    struct tally buffer_types;
    struct tally system_groups;
    struct tally system_events;
    struct tally classic_providers;
    struct tally classic_events;
    struct tally event_providers;
    struct tally events;
    struct tally event_header_flags;
    struct tally message_providers;
    struct tally messages;
    struct tally tracelogging;
    struct tally extended_data;
    struct tally manifest_records;
    struct tally metadata_opcodes;
};

void stat_trace_init(struct stat_trace *stat);
void stat_trace_fini(struct stat_trace *stat);

/* Callbacks of an etl_visitor with the stat_trace as its self. */
bool stat_trace_buffer(void *self, const struct etl_buffer *buffer, size_t epoch);
bool stat_trace_record(void *self, const struct event_record *record);

/* The members of the counts and of the header, `"name":value` separated by commas. */
void stat_trace_json(const struct stat_trace *stat, const struct etl_info *info, struct buf *out);

#endif
