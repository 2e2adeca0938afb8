#include "event/model/record_file.h"

#include "base/bytes.h"
#include "decode/decode.h"
#include "event/model/kernel_groups.h"
#include "schema/source/schema_sources.h"
#include "support/test.h"

/*
 * Every type of the kernel's classes DiskIo, PageFault and FileIo, in every version and both widths
 * of pointers: the addresses that are found in a payload without a definition have to be those of
 * the decoder's fields. Payloads of Microsoft-Windows-Kernel-File and -Kernel-Disk are made from
 * their manifests.
 */
enum { DISK_IO = 0x01, PAGE_FAULT = 0x02, FILE_IO = 0x04 };
enum { MAX_BYTES = 300, VERSIONS = 5, TYPES = 256 };
static const uint64_t mark = 0x01020304;

struct rig {
    void *source;
    struct decoder decoder;
    size_t keys; /* layouts with one */
    size_t objects;
};

/* ---- classes --------------------------------------------------------------------------------- */

/* The offset of the field ${name} in the event's payload; SIZE_MAX: it has none. */
static size_t offset_of(const struct event *event, const char *name)
{
    for (size_t i = 0; i < event->field_count; i++) {
        if (span_is(event->fields[i].schema->name, name)) {
            return (size_t)(event->fields[i].data - event->record->payload.data);
        }
    }
    return SIZE_MAX;
}

/* The class's names for the key and for the object. NULL: it has none, or the test does not use
 * it. */
static const char *key_name(const struct event *event, uint16_t hook_id)
{
    static const char *const names[] = {"FileKey", "FileContext", "FileObject"};
    enum { DELETE_PATH = 0x044f, SET_LINK_PATH = 0x0451, CREATE = 0x0440 };
    bool has_own_path = hook_id >= DELETE_PATH && hook_id <= SET_LINK_PATH;
    for (size_t i = 0; i < 3 && !has_own_path && hook_id != CREATE; i++) {
        if (offset_of(event, names[i]) != SIZE_MAX) {
            return names[i];
        }
    }
    return NULL;
}

static const char *object_name(uint16_t hook_id, const char *key)
{
    enum { CREATE = 0x0440, DRIVER_CALL = 0x0122 };
    bool has_both = key && strcmp(key, "FileObject") != 0;
    return has_both || hook_id == CREATE || hook_id == DRIVER_CALL ? "FileObject" : NULL;
}

/* The bytes that the layout takes if all are zero, with the ends of its texts. */
static size_t size_of(
    struct rig *rig, struct event_record *record, const struct event_schema *schema)
{
    struct event event;
    for (size_t size = MAX_BYTES; size > 0; size--) {
        record->payload.size = size;
        decoder_run(&rig->decoder, record, schema, record->pointer_size, &event);
        if (event.status == DECODE_COMPLETE) {
            return size;
        }
    }
    return 0;
}

static uint64_t found_at(const struct event_record *record, uint8_t *payload, size_t at, bool key)
{
    struct record_file file;
    memcpy(payload + at, &mark, record->pointer_size);
    bool found = record_file_read(record, &file);
    memset(payload + at, 0, record->pointer_size);
    return !found ? 0 : key ? file.key : file.object;
}

static void check_layout(
    struct rig *rig, struct event_record *record, const struct event_schema *schema)
{
    static uint8_t payload[MAX_BYTES];
    struct event event;
    record->payload.data = payload;
    record->payload.size = size_of(rig, record, schema);
    decoder_run(&rig->decoder, record, schema, record->pointer_size, &event);
    uint16_t hook_id = record->hook_id;
    const char *key = key_name(&event, hook_id);
    const char *object = object_name(hook_id, key);
    if (record_file_uses(record) != (key || object)) {
        fail_msg("hook %#x version %u: %s %s", hook_id, record->descriptor.version, key, object);
    }
    for (size_t at = 0; at + record->pointer_size <= record->payload.size; at += 2) {
        bool is_key = key && at == offset_of(&event, key);
        bool is_object = object && at == offset_of(&event, object);
        bool finds_key = found_at(record, payload, at, true) == mark;
        bool finds_object = found_at(record, payload, at, false) == mark;
        if (is_key != finds_key || is_object != finds_object) {
            fail_msg("hook %#x version %u width %u offset %zu: %d %d, decoded %d %d", hook_id,
                record->descriptor.version, record->pointer_size, at, finds_key, finds_object,
                is_key, is_object);
        }
        rig->keys += is_key;
        rig->objects += is_object;
    }
}

static void check_type(struct rig *rig, struct event_record *record)
{
    for (unsigned version = 0; version < VERSIONS; version++) {
        struct schema_candidates found = {.count = 0};
        record->descriptor.version = (uint8_t)version;
        schema_source_kernel.find(rig->source, record, &found);
        for (size_t i = 0; i < found.count; i++) {
            if (found.list[i]->has_layout && found.list[i]->top_count) {
                record->pointer_size = 4;
                check_layout(rig, record, found.list[i]);
                record->pointer_size = 8;
                check_layout(rig, record, found.list[i]);
            }
        }
    }
}

