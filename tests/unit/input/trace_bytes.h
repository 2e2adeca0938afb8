#ifndef ETWSHIP_TESTS_UNIT_INPUT_TRACE_BYTES_H
#define ETWSHIP_TESTS_UNIT_INPUT_TRACE_BYTES_H

#include "base/bytes.h"
#include "base/span.h"

/*
 * Small traces, written byte by byte from the layouts of ntwmi.h and evntrace.h, for tests that
 * break single bytes. Buffers have 1 KB. Every record is an EVENT_HEADER whose id numbers it.
 */
enum {
    TRACE_BUFFER_BYTES = 1024,
    TRACE_MAX_BYTES = 64 * TRACE_BUFFER_BYTES,
    TRACE_HEADER_RECORD_BYTES = 0x20 + 0x118 + 4,
    TRACE_RECORD_BYTES = 0x50 + 5, /* five bytes of payload: padded to 0x58 */
};

struct trace {
    uint8_t bytes[TRACE_MAX_BYTES];
    size_t size;
    size_t buffer; /* the one being written */
    size_t at;     /* offset in that buffer */
};

/* Zero means the default. */
struct trace_options {
    uint32_t mode;
    uint32_t clock;      /* 1: QPC */
    uint64_t frequency;  /* 10^7 */
    int64_t start_raw;   /* 1000 */
    uint64_t start_time; /* 130000000000000000 */
    bool open;           /* never closed: EndTime 0 */
    uint32_t events_lost;
    uint32_t buffers_lost;
};

enum { TRACE_START_RAW = 1000 };
static const uint64_t trace_start_time = 130000000000000000;

static inline void trace_begin(struct trace *t, uint8_t cpu, uint64_t sequence)
{
    t->buffer = t->size;
    t->size += TRACE_BUFFER_BYTES;
    t->at = 0x48;
    uint8_t *b = t->bytes + t->buffer;
    memset(b, 0, 0x48);
    memset(b + 0x48, 0xff, TRACE_BUFFER_BYTES - 0x48);
    store_le32(b, TRACE_BUFFER_BYTES);
    store_le64(b + 0x18, sequence);
    b[0x28] = cpu;
    b[0x29] = 8; /* alignment: not part of the processor number */
    store_le16(b + 0x2a, 7);
    store_le32(b + 0x2c, 3);
    store_le32(b + 0x30, 0x48);
}

/* Room for a record of ${size} bytes. The buffer's end moves past the record and its padding. */
static inline uint8_t *trace_place(struct trace *t, size_t size)
{
    uint8_t *b = t->bytes + t->buffer;
    uint8_t *record = b + t->at;
    memset(record, 0, (size + 7) & ~(size_t)7);
    t->at += (size + 7) & ~(size_t)7;
    store_le32(b + 0x30, (uint32_t)t->at);
    return record;
}

static inline void trace_record(struct trace *t, int64_t time, uint16_t id)
{
    uint8_t *r = trace_place(t, TRACE_RECORD_BYTES);
    store_le16(r, TRACE_RECORD_BYTES);
    r[2] = 19;
    r[3] = 0xc0;
    store_le32(r + 0x08, 22);
    store_le32(r + 0x0c, 11);
    store_le64(r + 0x10, (uint64_t)time);
    store_le16(r + 0x28, id);
    memcpy(r + 0x50, "hello", 5);
}

static inline void trace_header(struct trace *t, struct trace_options o)
{
    trace_begin(t, 0, 0);
    store_le16(t->bytes + t->buffer + 0x36, 4); /* BufferType HEADER */
    uint8_t *r = trace_place(t, TRACE_HEADER_RECORD_BYTES);
    r[0] = 2;
    r[2] = 2;
    r[3] = 0xc0;
    store_le16(r + 4, TRACE_HEADER_RECORD_BYTES);
    store_le64(r + 0x10, (uint64_t)(o.start_raw ? o.start_raw : TRACE_START_RAW));
    uint8_t *h = r + 0x20;
    uint64_t start = o.start_time ? o.start_time : trace_start_time;
    store_le32(h, TRACE_BUFFER_BYTES);
    h[4] = 10;
    h[6] = 1;
    h[7] = 5;
    store_le32(h + 0x08, 19041);
    store_le32(h + 0x0c, 2);
    store_le64(h + 0x10, o.open ? 0 : start + 50000000);
    store_le32(h + 0x18, 156250);
    store_le32(h + 0x20, o.mode);
    store_le32(h + 0x28, 1);
    store_le32(h + 0x2c, 8);
    store_le32(h + 0x30, o.events_lost);
    store_le32(h + 0x34, 2400);
    store_le64(h + 0x100, o.frequency ? o.frequency : 10000000);
    store_le64(h + 0x108, start);
    store_le32(h + 0x110, o.clock ? o.clock : 1);
    store_le32(h + 0x114, o.buffers_lost);
}

/* A buffer of ${cpu} with ${count} records, ids from ${id}, times from ${time} on, ${step}
 * apart. */
static inline void trace_buffer(struct trace *t, uint8_t cpu, uint64_t sequence, int64_t time,
    int64_t step, uint16_t id, uint16_t count)
{
    trace_begin(t, cpu, sequence);
    for (uint16_t i = 0; i < count; i++) {
        trace_record(t, time + i * step, (uint16_t)(id + i));
    }
}

#endif
