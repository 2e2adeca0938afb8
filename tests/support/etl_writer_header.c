/*
 * The header record of a trace: SYSTEM_TRACE_HEADER (ntwmi.h of System Informer's phnt) and
 * TRACE_LOGFILE_HEADER (evntrace.h) in its 32- or 64-bit form.
 */
#include "support/etl_writer_header.h"

#include "support/etl_encode.h"
#include "support/etl_put.h"

enum { /* EVENT_TRACE_* modes of log files, evntrace.h */
    MODE_SEQUENTIAL = 0x1,
    MODE_CIRCULAR = 0x2,
    MODE_APPEND = 0x4,
    MODE_KILOBYTES = 0x2000,
    MODE_RELOG = 0x10000,
    MODE_COMPRESSED = 0x4000000,
    MODE_SINGLE_STREAM = 0x10000000,
};

uint64_t etl_writer_header_junk(uint64_t seed)
{
    return UINT64_C(0xffffae8000000000) | (seed * UINT64_C(0x9e3779b97f4a7c15)) >> 28 << 4;
}

static uint32_t log_file_mode(const struct etl_options *o)
{
    if (o->log_file_mode) {
        return o->log_file_mode;
    }
    uint32_t mode = o->append ? MODE_APPEND : MODE_SEQUENTIAL;
    if (o->circular_buffers) {
        mode = MODE_CIRCULAR | MODE_KILOBYTES;
    }
    return mode | (o->relogged ? MODE_RELOG : 0) |
           (o->compression != ETL_STORED ? MODE_COMPRESSED : 0) |
           (o->single_stream ? MODE_SINGLE_STREAM : 0);
}

static void put_date_rule(struct buf *out, uint16_t month, uint16_t hour)
{
    const uint16_t last_sunday[8] = {0, month, 0, 5, hour, 0, 0, 0};
    for (int i = 0; i < 8; i++) {
        etl_put_u16(out, last_sunday[i]);
    }
}

static void put_zone_name(struct buf *out, const char *name)
{
    size_t start = out->size;
    etl_put_utf16(out, name);
    etl_put_zeros(out, 64 - (out->size - start));
}

static void put_time_zone(struct buf *out)
{
    etl_put_u32(out, (uint32_t)-60);
    put_zone_name(out, "@tzres.dll,-322");
    put_date_rule(out, 10, 3);
    etl_put_u32(out, 0);
    put_zone_name(out, "@tzres.dll,-321");
    put_date_rule(out, 3, 2);
    etl_put_u32(out, (uint32_t)-60);
}

static void put_version(struct buf *out, const struct etl_options *o)
{
    static const uint8_t windows_7[] = {6, 1, 1, 5}, windows_10[] = {10, 0, 1, 5},
                         merged[] = {10, 0, 2, 0};
    buf_add(out, o->relogged ? merged : o->windows_7 ? windows_7 : windows_10, 4);
    etl_put_u32(out, o->windows_7 ? 7601 : 19045);
}

/* TRACE_LOGFILE_HEADER and the two names. */
static void put_logfile_header(
    const struct etl_options *o, const struct etl_counts *counts, struct buf *out)
{
    uint64_t ring_bytes = (uint64_t)(o->circular_buffers + 1) * o->buffer_size;
    etl_put_u32(out, o->buffer_size);
    put_version(out, o);
    etl_put_u32(out, o->processors);
    etl_put_u64(out, counts->end_time);
    etl_put_u32(out, 156250);
    uint32_t ring_kb = o->circular_buffers ? (uint32_t)(ring_bytes / 1024) : 0;
    etl_put_u32(out, o->max_file_size ? o->max_file_size : ring_kb);
    etl_put_u32(out, log_file_mode(o));
    etl_put_u32(out, counts->buffers_written);
    etl_put_u32(out, 1);
    etl_put_u32(out, o->pointer_size);
    etl_put_u32(out, counts->events_lost);
    etl_put_u32(out, o->cpu_mhz);
    etl_put_pointer(out, o->pointer_size, etl_writer_header_junk(7));
    etl_put_pointer(out, o->pointer_size, etl_writer_header_junk(8));
    put_time_zone(out);
    etl_put_u32(out, 0);
    etl_put_u64(out, o->boot_time);
    etl_put_u64(out, o->perf_frequency);
    etl_put_u64(out, o->start_time);
    etl_put_u32(out, (uint32_t)o->clock);
    etl_put_u32(out, counts->buffers_lost);
    etl_put_utf16z(out, o->session_name);
    etl_put_utf16z(out, o->file_name);
}

void etl_writer_header_record(
    const struct etl_options *o, const struct etl_counts *counts, struct buf *out)
{
    struct buf payload;
    buf_init(&payload, 65536);
    put_logfile_header(o, counts, &payload);
    const struct etl_kernel header = {.form = ETL_SYSTEM,
        .pointer_size = o->pointer_size,
        .version = 2,
        .hook_id = 0,
        .thread_id = 9876,
        .process_id = 5432,
        .time = o->start_raw};
    etl_encode_kernel(out, &header, buf_span(&payload));
    out->failed = out->failed || payload.failed;
    buf_fini(&payload);
}
