/*
 * One `struct stream` per processor holds the buffer that is being filled; a buffer that has no
 * room for the next record is sealed (header, 0xFF fill, compression) and written. Sequence
 * numbers are given when a buffer is sealed, so they are global and rise per processor. The header
 * buffer lives in memory to the end: it is written before the first data buffer and once more by
 * etl_writer_close, which knows the counts.
 *
 * Layout: WMI_BUFFER_HEADER in ntwmi.h (System Informer's phnt).
 */
#include "support/etl_writer.h"

#include <stdlib.h>

#include "support/etl_put.h"
#include "support/etl_writer_header.h"
#include "support/pack.h"

enum {
    BUFFER_HEADER = 0x48,
    MIN_BUFFER = 1024,
    MAX_BUFFER = 16 << 20,
    MAX_PROCESSORS = 2048,
    RELOGGED_STEP = 0x200, /* header buffers of merged files are multiples of it */

    FLAG_FLUSH_MARKER = 0x01,
    FLAG_EVENTS_LOST = 0x02,
    FLAG_BUFFER_LOST = 0x04,
    FLAG_PROC_INDEX = 0x20,
    FLAG_COMPRESSED = 0x40,
    STATE_FLUSH = 3,
    TYPE_GENERIC = 0,
    TYPE_HEADER = 4,
};

struct stream {
    uint8_t *data;
    uint32_t used;
    uint16_t flags;
    int64_t last_time;
};

struct etl_writer {
    struct etl_options options;
    struct trace_clock clock;
    struct etl_output output;
    struct stream *streams;
    uint16_t stream_count;
    struct buf header; /* header buffer, without fill */
    bool header_written;
    uint64_t start;      /* of the session in the output */
    uint64_t data_start; /* of the first data buffer */
    uint64_t end;        /* of what was written */
    uint64_t data_buffers;
    uint64_t sequence;
    uint32_t events_lost;
    uint32_t buffers_lost;
    int64_t last_time;
    struct buf packed; /* the compressed form of a buffer */
    struct buf held;   /* with `disorder`: the buffer that waits for its successor */
};

static void set_defaults(struct etl_options *o)
{
    const uint64_t start_time = UINT64_C(134397270000000000); /* 2026-11-21T09:30:00Z */
    o->buffer_size = o->buffer_size ? o->buffer_size : 65536;
    o->processors = o->processors ? o->processors : 1;
    o->pointer_size = o->pointer_size ? o->pointer_size : 8;
    o->clock = o->clock == TRACE_CLOCK_RAW ? TRACE_CLOCK_QPC : o->clock;
    o->perf_frequency = o->perf_frequency ? o->perf_frequency : 10000000;
    o->cpu_mhz = o->cpu_mhz ? o->cpu_mhz : 2400;
    o->start_time = o->start_time ? o->start_time : start_time;
    if (o->clock == TRACE_CLOCK_SYSTEM_TIME) {
        o->start_raw = (int64_t)o->start_time;
    }
    o->boot_time = o->boot_time ? o->boot_time : o->start_time - UINT64_C(36000000000);
    o->session_name = o->session_name ? o->session_name : "etwship-sample";
    o->file_name = o->file_name ? o->file_name : "C:\\traces\\sample.etl";
    o->logger_id = o->logger_id ? o->logger_id : 1;
    if (o->relogged) {
        o->logger_id = 0;
        o->session_name = "Relogger";
        o->file_name = "[multiple files]";
    }
}

struct trace_clock etl_writer_clock(const struct etl_options *options)
{
    struct etl_options o = *options;
    set_defaults(&o);
    uint64_t frequency = o.perf_frequency;
    if (o.clock == TRACE_CLOCK_SYSTEM_TIME) {
        frequency = 10000000;
    } else if (o.clock == TRACE_CLOCK_CPU_CYCLE) {
        frequency = (uint64_t)o.cpu_mhz * 1000000;
    }
    return (struct trace_clock){.type = o.clock,
        .start_time = o.start_time,
        .start_raw = o.start_raw,
        .frequency = frequency};
}

