#include "process/process_events.h"

#include "base/put.h"
#include "process/process_reader.h"
#include "support/test.h"

/*
 * Payloads in Windows' form, made by hand from the MOF classes and the manifest. Times are seconds
 * of FILETIME.
 */
static const uint64_t second = 10000000;

static const uint8_t process_class[16] = {
    0xd0, 0xa8, 0x6f, 0x3d, 0x05, 0xfe, 0xd0, 0x11, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c};
static const uint8_t thread_class[16] = {
    0xd1, 0xa8, 0x6f, 0x3d, 0x05, 0xfe, 0xd0, 0x11, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c};
static const uint8_t image_class[16] = {
    0x1d, 0x5d, 0xb1, 0x2c, 0xc1, 0x5f, 0xd2, 0x11, 0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18};
static const uint8_t volume_class[16] = {
    0x91, 0xee, 0x79, 0x9b, 0xfd, 0xb5, 0xc0, 0x41, 0xa2, 0x43, 0x42, 0x48, 0xe2, 0x66, 0xe9, 0xd0};
static const uint8_t provider[16] = {
    0xd6, 0x2c, 0xfb, 0x22, 0x7b, 0x0e, 0x2b, 0x42, 0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7, 0x16};

struct rig {
    struct process_table *table;
    struct process_reader *reader;
    uint8_t payload[4096];
    uint8_t *end;
    uint8_t pointer_size;
};

static void rig_init(struct rig *rig)
{
    const struct process_table_settings settings = {.max_bytes = 0};
    *rig = (struct rig){.table = process_table_create(&settings, NULL), .pointer_size = 8};
    assert_non_null(rig->table);
    rig->reader = process_reader_create(rig->table, NULL);
    assert_non_null(rig->reader);
    rig->end = rig->payload;
}

static void rig_fini(struct rig *rig)
{
    process_reader_destroy(rig->reader);
    process_table_destroy(rig->table);
}

/* ---- payloads -------------------------------------------------------------------------------- */

static void put(struct rig *rig, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        *rig->end++ = (uint8_t)(value >> (8 * i));
    }
}

static void put_pointer(struct rig *rig, uint64_t value)
{
    put(rig, value, rig->pointer_size);
}

static void put_ansi(struct rig *rig, const char *text)
{
    rig->end = put_span(rig->end, span_make(text, strlen(text) + 1));
}

static void put_text16(struct rig *rig, const char *text)
{
    for (const char *c = text; *c; c++) {
        put(rig, (uint8_t)*c, 2);
    }
    put(rig, 0, 2);
}

/* S-1-5-18 after its TOKEN_USER. */
static void put_user(struct rig *rig)
{
    static const uint8_t sid[] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0};
    put_pointer(rig, 0xfffff880);
    put_pointer(rig, 0);
    rig->end = put_span(rig->end, span_make(sid, sizeof(sid)));
}

static void put_no_user(struct rig *rig)
{
    put(rig, 0, 4);
}

/* The payload belongs to a record with this header. */
static void tell(struct rig *rig, enum record_kind kind, const uint8_t guid[16], uint8_t type,
    uint8_t version, uint64_t seconds)
{
    struct event_record record = {.kind = kind,
        .pointer_size = rig->pointer_size,
        .present = RECORD_HAS_TIME,
        .time = seconds * second,
        .descriptor = {.id = kind == RECORD_EVENT ? type : 0, .version = version, .opcode = type},
        .payload = span_make(rig->payload, (size_t)(rig->end - rig->payload))};
    memcpy(record.provider.bytes, guid, 16);
    uint8_t group = guid == process_class ? 0x03 : guid == thread_class ? 0x05 : 0x14;
    record.hook_id = (uint16_t)((guid == image_class && type == 10 ? 0x03 : group) << 8 | type);
    process_events_learn(rig->table, NULL, &record);
    rig->end = rig->payload;
}

