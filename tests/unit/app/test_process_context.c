#include <stdio.h>

#include "app/trace/trace_run.h"
#include "config/config.h"
#include "event/write/event_file.h"
#include "event/write/event_process.h"
#include "input/registry/registry.h"
#include "support/etl_encode.h"
#include "support/etl_writer.h"
#include "support/temp_folder.h"
#include "support/test.h"

/*
 * Traces through all of dump: a made-up trace describes its processes at its start, in between and
 * at its end, and the test compares them with the processes of its events.
 */
enum { PROCESSORS = 2, TRACE_BYTES = 8 * 1024 * 1024 };

static const struct guid someone = {{0xee, 1}};
static const struct guid volumes = {{0x91, 0xee, 0x79, 0x9b, 0xfd, 0xb5, 0xc0, 0x41, 0xa2, 0x43,
    0x42, 0x48, 0xe2, 0x66, 0xe9, 0xd0}};

static char folder[TEMP_FOLDER_BYTES];
static char path[TEMP_FOLDER_BYTES + 16];

static int make_folder(void **state)
{
    (void)state;
    int made = temp_folder_make(folder, "context");
    snprintf(path, sizeof(path), "%s/a.etl", folder);
    return made;
}

static int remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

/* ---- traces ---------------------------------------------------------------------------------- */

struct trace {
    FILE *file;
    struct etl_writer *writer;
    struct buf record;
    uint8_t payload[512];
    size_t size;
};

/* Raw stamps are 100 ns, and begin at 0. */
static void trace_begin(struct trace *trace)
{
    const struct etl_options options = {.processors = PROCESSORS, .buffer_size = 4096};
    *trace = (struct trace){.file = fopen(path, "wb")};
    assert_non_null(trace->file);
    trace->writer = etl_writer_create(&options, etl_writer_to_file(trace->file), 0, NULL);
    assert_non_null(trace->writer);
    buf_init(&trace->record, 65536);
}

static void trace_end(struct trace *trace)
{
    assert_true(etl_writer_close(trace->writer, NULL));
    etl_writer_destroy(trace->writer);
    buf_fini(&trace->record);
    assert_int_equal(fclose(trace->file), 0);
}

static void put(struct trace *trace, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        trace->payload[trace->size++] = (uint8_t)(value >> (8 * i));
    }
}

static void put_zeros(struct trace *trace, size_t bytes)
{
    memset(trace->payload + trace->size, 0, bytes);
    trace->size += bytes;
}

static void put_text(struct trace *trace, const char *text, size_t unit)
{
    for (const char *c = text; *c; c++) {
        put(trace, (uint8_t)*c, unit);
    }
    put(trace, 0, unit);
}

static void write_record(struct trace *trace, uint16_t cpu, int64_t time)
{
    assert_true(etl_writer_put(trace->writer, cpu, time, buf_span(&trace->record), NULL));
    buf_reset(&trace->record);
    trace->size = 0;
}

static void write_kernel(
    struct trace *trace, uint16_t cpu, int64_t time, uint16_t hook_id, uint32_t thread_id)
{
    const struct etl_kernel header = {.form = ETL_SYSTEM,
        .pointer_size = 8,
        .version = 3,
        .hook_id = hook_id,
        .thread_id = thread_id,
        .process_id = UINT32_MAX,
        .time = time};
    etl_encode_kernel(&trace->record, &header, span_make(trace->payload, trace->size));
    write_record(trace, cpu, time);
}

enum { START = 0x0301, END = 0x0302, RUNDOWN_START = 0x0303, RUNDOWN_END = 0x0304 };
enum { SWITCH = 0x0524, SAMPLE = 0x0f2e };

/* Process_V3_TypeGroup1. */
static void write_process(struct trace *trace, uint16_t cpu, int64_t time, uint16_t hook_id,
    uint32_t pid, const char *name)
{
    put(trace, 0xffff000 + pid, 8);
    put(trace, pid, 4);
    put(trace, 40, 4);
    put(trace, 1, 4);
    put(trace, 0x103, 4);
    put(trace, 0x1aa000, 8);
    put(trace, 0, 4); /* no user */
    put_text(trace, name, 1);
    put_text(trace, "a b", 2);
    write_kernel(trace, cpu, time, hook_id, UINT32_MAX);
}

