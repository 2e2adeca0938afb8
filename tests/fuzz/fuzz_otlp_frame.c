#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "outputs/loki/loki_frame.h"
#include "outputs/otlp/otlp_frame.h"

/*
 * Any bytes as records of a spool, or dead letters, for the outputs that take records apart: these
 * refuse them, or put a request together. The first byte is the number of records into which the
 * rest is cut.
 */
enum { MAX_RECORDS = 16 };

static void frame_otlp(enum otlp_protocol protocol, const struct http_piece *piece)
{
    struct otlp_frame frame = {.count = 0};
    size_t record = SIZE_MAX;
    otlp_frame_init(&frame, protocol);
    enum otlp_frame_result result = otlp_frame_write(&frame, piece, &record);
    if ((result == OTLP_FRAMED && frame.count != piece->count) ||
        (result == OTLP_NO_RECORD && record >= piece->count)) {
        abort();
    }
    otlp_frame_fini(&frame);
}

static void frame_loki(enum loki_encoding encoding, const struct http_piece *piece)
{
    const enum loki_state states[MAX_RECORDS] = {LOKI_OPEN};
    struct loki_frame frame;
    size_t record;
    if (loki_frame_init(&frame, encoding, 0x1f, 2) &&
        loki_frame_sort(&frame, piece, states, &record)) {
        if (frame.entry_count != piece->count || !loki_frame_write(&frame, 0, frame.entry_count)) {
            abort();
        }
    }
    loki_frame_fini(&frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum record_status statuses[MAX_RECORDS] = {RECORD_RETRY};
    uint32_t ends[MAX_RECORDS];
    size_t count = size ? data[0] % MAX_RECORDS + 1u : 1;
    uint8_t *copy = malloc(size + 1);
    if (!copy) {
        return 0;
    }
    memcpy(copy, data, size);
    for (size_t i = 0; i < count; i++) {
        ends[i] = (uint32_t)((size ? size - 1 : 0) * (i + 1) / count);
    }
    const struct delivery delivery = {.bytes = span_make(copy + (size > 0), size ? size - 1 : 0),
        .record_ends = ends,
        .record_count = count};
    const struct http_piece piece = {
        .delivery = &delivery, .statuses = statuses, .first = 0, .count = count};
    frame_otlp(OTLP_PROTOBUF, &piece);
    frame_otlp(OTLP_JSON, &piece);
    frame_loki(LOKI_JSON, &piece);
    frame_loki(LOKI_PROTOBUF, &piece);
    free(copy);
    return 0;
}

#define JSON_RECORD                                                                        \
    "{\"resourceLogs\":[{\"resource\":{\"a\":1},\"scopeLogs\":[{\"scope\":{\"n\":2},\"log" \
    "Records\":[{\"r\":3}]}]}]}\n"
#define PROTO_RECORD "\x0a\x0b\x0a\x00\x12\x07\x0a\x01\x01\x12\x02\x08\x01\n"
#define NATIVE_RECORD                                                                          \
    "{\"@timestamp\":\"2026-11-21T09:30:00.1234567Z\",\"provider\":{\"name\":\"a\\\"b\"},\"ev" \
    "ent\":{\"level\":4,\"code\":1}}\n"

static const struct span seeds[] = {
    {(const uint8_t *)"\x01" JSON_RECORD JSON_RECORD, sizeof("\x01" JSON_RECORD JSON_RECORD) - 1},
    {(const uint8_t *)"\x01" PROTO_RECORD PROTO_RECORD,
        sizeof("\x01" PROTO_RECORD PROTO_RECORD) - 1},
    {(const uint8_t *)"\x02" NATIVE_RECORD NATIVE_RECORD NATIVE_RECORD,
        sizeof("\x02" NATIVE_RECORD NATIVE_RECORD NATIVE_RECORD) - 1},
};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || seeds[index].size > max) {
        return 0;
    }
    memcpy(out, seeds[index].data, seeds[index].size);
    return seeds[index].size;
}