static bool check(const struct etl_options *o, struct error *err)
{
    if (o->buffer_size < MIN_BUFFER || o->buffer_size > MAX_BUFFER || o->buffer_size % 8) {
        return error_set(err, ERR_CONFIG, "buffer size %u: not a multiple of 8 between %d and %d",
            o->buffer_size, (int)MIN_BUFFER, (int)MAX_BUFFER);
    }
    if (o->processors > MAX_PROCESSORS || (o->windows_7 && o->processors > 256)) {
        return error_set(err, ERR_CONFIG, "%u processors: too many", o->processors);
    }
    if (o->pointer_size != 4 && o->pointer_size != 8) {
        return error_set(err, ERR_CONFIG, "pointer size %u: neither 4 nor 8", o->pointer_size);
    }
    if (o->circular_buffers && (o->compression != ETL_STORED || o->relogged || o->disorder)) {
        return error_set(
            err, ERR_CONFIG, "a circular trace is neither compressed, relogged nor out of order");
    }
    return true;
}

/* Not every C library gives a FILE's position beyond 2 GB, so seek in small steps. */
static bool file_write(void *self, uint64_t offset, struct span bytes)
{
    FILE *file = self;
    const uint64_t step = 1 << 30;
    if (fseek(file, 0, SEEK_SET) != 0) {
        return false;
    }
    for (uint64_t left = offset; left > 0;) {
        uint64_t now = left < step ? left : step;
        if (fseek(file, (long)now, SEEK_CUR) != 0) {
            return false;
        }
        left -= now;
    }
    return fwrite(bytes.data, 1, bytes.size, file) == bytes.size;
}

struct etl_output etl_writer_to_file(FILE *file)
{
    return (struct etl_output){.self = file, .write = file_write};
}

static bool memory_write(void *self, uint64_t offset, struct span bytes)
{
    struct buf *memory = self;
    if (offset > memory->size) {
        return false;
    }
    size_t at = (size_t)offset;
    size_t over = memory->size - at < bytes.size ? memory->size - at : bytes.size;
    if (over) {
        memcpy(memory->data + at, bytes.data, over);
    }
    buf_add(memory, bytes.data + over, bytes.size - over);
    return !memory->failed;
}

struct etl_output etl_writer_to_memory(struct buf *memory)
{
    return (struct etl_output){.self = memory, .write = memory_write};
}

static bool write_at(struct etl_writer *w, uint64_t offset, struct span bytes, struct error *err)
{
    if (!w->output.write(w->output.self, offset, bytes)) {
        return error_set(
            err, ERR_IO, "cannot write %zu bytes at %llu", bytes.size, (unsigned long long)offset);
    }
    if (offset + bytes.size > w->end) {
        w->end = offset + bytes.size;
    }
    return true;
}

/* Fill in the WMI_BUFFER_HEADER of ${data}, whose valid bytes end at ${used}. */
static void set_buffer_header(const struct etl_writer *w, uint8_t *data, uint32_t size,
    uint32_t used, uint16_t cpu, int64_t time, uint16_t flags)
{
    const struct etl_options *o = &w->options;
    store_le32(data, size);
    store_le32(data + 0x04, used);
    store_le32(data + 0x08, used + 0x128); /* a reservation that found no room */
    store_le32(data + 0x0c, 0);
    store_le64(data + 0x10, o->relogged ? trace_clock_filetime(&w->clock, time) : (uint64_t)time);
    store_le64(data + 0x18, w->sequence);
    store_le64(data + 0x20, etl_writer_header_junk(w->sequence));
    store_le16(data + 0x28, o->windows_7 ? (uint16_t)(cpu | 8 << 8) : cpu);
    store_le16(data + 0x2a, o->logger_id);
    store_le32(data + 0x2c, STATE_FLUSH);
    store_le32(data + 0x30, used);
    store_le16(data + 0x34, (uint16_t)(flags | (o->windows_7 ? 0 : FLAG_PROC_INDEX)));
    store_le16(data + 0x36, TYPE_GENERIC);
    store_le64(data + 0x38, etl_writer_header_junk(w->sequence + 1));
    store_le64(data + 0x40, etl_writer_header_junk(w->sequence + 2));
}

