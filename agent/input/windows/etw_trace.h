#ifndef ETWSHIP_INPUT_WINDOWS_ETW_TRACE_H
#define ETWSHIP_INPUT_WINDOWS_ETW_TRACE_H

#include "etw/etw_types.h"
#include "event/record.h"
#include "platform/plat_host.h"

/*
 * What all records of one connection to a session share: its clock and this machine. Lives until
 * nobody refers to its records any more.
 */
struct etw_trace {
    struct trace_info info;
    bool timed;              /* the clock's start is known */
    struct etw_trace *older; /* the owner's: what earlier records refer to */
    char session_name[128];
    struct plat_host host;
    struct span host_ips[PLAT_HOST_IPS];
    uint8_t os_name[PLAT_HOST_TEXT_BYTES];
    char os_version[32];
    char os_kernel[64];
};

/*
 * From what OpenTrace says of the session ${name}. Real-time sessions have no header event that would
 * say which stamp the session began with (retrieving-event-data-using-tdh on learn.microsoft.com), so
 * stamps of the performance counter are told by what it shows now.
 */
void etw_trace_init(
    struct etw_trace *trace, const char *name, const struct etw_logfile_header *header);

/* The first stamp that comes: where nothing else is known of the clock, it is now. Later calls change
 * nothing. */
void etw_trace_start(struct etw_trace *trace, int64_t raw);

/* The time now, FILETIME, as ${trace}'s clock tells it. */
uint64_t etw_trace_now(const struct etw_trace *trace);

/* Has the clock drifted away from the system's time, or was that set? */
bool etw_trace_is_off(const struct etw_trace *trace);

#endif
