#ifndef ETWSHIP_INPUT_ETL_HEADER_H
#define ETWSHIP_INPUT_ETL_HEADER_H

#include "base/arena.h"
#include "base/error.h"
#include "event/model/record.h"

/*
 * The first record of a trace: TRACE_LOGFILE_HEADER (evntrace.h) followed by two names. Times are
 * FILETIMEs in UTC. Text is UTF-8.
 */
struct etl_info {
    uint32_t buffer_size; /* of the session, bytes */
    uint8_t os_major;
    uint8_t os_minor;
    uint8_t sub_version; /* file layout: 1.5 since Windows 7, 2.0 large or compressed */
    uint8_t sub_minor;
    uint32_t os_build;
    uint32_t processors;
    uint64_t end_time;         /* 0: not closed */
    uint32_t timer_resolution; /* 100 ns */
    uint32_t max_file_mb;
    uint32_t mode; /* LogFileMode */
    uint32_t buffers_written;
    uint32_t start_buffers;
    uint32_t pointer_size; /* bytes, as written; trace.pointer_size is 4 or 8 */
    uint32_t events_lost;
    uint32_t cpu_mhz;
    uint64_t boot_time;
    uint64_t perf_freq;
    uint64_t start_time;
    uint32_t clock_type; /* enum trace_clock_type */
    uint32_t buffers_lost;
    int32_t tz_bias_min;
    struct span logger_name;
    struct span log_file_name;

    struct trace_info trace; /* the part that records refer to */
};

/*
 * Parse the trace header record in ${record} (framed, including the record header). Names go to
 * ${arena}; trace.path and trace.host_name stay empty. False if it is another record (ERR_FORMAT),
 * was written before Windows Vista (ERR_UNSUPPORTED), or memory is short. Error texts lack the
 * path.
 */
bool etl_header_parse(
    struct span record, struct arena *arena, struct etl_info *ret_info, struct error *err);

/*
 * Write the part of the header record that does not change when a session continues and is closed;
 * the identity of a trace starts with it. Copies ${record} (as in etl_header_parse) to ${out}, of
 * equal size, with EndTime, BuffersWritten, EventsLost and BuffersLost zeroed.
 */
void etl_header_constant_part(struct span record, uint8_t *out);

#endif