/* The header record with the values known so far. ${end_time} 0: of a running session. */
static bool put_header_record(
    const struct etl_writer *w, uint64_t end_time, struct buf *out, struct error *err)
{
    struct etl_counts counts = {.buffers_written = 1};
    if (end_time) {
        counts = (struct etl_counts){.end_time = end_time,
            .buffers_written = (uint32_t)w->data_buffers + 1,
            .events_lost = w->events_lost,
            .buffers_lost = w->buffers_lost};
    }
    etl_writer_header_record(&w->options, &counts, out);
    etl_put_zeros(out, -out->size & 7);
    return !out->failed || error_set(err, ERR_LIMIT, "the header buffer has no room");
}

/* The header buffer takes the whole session buffer, in merged files what its records need. */
static size_t header_buffer_size(const struct etl_writer *w)
{
    if (!w->options.relogged) {
        return w->options.buffer_size;
    }
    return (w->header.size + RELOGGED_STEP - 1) / RELOGGED_STEP * RELOGGED_STEP;
}

static bool write_header(struct etl_writer *w, struct error *err)
{
    const struct etl_options *o = &w->options;
    size_t used = w->header.size;
    size_t size = header_buffer_size(w);
    if (!buf_reserve(&w->header, size - used)) {
        return error_set(err, ERR_MEMORY, "no memory for the header buffer");
    }
    uint8_t *data = w->header.data;
    memset(data, 0, BUFFER_HEADER);
    memset(data + used, 0xff, size - used);
    store_le32(data, (uint32_t)size);
    store_le32(data + 0x04, o->windows_7 ? 0 : (uint32_t)used);
    store_le16(data + 0x28, o->windows_7 ? 8 << 8 : 0);
    store_le16(data + 0x2a, o->logger_id);
    store_le32(data + 0x2c, o->compression != ETL_STORED ? (uint32_t)o->compression : STATE_FLUSH);
    store_le32(data + 0x30, (uint32_t)used);
    store_le16(data + 0x34,
        o->windows_7 || o->relogged ? FLAG_FLUSH_MARKER : FLAG_FLUSH_MARKER | FLAG_PROC_INDEX);
    store_le16(data + 0x36, TYPE_HEADER);
    if (!write_at(w, w->start, span_make(data, size), err)) {
        return false;
    }
    w->header_written = true;
    w->data_start = w->start + size;
    return true;
}

static struct span compress(struct etl_writer *w, const struct stream *s)
{
    struct span in = span_make(s->data + BUFFER_HEADER, s->used - BUFFER_HEADER);
    buf_reset(&w->packed);
    etl_put_zeros(&w->packed, BUFFER_HEADER);
    bool ok = false;
    switch (w->options.compression) {
    case ETL_LZNT1:
        ok = pack_lznt1(in, &w->packed);
        break;
    case ETL_XPRESS:
        ok = pack_xpress(in, &w->packed);
        break;
    case ETL_XPRESS_HUFF:
        ok = pack_xpress_huff(in, &w->packed);
        break;
    case ETL_STORED:
        break;
    }
    if (!ok || w->packed.failed || w->packed.size >= s->used) {
        return span_make(NULL, 0);
    }
    return buf_span(&w->packed);
}