/* Thread_TypeGroup1, with the members that are used. */
static void write_thread(struct trace *trace, int64_t time, uint32_t tid, uint32_t pid)
{
    put(trace, pid, 4);
    put(trace, tid, 4);
    write_kernel(trace, 0, time, 0x0501, UINT32_MAX);
}

/* CSwitch_V3, whose header has no process. */
static void write_switch(struct trace *trace, int64_t time, uint32_t new_tid, uint32_t old_tid)
{
    put(trace, new_tid, 4);
    put(trace, old_tid, 4);
    put(trace, 0, 8);
    put(trace, 0, 8);
    write_kernel(trace, 0, time, SWITCH, UINT32_MAX);
}

/* SampledProfile, in a header without room for ids. */
static void write_sample(struct trace *trace, int64_t time, uint32_t tid)
{
    const struct etl_kernel header = {
        .form = ETL_PERFINFO, .pointer_size = 8, .version = 2, .hook_id = SAMPLE, .time = time};
    put(trace, 0xfffff80000001000, 8);
    put(trace, tid, 4);
    put(trace, 1, 4);
    etl_encode_kernel(&trace->record, &header, span_make(trace->payload, trace->size));
    write_record(trace, 1, time);
}

static void write_volume(struct trace *trace, int64_t time)
{
    const struct etl_classic header = {.pointer_size = 8,
        .opcode = 35,
        .process_id = UINT32_MAX,
        .thread_id = UINT32_MAX,
        .time = time,
        .class_guid = volumes};
    put_text(trace, "\\Device\\HarddiskVolume3", 2);
    put_text(trace, "C:", 2);
    etl_encode_classic(&trace->record, &header, span_make(trace->payload, trace->size));
    write_record(trace, 0, time);
}

static void write_image(struct trace *trace, int64_t time, uint32_t pid, const char *image)
{
    put(trace, 0x400000, 8);
    put(trace, 0x1000, 8);
    put(trace, pid, 4);
    put(trace, 0, 8);
    put(trace, 0, 4);
    put(trace, 0x400000, 8);
    put(trace, 0, 8);
    put(trace, 0, 8);
    put_text(trace, image, 2);
    write_kernel(trace, 0, time, 0x030a, UINT32_MAX);
}

enum { FILE_CREATE = 0x0420, FILE_DELETE = 0x0423, FILE_RUNDOWN = 0x0424 };
enum { DISK_READ = 0x010a, OPEN = 0x0440, CLOSE = 0x0442, FILE_READ = 0x0443 };

/* FileIo_Name. */
static void write_name(struct trace *trace, uint16_t cpu, int64_t time, uint16_t hook_id,
    uint64_t key, const char *name)
{
    put(trace, key, 8);
    put_text(trace, name, 2);
    write_kernel(trace, cpu, time, hook_id, 1);
}

/* DiskIo_TypeGroup1. */
static void write_disk_read(struct trace *trace, uint16_t cpu, int64_t time, uint64_t key)
{
    put_zeros(trace, 24);
    put(trace, key, 8);
    put_zeros(trace, 16);
    put(trace, 1, 4);
    write_kernel(trace, cpu, time, DISK_READ, 1);
}

/* FileIo_Create, FileIo_SimpleOp, FileIo_ReadWrite. */
static void write_file(struct trace *trace, int64_t time, uint16_t hook_id, uint64_t object,
    uint64_t key, const char *name)
{
    put_zeros(trace, hook_id == FILE_READ ? 16 : 8);
    put(trace, object, 8);
    put(trace, key, name ? 0 : 8);
    put(trace, 1, 4);
    put_zeros(trace, name || hook_id == FILE_READ ? 12 : 0);
    if (name) {
        put_text(trace, name, 2);
    }
    write_kernel(trace, 0, time, hook_id, 1);
}