/* With each byte less, the payload gives nothing, or the content of a shorter layout. */
static void tell_cut(struct rig *rig, enum record_kind kind, const uint8_t guid[16], uint8_t type,
    uint8_t version, uint64_t seconds)
{
    uint8_t *end = rig->end;
    while (end > rig->payload) {
        rig->end = --end;
        tell(rig, kind, guid, type, version, seconds);
    }
    rig->end = rig->payload;
}

static const struct event_process *find(struct rig *rig, uint32_t pid, uint64_t seconds)
{
    const struct event_record record = {
        .present = RECORD_HAS_PROCESS, .process_id = pid, .time = seconds * second};
    return process_reader_find(rig->reader, &record);
}

/* ---- the kernel's classes -------------------------------------------------------------------- */

static void put_process(struct rig *rig, uint8_t version, bool has_user)
{
    put_pointer(rig, version ? 0xabc0 : 100);
    if (version == 0) {
        put_pointer(rig, 40);
    } else {
        put(rig, 100, 4);
        put(rig, 40, 4);
        put(rig, 2, 4);
        put(rig, 0x103, 4);
    }
    if (version >= 3) {
        put_pointer(rig, 0x1aa000);
    }
    if (version >= 4) {
        put(rig, 0x80, 4);
    }
    if (has_user) {
        put_user(rig);
    } else {
        put_no_user(rig);
    }
    put_ansi(rig, "cmd.exe");
    if (version >= 2) {
        put_text16(rig, "cmd /c dir");
    }
    if (version >= 4) {
        put_text16(rig, "");
        put_text16(rig, "");
    }
    if (version >= 5) {
        put(rig, 12 * second, 8);
    }
}

static void check_process(struct rig *rig, uint8_t version, bool has_user)
{
    const struct event_process *process = find(rig, 100, 11);
    assert_non_null(process);
    assert_span(process->name, "cmd.exe");
    assert_span(process->command_line, version >= 2 ? "cmd /c dir" : "");
    assert_int_equal(process->parent_pid, 40);
    assert_int_equal(process->has_session, version >= 1);
    assert_int_equal(process->session_id, version >= 1 ? 2 : 0);
    assert_span(process->user_id, has_user ? "S-1-5-18" : "");
}

static void every_version_of_the_class_is_read_in_both_widths(void **state)
{
    (void)state;
    for (uint8_t version = 0; version <= 4; version++) {
        for (unsigned form = 0; form < 8; form++) {
            struct rig rig;
            rig_init(&rig);
            rig.pointer_size = form & 1 ? 4 : 8;
            put_process(&rig, version, form & 2);
            if (form & 4) { /* a 32-bit logger on a 64-bit machine: the header is narrow */
                rig.pointer_size = (uint8_t)(12 - rig.pointer_size);
            }
            tell(&rig, RECORD_KERNEL, process_class, 1, version, 10);
            if (!(form & 4) || version) { /* version 0 with zeros may be either */
                check_process(&rig, version, form & 2);
                assert_int_equal(find(&rig, 100, 11)->start, 10 * second);
                assert_null(find(&rig, 100, 9));
            }
            rig_fini(&rig);
        }
    }
}

/* Short texts are converted on the stack, long ones in memory of their own. */
static void a_command_line_may_be_long(void **state)
{
    (void)state;
    char text[1501] = "";
    for (size_t size = 1; size < sizeof(text); size += 7) {
        struct rig rig;
        rig_init(&rig);
        memset(text, 'a', size);
        put_process(&rig, 1, false); /* version 2 has the command line after that */
        put_text16(&rig, text);
        tell(&rig, RECORD_KERNEL, process_class, 1, 2, 10);
        assert_span(find(&rig, 100, 11)->command_line, text);
        rig_fini(&rig);
    }
}