/* Write a sealed data buffer to its place. */
static bool write_data(struct etl_writer *w, struct span bytes, struct error *err)
{
    const struct etl_options *o = &w->options;
    uint64_t offset = w->end;
    if (w->data_buffers == 0) {
        offset = w->data_start;
    } else if (o->circular_buffers) {
        offset = w->data_start + w->data_buffers % o->circular_buffers * o->buffer_size;
    }
    w->data_buffers++;
    return write_at(w, offset, bytes, err);
}

static bool write_held(struct etl_writer *w, struct error *err)
{
    bool ok = w->held.size == 0 || write_data(w, buf_span(&w->held), err);
    buf_reset(&w->held);
    return ok;
}

static bool write_in_disorder(struct etl_writer *w, struct span bytes, struct error *err)
{
    if (w->held.size == 0) {
        buf_add_span(&w->held, bytes);
        return !w->held.failed || error_set(err, ERR_MEMORY, "no memory for a buffer");
    }
    return write_data(w, bytes, err) && write_held(w, err);
}

/* Seal and write the buffer of ${cpu}, and begin an empty one. */
static bool flush_stream(struct etl_writer *w, uint16_t cpu, uint16_t flags, struct error *err)
{
    const struct etl_options *o = &w->options;
    struct stream *s = &w->streams[cpu];
    if (!w->header_written && !write_header(w, err)) {
        return false;
    }
    w->sequence++;
    flags |= s->flags;
    struct span bytes = span_make(s->data, o->buffer_size);
    memset(s->data + s->used, 0xff, o->buffer_size - s->used);
    if (o->compression != ETL_STORED || o->relogged) {
        struct span packed = compress(w, s);
        bytes = packed.size ? packed : span_make(s->data, s->used);
        flags |= packed.size ? FLAG_COMPRESSED : 0;
    }
    uint8_t *header = flags & FLAG_COMPRESSED ? w->packed.data : s->data;
    set_buffer_header(w, header, (uint32_t)bytes.size, s->used, cpu, s->last_time, flags);
    s->used = BUFFER_HEADER;
    s->flags = 0;
    return o->disorder ? write_in_disorder(w, bytes, err) : write_data(w, bytes, err);
}

static bool alloc_streams(struct etl_writer *w)
{
    w->streams = calloc(w->stream_count, sizeof(*w->streams));
    for (uint16_t i = 0; w->streams && i < w->stream_count; i++) {
        struct stream *s = &w->streams[i];
        s->used = BUFFER_HEADER;
        s->last_time = w->options.start_raw;
        s->data = calloc(1, w->options.buffer_size);
        if (!s->data) {
            return false;
        }
    }
    return w->streams != NULL;
}

struct etl_writer *etl_writer_create(
    const struct etl_options *options, struct etl_output output, uint64_t offset, struct error *err)
{
    struct etl_options o = *options;
    set_defaults(&o);
    if (!check(&o, err)) {
        return NULL;
    }
    struct etl_writer *w = calloc(1, sizeof(*w));
    if (!w) {
        error_set(err, ERR_MEMORY, "no memory for a trace writer");
        return NULL;
    }
    w->options = o;
    w->clock = etl_writer_clock(&o);
    w->output = output;
    w->stream_count = o.single_stream ? 1 : o.processors;
    w->start = offset;
    w->end = offset;
    w->last_time = o.start_raw;
    buf_init(&w->header, o.buffer_size);
    buf_init(&w->packed, (size_t)o.buffer_size * 2);
    buf_init(&w->held, o.buffer_size);
    etl_put_zeros(&w->header, BUFFER_HEADER);
    if (!alloc_streams(w)) {
        error_set(err, ERR_MEMORY, "no memory for %u buffers", w->stream_count);
    } else if (put_header_record(w, 0, &w->header, err)) {
        return w;
    }
    etl_writer_destroy(w);
    return NULL;
}

