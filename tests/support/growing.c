#include "support/growing.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"

enum { EVENT_BYTES = 0x50 + 16, EVENT_HEADER64 = 19 };

/* No call here should fail: a test that continued without its trace would show nothing. */
static void demand(bool good)
{
    if (!good) {
        abort();
    }
}

static bool record_write(void *self, uint64_t offset, struct span bytes)
{
    struct growing *g = self;
    demand(g->write_count < GROWING_MAX_WRITES);
    g->writes[g->write_count++] = (struct growing_write){
        .offset = offset, .at = g->bytes.size, .size = bytes.size};
    buf_add_span(&g->bytes, bytes);
    return !g->bytes.failed;
}

void growing_init(struct growing *g, const struct etl_options *options)
{
    *g = (struct growing){.clock = etl_writer_clock(options)};
    buf_init(&g->bytes, (size_t)1 << 26);
    g->start_raw = g->clock.start_raw;
    g->writer = etl_writer_create(
        options, (struct etl_output){.self = g, .write = record_write}, 0, NULL);
    demand(g->writer != NULL);
}

void growing_fini(struct growing *g)
{
    etl_writer_destroy(g->writer);
    buf_fini(&g->bytes);
}

static void make_event(const struct growing *g, int64_t ticks, uint16_t id, uint8_t *r)
{
    memset(r, 0, EVENT_BYTES);
    store_le16(r, EVENT_BYTES);
    r[2] = EVENT_HEADER64;
    r[3] = 0xc0;
    store_le32(r + 0x08, 22);
    store_le32(r + 0x0c, 11);
    store_le64(r + 0x10, (uint64_t)(g->start_raw + ticks));
    store_le16(r + 0x28, id);
}

void growing_put(struct growing *g, uint16_t cpu, int64_t ticks, uint16_t id)
{
    uint8_t r[EVENT_BYTES];
    make_event(g, ticks, id, r);
    demand(etl_writer_put(g->writer, cpu, g->start_raw + ticks, span_make(r, sizeof(r)), NULL));
}

void growing_flush(struct growing *g)
{
    demand(etl_writer_flush(g->writer, NULL));
}

void growing_close(struct growing *g)
{
    demand(etl_writer_close(g->writer, NULL));
}

void growing_add_to_header(struct growing *g, int64_t ticks, uint16_t id)
{
    const struct growing_write *last = &g->writes[g->write_count - 1];
    uint8_t *header = g->bytes.data + last->at;
    uint32_t end = load_le32(header + 0x30);
    demand(last->offset == 0 && end + EVENT_BYTES <= last->size);
    make_event(g, ticks, id, header + end);
    store_le32(header + 0x04, end + EVENT_BYTES);
    store_le32(header + 0x30, end + EVENT_BYTES);
}

void growing_write_part(
    const struct growing *g, size_t index, size_t from, size_t to, const char *path)
{
    const struct growing_write *w = &g->writes[index];
    FILE *file = fopen(path, "r+b");
    file = file ? file : fopen(path, "w+b");
    demand(file && from <= to && to <= w->size);
    setvbuf(file, NULL, _IONBF, 0); /* in one piece, as a session writes */
    demand(fseek(file, (long)(w->offset + from), SEEK_SET) == 0);
    demand(fwrite(g->bytes.data + w->at + from, 1, to - from, file) == to - from);
    fclose(file);
}

void growing_write(const struct growing *g, size_t index, const char *path)
{
    growing_write_part(g, index, 0, g->writes[index].size, path);
}