static void a_defunct_process_ended_when_it_says(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    put_process(&rig, 5, true);
    tell(&rig, RECORD_CLASSIC, process_class, 39, 5, 30);
    check_process(&rig, 5, true);
    assert_null(find(&rig, 100, 14));
    rig_fini(&rig);
}

static void rundowns_tell_of_all_the_time_around_them(void **state)
{
    (void)state;
    for (uint8_t type = 3; type <= 4; type++) {
        struct rig rig;
        rig_init(&rig);
        put_process(&rig, 4, true);
        tell(&rig, RECORD_CLASSIC, process_class, type, 4, 50);
        check_process(&rig, 4, true);
        assert_non_null(find(&rig, 100, 500));
        assert_int_equal(find(&rig, 100, 500)->start, 0);
        rig_fini(&rig);
    }
}

static void other_types_and_what_is_cut_tell_nothing(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    put_process(&rig, 3, true);
    tell(&rig, RECORD_KERNEL, process_class, 11, 3, 10);
    assert_null(find(&rig, 100, 11));
    put_process(&rig, 3, true);
    tell_cut(&rig, RECORD_KERNEL, process_class, 1, 3, 10);
    assert_int_equal(process_table_counts(rig.table).processes, 0);
    rig_fini(&rig);
}

static void threads_belong_to_processes(void **state)
{
    (void)state;
    for (uint8_t version = 0; version <= 4; version++) {
        struct rig rig;
        struct event_record room;
        const struct event_record record = {
            .present = RECORD_HAS_THREAD, .thread_id = 7, .time = 11 * second};
        rig_init(&rig);
        put(&rig, version ? 100 : 7, 4);
        put(&rig, version ? 7 : 100, 4);
        tell(&rig, RECORD_KERNEL, thread_class, 1, version, 10);
        assert_int_equal(process_reader_complete(rig.reader, &record, &room)->process_id, 100);
        rig_fini(&rig);
    }
}

static void put_image(struct rig *rig, uint8_t version, const char *path)
{
    put_pointer(rig, 0x400000);
    put_pointer(rig, 0x1000);
    put(rig, 100, 4);
    if (version >= 2) {
        put(rig, 0, 4);
        put(rig, 0, 4);
        put(rig, 0, 4);
        put_pointer(rig, 0x400000);
        put(rig, 0, 4);
        put(rig, 0, 4);
        put(rig, 0, 4);
        put(rig, 0, 4);
    }
    put_text16(rig, path);
}

/* Headers of the kernel's lists name the process of the payload, except for process 0: there they
 * name the process that requested the list, here 55 and its thread 66. */