void etl_writer_destroy(struct etl_writer *w)
{
    if (!w) {
        return;
    }
    for (uint16_t i = 0; w->streams && i < w->stream_count; i++) {
        free(w->streams[i].data);
    }
    free(w->streams);
    buf_fini(&w->header);
    buf_fini(&w->packed);
    buf_fini(&w->held);
    free(w);
}

bool etl_writer_put_header(struct etl_writer *w, struct span record, struct error *err)
{
    if (w->header_written) {
        return error_set(err, ERR_CONFIG, "the header buffer is written already");
    }
    if (record.size > w->options.buffer_size - w->header.size) {
        return error_set(err, ERR_LIMIT, "the header buffer has no room");
    }
    buf_add_span(&w->header, record);
    etl_put_zeros(&w->header, -record.size & 7);
    return !w->header.failed || error_set(err, ERR_MEMORY, "no memory for the header buffer");
}

bool etl_writer_put(
    struct etl_writer *w, uint16_t cpu, int64_t time, struct span record, struct error *err)
{
    if (cpu >= w->options.processors) {
        return error_set(err, ERR_CONFIG, "processor %u of %u", cpu, w->options.processors);
    }
    uint16_t index = w->options.single_stream ? 0 : cpu;
    struct stream *s = &w->streams[index];
    size_t padded = record.size + (-record.size & 7);
    if (padded < record.size || padded > w->options.buffer_size - BUFFER_HEADER) {
        return error_set(
            err, ERR_LIMIT, "a record of %zu bytes is larger than a buffer", record.size);
    }
    if (padded > w->options.buffer_size - s->used && !flush_stream(w, index, 0, err)) {
        return false;
    }
    if (record.size) {
        memcpy(s->data + s->used, record.data, record.size);
        memset(s->data + s->used + record.size, 0, padded - record.size);
    }
    s->used += (uint32_t)padded;
    s->last_time = time;
    w->last_time = time > w->last_time ? time : w->last_time;
    return true;
}

void etl_writer_lose_events(struct etl_writer *w, uint16_t cpu, uint32_t count)
{
    w->events_lost += count;
    w->streams[w->options.single_stream ? 0 : cpu].flags |= FLAG_EVENTS_LOST;
}

void etl_writer_lose_buffer(struct etl_writer *w, uint16_t cpu)
{
    struct stream *s = &w->streams[w->options.single_stream ? 0 : cpu];
    w->sequence++;
    w->buffers_lost++;
    s->used = BUFFER_HEADER;
    s->flags |= FLAG_BUFFER_LOST;
}

bool etl_writer_seal(struct etl_writer *w, uint16_t cpu, struct error *err)
{
    uint16_t index = w->options.single_stream ? 0 : cpu;
    return w->streams[index].used <= BUFFER_HEADER || flush_stream(w, index, 0, err);
}

bool etl_writer_flush(struct etl_writer *w, struct error *err)
{
    if (!w->header_written && !write_header(w, err)) {
        return false;
    }
    uint16_t left = 0;
    for (uint16_t i = 0; i < w->stream_count; i++) {
        left = (uint16_t)(left + (w->streams[i].used > BUFFER_HEADER));
    }
    for (uint16_t i = 0; i < w->stream_count; i++) {
        if (w->streams[i].used > BUFFER_HEADER &&
            !flush_stream(w, i, --left == 0 ? FLAG_FLUSH_MARKER : 0, err)) {
            return false;
        }
    }
    return write_held(w, err);
}

bool etl_writer_close(struct etl_writer *w, struct error *err)
{
    if (!etl_writer_flush(w, err)) {
        return false;
    }
    struct buf record;
    buf_init(&record, 65536);
    bool ok = put_header_record(w, trace_clock_filetime(&w->clock, w->last_time), &record, err);
    if (ok) {
        memcpy(w->header.data + BUFFER_HEADER, record.data, record.size);
        ok = write_header(w, err);
    }
    buf_fini(&record);
    return ok;
}

uint64_t etl_writer_end(const struct etl_writer *w)
{
    return w->end;
}
