#ifndef ETWSHIP_INPUT_WINDOWS_ETW_RAW_H
#define ETWSHIP_INPUT_WINDOWS_ETW_RAW_H

#include "input/windows/etw_trace.h"

/*
 * The records of a buffer as OpenTraceFromRealTimeLogger hands it over: a WMI_BUFFER_HEADER and what
 * follows, the same as in files (etl_buffer.h, etl_record.h).
 */
struct etw_raw_visitor {
    void *self;
    bool (*record)(void *self, const struct event_record *record); /* false: no more */
};

/*
 * Visit them in their order. NULL, or what is wrong with the buffer (static text): what stands
 * behind that place is left out. Times begin with etw_trace_start. Any bytes are fine.
 */
const char *etw_raw_read(
    struct span buffer, struct etw_trace *trace, const struct etw_raw_visitor *visitor);

#endif
