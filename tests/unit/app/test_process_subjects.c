#include "process/process_subjects.h"

#include "base/bytes.h"
#include "decode/decode.h"
#include "event/model/kernel_groups.h"
#include "schema/source/schema_sources.h"
#include "support/test.h"

/*
 * Every type of the kernel's classes, in every version and both widths of pointers: the process
 * that is found in a payload without a definition has to be that of the decoder's fields.
 */
enum { MAX_BYTES = 1200, VERSIONS = 7, SPOTS = 64, TYPES = 256 };
static const uint32_t mark = 0x01020304;

static const char *const process_names[] = {"ProcessId", "PID", "HRPid", "StackProcess"};
static const char *const thread_names[] = {
    "TThreadId", "ThreadId", "IssuingThreadId", "NewThreadId", "StackThread", "TTID"};

/* Classes that name processes and are not in the table: services and operations on jobs, whose
 * headers have a process; user mode scheduling. */
static bool is_left_out(unsigned group)
{
    enum { JOB = 0x07, SYSTEM_CONFIG = 0x0b, HEAP = 0x10, UMS = 0x19 };
    return group == JOB || group == SYSTEM_CONFIG || group == HEAP || group == UMS;
}

struct rig {
    void *source;
    struct decoder decoder;
    size_t layouts;
    size_t processes; /* layouts with one */
    size_t threads;
};

static bool is_named(struct span name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (span_equal(name, span_text(names[i]))) {
            return true;
        }
    }
    return false;
}

/* The bytes that the layout takes if all are zero, with the ends of its texts; SIZE_MAX: none. */
static size_t size_of(struct rig *rig, const struct event_record *record,
    const struct event_schema *schema, struct event *event)
{
    struct event_record at = *record;
    for (size_t size = MAX_BYTES; size != SIZE_MAX; size--) {
        at.payload.size = size;
        decoder_run(&rig->decoder, &at, schema, record->pointer_size, event);
        if (event->status == DECODE_COMPLETE) {
            return size;
        }
    }
    return SIZE_MAX;
}

/* True: the field is the one with the mark. */
static bool is_marked(const struct event *event, const char *const *names, size_t count)
{
    for (size_t i = 0; i < event->field_count; i++) {
        const struct field *field = &event->fields[i];
        if (is_named(field->schema->name, names, count)) {
            return field->size >= 4 && load_le32(field->data) == mark;
        }
    }
    return false;
}

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

/* The mark moves through the payload, and is the process at its place. */
static void check_layout(
    struct rig *rig, struct event_record *record, const struct event_schema *schema)
{
    static uint8_t payload[MAX_BYTES];
    struct event event;
    memset(payload, 0, sizeof(payload));
    record->payload.data = payload;
    size_t size = size_of(rig, record, schema, &event);
    if (size == SIZE_MAX) {
        fail_msg(
            "hook %#x version %u takes no payload", record->hook_id, record->descriptor.version);
    }
    record->payload.size = size;
    for (size_t at = 0; at + 4 <= size && at < SPOTS; at++) {
        store_le32(payload + at, mark);
        decoder_run(&rig->decoder, record, schema, record->pointer_size, &event);
        if (event.status == DECODE_COMPLETE) {
            struct process_subject subject = {.has_process = false};
            bool found = process_subjects_read(record, &subject);
            bool of_process = found && subject.has_process && subject.process_id == mark;
            bool of_thread = found && subject.has_thread && subject.thread_id == mark;
            bool is_process = is_marked(&event, process_names, COUNT_OF(process_names));
            bool is_thread = is_marked(&event, thread_names, COUNT_OF(thread_names));
            if (of_process != is_process || of_thread != is_thread) {
                fail_msg("hook %#x version %u width %u offset %zu: %d %d, decoded %d %d",
                    record->hook_id, record->descriptor.version, record->pointer_size, at,
                    of_process, of_thread, is_process, is_thread);
            }
            rig->processes += of_process;
            rig->threads += of_thread;
        }
        store_le32(payload + at, 0);
    }
    rig->layouts++;
}

static void check_type(struct rig *rig, struct event_record *record)
{
    for (unsigned version = 0; version < VERSIONS; version++) {
        struct schema_candidates found = {.count = 0};
        record->descriptor.version = (uint8_t)version;
        schema_source_kernel.find(rig->source, record, &found);
        for (size_t i = 0; i < found.count; i++) {
            if (found.list[i]->has_layout) {
                record->pointer_size = 4;
                check_layout(rig, record, found.list[i]);
                record->pointer_size = 8;
                check_layout(rig, record, found.list[i]);
            }
        }
    }
}