static void lists_are_of_the_process_in_their_payload(void **state)
{
    (void)state;
    static const struct {
        const uint8_t *guid;
        uint8_t type;
        uint8_t version;
        bool listed;
    } cases[] = {{process_class, 3, 3, true}, {process_class, 4, 4, true},
        {thread_class, 3, 3, true}, {thread_class, 4, 1, true}, {image_class, 3, 3, true},
        {image_class, 4, 2, true}, {process_class, 1, 3, false}, {process_class, 2, 3, false},
        {thread_class, 1, 3, false}, {thread_class, 2, 3, false}, {image_class, 2, 3, false}};
    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        const uint8_t *guid = cases[i / 2].guid;
        uint8_t version = cases[i / 2].version;
        struct rig rig;
        struct event_record room;
        rig_init(&rig);
        uint8_t *pid_at = NULL;
        if (guid == process_class) {
            put_process(&rig, version, true);
            pid_at = rig.payload + 8;
        } else if (guid == thread_class) {
            put(&rig, 100, 4);
            put(&rig, 7, 4);
            pid_at = rig.payload;
        } else {
            put_image(&rig, version, "\\SystemRoot\\ntoskrnl.exe");
            pid_at = rig.payload + 16;
        }
        const uint32_t zero = 0;
        memcpy(pid_at, &zero, sizeof(zero));
        struct event_record record = {.kind = i % 2 ? RECORD_CLASSIC : RECORD_KERNEL,
            .pointer_size = 8,
            .present = RECORD_HAS_PROCESS | RECORD_HAS_THREAD,
            .process_id = 55,
            .thread_id = 66,
            .descriptor = {.opcode = cases[i / 2].type, .version = version},
            .payload = span_make(rig.payload, (size_t)(rig.end - rig.payload))};
        uint8_t group = guid == process_class ? 0x03 : guid == thread_class ? 0x05 : 0x14;
        record.hook_id = (uint16_t)(group << 8 | record.descriptor.opcode);
        memcpy(record.provider.bytes, guid, sizeof(record.provider.bytes));
        const struct event_record *got = process_reader_complete(rig.reader, &record, &room);
        assert_int_equal(got->process_id, cases[i / 2].listed ? 0 : 55);
        bool has_thread = guid == thread_class || !cases[i / 2].listed;
        assert_int_equal(!!(got->present & RECORD_HAS_THREAD), has_thread);
        if (has_thread) {
            assert_int_equal(got->thread_id, cases[i / 2].listed ? 7 : 66);
        }
        /* A payload that names no process, and a cut one: the header's process stays. */
        const uint32_t nobody = UINT32_MAX;
        memcpy(pid_at, &nobody, sizeof(nobody));
        assert_ptr_equal(process_reader_complete(rig.reader, &record, &room), &record);
        record.payload.size = 3;
        assert_ptr_equal(process_reader_complete(rig.reader, &record, &room), &record);
        rig_fini(&rig);
    }
}

static void the_image_of_its_name_is_its_executable(void **state)
{
    (void)state;
    for (uint8_t version = 1; version <= 3; version++) {
        struct rig rig;
        rig_init(&rig);
        put_process(&rig, 3, true);
        tell(&rig, RECORD_KERNEL, process_class, 1, 3, 10);
        put_image(&rig, version, "\\Device\\HarddiskVolume3\\Windows\\System32\\ntdll.dll");
        tell(&rig, RECORD_KERNEL, image_class, 10, version, 10);
        put_image(&rig, version, "\\Device\\HarddiskVolume3\\Windows\\System32\\Cmd.exe");
        tell(&rig, RECORD_KERNEL, image_class, 10, version, 10);
        assert_span(find(&rig, 100, 11)->executable,
            "\\Device\\HarddiskVolume3\\Windows\\System32\\Cmd.exe");
        put_text16(&rig, "\\Device\\HarddiskVolume3\\");
        put_text16(&rig, "C:\\");
        tell(&rig, RECORD_CLASSIC, volume_class, 35, 0, 90);
        assert_span(find(&rig, 100, 11)->executable, "C:\\Windows\\System32\\Cmd.exe");
        rig_fini(&rig);
    }
}

static void the_folder_of_windows_is_told_as_well(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    put_process(&rig, 3, true);
    tell(&rig, RECORD_KERNEL, process_class, 1, 3, 10);
    put_image(&rig, 3, "\\SystemRoot\\System32\\cmd.exe");
    tell(&rig, RECORD_KERNEL, image_class, 3, 3, 10);
    put_text16(&rig, "C:\\Windows\\system32");
    put_text16(&rig, "C:\\Windows");
    tell(&rig, RECORD_CLASSIC, volume_class, 33, 0, 90);
    assert_span(find(&rig, 100, 11)->executable, "C:\\Windows\\System32\\cmd.exe");
    rig_fini(&rig);
}

/* ---- the provider ---------------------------------------------------------------------------- */

static void put_label(struct rig *rig, uint32_t level)
{
    static const uint8_t head[] = {1, 1, 0, 0, 0, 0, 0, 16};
    rig->end = put_span(rig->end, span_make(head, sizeof(head)));
    put(rig, level, 4);
}

/* Event 1; and event 15, whose version n has the members of version n + 1 of event 1, and version 1
 * those of version 3. */
