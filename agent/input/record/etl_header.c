#include "input/record/etl_header.h"

#include <stdio.h>

#include "base/bytes.h"
#include "base/filetime.h"
#include "base/reader.h"
#include "base/utf.h"
#include "input/record/etl_format.h"

/* Offsets in TRACE_LOGFILE_HEADER. After LoggerName the form for 32-bit pointers differs. */
enum {
    AT_END_TIME = 0x10,
    AT_BUFFERS_WRITTEN = 0x24,
    AT_EVENTS_LOST = 0x30,
    AT_BUFFERS_LOST_32 = 0x10c,
    AT_BUFFERS_LOST_64 = 0x114,
    FIXED_SIZE_32 = 0x110,
    FIXED_SIZE_64 = 0x118,
};

/* Names longer than Windows allows (1024 units) are cut. */
enum { NAME_MAX_BYTES = 1024 * 2 };

static bool is_64(struct span record)
{
    return record.data[2] == ETL_SYSTEM64;
}

static bool is_header_record(struct span record)
{
    if (record.size < ETL_SYSTEM_SIZE) {
        return false;
    }
    uint8_t type = record.data[2];
    size_t fixed = type == ETL_SYSTEM64 ? FIXED_SIZE_64 : FIXED_SIZE_32;
    return (type == ETL_SYSTEM32 || type == ETL_SYSTEM64) && record.data[3] == 0xc0 &&
           load_le16(record.data + 6) == 0 && record.size >= ETL_SYSTEM_SIZE + fixed;
}

/* Read UTF-16 up to its NUL, or to the end of the record if there is none. */
static struct span read_name(struct reader *r, struct arena *arena)
{
    struct span rest = reader_rest(r);
    struct span name = span_first(rest, utf16_until_nul(rest));
    reader_skip(r, name.size + 2 <= rest.size ? name.size + 2 : rest.size);
    name = span_first(name, NAME_MAX_BYTES);
    uint8_t *text = arena_alloc(arena, utf16_json_bound(name.size));
    return text ? span_make(text, utf16_to_utf8(name, text)) : span_make(NULL, 0);
}

static struct trace_clock clock_of(const struct etl_info *info, int64_t start_raw)
{
    uint64_t frequency = info->perf_freq;
    if (info->clock_type == TRACE_CLOCK_CPU_CYCLE) {
        frequency = (uint64_t)info->cpu_mhz * 1000000;
    }
    if (frequency == 0 || info->clock_type == TRACE_CLOCK_SYSTEM_TIME) {
        frequency = FILETIME_PER_S;
    }
    return (struct trace_clock){
        .type = info->clock_type <= TRACE_CLOCK_CPU_CYCLE ? (enum trace_clock_type)info->clock_type
                                                          : TRACE_CLOCK_QPC,
        .start_time = info->start_time,
        .start_raw = start_raw,
        .frequency = frequency,
    };
}

/* Read the fixed part, in field order. */
static void read_fixed(struct reader *r, bool wide, struct etl_info *info)
{
    info->buffer_size = reader_u32(r);
    info->os_major = reader_u8(r);
    info->os_minor = reader_u8(r);
    info->sub_version = reader_u8(r);
    info->sub_minor = reader_u8(r);
    info->os_build = reader_u32(r);
    info->processors = reader_u32(r);
    info->end_time = reader_u64(r);
    info->timer_resolution = reader_u32(r);
    info->max_file_mb = reader_u32(r);
    info->mode = reader_u32(r);
    info->buffers_written = reader_u32(r);
    info->start_buffers = reader_u32(r);
    info->pointer_size = reader_u32(r);
    info->events_lost = reader_u32(r);
    info->cpu_mhz = reader_u32(r);
    reader_skip(r, wide ? 16 : 8); /* pointers to the names, meaningless in a file */
    struct span zone = reader_take(r, TIME_ZONE_INFORMATION_SIZE);
    info->trace.zone = time_zone_read(zone);
    info->tz_bias_min = zone.size ? (int32_t)load_le32(zone.data) : 0;
    reader_skip(r, 4);
    info->boot_time = reader_u64(r);
    info->perf_freq = reader_u64(r);
    info->start_time = reader_u64(r);
    info->clock_type = reader_u32(r);
    info->buffers_lost = reader_u32(r);
}

/* "10.0.19041" */
static struct span version_text(const struct etl_info *info, struct arena *arena)
{
    char text[32];
    int size = snprintf(text, sizeof(text), "%u.%u.%lu", info->os_major, info->os_minor,
        (unsigned long)info->os_build);
    struct span version = {NULL, 0};
    arena_copy(arena, span_make(text, (size_t)size), &version);
    return version;
}

bool etl_header_parse(
    struct span record, struct arena *arena, struct etl_info *ret_info, struct error *err)
{
    enum { WINDOWS_VISTA = 6 };
    if (!is_header_record(record)) {
        return error_set(err, ERR_FORMAT, "the first record is not a trace header");
    }
    struct etl_info info = {0};
    struct reader r = reader_make(span_from(record, ETL_SYSTEM_SIZE));
    read_fixed(&r, is_64(record), &info);
    if (info.os_major < WINDOWS_VISTA) {
        return error_set(err, ERR_UNSUPPORTED,
            "recorded by Windows %u.%u: the layout before Windows 7 is not supported",
            info.os_major, info.os_minor);
    }
    info.logger_name = read_name(&r, arena);
    info.log_file_name = read_name(&r, arena);
    struct span os_version = version_text(&info, arena);
    if (!info.logger_name.data || !info.log_file_name.data || !os_version.data) {
        return error_set(err, ERR_MEMORY, "out of memory for the trace header");
    }
    info.trace = (struct trace_info){
        .session_name = info.logger_name,
        .os_version = os_version,
        .zone = info.trace.zone,
        .clock = clock_of(&info, (int64_t)load_le64(record.data + 0x10)),
        .boot_time = info.boot_time,
        .timer_resolution = info.timer_resolution,
        .pointer_size = info.pointer_size == 4 || info.pointer_size == 8
                            ? (uint8_t)info.pointer_size
                            : (is_64(record) ? 8 : 4),
    };
    *ret_info = info;
    return true;
}

void etl_header_constant_part(struct span record, uint8_t *out)
{
    memcpy(out, record.data, record.size);
    uint8_t *fixed = out + ETL_SYSTEM_SIZE;
    memset(fixed + AT_END_TIME, 0, 8);
    memset(fixed + AT_BUFFERS_WRITTEN, 0, 4);
    memset(fixed + AT_EVENTS_LOST, 0, 4);
    memset(fixed + (is_64(record) ? AT_BUFFERS_LOST_64 : AT_BUFFERS_LOST_32), 0, 4);
}