static void addresses_are_where_the_decoder_says(void **state)
{
    (void)state;
    static const uint8_t groups[] = {DISK_IO, PAGE_FAULT, FILE_IO};
    const struct schema_source_settings settings = {0};
    struct rig rig = {.source = schema_source_kernel.create(&settings, NULL)};
    assert_non_null(rig.source);
    assert_true(decoder_init(&rig.decoder, NULL));
    for (unsigned i = 0; i < sizeof(groups) * TYPES; i++) {
        uint16_t hook_id = (uint16_t)((unsigned)groups[i / TYPES] << 8 | i % TYPES);
        struct event_record record = {
            .kind = RECORD_CLASSIC, .hook_id = hook_id, .provider = *kernel_group_class(hook_id)};
        record.descriptor.opcode = (uint8_t)hook_id;
        check_type(&rig, &record);
        record.kind = RECORD_KERNEL;
        check_type(&rig, &record);
    }
    assert_true(rig.keys > 200);
    assert_true(rig.objects > 150);
    decoder_fini(&rig.decoder);
    schema_source_kernel.destroy(rig.source);
}

/* ---- payloads of manifest providers ---------------------------------------------------------- */

static const struct guid kernel_file = {{0x27, 0x89, 0xd0, 0xed, 0xc4, 0x9c, 0x65, 0x4e, 0xb9, 0x70,
    0xc2, 0x56, 0x0f, 0xb5, 0xc2, 0x89}}; /* edd08927-9cc4-4e65-b970-c2560fb5c289 */
static const struct guid kernel_disk = {{0x9a, 0xe6, 0xbd, 0xc7, 0xe0, 0xe1, 0x77, 0x41, 0xb6, 0xef,
    0x28, 0x3a, 0xd1, 0x52, 0x52, 0x71}}; /* c7bde69a-e1e0-4177-b6ef-283ad1525271 */

struct payload {
    uint8_t bytes[256];
    size_t size;
};

static void put(struct payload *payload, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        payload->bytes[payload->size++] = (uint8_t)(value >> 8 * i);
    }
}

static void put_text(struct payload *payload, const char *text)
{
    for (const char *c = text; *c; c++) {
        put(payload, (uint8_t)*c, 2);
    }
    put(payload, 0, 2);
}

/* Fields like in the manifest: P a pointer that is not used, K key, O object, 4 and 8 so many
 * bytes, n a name. */
static void make(struct payload *payload, const char *fields, size_t width)
{
    const uint64_t high = width == 8 ? UINT64_C(0xffffe00100000000) : 0;
    payload->size = 0;
    for (const char *field = fields; *field; field++) {
        switch (*field) {
        case 'K':
            put(payload, high | 0x8000a140, width);
            break;
        case 'O':
            put(payload, high | 0x8000b280, width);
            break;
        case 'P':
            put(payload, high | 0x8000c3c0, width);
            break;
        case 'n':
            put_text(payload, "\\Device\\HarddiskVolume2\\a.txt");
            break;
        default:
            put(payload, 0x11223344, (size_t)(*field - '0'));
            break;
        }
    }
}

static const struct sample {
    const struct guid *provider;
    uint16_t id;
    uint8_t version;
    uint8_t news;
    const char *fields;
} samples[] = {
    {&kernel_file, 10, 0, RECORD_FILE_CREATED, "Kn"},
    {&kernel_file, 11, 0, RECORD_FILE_DELETED, "Kn"},
    {&kernel_file, 12, 0, RECORD_FILE_OPENED, "PPO444n"},
    {&kernel_file, 12, 1, RECORD_FILE_OPENED, "PO4444n"},
    {&kernel_file, 30, 0, RECORD_FILE_OPENED, "PPO444n"},
    {&kernel_file, 30, 1, RECORD_FILE_OPENED, "PO4444n"},
    {&kernel_file, 13, 0, RECORD_FILE_NO_NEWS, "PPOK"},
    {&kernel_file, 13, 1, RECORD_FILE_NO_NEWS, "POK4"},
    {&kernel_file, 14, 0, RECORD_FILE_CLOSED, "PPOK"},
    {&kernel_file, 14, 1, RECORD_FILE_CLOSED, "POK4"},
    {&kernel_file, 15, 0, RECORD_FILE_NO_NEWS, "8PPOK44"},
    {&kernel_file, 15, 1, RECORD_FILE_NO_NEWS, "8POK4444"},
    {&kernel_file, 16, 1, RECORD_FILE_NO_NEWS, "8POK4444"},
    {&kernel_file, 17, 0, RECORD_FILE_NO_NEWS, "PPOKP4"},
    {&kernel_file, 17, 1, RECORD_FILE_NO_NEWS, "POKP44"},
    {&kernel_file, 18, 1, RECORD_FILE_NO_NEWS, "POKP44"},
    {&kernel_file, 19, 1, RECORD_FILE_NO_NEWS, "POKP44"},
    {&kernel_file, 20, 0, RECORD_FILE_NO_NEWS, "PPOK444n"},
    {&kernel_file, 20, 1, RECORD_FILE_NO_NEWS, "POK4444n"},
    {&kernel_file, 21, 1, RECORD_FILE_NO_NEWS, "POK4"},
    {&kernel_file, 22, 1, RECORD_FILE_NO_NEWS, "POKP44"},
    {&kernel_file, 23, 1, RECORD_FILE_NO_NEWS, "POKP44"},
    {&kernel_file, 25, 1, RECORD_FILE_NO_NEWS, "POK4444n"},
    {&kernel_file, 29, 1, RECORD_FILE_NO_NEWS, "POKP44"},
    {&kernel_disk, 10, 0, RECORD_FILE_NO_NEWS, "44448KP8"},
    {&kernel_disk, 11, 0, RECORD_FILE_NO_NEWS, "44448KP8"},
};
enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

