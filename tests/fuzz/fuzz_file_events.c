#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "fuzz/fuzz.h"
#include "process/file_events.h"
#include "process/process_reader.h"

/*
 * Records one after the other: a byte for class, pointer size and whether the record is announced
 * in the first pass, type, version, a byte for the time, one for the payload's size, the payload.
 * The table gets each record and is asked for its file. It gives one answer both times, in valid
 * UTF-8, and stays within its bounds.
 */
enum { MAX_BYTES = 64 * 1024, SLOTS_BYTES = 2 * (1024 * 8 + 8192) + 64 * 1024 };

static const uint8_t classes[][16] = {
    {0x39, 0xdc, 0xcb, 0x90, 0x3e, 0x4a, 0xd1, 0x11, 0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64,
        0xe3},
    {0xd4, 0xa8, 0x6f, 0x3d, 0x05, 0xfe, 0xd0, 0x11, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba,
        0x7c},
    {0xd3, 0xa8, 0x6f, 0x3d, 0x05, 0xfe, 0xd0, 0x11, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba,
        0x7c},
    {0x27, 0x89, 0xd0, 0xed, 0xc4, 0x9c, 0x65, 0x4e, 0xb9, 0x70, 0xc2, 0x56, 0x0f, 0xb5, 0xc2,
        0x89},
    {0x9a, 0xe6, 0xbd, 0xc7, 0xe0, 0xe1, 0x77, 0x41, 0xb6, 0xef, 0x28, 0x3a, 0xd1, 0x52, 0x52,
        0x71},
};
enum { CLASSES = sizeof(classes) / sizeof(classes[0]), FIRST_PROVIDER = 3 };

static struct event_record read_record(struct reader *r, bool *ret_ahead)
{
    uint8_t form = reader_u8(r);
    uint8_t type = reader_u8(r);
    bool is_event = form % 8 % CLASSES >= FIRST_PROVIDER;
    struct event_record record = {.kind = is_event ? RECORD_EVENT : RECORD_CLASSIC,
        .pointer_size = form & 0x80 ? 4 : 8,
        .present = RECORD_HAS_TIME,
        .descriptor = {.id = type, .version = reader_u8(r), .opcode = type}};
    memcpy(record.provider.bytes, classes[form % 8 % CLASSES], 16);
    *ret_ahead = form & 0x20;
    record.time = (uint64_t)reader_u8(r) << (form & 0x40 ? 56 : 0);
    record.payload = reader_take(r, reader_u8(r));
    return record;
}

/* The kernel's form of a classic record. */
static struct event_record as_kernel(const struct event_record *record)
{
    static const uint8_t groups[] = {0x04, 0x01, 0x02};
    struct event_record kernel = *record;
    for (size_t i = 0; i < FIRST_PROVIDER; i++) {
        if (memcmp(record->provider.bytes, classes[i], 16) == 0) {
            kernel.kind = RECORD_KERNEL;
            kernel.hook_id = (uint16_t)(groups[i] << 8 | record->descriptor.opcode);
        }
    }
    return kernel;
}

static void check_text(struct span text)
{
    for (size_t at = 0; at < text.size;) {
        size_t before = at;
        uint8_t again[4];
        uint32_t c = utf8_next(text, &at);
        if (utf8_put(c, again) != at - before || memcmp(again, text.data + before, at - before)) {
            abort();
        }
    }
}

static void ask(struct process_reader *reader, const struct event_record *record)
{
    const struct event_file *file = process_reader_file(reader, record);
    const uint8_t *path = file ? file->path.data : NULL;
    size_t size = file ? file->path.size : 0;
    if (file) {
        check_text(file->path);
        if (size == 0) {
            abort();
        }
    }
    file = process_reader_file(reader, record);
    if ((file ? file->path.size : 0) != size || (size && !path)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct process_table_settings settings = {
        .max_bytes = MAX_BYTES, .max_file_bytes = MAX_BYTES, .one_machine = size % 2};
    struct process_table *table = process_table_create(&settings, NULL);
    struct process_reader *reader = table ? process_reader_create(table, NULL) : NULL;
    struct reader r = reader_make(span_make(data, size));
    while (reader && reader_left(&r) && !r.failed) {
        bool ahead;
        const struct event_record record = read_record(&r, &ahead);
        const struct event_record kernel = as_kernel(&record);
        file_events_learn(table, &record, ahead);
        ask(reader, &record);
        ask(reader, &kernel);
        if (process_table_counts(table).file_bytes > 2 * MAX_BYTES + SLOTS_BYTES) {
            abort();
        }
    }
    process_reader_destroy(reader);
    process_table_destroy(table);
    return 0;
}

/* One record of each kind, of few addresses and names. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const uint8_t records[][5] = {
        /* form, type, version, time, size */
        {0, 32, 2, 10, 16},
        {0x20, 36, 2, 50, 16},
        {0, 35, 2, 20, 16},
        {0, 64, 3, 12, 48},
        {0, 68, 3, 14, 52},
        {0, 66, 3, 16, 28},
        {1, 10, 3, 18, 52},
        {2, 32, 2, 19, 40},
        {3, 10, 0, 22, 16},
        {3, 12, 1, 24, 48},
        {3, 16, 1, 25, 48},
        {3, 14, 1, 26, 28},
        {3, 11, 0, 30, 16},
        {4, 10, 0, 32, 40},
        {0x80, 36, 2, 60, 12},
    };
    size_t at = 0;
    if (index > 3) {
        return 0;
    }
    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
        size_t size = records[i][4];
        if (at + 5 + size > max) {
            break;
        }
        memcpy(out + at, records[i], 5);
        for (size_t k = 0; k < size; k++) {
            bool is_end = k + 2 >= size;
            out[at + 5 + k] = (uint8_t)(is_end       ? 0
                                        : k % 8 == 0 ? 0x5c
                                        : k % 8 == 2 ? i % 3 + index
                                                     : 0);
        }
        at += 5 + size;
    }
    return at;
}