static void put_start(struct rig *rig, uint8_t version)
{
    put(rig, 100, 4);
    if (version >= 3) {
        put(rig, 71, 8);
    }
    put(rig, 10 * second, 8);
    put(rig, 40, 4);
    if (version >= 3) {
        put(rig, 70, 8);
    }
    put(rig, 2, 4);
    if (version >= 1) {
        put(rig, 0, 4);
    }
    if (version >= 3) {
        put(rig, 1, 4);
        put(rig, 1, 4);
        put_label(rig, 0x2000);
    }
    put_text16(rig, "\\Device\\HarddiskVolume3\\Windows\\System32\\cmd.exe");
    if (version >= 2) {
        put(rig, 0, 4);
        put(rig, 0, 4);
        put_text16(rig, "");
        put_text16(rig, "");
    }
}

static void check_start(struct rig *rig, uint8_t version)
{
    const struct event_process *process = find(rig, 100, 12);
    assert_non_null(process);
    assert_span(process->name, "cmd.exe");
    assert_span(process->executable, "\\Device\\HarddiskVolume3\\Windows\\System32\\cmd.exe");
    assert_int_equal(process->parent_pid, 40);
    assert_int_equal(process->session_id, 2);
    assert_int_equal(process->start, 10 * second);
    if (version >= 3) {
        assert_string_equal(process->integrity, "medium");
        process_table_set_boot_id(rig->table, 5);
        assert_true(find(rig, 100, 12)->start_key == (UINT64_C(5) << 48 | 71));
    } else {
        assert_null(process->integrity);
    }
}

static void every_version_of_the_provider_is_read(void **state)
{
    (void)state;
    for (uint8_t version = 0; version <= 3; version++) {
        struct rig rig;
        rig_init(&rig);
        put_start(&rig, version);
        tell(&rig, RECORD_EVENT, provider, 1, version, 11);
        check_start(&rig, version);
        rig_fini(&rig);
    }
    for (uint8_t version = 0; version <= 1; version++) {
        struct rig rig;
        rig_init(&rig);
        put_start(&rig, version ? 3 : 2);
        tell(&rig, RECORD_EVENT, provider, 15, version, 90);
        check_start(&rig, version ? 3 : 2);
        assert_non_null(find(&rig, 100, 900));
        assert_null(find(&rig, 100, 9));
        rig_fini(&rig);
    }
}

/* Event 2. */
static void put_stop(struct rig *rig, uint8_t version, uint64_t created, uint64_t ended)
{
    put(rig, 100, 4);
    if (version >= 2) {
        put(rig, 71, 8);
    }
    put(rig, created * second, 8);
    put(rig, ended * second, 8);
    for (size_t i = 0; i < 3; i++) {
        put(rig, 0, 4);
    }
    put(rig, 0, 8);
    put(rig, 0, 8);
    if (version >= 1) {
        put(rig, 0, 8);
        for (size_t i = 0; i < 5; i++) {
            put(rig, 0, 4);
        }
    }
    put_ansi(rig, "cmd.exe");
}

static void a_stop_tells_of_start_and_end(void **state)
{
    (void)state;
    for (uint8_t version = 0; version <= 2; version++) {
        struct rig rig;
        rig_init(&rig);
        put_stop(&rig, version, 10, 20);
        tell(&rig, RECORD_EVENT, provider, 2, version, 21);
        assert_null(find(&rig, 100, 9));
        assert_span(find(&rig, 100, 10)->name, "cmd.exe");
        assert_span(find(&rig, 100, 20)->name, "cmd.exe");
        assert_null(find(&rig, 100, 22));
        rig_fini(&rig);
    }
}

/* The system's clock was set after the session began: payloads say 10 to 20. Their headers and
 * other events have times of the session's clock. */