static struct event_record record_of(
    const struct sample *sample, const struct payload *payload, uint8_t width)
{
    struct event_record record = {.kind = RECORD_EVENT,
        .pointer_size = width,
        .provider = *sample->provider,
        .descriptor = {.id = sample->id, .version = sample->version},
        .payload = span_make(payload->bytes, payload->size)};
    return record;
}

/* Also with a header of the other width, except if a text ends the payload (DirEnum). */
static void manifest_events_are_read(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SAMPLES * 4; i++) {
        const struct sample *sample = &samples[i / 4];
        uint8_t width = i & 1 ? 4 : 8;
        struct payload payload;
        struct record_file file;
        bool is_plain = sample->id != 20 && sample->id != 25;
        make(&payload, sample->fields, width);
        struct event_record record = record_of(
            sample, &payload, i & 2 && is_plain ? 12 - width : width);
        uint64_t high = width == 8 ? UINT64_C(0xffffe00100000000) : 0;
        bool has_key = strchr(sample->fields, 'K') != NULL;
        bool has_object = strchr(sample->fields, 'O') != NULL;
        assert_true(record_file_may(&record));
        assert_true(record_file_uses(&record));
        assert_true(record_file_read(&record, &file));
        assert_int_equal(file.news, sample->news);
        assert_int_equal(file.key, has_key ? high | 0x8000a140 : 0);
        assert_int_equal(file.object, has_object ? high | 0x8000b280 : 0);
        assert_int_equal(
            file.name.size, sample->news && sample->news != RECORD_FILE_CLOSED ? 58 : 0);
        assert_int_equal(record_file_tells(&record), sample->news != RECORD_FILE_NO_NEWS);
        assert_int_equal(record_file_names(&record),
            sample->news == RECORD_FILE_CREATED || sample->news == RECORD_FILE_DELETED);
    }
}

/* With each byte less: nothing, or an address that lies in the payload; a sanitizer sees other
 * reads. */
static void what_is_cut_is_not_read(void **state)
{
    (void)state;
    struct payload payload;
    struct record_file file;
    for (unsigned i = 0; i < SAMPLES; i++) {
        make(&payload, samples[i].fields, 8);
        for (size_t size = 0; size < payload.size; size++) {
            struct event_record record = record_of(&samples[i], &payload, 8);
            uint8_t *copy = test_malloc(size + 1);
            memcpy(copy, payload.bytes, size);
            record.payload = span_make(copy, size);
            assert_true(!record_file_read(&record, &file) || file.news == samples[i].news);
            assert_false(size < 8 && record_file_read(&record, &file));
            test_free(copy);
        }
    }
}

static void others_have_no_files(void **state)
{
    (void)state;
    static const uint16_t hooks[] = {
        0x0301, 0x0524, 0x010c, 0x010e, 0x020a, 0x044c, 0x0450, 0x1820};
    static const uint8_t payload[64];
    struct record_file file;
    for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
        struct event_record record = {.kind = RECORD_KERNEL,
            .hook_id = hooks[i],
            .pointer_size = 8,
            .provider = *kernel_group_class(hooks[i]),
            .payload = span_make(payload, sizeof(payload))};
        record.descriptor.opcode = (uint8_t)hooks[i];
        record.descriptor.version = 3;
        assert_false(record_file_read(&record, &file));
        assert_false(record_file_tells(&record));
    }
    /* A message of WPP may have any GUID. */
    struct event_record message = {.kind = RECORD_MESSAGE,
        .provider = *kernel_group_class(0x0424),
        .descriptor = {.id = 36, .version = 2, .opcode = 36},
        .payload = span_make(payload, sizeof(payload))};
    assert_false(record_file_read(&message, &file));
    assert_false(record_file_names(&message));
    assert_false(record_file_tells(&message));
    /* An event whose provider has the GUID of a class, and the other way round. */
    struct event_record record = {.kind = RECORD_EVENT,
        .provider = *kernel_group_class(0x0424),
        .descriptor = {.id = 36, .version = 2},
        .payload = span_make(payload, sizeof(payload))};
    assert_false(record_file_read(&record, &file));
    record.kind = RECORD_CLASSIC;
    record.provider = kernel_file;
    record.descriptor.opcode = 10;
    assert_false(record_file_read(&record, &file));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_where_the_decoder_says),
        cmocka_unit_test(manifest_events_are_read),
        cmocka_unit_test(what_is_cut_is_not_read),
        cmocka_unit_test(others_have_no_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
