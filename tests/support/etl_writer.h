#ifndef ETWSHIP_TESTS_SUPPORT_ETL_WRITER_H
#define ETWSHIP_TESTS_SUPPORT_ETL_WRITER_H

#include <stdio.h>

#include "base/buf.h"
#include "event/model/trace_clock.h"

/*
 * Writes .etl files as Windows does: a header buffer, then per-processor buffers in the order in
 * which they fill. Memory is one buffer per processor, whatever the size of the file. The same
 * calls give the same bytes. Failures concern the output (ERR_IO), memory and impossible options
 * (ERR_CONFIG).
 */

enum etl_compression { /* COMPRESSION_FORMAT_* */
    ETL_STORED = 0,
    ETL_LZNT1 = 2,
    ETL_XPRESS = 3,
    ETL_XPRESS_HUFF = 4,
};

/* Zero means the default that is named. Texts live as long as the writer. */
struct etl_options {
    uint32_t buffer_size;        /* bytes, a multiple of 8, 1 KB to 16 MB: 65536 */
    uint16_t processors;         /* up to 2048: 1 */
    uint8_t pointer_size;        /* form of the header record, 4 or 8: 8 */
    bool windows_7;              /* 8-bit processor numbers, SavedOffset 0 in the header buffer */
    bool single_stream;          /* NO_PER_PROCESSOR_BUFFERING: all processors share a buffer */
    enum trace_clock_type clock; /* raw counts like QPC */
    uint64_t perf_frequency;     /* QPC ticks per second: 10000000 */
    uint32_t cpu_mhz;            /* 2400 */
    uint64_t start_time;         /* FILETIME: 2026-11-21T09:30:00Z */
    int64_t start_raw;           /* stamp of the header record; system time: always start_time */
    uint64_t boot_time;          /* FILETIME: one hour before start_time */
    uint16_t logger_id;          /* 1 */
    const char *session_name;    /* "etwship-sample" */
    const char *file_name;       /* the trace's own name in its header: "C:\traces\sample.etl" */
    uint32_t circular_buffers;   /* not 0: so many data buffers, then the oldest are overwritten in
                                  place; not with compression */
    bool append;                 /* LogFileMode says so; see etl_writer_create */
    bool relogged;               /* merged: small header buffer, "Relogger", "[multiple files]" */
    enum etl_compression compression; /* a buffer that does not shrink stays as it is */
    uint32_t log_file_mode; /* the value in the header; 0: it follows from the other options */
    uint32_t max_file_size; /* likewise */
    bool disorder;          /* write every two data buffers in reverse order; not with circular */
};

/* The clock of a session with these options, for its reader. */
struct trace_clock etl_writer_clock(const struct etl_options *options);

/* The output: calls come in file order, except for the header buffer, which is rewritten at the
 * end, and for circular files. False fails the writer. */
struct etl_output {
    void *self;
    bool (*write)(void *self, uint64_t offset, struct span bytes);
};

/* Into an open file that can seek ("wb"; "r+b" to append); stays the caller's. */
struct etl_output etl_writer_to_file(FILE *file);

/* Into memory, up to the buffer's maximum; stays the caller's. */
struct etl_output etl_writer_to_memory(struct buf *memory);

struct etl_writer;

/*
 * Begin a session at byte ${offset} of the output: 0, or after an earlier session that is
 * appended to. The header buffer is written at once with EndTime 0 and stale counts, as that of a
 * running session. NULL on failure.
 */
struct etl_writer *etl_writer_create(const struct etl_options *options, struct etl_output output,
    uint64_t offset, struct error *err);

/* Free the writer. Without etl_writer_close before it, the trace looks like that of a machine that
 * lost power: unflushed records are missing, and the header was never closed. NULL is fine. */
void etl_writer_destroy(struct etl_writer *writer);

/* Add a record (etl_encode.h, or any bytes) to the header buffer. Before the first etl_writer_put,
 * as long as there is room. */
bool etl_writer_put_header(struct etl_writer *writer, struct span record, struct error *err);

/* Add a record to the buffer of ${cpu}. ${time} is the record's raw stamp: per processor it must
 * not decrease. ERR_LIMIT if it is larger than a buffer. */
bool etl_writer_put(
    struct etl_writer *writer, uint16_t cpu, int64_t time, struct span record, struct error *err);

/* Pretend that ${count} events of ${cpu} found no room: EventsLost, and the flag of its buffer. */
void etl_writer_lose_events(struct etl_writer *writer, uint16_t cpu, uint32_t count);

/* Drop the records that ${cpu} has not flushed yet: BuffersLost, a hole in the sequence numbers,
 * and the flag of its next buffer. */
void etl_writer_lose_buffer(struct etl_writer *writer, uint16_t cpu);

/* Write the buffer of ${cpu} now, if it has records. */
bool etl_writer_seal(struct etl_writer *writer, uint16_t cpu, struct error *err);

/* Write all buffers with records; the last one carries the flush marker. */
bool etl_writer_flush(struct etl_writer *writer, struct error *err);

/* Flush, then complete the header. */
bool etl_writer_close(struct etl_writer *writer, struct error *err);

/* The end of the output so far: another session can begin there. */
uint64_t etl_writer_end(const struct etl_writer *writer);

#endif
