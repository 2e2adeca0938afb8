#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "base/reader.h"
#include "schema/source/schema_sources.h"

/* A byte that splits the input into provider traits and a metadata blob, then both. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct schema_source_settings settings;
    void *source = schema_source_tracelogging.create(&settings, NULL);
    if (!source) {
        return 0;
    }
    struct reader r = reader_make(span_make(data, size));
    size_t split = reader_u8(&r);
    const struct extended_item items[] = {
        {EXTENDED_PROV_TRAITS, reader_take(&r, split < reader_left(&r) ? split : reader_left(&r))},
        {EXTENDED_SCHEMA_TL, reader_rest(&r)},
    };
    const struct event_record record = {
        .kind = RECORD_EVENT, .extended = items, .extended_count = 2};
    struct schema_candidates found = {.count = 0};
    schema_source_tracelogging.find(source, &record, &found);
    for (size_t i = 0; i < found.count; i++) {
        const struct event_schema *e = found.list[i];
        if (e->kind != SCHEMA_TRACELOGGING || (!e->has_layout && e->field_count)) {
            abort();
        }
        for (size_t k = 0; k < e->field_count; k++) {
            const struct schema_field *f = &e->fields[k];
            if ((f->flags & FIELD_STRUCT) && f->struct_start + f->struct_members > e->field_count) {
                abort();
            }
        }
    }
    schema_source_tracelogging.destroy(source);
    return 0;
}

/* A blob's size byte is that of the seed: it is set here. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const struct {
        const char *bytes;
        size_t size;
        size_t blob;
    } seeds[] = {
#define SEED(traits_size, traits, blob) \
    {traits_size traits blob, sizeof(traits_size traits blob) - 1, sizeof(traits_size traits) - 1}
        SEED("\x04", "\x04\0P\0",
            "\0\0\0E\0a\0\x08"
            "b\0\x81\x0b"
            "c\0\x4e"
            "d\0\xc6\x02"),
        SEED("\0", "",
            "\0\0\x81\x02"
            "E\0s\0\xd8\x03"
            "a\0\x28\x02\0t\0\x98\x81\x03"
            "b\0\x6e\x01\0x"
            "c\0\x88\x04"
            "e\0\x0f"),
#undef SEED
    };
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || seeds[index].size > max) {
        return 0;
    }
    memcpy(out, seeds[index].bytes, seeds[index].size);
    out[seeds[index].blob] = (uint8_t)(seeds[index].size - seeds[index].blob);
    return seeds[index].size;
}
