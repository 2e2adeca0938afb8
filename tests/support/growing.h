#ifndef ETWSHIP_TESTS_SUPPORT_GROWING_H
#define ETWSHIP_TESTS_SUPPORT_GROWING_H

#include "support/etl_writer.h"

/*
 * A trace as the sequence of writes that make it, for tests that look at it in between. The writes
 * are recorded from an etl_writer and done one by one, or in parts, to a real file.
 */
struct growing_write {
    uint64_t offset;
    size_t at; /* in `bytes` */
    size_t size;
};

enum { GROWING_MAX_WRITES = 256 };

struct growing {
    struct growing_write writes[GROWING_MAX_WRITES];
    size_t write_count;
    struct buf bytes;
    struct etl_writer *writer;
    struct trace_clock clock;
    int64_t start_raw;
};

void growing_init(struct growing *growing, const struct etl_options *options);
void growing_fini(struct growing *growing);

/* Put an event of ${cpu}, ${ticks} after the start, whose id is ${id}; some 100 bytes, 9 to a
 * buffer of 1 KB. */
void growing_put(struct growing *growing, uint16_t cpu, int64_t ticks, uint16_t id);
void growing_flush(struct growing *growing);
void growing_close(struct growing *growing);

/* Behind growing_close: let the header that it wrote hold one more event, as real ones do. */
void growing_add_to_header(struct growing *growing, int64_t ticks, uint16_t id);

/* Do write ${index}, or its bytes [from, to) only, to the file ${path}, made if it is missing. */
void growing_write(const struct growing *growing, size_t index, const char *path);
void growing_write_part(
    const struct growing *growing, size_t index, size_t from, size_t to, const char *path);

#endif
