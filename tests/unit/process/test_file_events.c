#include "process/file_events.h"

#include <stdio.h>

#include "process/process_reader.h"
#include "support/test.h"

/* Records through a table and its reader: rules for more than one address (for one:
 * test_file_names.c). */

static const struct guid file_io = {{0x39, 0xdc, 0xcb, 0x90, 0x3e, 0x4a, 0xd1, 0x11, 0x84, 0xf4,
    0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3}};
enum { FILE_CREATE = 0x0420, RUNDOWN = 0x0424, OPEN = 0x0440, CLOSE = 0x0442, DISK_READ = 0x010a };

struct rig {
    struct process_table *table;
    struct process_reader *reader;
};

static void init(struct rig *rig, const struct process_table_settings *settings)
{
    rig->table = process_table_create(settings, NULL);
    assert_non_null(rig->table);
    rig->reader = process_reader_create(rig->table, NULL);
    assert_non_null(rig->reader);
}

static void fini(struct rig *rig)
{
    process_reader_destroy(rig->reader);
    process_table_destroy(rig->table);
}

struct message {
    struct event_record record;
    uint8_t payload[2048];
    size_t size;
};

static void put(struct message *message, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        message->payload[message->size++] = (uint8_t)(value >> 8 * i);
    }
}

static void put_zeros(struct message *message, size_t bytes)
{
    memset(message->payload + message->size, 0, bytes);
    message->size += bytes;
}

static void put_text(struct message *message, const char *text)
{
    for (const char *c = text; *c; c++) {
        put(message, (uint8_t)*c, 2);
    }
    put(message, 0, 2);
}

/* FileIo_Name, FileIo_Create, FileIo_SimpleOp, DiskIo_TypeGroup1. */
static const struct event_record *make(
    struct message *message, uint16_t hook_id, uint64_t time, uint64_t address, const char *name)
{
    message->size = 0;
    put_zeros(message, hook_id == DISK_READ ? 24 : hook_id == OPEN || hook_id == CLOSE ? 8 : 0);
    put(message, address, 8);
    put_zeros(message, hook_id == DISK_READ ? 20
                       : hook_id == OPEN    ? 16
                       : hook_id == CLOSE   ? 12
                                            : 0);
    if (name) {
        put_text(message, name);
    }
    message->record = (struct event_record){.kind = RECORD_KERNEL,
        .hook_id = hook_id,
        .pointer_size = 8,
        .present = RECORD_HAS_TIME,
        .time = time,
        .provider = file_io,
        .descriptor = {.version = 3, .opcode = (uint8_t)hook_id},
        .payload = span_make(message->payload, message->size)};
    return &message->record;
}

static void tell(struct rig *rig, bool ahead, uint16_t hook_id, uint64_t time, uint64_t address,
    const char *name)
{
    static struct message message;
    file_events_learn(rig->table, make(&message, hook_id, time, address, name), ahead);
}

static void expect(struct rig *rig, uint64_t time, uint64_t key, const char *path)
{
    static struct message message;
    const struct event_record *record = make(&message, DISK_READ, time, key, NULL);
    for (size_t i = 0; i < 2; i++) { /* looked up, and remembered */
        const struct event_file *file = process_reader_file(rig->reader, record);
        assert_span(file ? file->path : span_make(NULL, 0), path);
    }
}

static void what_was_told_ahead_is_not_told_again(void **state)
{
    (void)state;
    const struct process_table_settings settings = {.max_bytes = 0};
    struct rig rig;
    init(&rig, &settings);
    tell(&rig, true, RUNDOWN, 90, 0xa0, "\\a");
    expect(&rig, 1, 0xa0, "\\a");
    tell(&rig, false, FILE_CREATE, 50, 0xa0, "\\b"); /* the input would have reported that, too */
    expect(&rig, 60, 0xa0, "\\a");
    tell(&rig, true, FILE_CREATE, 50, 0xa0, "\\b");
    expect(&rig, 60, 0xa0, "");
    expect(&rig, 50, 0xa0, "\\b");
    fini(&rig);
}

/* The first pass over a followed trace gives the names that the trace has when it is opened. Names
 * that are written later count from their own place only, even if their time is earlier: buffers of
 * processors are written one by one. */
static void what_a_growing_trace_gets_later_is_told(void **state)
{
    (void)state;
    static const struct trace_info growing = {.grows = true};
    const struct process_table_settings settings = {.max_bytes = 0};
    static struct message message;
    struct rig rig;
    init(&rig, &settings);
    tell(&rig, true, RUNDOWN, 50, 0xa0, "\\a");
    make(&message, FILE_CREATE, 40, 0xb0, "\\b");
    message.record.trace = &growing;
    file_events_learn(rig.table, &message.record, false);
    make(&message, FILE_CREATE, 60, 0xc0, "\\c");
    message.record.trace = &growing;
    file_events_learn(rig.table, &message.record, false);
    expect(&rig, 1, 0xa0, "\\a");
    expect(&rig, 45, 0xb0, "\\b");
    expect(&rig, 65, 0xc0, "\\c");
    fini(&rig);
}

static void live_names_hold_from_when_they_are_told(void **state)
{
    (void)state;
    const struct process_table_settings settings = {.one_machine = true};
    struct rig rig;
    init(&rig, &settings);
    expect(&rig, 10, 0xa0, "");
    tell(&rig, false, RUNDOWN, 20, 0xa0, "\\a");
    expect(&rig, 19, 0xa0, "");
    expect(&rig, 20, 0xa0, "\\a");
    fini(&rig);
}

