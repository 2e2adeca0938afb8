#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "fuzz/fuzz.h"
#include "input/etl_format.h"
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

static bool see(void *self, const struct event_record *record)
{
    size_t *count = self;
    struct span payload = record->payload;
    promise(payload.size == 0 || (payload.data >= buffer.data &&
                                     payload.data + payload.size <= buffer.data + buffer.size));
    promise(record->extended_count <= RECORD_MAX_EXTENDED);
    return ++*count < 1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1); /* of exactly that size, so that reading beyond it shows */
    size_t count = 0;
    struct etw_trace trace;
    const struct etw_logfile_header header = {.perf_freq = 10000000, .reserved_flags = 1};
    const struct etw_raw_visitor visitor = {&count, see};
    if (!copy) {
        return 0;
    }
    if (size) {
        memcpy(copy, data, size);
    }
    buffer = span_make(copy, size);
    etw_trace_init(&trace, "fuzz", &header);
    const char *what = etw_raw_read(buffer, &trace, &visitor);
    promise(!what || *what);
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
