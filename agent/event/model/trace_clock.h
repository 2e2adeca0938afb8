#ifndef ETWSHIP_EVENT_TRACE_CLOCK_H
#define ETWSHIP_EVENT_TRACE_CLOCK_H

#include <stdint.h>

/* Clock of a session: what the raw time stamps of its records count (ReservedFlags of
 * TRACE_LOGFILE_HEADER, EVENT_TRACE_CLOCK_* in ntwmi.h). */
enum trace_clock_type {
    TRACE_CLOCK_RAW = 0,
    TRACE_CLOCK_QPC = 1,
    TRACE_CLOCK_SYSTEM_TIME = 2,
    TRACE_CLOCK_CPU_CYCLE = 3,
};

struct trace_clock {
    enum trace_clock_type type;
    uint64_t start_time; /* FILETIME at start_raw */
    int64_t start_raw;   /* raw stamp of the header record */
    uint64_t frequency;  /* raw ticks per second; never 0 */
};

/*
 * A raw time stamp as FILETIME (100 ns since 1601, UTC): start + (raw - start_raw) * 10^7 /
 * frequency in integers, divided towards zero, also before the start. Results outside the range
 * of FILETIME are clamped to it. (TRACE_LOGFILE_HEADER, wnode-header on learn.microsoft.com.)
 */
uint64_t trace_clock_filetime(const struct trace_clock *clock, int64_t raw);

#endif