static void a_volume_that_becomes_known_changes_the_paths(void **state)
{
    (void)state;
    const struct process_table_settings settings = {.max_bytes = 0};
    struct rig rig;
    init(&rig, &settings);
    tell(&rig, false, RUNDOWN, 20, 0xa0, "\\Device\\HarddiskVolume3\\a");
    expect(&rig, 20, 0xa0, "\\Device\\HarddiskVolume3\\a");
    process_table_add_volume(rig.table, 0, span_text("\\Device\\HarddiskVolume3"), span_text("C:"));
    expect(&rig, 20, 0xa0, "C:\\a");
    fini(&rig);
}

/* A record that contains a name has it, whatever else is known or forgotten about the address. */
static void a_record_is_believed_in_its_own_name(void **state)
{
    (void)state;
    const struct process_table_settings settings = {.max_bytes = 0};
    static struct message message;
    struct rig rig;
    init(&rig, &settings);
    tell(&rig, false, OPEN, 10, 0x50, "\\a");
    const struct event_file *file = process_reader_file(
        rig.reader, make(&message, OPEN, 5, 0x60, "\\own"));
    assert_non_null(file);
    assert_span(file->path, "\\own");
    assert_null(process_reader_file(rig.reader, make(&message, OPEN, 5, 0x60, "relative")));
    fini(&rig);
}

static void broken_text_becomes_valid(void **state)
{
    (void)state;
    const struct process_table_settings settings = {.max_bytes = 0};
    static struct message message;
    struct rig rig;
    init(&rig, &settings);
    make(&message, RUNDOWN, 10, 0xa0, "\\a?b");
    message.payload[8 + 2 * 2] = 0x00; /* half of a pair: 0xd800 */
    message.payload[8 + 2 * 2 + 1] = 0xd8;
    file_events_learn(rig.table, &message.record, false);
    expect(&rig, 10, 0xa0,
        "\\a\xef\xbf\xbd"
        "b");
    fini(&rig);
}

/* Names of files have a limit of their own, and opened files a share of it. */
static void what_finds_no_room_is_told_once(void **state)
{
    (void)state;
    enum { ROOM = 256 * 1024, FILES = 5000 };
    const struct process_table_settings settings = {.max_file_bytes = ROOM};
    struct rig rig;
    init(&rig, &settings);
    tell(&rig, true, RUNDOWN, 5, 0xa0, "\\a");
    for (uint64_t i = 1; i <= FILES; i++) {
        char path[32];
        snprintf(path, sizeof(path), "\\opened\\%u", (unsigned)i);
        tell(&rig, false, OPEN, i, i * 0x100, path);
    }
    struct process_table_counts counts = process_table_counts(rig.table);
    assert_true(counts.file_bytes <= ROOM);
    assert_int_equal(counts.files_evicted, 0); /* no opened file evicts another one's name */
    assert_false(process_table_tells_evicted(rig.table));
    expect(&rig, 5, 0xa0, "\\a");
    for (uint64_t i = 1; i <= FILES; i++) {
        char path[32];
        snprintf(path, sizeof(path), "\\named\\%u", (unsigned)i);
        tell(&rig, true, RUNDOWN, i, i * 0x100, path);
    }
    counts = process_table_counts(rig.table);
    assert_true(counts.file_bytes <= ROOM);
    assert_true(counts.files_evicted > FILES / 2);
    assert_true(counts.files > 500);
    expect(&rig, 1, FILES * 0x100, "\\named\\5000");
    assert_true(process_table_tells_evicted(rig.table));
    assert_false(process_table_tells_evicted(rig.table));
    fini(&rig);
}

/* The reader remembers answers in few places, which machines share. */
static void an_address_is_a_file_of_its_machine(void **state)
{
    (void)state;
    enum { MACHINES = 2000 };
    static struct trace_info traces[MACHINES];
    static struct message message;
    const struct process_table_settings settings = {.max_bytes = 0};
    struct rig rig;
    char name[32];
    init(&rig, &settings);
    for (unsigned i = 0; i < MACHINES; i++) {
        traces[i].boot_time = i + 1;
        snprintf(name, sizeof(name), "\\m%u", i);
        make(&message, RUNDOWN, 50, 0xa0, name);
        message.record.trace = &traces[i];
        file_events_learn(rig.table, &message.record, true);
    }
    for (unsigned i = 0; i < MACHINES; i++) {
        snprintf(name, sizeof(name), "\\m%u", i);
        make(&message, DISK_READ, 40, 0xa0, NULL);
        message.record.trace = &traces[i];
        const struct event_file *file = process_reader_file(rig.reader, &message.record);
        assert_non_null(file);
        assert_span(file->path, name);
    }
    fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_told_ahead_is_not_told_again),
        cmocka_unit_test(what_a_growing_trace_gets_later_is_told),
        cmocka_unit_test(live_names_hold_from_when_they_are_told),
        cmocka_unit_test(a_volume_that_becomes_known_changes_the_paths),
        cmocka_unit_test(a_record_is_believed_in_its_own_name),
        cmocka_unit_test(broken_text_becomes_valid),
        cmocka_unit_test(what_finds_no_room_is_told_once),
        cmocka_unit_test(an_address_is_a_file_of_its_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
