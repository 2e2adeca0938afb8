#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "fuzz/fuzz.h"
#include "process/process_events.h"
#include "process/process_reader.h"

/*
 * Records one after the other: a byte for class and pointer size, type, version, a byte for the
 * time, one for the payload's size, the payload. After each, some ids are asked for: an answer has
 * to be about that id and time, equal both times, and the table stays within its bounds.
 */
enum {
    MAX_BYTES = 64 * 1024,
    IDS = 4,
    APART = 10000000, /* process_moment: the clocks may differ by this */
};

static const uint8_t classes[][16] = {
    {0xd0, 0xa8, 0x6f, 0x3d, 0x05, 0xfe, 0xd0, 0x11, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba,
        0x7c},
    {0xd1, 0xa8, 0x6f, 0x3d, 0x05, 0xfe, 0xd0, 0x11, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba,
        0x7c},
    {0x1d, 0x5d, 0xb1, 0x2c, 0xc1, 0x5f, 0xd2, 0x11, 0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5,
        0x18},
    {0x91, 0xee, 0x79, 0x9b, 0xfd, 0xb5, 0xc0, 0x41, 0xa2, 0x43, 0x42, 0x48, 0xe2, 0x66, 0xe9,
        0xd0},
    {0xd6, 0x2c, 0xfb, 0x22, 0x7b, 0x0e, 0x2b, 0x42, 0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7,
        0x16},
};
enum { CLASSES = sizeof(classes) / sizeof(classes[0]), PROVIDER = CLASSES - 1 };

static struct event_record read_record(struct reader *r)
{
    uint8_t form = reader_u8(r);
    uint8_t type = reader_u8(r);
    uint8_t version = reader_u8(r);
    bool is_event = form % CLASSES == PROVIDER;
    struct event_record record = {.kind = is_event ? RECORD_EVENT : RECORD_CLASSIC,
        .pointer_size = form & 0x80 ? 4 : 8,
        .present = RECORD_HAS_TIME,
        .descriptor = {.id = type, .version = version, .opcode = type}};
    memcpy(record.provider.bytes, classes[form % CLASSES], 16);
    record.time = (uint64_t)reader_u8(r) << (form & 0x40 ? 56 : 22);
    record.payload = reader_take(r, reader_u8(r));
    return record;
}

static void check_text(struct span text)
{
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < text.size; i++) {
        sum = (uint8_t)(sum + text.data[i]);
    }
}

static void ask(struct process_reader *reader, uint32_t id, uint64_t time)
{
    struct event_record room;
    struct event_record record = {.present = RECORD_HAS_PROCESS, .process_id = id, .time = time};
    const struct event_process *process = process_reader_find(reader, &record);
    uint64_t serial = process ? process->serial : 0;
    if (process) {
        check_text(process->name);
        check_text(process->executable);
        check_text(process->command_line);
        check_text(process->parent_executable);
        bool is_early = process->start > time && process->start - time > APART;
        if (process->pid != id || serial == 0 || is_early) {
            abort();
        }
    }
    process = process_reader_find(reader, &record);
    if ((process ? process->serial : 0) != serial) {
        abort();
    }
    record = (struct event_record){.present = RECORD_HAS_THREAD, .thread_id = id, .time = time};
    process_reader_complete(reader, &record, &room);
}

/* The payload after a kernel header without a process. The first byte chooses the group. */
static void ask_payload(struct process_reader *reader, const struct event_record *record)
{
    enum { GROUPS = 32 };
    struct event_record room;
    struct event_record nameless = *record;
    unsigned group = record->payload.size ? record->payload.data[0] % GROUPS : 0;
    nameless.kind = RECORD_KERNEL;
    nameless.hook_id = (uint16_t)(group << 8 | record->descriptor.opcode);
    const struct event_record *found = process_reader_complete(reader, &nameless, &room);
    if (found != &nameless && !(found->present & RECORD_HAS_PROCESS)) {
        abort();
    }
    process_reader_complete(reader, record, &room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct process_table_settings settings = {.max_bytes = MAX_BYTES};
    struct process_table *table = process_table_create(&settings, NULL);
    struct process_reader *reader = table ? process_reader_create(table, NULL) : NULL;
    struct reader r = reader_make(span_make(data, size));
    while (reader && reader_left(&r) && !r.failed) {
        struct event_record record = read_record(&r);
        process_events_learn(table, NULL, &record);
        ask_payload(reader, &record);
        for (uint32_t id = 0; id < IDS; id++) {
            ask(reader, id, record.time);
            ask(reader, id, record.time / 2);
        }
        if (process_table_counts(table).bytes > 2 * MAX_BYTES) {
            abort();
        }
    }
    process_reader_destroy(reader);
    process_table_destroy(table);
    return 0;
}

/* One record of each layout, in an order in which they belong to each other. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const uint8_t records[][5] = {
        /* form, type, version, time, size */
        {0, 1, 1, 10, 40},
        {0, 1, 4, 20, 90},
        {0, 2, 2, 30, 60},
        {0, 3, 3, 40, 80},
        {0x80, 4, 3, 50, 60},
        {0, 39, 5, 60, 110},
        {1, 1, 2, 15, 8},
        {1, 2, 0, 25, 8},
        {2, 10, 3, 21, 90},
        {3, 35, 0, 70, 40},
        {4, 1, 3, 20, 120},
        {4, 2, 2, 30, 110},
        {4, 15, 1, 40, 120},
        {4, 5, 0, 50, 60},
        {4, 3, 0, 60, 8},
    };
    size_t count = sizeof(records) / sizeof(records[0]);
    size_t at = 0;
    if (index > 3) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        size_t size = records[i][4];
        if (at + 5 + size > max) {
            break;
        }
        memcpy(out + at, records[i], 5);
        for (size_t k = 0; k < size; k++) {
            /* Ids are small; texts are letters with an end now and then. */
            out[at + 5 + k] = (uint8_t)(k % 4 == 0 ? (k + index) % IDS
                                        : k < 40   ? 0
                                        : k % 2    ? 0
                                                   : 'a' + (k + index) % 20);
        }
        at += 5 + size;
    }
    return at;
}
