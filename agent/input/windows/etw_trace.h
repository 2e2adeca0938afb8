#ifndef ETWSHIP_INPUT_WINDOWS_ETW_TRACE_H
#define ETWSHIP_INPUT_WINDOWS_ETW_TRACE_H

#include "etw/etw_types.h"
#include "event/model/record.h"
#include "platform/plat_host.h"

/*
 * What all records of a connection share: clock and machine. Lives until no record refers to it any
 * more.
 */
struct etw_trace {
    struct trace_info info;
    bool timed;              /* the start of the clock is known */
    struct etw_trace *older; /* for the owner: traces of earlier records */
    char session_name[128];
    struct plat_host host;
    struct span host_ips[PLAT_HOST_IPS];
    uint8_t os_name[PLAT_HOST_TEXT_BYTES];
    char os_version[32];
    char os_kernel[64];
};

/*
 * Initialise from what OpenTrace reports of the session ${name}. Real-time sessions have no header
 * event with the first time stamp (retrieving-event-data-using-tdh on learn.microsoft.com), so
 * stamps of the performance counter are related to its present value.
 */
void etw_trace_init(
    struct etw_trace *trace, const char *name, const struct etw_logfile_header *header);

/* Set the start of the clock at the first time stamp ${raw}: if nothing else is known, it is now.
 * Later calls have no effect. */
void etw_trace_start(struct etw_trace *trace, int64_t raw);

/* FILETIME now, by ${trace}'s clock. */
uint64_t etw_trace_now(const struct etw_trace *trace);

/* True if the clock has drifted from the system time, or that was set. */
bool etw_trace_is_off(const struct etw_trace *trace);

#endif
