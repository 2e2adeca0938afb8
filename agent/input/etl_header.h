#ifndef ETWSHIP_INPUT_ETL_HEADER_H
#define ETWSHIP_INPUT_ETL_HEADER_H

#include "base/arena.h"
#include "base/error.h"
#include "event/record.h"

/*
 * What the first record of a trace says: TRACE_LOGFILE_HEADER (evntrace.h) and the two names
 * behind it. Times are FILETIMEs in UTC. Text is UTF-8.
 */
struct etl_info {
    uint32_t buffer_size; /* of the session, bytes */
    uint8_t os_major;
    uint8_t os_minor;
    uint8_t sub_version; /* layout of the file: 1.5 since Windows 7, 2.0 large or compressed */
    uint8_t sub_minor;
    uint32_t os_build;
    uint32_t processors;
    uint64_t end_time;         /* 0: never closed */
    uint32_t timer_resolution; /* 100 ns */
    uint32_t max_file_mb;
    uint32_t mode; /* LogFileMode */
    uint32_t buffers_written;
    uint32_t start_buffers;
    uint32_t pointer_size; /* bytes, as the field says; trace.pointer_size is 4 or 8 */
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
 * Parse the trace header record in ${record} (framed; record header included). Names go to
 * ${arena}; trace.path and trace.host_name are left empty. False if it is not such a record
 * (ERR_FORMAT), was written before Windows Vista (ERR_UNSUPPORTED), or memory is out. Error texts
 * lack the path.
 */
bool etl_header_parse(
    struct span record, struct arena *arena, struct etl_info *ret_info, struct error *err);

/*
 * A trace's identity starts with its header record without what changes when a session goes on
 * and is closed: copy ${record} (as etl_header_parse took it) to ${out}, of the same size, with
 * EndTime, BuffersWritten, EventsLost and BuffersLost zeroed.
 */
void etl_header_constant_part(struct span record, uint8_t *out);

#endif