static void a_process_lived_by_the_clock_of_its_events(void **state)
{
    (void)state;
    for (uint64_t at = 3; at <= 130; at += 127) {
        struct rig rig;
        rig_init(&rig);
        put_start(&rig, 1);
        tell(&rig, RECORD_EVENT, provider, 1, 1, at);
        assert_span(find(&rig, 100, at + 5)->name, "cmd.exe");
        put_stop(&rig, 1, 10, 20);
        tell(&rig, RECORD_EVENT, provider, 2, 1, at + 10);
        assert_int_equal(process_table_counts(rig.table).processes, 1);
        assert_null(find(&rig, 100, at - 1));
        assert_span(find(&rig, 100, at)->name, "cmd.exe");
        assert_span(find(&rig, 100, at + 10)->name, "cmd.exe");
        assert_null(find(&rig, 100, at + 12));
        rig_fini(&rig);
    }
}

/* Like in traces: the two clocks differ a little. */
static void a_process_is_there_when_it_is_said_to_start(void **state)
{
    (void)state;
    for (unsigned start = 0; start < 2; start++) {
        struct rig rig;
        rig_init(&rig);
        for (unsigned i = 0; i < 2; i++) {
            if (i == start) {
                put_start(&rig, 1); /* at 10 */
                tell(&rig, RECORD_EVENT, provider, 1, 1, 9);
            } else {
                put_stop(&rig, 1, 10, 20);
                tell(&rig, RECORD_EVENT, provider, 2, 1, 20);
            }
        }
        assert_int_equal(process_table_counts(rig.table).processes, 1);
        assert_null(find(&rig, 100, 8));
        assert_span(find(&rig, 100, 9)->name, "cmd.exe");
        assert_int_equal(find(&rig, 100, 9)->start, 10 * second);
        assert_int_equal(find(&rig, 100, 15)->parent_pid, 40);
        assert_null(find(&rig, 100, 22));
        rig_fini(&rig);
    }
}

static void an_image_of_the_provider_is_read_in_both_widths(void **state)
{
    (void)state;
    for (uint8_t pointer_size = 4; pointer_size <= 8; pointer_size += 4) {
        struct rig rig;
        rig_init(&rig);
        rig.pointer_size = pointer_size;
        put_process(&rig, 3, true);
        tell(&rig, RECORD_KERNEL, process_class, 1, 3, 10);
        put_pointer(&rig, 0x400000);
        put_pointer(&rig, 0x1000);
        put(&rig, 100, 4);
        put(&rig, 0x5b1e, 4);
        put(&rig, 0x5e000000, 4);
        put_pointer(&rig, 0x400000);
        put_text16(&rig, "\\Device\\HarddiskVolume3\\Windows\\System32\\cmd.exe");
        tell(&rig, RECORD_EVENT, provider, 5, 0, 10);
        assert_span(find(&rig, 100, 11)->executable,
            "\\Device\\HarddiskVolume3\\Windows\\System32\\cmd.exe");
        rig_fini(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_of_the_class_is_read_in_both_widths),
        cmocka_unit_test(a_command_line_may_be_long),
        cmocka_unit_test(a_defunct_process_ended_when_it_says),
        cmocka_unit_test(rundowns_tell_of_all_the_time_around_them),
        cmocka_unit_test(other_types_and_what_is_cut_tell_nothing),
        cmocka_unit_test(threads_belong_to_processes),
        cmocka_unit_test(lists_are_of_the_process_in_their_payload),
        cmocka_unit_test(the_image_of_its_name_is_its_executable),
        cmocka_unit_test(the_folder_of_windows_is_told_as_well),
        cmocka_unit_test(every_version_of_the_provider_is_read),
        cmocka_unit_test(a_stop_tells_of_start_and_end),
        cmocka_unit_test(a_process_lived_by_the_clock_of_its_events),
        cmocka_unit_test(a_process_is_there_when_it_is_said_to_start),
        cmocka_unit_test(an_image_of_the_provider_is_read_in_both_widths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