/* The events of interest: an event of ${pid} with its time. */
static void write_event(struct trace *trace, uint16_t cpu, int64_t time, uint32_t pid)
{
    const struct etl_event header = {.pointer_size = 8,
        .flags = EVENT_FLAG_64_BIT,
        .process_id = pid,
        .thread_id = 1,
        .time = time,
        .provider = someone,
        .descriptor = {.id = 1}};
    etl_encode_event(&trace->record, &header, span_make(trace->payload, 0));
    write_record(trace, cpu, time);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* For each event of `someone`, each thread switch and each sample: `pid=name(path)`, in their
 * order. */
struct told {
    struct buf text;
    size_t named;
    size_t events;
};

static bool on_event(void *self, const struct event *event)
{
    static const struct event_process nobody;
    struct told *told = self;
    const struct event_record *record = event->record;
    const struct event_process *process = event->process ? event->process : &nobody;
    if (record->hook_id == DISK_READ || record->hook_id == OPEN || record->hook_id == FILE_READ) {
        told->named += event->file != NULL;
        buf_printf(
            &told->text, "%.*s ", SPAN_ARG(event->file ? event->file->path : span_text("-")));
        return true;
    }
    if (!guid_equal(&record->provider, &someone) && record->hook_id != SWITCH &&
        record->hook_id != SAMPLE) {
        return true;
    }
    told->events++;
    told->named += process->name.size > 0;
    if (record->present & RECORD_HAS_PROCESS) {
        buf_printf(&told->text, "%u", record->process_id);
    }
    buf_printf(&told->text, "=%.*s", SPAN_ARG(process->name));
    if (process->executable.size) {
        buf_printf(&told->text, "(%.*s)", SPAN_ARG(process->executable));
    }
    buf_add_byte(&told->text, ' ');
    return true;
}

static void read_trace(struct told *told, bool process_context)
{
    struct schema_cache_settings cache = {.only_source = NULL};
    struct config *config = config_create(NULL, NULL);
    const struct input_ops *input = input_registry_find("file");
    void *settings = config_new(config, input->fields, input->settings_size, NULL);
    const char *text = path;
    *told = (struct told){.events = 0};
    buf_init(&told->text, TRACE_BYTES);
    struct event_observer observer = {.self = told, .event = on_event};
    struct trace_run_settings run = {.input = input,
        .settings = settings,
        .cache = schema_cache_create(&cache, NULL),
        .process_context = process_context,
        .observer = observer};
    struct trace_result result;
    assert_true(config_set(config, input->fields, settings, "paths", &text, 1, NULL));
    assert_true(trace_run(&run, &result, NULL));
    assert_int_equal(result.end, INPUT_DONE);
    schema_cache_destroy(run.cache);
    config_destroy(config);
}

static void check_told(const char *expected)
{
    struct told told;
    read_trace(&told, true);
    assert_span(buf_span(&told.text), expected);
    buf_fini(&told.text);
    read_trace(&told, false);
    assert_int_equal(told.named, 0);
    buf_fini(&told.text);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const int64_t second = 10000000;

static void a_rundown_at_the_end_names_what_came_before(void **state)
{
    (void)state;
    struct trace trace;
    trace_begin(&trace);
    write_event(&trace, 0, 1 * second, 100);
    write_event(&trace, 1, 2 * second, 200);
    write_process(&trace, 0, 9 * second, RUNDOWN_END, 100, "one.exe");
    write_image(&trace, 9 * second, 100, "\\Device\\HarddiskVolume3\\x\\one.exe");
    write_volume(&trace, 9 * second);
    trace_end(&trace);
    check_told("100=one.exe(C:\\x\\one.exe) 200= ");
}

static void an_id_that_is_used_again_names_another(void **state)
{
    (void)state;
    struct trace trace;
    trace_begin(&trace);
    write_process(&trace, 0, 1 * second, START, 100, "one.exe");
    write_event(&trace, 1, 2 * second, 100);
    write_process(&trace, 0, 3 * second, END, 100, "one.exe");
    write_process(&trace, 0, 10 * second, START, 100, "two.exe");
    write_event(&trace, 1, 8 * second, 100);
    write_event(&trace, 1, 11 * second, 100);
    write_event(&trace, 0, 12 * second, 100);
    trace_end(&trace);
    check_told("100=one.exe 100= 100=two.exe 100=two.exe ");
}

static void a_start_without_an_end_and_an_end_without_a_start(void **state)
{
    (void)state;
    struct trace trace;
    trace_begin(&trace);
    write_event(&trace, 0, 1 * second, 100);
    write_event(&trace, 0, 1 * second, 200);
    write_process(&trace, 0, 3 * second, END, 100, "one.exe");
    write_process(&trace, 1, 3 * second, START, 200, "two.exe");
    write_event(&trace, 0, 90 * second, 100);
    write_event(&trace, 0, 90 * second, 200);
    trace_end(&trace);
    check_told("100=one.exe 200= 100= 200=two.exe ");
}

static void a_thread_tells_the_process_that_the_header_lacks(void **state)
{
    (void)state;
    struct trace trace;
    trace_begin(&trace);
    write_process(&trace, 0, 1 * second, RUNDOWN_START, 100, "one.exe");
    write_thread(&trace, 2 * second, 7, 100);
    write_kernel(&trace, 0, 3 * second, SWITCH, 7);
    write_kernel(&trace, 0, 4 * second, SWITCH, 8);
    trace_end(&trace);
    struct told told;
    read_trace(&told, true);
    assert_span(buf_span(&told.text), "100=one.exe = ");
    buf_fini(&told.text);
}

static void a_payload_names_the_process_that_the_header_does_not(void **state)
{
    (void)state;
    struct trace trace;
    trace_begin(&trace);
    write_sample(&trace, 1 * second, 7); /* before the thread is known */
    write_process(&trace, 0, 2 * second, START, 100, "one.exe");
    write_thread(&trace, 2 * second, 7, 100);
    write_switch(&trace, 3 * second, 7, 0);
    write_sample(&trace, 4 * second, 7);
    write_sample(&trace, 5 * second, 8); /* of no process */
    write_sample(&trace, 6 * second, 0); /* of an idle processor, which the rundown describes */
    write_switch(&trace, 7 * second, 0, 7);
    write_process(&trace, 0, 9 * second, RUNDOWN_END, 0, "Idle");
    put(&trace, 0, 4);
    put(&trace, 0, 4);
    write_kernel(&trace, 0, 9 * second, 0x0504, UINT32_MAX);
    trace_end(&trace);
    struct told told;
    read_trace(&told, true);
    assert_span(buf_span(&told.text), "= 100=one.exe 100=one.exe = 0=Idle 0=Idle ");
    buf_fini(&told.text);
    read_trace(&told, false);
    assert_span(buf_span(&told.text), "= = = = = = ");
    buf_fini(&told.text);
}

/* The memory of dump is bounded. test_process_table.c shows what a smaller table forgets. */
static void many_processes_keep_their_names(void **state)
{
    (void)state;
    enum { PROCESSES = 3000 };
    struct trace trace;
    struct buf expected;
    buf_init(&expected, TRACE_BYTES);
    trace_begin(&trace);
    for (uint32_t i = 1; i <= PROCESSES; i++) {
        char name[32];
        uint32_t pid = 4 * (1 + i % 50);
        snprintf(name, sizeof(name), "p%u.exe", i);
        int64_t time = i * 10 * second;
        write_process(&trace, i % PROCESSORS, time, START, pid, name);
        write_event(&trace, (i + 1) % PROCESSORS, time + second, pid);
        write_process(&trace, i % PROCESSORS, time + 2 * second, END, pid, name);
        buf_printf(&expected, "%u=%s ", pid, name);
    }
    trace_end(&trace);
    buf_add_byte(&expected, 0);
    check_told((const char *)expected.data);
    buf_fini(&expected);
}

static void a_rundown_of_files_names_what_was_read_before(void **state)
{
    (void)state;
    struct trace trace;
    trace_begin(&trace);
    write_disk_read(&trace, 0, 1 * second, 0xa0);
    write_disk_read(&trace, 1, 2 * second, 0xb0);
    write_disk_read(&trace, 1, 3 * second, 0xc0);
    write_disk_read(&trace, 1, 4 * second, 0);
    write_name(&trace, 0, 8 * second, FILE_RUNDOWN, 0xa0, "\\Device\\HarddiskVolume3\\a");
    write_name(&trace, 1, 8 * second, FILE_RUNDOWN, 0xb0, "\\Device\\HarddiskVolume4\\b");
    write_name(&trace, 1, 8 * second, FILE_RUNDOWN, 0xc0, "\\FI_UNKNOWN");
    write_name(&trace, 1, 8 * second, FILE_RUNDOWN, 0, "\\Device\\nothing");
    write_volume(&trace, 9 * second);
    trace_end(&trace);
    check_told("C:\\a \\Device\\HarddiskVolume4\\b - - ");
}

/* On another processor than the use of the address, so its buffers are elsewhere in the file. */
static void a_key_that_is_used_again_names_another_file(void **state)
{
    (void)state;
    struct trace trace;
    trace_begin(&trace);
    write_disk_read(&trace, 0, 1 * second, 0xa0);
    write_name(&trace, 1, 2 * second, FILE_DELETE, 0xa0, "\\one");
    write_disk_read(&trace, 0, 3 * second, 0xa0);
    write_name(&trace, 1, 4 * second, FILE_CREATE, 0xa0, "\\two");
    write_disk_read(&trace, 0, 5 * second, 0xa0);
    write_name(&trace, 1, 6 * second, FILE_DELETE, 0xa0, "\\two");
    write_name(&trace, 1, 7 * second, FILE_CREATE, 0xa0, "\\three");
    write_disk_read(&trace, 0, 8 * second, 0xa0);
    write_name(&trace, 1, 9 * second, FILE_RUNDOWN, 0xa0, "\\renamed");
    write_disk_read(&trace, 0, 10 * second, 0xa0);
    trace_end(&trace);
    check_told("\\one - \\two - \\renamed ");
}

static void an_opened_file_is_known_until_it_is_closed(void **state)
{
    (void)state;
    struct trace trace;
    trace_begin(&trace);
    write_file(&trace, 1 * second, FILE_READ, 0x50, 0xa0, NULL);
    write_file(&trace, 2 * second, OPEN, 0x50, 0, "\\one");
    write_file(&trace, 3 * second, FILE_READ, 0x50, 0xa0, NULL);
    write_file(&trace, 4 * second, FILE_READ, 0x50, 0xb0, NULL); /* the key's own name wins */
    write_file(&trace, 5 * second, CLOSE, 0x50, 0xa0, NULL);
    write_file(&trace, 6 * second, FILE_READ, 0x50, 0xa0, NULL);
    write_name(&trace, 1, 9 * second, FILE_RUNDOWN, 0xb0, "\\two");
    trace_end(&trace);
    check_told("- \\one \\one \\two - ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rundown_at_the_end_names_what_came_before),
        cmocka_unit_test(an_id_that_is_used_again_names_another),
        cmocka_unit_test(a_start_without_an_end_and_an_end_without_a_start),
        cmocka_unit_test(a_thread_tells_the_process_that_the_header_lacks),
        cmocka_unit_test(a_payload_names_the_process_that_the_header_does_not),
        cmocka_unit_test(many_processes_keep_their_names),
        cmocka_unit_test(a_rundown_of_files_names_what_was_read_before),
        cmocka_unit_test(a_key_that_is_used_again_names_another_file),
        cmocka_unit_test(an_opened_file_is_known_until_it_is_closed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
