#ifndef ETWSHIP_INPUT_WINDOWS_ETW_TRACE_H
#define ETWSHIP_INPUT_WINDOWS_ETW_TRACE_H

#include "etw/etw_types.h"
#include "event/record.h"

/*
 * What all records of one connection to a session share: its clock and this machine. Lives until
 * nobody refers to its records any more.
 */
struct etw_trace {
    struct trace_info info;
    bool timed; /* the clock's start is known */
    char session_name[128];
    char host_name[256];
    char os_version[32];
};

/* From what OpenTrace says of the session ${name}. The clock's start is that of the session's header
 * event, etw_trace_start. */
void etw_trace_init(
    struct etw_trace *trace, const char *name, const struct etw_logfile_header *header);

/*
 * The raw time stamp of the header event. If something else comes first (a raw buffer), its stamp
 * ${raw} and ${is_header} false: then the clock is set by this machine's own, in the best way there
 * is. Only the first call counts.
 */
void etw_trace_start(struct etw_trace *trace, int64_t raw, bool is_header);

#endif