static void payloads_are_about_the_process_that_the_decoder_names(void **state)
{
    (void)state;
    enum { IMAGE_LOAD = 0x140a };
    const struct schema_source_settings settings = {0};
    struct rig rig = {.source = schema_source_kernel.create(&settings, NULL)};
    assert_non_null(rig.source);
    assert_true(decoder_init(&rig.decoder, NULL));
    for (unsigned hook_id = 0; hook_id < KERNEL_GROUP_COUNT * TYPES; hook_id++) {
        if (is_left_out(hook_id / TYPES)) {
            continue;
        }
        struct event_record record = {.kind = RECORD_CLASSIC,
            .hook_id = (uint16_t)hook_id,
            .provider = *kernel_group_class((uint16_t)hook_id)};
        record.descriptor.opcode = (uint8_t)hook_id;
        check_type(&rig, &record);
        if (hook_id != IMAGE_LOAD) { /* which has a hook of the processes' */
            record.kind = RECORD_KERNEL;
            check_type(&rig, &record);
        }
    }
    assert_true(rig.layouts > 2000);
    assert_true(rig.processes > 500);
    assert_true(rig.threads > 500);
    decoder_fini(&rig.decoder);
    schema_source_kernel.destroy(rig.source);
}

/* ---- widths ---------------------------------------------------------------------------------- */

enum { SAMPLE = 0x0f2e, WALK = 0x1820, SEND = 0x060a };

static struct process_subject read_payload(
    uint16_t hook_id, uint8_t version, uint8_t pointer_size, const uint8_t *data, size_t size)
{
    struct process_subject subject = {.has_process = false};
    struct event_record record = {.kind = RECORD_KERNEL,
        .hook_id = hook_id,
        .pointer_size = pointer_size,
        .provider = *kernel_group_class(hook_id),
        .payload = span_make(data, size)};
    record.descriptor.opcode = (uint8_t)hook_id;
    record.descriptor.version = version;
    bool found = process_subjects_read(&record, &subject);
    return found ? subject : (struct process_subject){.has_process = false};
}

static void a_wide_payload_behind_a_narrow_header_is_read_as_it_is(void **state)
{
    (void)state;
    static const uint8_t narrow[] = {0, 0x10, 0, 0x80, 7, 0, 0, 0, 1, 0, 0, 0};
    static const uint8_t wide[] = {0, 0x10, 0, 0x80, 1, 0xf8, 0xff, 0xff, 9, 0, 0, 0, 1, 0, 0, 0};
    assert_int_equal(read_payload(SAMPLE, 2, 4, narrow, sizeof(narrow)).thread_id, 7);
    assert_int_equal(read_payload(SAMPLE, 2, 8, narrow, sizeof(narrow)).thread_id, 7);
    assert_int_equal(read_payload(SAMPLE, 2, 4, wide, sizeof(wide)).thread_id, 9);
    assert_int_equal(read_payload(SAMPLE, 2, 8, wide, sizeof(wide)).thread_id, 9);
}

static void no_process_is_made_up(void **state)
{
    (void)state;
    static const uint8_t walk[16] = {1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0xff, 0xff, 0xff, 42};
    static const uint8_t nobody[4] = {0xff, 0xff, 0xff, 0xff};
    struct process_subject subject = read_payload(WALK, 2, 8, walk, sizeof(walk));
    assert_false(subject.has_process);
    assert_true(subject.has_thread);
    assert_int_equal(subject.thread_id, 42);
    assert_true(read_payload(SEND, 2, 8, walk, sizeof(walk)).has_process);
    assert_false(read_payload(SEND, 2, 8, nobody, sizeof(nobody)).has_process);
    /* there is no such version */
    assert_false(read_payload(SAMPLE, 0, 8, walk, sizeof(walk)).has_thread);
    for (size_t size = 0; size < sizeof(walk); size++) {
        assert_false(read_payload(WALK, 2, 8, walk, size).has_thread);
        assert_false(size < 4 && read_payload(SEND, 2, 8, walk, size).has_process);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(payloads_are_about_the_process_that_the_decoder_names),
        cmocka_unit_test(a_wide_payload_behind_a_narrow_header_is_read_as_it_is),
        cmocka_unit_test(no_process_is_made_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
