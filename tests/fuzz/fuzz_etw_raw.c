#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "fuzz/fuzz.h"
#include "input/record/etl_format.h"
#include "input/windows/etw_order.h"
#include "input/windows/etw_raw.h"

/* A buffer as a live session hands it over: any bytes are read within their bounds, and records lie
 * inside of it. */
static struct span buffer;

static void promise(bool kept)
{
    if (!kept) {
        abort();
    }
}

static void look_at(const struct event_record *record)
{
    struct span payload = record->payload;
    promise(payload.size == 0 || (payload.data >= buffer.data &&
                                     payload.data + payload.size <= buffer.data + buffer.size));
    promise(record->extended_count <= RECORD_MAX_EXTENDED);
}

static bool count(void *self, const struct event_record *record)
{
    (void)record;
    ++*(size_t *)self;
    return true;
}

static void ignore(void *self, const char *what)
{
    (void)self;
    promise(*what);
}

/* All records that are held are given in the end. */
static void put_in_order(struct etw_trace *trace, size_t records)
{
    size_t given = 0;
    const struct etw_order_settings settings = {
        .max_bytes = 1 << 20, .self = &given, .record = count, .problem = ignore};
    struct etw_order *order = etw_order_create(&settings, NULL);
    if (order) {
        etw_order_add(order, buffer, trace);
        etw_order_add(order, buffer, trace);
        etw_order_give(order, UINT64_MAX);
        promise(etw_order_is_empty(order) && given == 2 * records);
    }
    etw_order_destroy(order);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* of exactly that size, so that sanitizers see a read beyond it */
    uint8_t *copy = malloc(size + 1);
    size_t records = 0;
    struct etw_trace trace;
    struct etw_raw raw;
    struct event_record record;
    const struct etw_logfile_header header = {.perf_freq = 10000000, .reserved_flags = 1};
    if (!copy) {
        return 0;
    }
    if (size) {
        memcpy(copy, data, size);
    }
    buffer = span_make(copy, size);
    etw_trace_init(&trace, "fuzz", &header);
    bool good = etw_raw_open(&raw, buffer, &trace);
    promise(good || raw.problem);
    while (etw_raw_next(&raw, &record)) {
        look_at(&record);
        records++;
    }
    promise(good || records == 0);
    put_in_order(&trace, records);
    free(copy);
    return 0;
}

/* A manifest event with an extended item, and a kernel event. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    enum { EVENT = 0x70, KERNEL = 0x28, SIZE = ETL_BUFFER_HEADER_SIZE + EVENT + KERNEL };
    if (index > 0 || max < SIZE) {
        return 0;
    }
    memset(out, 0, SIZE);
    store_le32(out + ETL_BUFFER_SIZE, SIZE);
    store_le32(out + ETL_BUFFER_OFFSET, SIZE);
    uint8_t *event = out + ETL_BUFFER_HEADER_SIZE;
    store_le16(event, EVENT);
    event[2] = ETL_EVENT_HEADER64;
    event[3] = 0xc0;
    store_le16(event + 4, 1); /* extended items follow */
    store_le16(event + 0x50, 0x10);
    store_le16(event + 0x52, 3); /* terminal session id */
    store_le16(event + 0x56, 4);
    uint8_t *kernel = event + EVENT;
    kernel[0] = 2;
    kernel[2] = ETL_SYSTEM64;
    kernel[3] = 0xc0;
    store_le16(kernel + 4, KERNEL);
    store_le16(kernel + 6, 0x0301);
    return SIZE;
}
