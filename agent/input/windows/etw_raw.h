#ifndef ETWSHIP_INPUT_WINDOWS_ETW_RAW_H
#define ETWSHIP_INPUT_WINDOWS_ETW_RAW_H

#include "input/etl_record.h"
#include "input/windows/etw_trace.h"

/*
 * The records of a buffer as OpenTraceFromRealTimeLogger hands it over: a WMI_BUFFER_HEADER and what
 * follows, the same as in files (etl_buffer.h, etl_record.h). Any bytes are fine.
 */
struct etw_raw {
    struct span buffer; /* its records' end is the end */
    uint32_t at;        /* of the next record */
    uint16_t cpu;
    const char *problem; /* NULL, or what was wrong so far (static text) */
    struct etl_scope scope;
    struct extended_item items[RECORD_MAX_EXTENDED];
};

/* Begin with ${buffer}, which is borrowed; times begin with etw_trace_start. False: nothing of it can
 * be read, `problem` says why. */
bool etw_raw_open(struct etw_raw *raw, struct span buffer, struct etw_trace *trace);

/* The next record, in the buffer's order; it borrows the buffer and ${raw}. False: there is none, or
 * what follows is none, as `problem` says then. */
bool etw_raw_next(struct etw_raw *raw, struct event_record *ret_record);

#endif
