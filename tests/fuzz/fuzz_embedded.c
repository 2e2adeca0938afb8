#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "base/reader.h"
#include "schema/source/schema_sources.h"
#include "support/etl_put.h"

/*
 * A sequence of metadata records: each is a byte with the opcode (even: TRACE_EVENT_INFO, odd:
 * map), a u16 size and a payload. Then all definitions that were learned are made into schemas,
 * twice.
 */
static void check(void *self, const struct event_schema *e)
{
    (void)self;
    for (size_t i = 0; i < e->field_count; i++) {
        const struct schema_field *f = &e->fields[i];
        if ((f->flags & FIELD_STRUCT) && f->struct_start + f->struct_members > e->field_count) {
            abort();
        }
        if (f->map && f->map->entry_count > SCHEMA_MAX_MAP_ENTRIES) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct schema_source_settings settings;
    void *source = schema_source_embedded.create(&settings, NULL);
    if (!source) {
        return 0;
    }
    struct reader r = reader_make(span_make(data, size));
    while (reader_left(&r) && !r.failed) {
        uint8_t opcode = reader_u8(&r);
        uint16_t left = reader_u16(&r);
        const struct event_record record = {
            .kind = RECORD_CLASSIC,
            .provider = record_metadata_class,
            .descriptor = {.opcode = opcode & 1 ? 33 : 32},
            .payload = reader_take(&r, left < reader_left(&r) ? left : reader_left(&r)),
        };
        schema_source_embedded.learn(source, &record);
        if (opcode & 2) {
            schema_source_embedded.list(source, check, NULL);
        }
    }
    schema_source_embedded.list(source, check, NULL);
    schema_source_embedded.list(source, check, NULL);
    schema_source_embedded.destroy(source);
    return 0;
}

enum { INFO_HEAD = 0x70, PROPERTIES = 4 };

/* A struct of two members counted by the first property, a mapped one; source as given. */
static void put_info(struct buf *out, uint32_t decoding_source)
{
    static const uint32_t properties[PROPERTIES][6] = {
        {0, 0, 8, 0, 1, 0},
        {1 | 4, 0, 2 | 2 << 16, 0, 0, 0},
        {0, 0, 8, 0, 1, 0},
        {2, 0, 14, 0, 1, 0},
    };
    size_t start = out->size;
    etl_put_zeros(out, 0x30);
    out->data[start] = 1;
    etl_put_u32(out, decoding_source);
    etl_put_zeros(out, 0x30);
    etl_put_u32(out, PROPERTIES);
    etl_put_u32(out, 2);
    etl_put_u32(out, 0);
    for (size_t i = 0; i < PROPERTIES; i++) {
        for (size_t k = 0; k < 6; k++) {
            etl_put_u32(out, properties[i][k]);
        }
    }
    size_t text = out->size - start;
    etl_put_utf16z(out, "Name");
    etl_put_u16(out, 0);
    for (size_t at = 0x34; at < 0x50; at += 4) {
        store_le32(out->data + start + at, (uint32_t)text);
    }
    store_le32(out->data + start + INFO_HEAD + 4, (uint32_t)text);
    store_le32(out->data + start + INFO_HEAD + 12, (uint32_t)text);
}

static void put_map(struct buf *out, uint32_t flags)
{
    etl_put_zeros(out, 16);
    out->data[out->size - 16] = 1;
    etl_put_u32(out, 32);
    etl_put_u32(out, flags);
    etl_put_u32(out, 2);
    etl_put_u32(out, 0);
    etl_put_u32(out, 32);
    etl_put_u32(out, 2);
    etl_put_u32(out, 34);
    etl_put_u32(out, 1);
    etl_put_utf16z(out, "Name");
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index > 2) {
        return 0;
    }
    struct buf seed;
    buf_init(&seed, 1 << 16);
    for (uint8_t i = 0; i < 2; i++) {
        size_t start = seed.size;
        etl_put_u8(&seed, i ? 3 : 2);
        etl_put_u16(&seed, 0);
        if (i) {
            put_map(&seed, index == 2 ? 0x10 : (uint32_t)index + 1);
        } else {
            put_info(&seed, (uint32_t)index & 1);
        }
        store_le16(seed.data + start + 1, (uint16_t)(seed.size - start - 3));
    }
    size_t size = seed.failed || seed.size > max ? 0 : seed.size;
    if (size) {
        memcpy(out, seed.data, size);
    }
    buf_fini(&seed);
    return size;
}
