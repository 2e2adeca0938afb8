#ifndef ETWSHIP_INPUT_WINDOWS_ETW_RAW_H
#define ETWSHIP_INPUT_WINDOWS_ETW_RAW_H

#include "input/record/etl_record.h"
#include "input/windows/etw_trace.h"

/*
 * Reads the records of a buffer from OpenTraceFromRealTimeLogger: a WMI_BUFFER_HEADER and records,
 * in the format of files (etl_buffer.h, etl_record.h). Safe for any bytes.
 */
struct etw_raw {
    struct span buffer; /* ends with its records */
    uint32_t at;        /* offset of the next record */
    uint16_t cpu;
    const char *problem; /* the latest problem (static text), or NULL */
    struct etl_scope scope;
    struct extended_item items[RECORD_MAX_EXTENDED];
};

/* Start reading ${buffer}, which is borrowed; times start with etw_trace_start. False if nothing is
 * readable; `problem` has the reason. */
bool etw_raw_open(struct etw_raw *raw, struct span buffer, struct etw_trace *trace);

/* The next record in buffer order; it borrows the buffer and ${raw}. False at the end, or at an
 * invalid record, with `problem` set. */
bool etw_raw_next(struct etw_raw *raw, struct event_record *ret_record);

#endif
