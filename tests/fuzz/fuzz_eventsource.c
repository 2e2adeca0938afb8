#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "base/reader.h"
#include "schema/source/schema_sources.h"

/*
 * A sequence of ManifestData records: each is a byte for process and thread, a u16 size and a
 * payload, the envelope of EventSource.cs. After each the source is asked for an event.
 */
static const struct guid provider = {{0x04, 0x03, 0x02, 0x01, 0x06, 0x05, 0x08, 0x07, 0x09, 0x0a,
    0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct schema_source_settings settings;
    void *source = schema_source_eventsource.create(&settings, NULL);
    if (!source) {
        return 0;
    }
    struct reader r = reader_make(span_make(data, size));
    for (size_t count = 0; reader_left(&r) && !r.failed && count < 1000; count++) {
        uint8_t ids = reader_u8(&r);
        uint16_t left = reader_u16(&r);
        struct event_record record = {
            .kind = RECORD_EVENT,
            .present = RECORD_HAS_PROCESS,
            .provider = provider,
            .process_id = ids >> 4,
            .thread_id = ids & 15,
            .descriptor = {.id = 0xfffe, .task = 0xfffe, .opcode = 0xfe},
            .payload = reader_take(&r, left < reader_left(&r) ? left : reader_left(&r)),
        };
        schema_source_eventsource.learn(source, &record);
        struct schema_candidates found = {.count = 0};
        record.descriptor = (struct event_descriptor){.id = 1};
        schema_source_eventsource.find(source, &record, &found);
        for (size_t i = 0; i < found.count; i++) {
            if (found.list[i]->kind != SCHEMA_EVENTSOURCE ||
                !guid_equal(&found.list[i]->provider, &provider)) {
                abort();
            }
        }
    }
    schema_source_eventsource.destroy(source);
    return 0;
}

static size_t put_chunk(uint8_t *out, uint8_t ids, uint8_t total, uint8_t number, const char *text)
{
    size_t size = strlen(text);
    const uint8_t head[] = {
        ids, (uint8_t)(size + 8), (uint8_t)((size + 8) >> 8), 1, 1, 0, 0x5b, total, 0, number, 0};
    memcpy(out, head, sizeof(head));
    memcpy(out + sizeof(head), text, size);
    return sizeof(head) + size;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char first[] =
        "<i><provider name=\"P\" guid=\"{01020304-0506-0708-090a-0b0c0d0e0f10}\">"
        "<event value=\"1\" symbol=\"S\" template=\"t\"/>";
    static const char second[] = "<template tid=\"t\"><data name=\"a\" inType=\"win:UInt32\"/>"
                                 "</template></provider></i>";
    static const char other[] =
        "<i><provider guid=\"{01020304-0506-0708-090a-0b0c0d0e0f10}\"><event value=\"1\"/>"
        "</provider></i>";
    if (index > 1 || max < 1024) {
        return 0;
    }
    size_t size = put_chunk(out, 0x11, 2, index ? 1 : 0, index ? second : first);
    size += put_chunk(out + size, 0x22, 1, 0, other);
    size += put_chunk(out + size, 0x11, 2, index ? 0 : 1, index ? first : second);
    return size;
}
