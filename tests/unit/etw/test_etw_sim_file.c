/* Files of the simulated Windows (logging-mode-constants): written by sessions, read back by the
 * project's own reader and by OpenTrace; replays. */
#include "support/test.h"

#include <stdio.h>

#include "base/arena.h"
#include "input/etl/etl_file.h"
#include "platform/plat_file.h"
#include "support/etw_sim/etw_sim_rig.h"
#include "support/temp_folder.h"

static const struct guid provider_guid = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
static char folder[TEMP_FOLDER_BYTES];
static char path[TEMP_FOLDER_BYTES + 16];
static struct etw_sim *sim;
static const struct etw_api *api;
static struct etw_sim_provider *provider;

static int make_folder(void **state)
{
    (void)state;
    return temp_folder_make(folder, "sim");
}

static int remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static int make(const struct etw_sim_options *options)
{
    sim = etw_sim_create(options, NULL);
    api = sim ? etw_sim_api(sim) : NULL;
    provider = etw_sim_provider_add(sim, &(struct etw_sim_provider_options){.guid = provider_guid});
    snprintf(path, sizeof(path), "%s/trace.etl", folder);
    remove(path);
    return provider ? 0 : -1;
}

static int setup(void **state)
{
    (void)state;
    return make(&(struct etw_sim_options){.processors = 2});
}

static int teardown(void **state)
{
    (void)state;
    etw_sim_destroy(sim);
    sim = NULL;
    return 0;
}

struct found {
    uint64_t records; /* of the provider */
    uint16_t flags;   /* of all of them */
    uint16_t first_id;
    uint16_t last_id;
    uint64_t damage;
    struct etl_info info;
};

static bool on_record(void *self, const struct event_record *record)
{
    struct found *found = self;
    if (guid_equal(&record->provider, &provider_guid)) {
        found->first_id = found->records ? found->first_id : record->descriptor.id;
        found->last_id = record->descriptor.id;
        found->flags |= record->flags;
        found->records++;
    }
    return true;
}

static void on_damage(void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    (void)trace;
    (void)offset;
    (void)what;
    ((struct found *)self)->damage++;
}

static struct found read_file(const char *file_path)
{
    struct found found = {0};
    struct error err = {0};
    struct arena arena;
    struct etl_handles handles = {0};
    arena_init(&arena, 1 << 20);
    struct etl_file *file = etl_file_open(file_path, NULL, &handles, &arena, &err);
    if (!file) {
        print_error("%s\n", err.text);
    }
    assert_non_null(file);
    const struct etl_visitor visitor = {.self = &found, .record = on_record, .damage = on_damage};
    assert_true(etl_file_walk(file, &visitor, &err));
    found.info = *etl_file_info(file);
    found.info.logger_name = span_make(NULL, 0);
    etl_file_destroy(file);
    arena_fini(&arena);
    return found;
}

static uint64_t file_size(const char *file_path)
{
    uint64_t size = 0;
    struct plat_file *file = plat_file_open(file_path, PLAT_FILE_READ, NULL);
    assert_non_null(file);
    plat_file_size(file, &size, NULL);
    plat_file_close(file);
    return size;
}

static uint64_t start(const char *name, const char *file, uint32_t mode, uint32_t max_size)
{
    struct rig_block b;
    uint64_t session = 0;
    rig_block_init(&b, file);
    b.p.buffer_size = 4;
    b.p.log_file_mode = mode;
    b.p.maximum_file_size = max_size;
    b.p.wnode.client_context = mode & ETW_MODE_APPEND ? 2 : 1;
    assert_int_equal(rig_start_block(sim, name, &b, &session), 0);
    assert_int_equal(rig_enable(sim, session, &provider_guid, 5, 0, 0), 0);
    return session;
}

static void write_events(uint16_t first, uint16_t count)
{
    for (uint16_t i = 0; i < count; i++) {
        const struct etw_sim_event event = {.descriptor = {.id = (uint16_t)(first + i)},
            .cpu = i & 1,
            .payload = span_text("data")};
        etw_sim_write(provider, &event);
    }
}

static struct etw_sim_counts checked_counts(const char *name)
{
    struct etw_sim_session_info info;
    assert_true(etw_sim_session_get(sim, name, &info));
    const struct etw_sim_counts *c = &info.counts;
    assert_int_equal(c->offered, c->filtered + c->withheld + c->events_lost + c->logged);
    assert_int_equal(
        c->logged, c->in_file + c->overwritten + c->in_lost_log_buffers + c->pending_file);
    return *c;
}

static void a_sequential_file_holds_all_events(void **state)
{
    (void)state;
    start("file", path, ETW_MODE_SEQUENTIAL, 0);
    write_events(0, 500);
    struct rig_block b;
    assert_int_equal(rig_control(sim, "file", ETW_CONTROL_STOP, &b), 0);
    assert_int_equal(b.file[0], path[0]);
    struct found found = read_file(path);
    assert_int_equal(found.records, 500);
    assert_int_equal(found.damage, 0);
    assert_int_equal(found.info.processors, 2);
    assert_int_equal(found.info.mode, ETW_MODE_SEQUENTIAL);
    assert_int_equal(found.info.buffers_written, b.p.buffers_written + 1);
    assert_true(found.info.end_time > found.info.start_time);
    assert_int_equal(checked_counts("file").in_file, 500);
}

static void a_flush_brings_events_into_the_file(void **state)
{
    (void)state;
    start("file", path, 0, 0);
    write_events(0, 3);
    assert_int_equal(read_file(path).records, 0);
    struct rig_block b;
    rig_control(sim, "file", ETW_CONTROL_FLUSH, &b);
    assert_int_equal(read_file(path).records, 3);
    assert_int_equal(checked_counts("file").in_file, 3);
}

static void a_session_can_have_a_file_and_a_consumer(void **state)
{
    (void)state;
    struct rig_consumer c;
    start("both", path, ETW_MODE_REAL_TIME, 0);
    assert_true(rig_consumer_start(&c, sim, "both", 0));
    write_events(0, 200);
    etw_sim_advance(sim, 1001); /* both are flushed every second */
    assert_int_equal(read_file(path).records, 200);
    rig_stop(sim, "both");
    assert_int_equal(rig_consumer_wait(&c), 0);
    assert_int_equal(c.count, 200);
    checked_counts("both");
    rig_consumer_fini(&c);
}

static void a_full_sequential_file_ends_its_session(void **state)
{
    (void)state;
    start("file", path, ETW_MODE_SEQUENTIAL | ETW_MODE_USE_KBYTES_FOR_SIZE, 40);
    write_events(0, 2000);
    assert_false(etw_sim_session_runs(sim, "file"));
    assert_true(file_size(path) <= 40 * 1024);
    struct found found = read_file(path);
    struct etw_sim_counts counts = checked_counts("file");
    assert_int_equal(found.records, counts.in_file);
    assert_true(found.records > 200);
    struct rig_block b;
    assert_int_equal(
        rig_control(sim, "file", ETW_CONTROL_STOP, &b), ETW_ERROR_WMI_INSTANCE_NOT_FOUND);
}

static void a_circular_file_keeps_the_newest(void **state)
{
    (void)state;
    start("file", path, ETW_MODE_CIRCULAR | ETW_MODE_USE_KBYTES_FOR_SIZE, 40);
    write_events(0, 2000);
    rig_stop(sim, "file");
    assert_int_equal(file_size(path), 40 * 1024);
    struct found found = read_file(path);
    struct etw_sim_counts counts = checked_counts("file");
    assert_true(counts.overwritten > 0);
    assert_int_equal(found.records, counts.in_file);
}

static void new_files_get_numbers(void **state)
{
    (void)state;
    char pattern[TEMP_FOLDER_BYTES + 16];
    char numbered[TEMP_FOLDER_BYTES + 32];
    snprintf(pattern, sizeof(pattern), "%s/part%%d.etl", folder);
    start("file", pattern, ETW_MODE_NEWFILE | ETW_MODE_USE_KBYTES_FOR_SIZE, 40);
    write_events(0, 600);
    struct rig_block b;
    assert_int_equal(rig_control(sim, "file", ETW_CONTROL_INCREMENT_FILE, &b), 0);
    write_events(600, 10);
    rig_stop(sim, "file");
    uint64_t records = 0;
    int files = 0;
    for (;; files++) {
        snprintf(numbered, sizeof(numbered), "%s/part%d.etl", folder, files + 1);
        if (plat_path_kind(numbered) != PLAT_PATH_FILE) {
            break;
        }
        assert_true(file_size(numbered) <= 40 * 1024);
        records += read_file(numbered).records;
    }
    assert_true(files >= 3);
    assert_int_equal(records, 610);
    checked_counts("file");
    start("plain", path, 0, 0);
    assert_int_equal(
        rig_control(sim, "plain", ETW_CONTROL_INCREMENT_FILE, &b), ETW_ERROR_INVALID_PARAMETER);
}

static void appending_goes_on_behind_what_is_there(void **state)
{
    (void)state;
    start("file", path, ETW_MODE_APPEND, 0);
    write_events(0, 100);
    rig_stop(sim, "file");
    start("file", path, ETW_MODE_APPEND, 0);
    write_events(100, 50);
    rig_stop(sim, "file");
    assert_int_equal(read_file(path).records, 150);
    struct rig_block b;
    uint64_t session = 0;
    rig_block_init(&b, path);
    b.p.buffer_size = 8; /* not the file's */
    b.p.log_file_mode = ETW_MODE_APPEND;
    b.p.wnode.client_context = 2;
    assert_int_equal(rig_start_block(sim, "file", &b, &session), ETW_ERROR_INVALID_PARAMETER);
}

static void preallocated_space_is_there_at_once(void **state)
{
    (void)state;
    start("file", path, ETW_MODE_PREALLOCATE | ETW_MODE_USE_KBYTES_FOR_SIZE, 400);
    assert_int_equal(file_size(path), 400 * 1024);
    write_events(0, 100);
    rig_stop(sim, "file");
    struct found found = read_file(path);
    assert_int_equal(found.records, 100);
    assert_int_equal(found.damage, 0);
}

static void buffering_writes_a_snapshot_when_it_is_flushed(void **state)
{
    (void)state;
    start("ring", path, ETW_MODE_BUFFERING, 0);
    write_events(0, 5000);
    struct etw_sim_counts counts = checked_counts("ring");
    assert_true(counts.overwritten > 0);
    assert_int_equal(plat_path_kind(path), PLAT_PATH_NONE);
    struct rig_block b;
    assert_int_equal(rig_control(sim, "ring", ETW_CONTROL_FLUSH, &b), 0);
    struct found found = read_file(path);
    assert_int_equal(found.records, counts.pending);
    assert_true(found.last_id >= 4998);
    rig_stop(sim, "ring");
}

static void compressed_files_can_be_read(void **state)
{
    (void)state;
    start("file", path, ETW_MODE_COMPRESSED, 0);
    write_events(0, 1000);
    rig_stop(sim, "file");
    assert_int_equal(read_file(path).records, 1000);
    assert_true(file_size(path) < 80 * 1000);
}

static void a_file_belongs_to_one_session(void **state)
{
    (void)state;
    struct rig_block b;
    uint64_t session = 0;
    start("file", path, 0, 0);
    rig_block_init(&b, path);
    assert_int_equal(rig_start_block(sim, "other", &b, &session), ETW_ERROR_BAD_PATHNAME);
}

static void update_changes_the_file(void **state)
{
    (void)state;
    char other[TEMP_FOLDER_BYTES + 16];
    struct rig_block b;
    snprintf(other, sizeof(other), "%s/other.etl", folder);
    uint64_t session = start("file", path, 0, 0);
    write_events(0, 10);
    rig_control(sim, "file", ETW_CONTROL_FLUSH, &b);
    rig_block_init(&b, other);
    assert_int_equal(api->ControlTraceW(session, NULL, &b.p, ETW_CONTROL_UPDATE), 0);
    write_events(10, 5);
    rig_stop(sim, "file");
    assert_int_equal(read_file(path).records, 10);
    assert_int_equal(read_file(other).records, 5);
}

static void a_slow_disk_loses_log_buffers(void **state)
{
    (void)state;
    struct rig_block b;
    start("file", path, 0, 0);
    etw_sim_fail_disk(sim, "file", 1);
    write_events(0, 200);
    assert_int_equal(rig_control(sim, "file", ETW_CONTROL_STOP, &b), 0);
    assert_int_equal(b.p.log_buffers_lost, 1);
    struct etw_sim_counts counts = checked_counts("file");
    assert_true(counts.in_lost_log_buffers > 0);
    struct found found = read_file(path);
    assert_int_equal(found.records, counts.in_file);
    assert_int_equal(found.info.buffers_lost, 1);
}

static void open_trace_reads_files_merged_and_bounded(void **state)
{
    (void)state;
    char second[TEMP_FOLDER_BYTES + 16];
    snprintf(second, sizeof(second), "%s/second.etl", folder);
    start("a", path, 0, 0);
    start("b", second, 0, 0);
    write_events(0, 100);
    uint64_t middle = etw_sim_filetime(sim);
    write_events(100, 100);
    rig_stop(sim, "a");
    rig_stop(sim, "b");
    uint64_t traces[2];
    struct rig_consumer c;
    const char *paths[2] = {path, second};
    memset(&c, 0, sizeof(c));
    c.sim = sim;
    c.events = calloc(RIG_KEEP, sizeof(*c.events));
    plat_mutex_init(&c.lock);
    plat_cond_init(&c.changed);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++) {
            etw_char wide[RIG_TEXT];
            struct etw_logfile logfile = {.log_file_name = rig_wide(paths[i], wide),
                .process_trace_mode = ETW_PROCESS_EVENT_RECORD | ETW_PROCESS_RAW_TIMESTAMP,
                .event_callback = rig_on_event,
                .buffer_callback = rig_on_buffer,
                .context = &c};
            traces[i] = api->OpenTraceW(&logfile);
            assert_true(traces[i] != ETW_INVALID_TRACE);
            assert_int_equal(api->last_error(), 0);
            assert_int_equal(logfile.header.number_of_processors, 2);
            assert_int_equal(logfile.header.reserved_flags, 1);
        }
        c.count = 0;
        int64_t start_time = (int64_t)middle + 1;
        assert_int_equal(api->ProcessTrace(traces, 2, round ? &start_time : NULL, NULL), 0);
        assert_int_equal(c.count, round ? 200 : 400);
        assert_int_equal(c.events[1].header.descriptor.id, round ? 100 : 0);
        assert_int_equal(c.events[2].header.descriptor.id, round ? 101 : 1);
        assert_true(c.buffers > 2);
        assert_int_equal(api->CloseTrace(traces[0]), 0);
        assert_int_equal(api->CloseTrace(traces[1]), 0);
    }
    c.trace = ETW_INVALID_TRACE;
    rig_consumer_fini(&c);
}

/* What clients choose the size of pointers by is not in the file, but made of header types and of
 * buffers' flags (EVENT_HEADER). */
static void events_of_files_have_the_flags_of_their_header_types(void **state)
{
    (void)state;
    start("file", path, 0, 0);
    const struct etw_sim_event wide = {.descriptor = {.id = 1, .level = 4}};
    const struct etw_sim_event narrow = {.descriptor = {.id = 2, .level = 4}, .pointer_size = 4};
    assert_int_equal(etw_sim_write(provider, &wide), 0);
    assert_int_equal(etw_sim_write(provider, &narrow), 0);
    rig_stop(sim, "file");
    assert_int_equal(read_file(path).flags, 0);
    struct rig_consumer c;
    etw_char path16[RIG_TEXT];
    memset(&c, 0, sizeof(c));
    c.events = calloc(RIG_KEEP, sizeof(*c.events));
    plat_mutex_init(&c.lock);
    plat_cond_init(&c.changed);
    struct etw_logfile logfile = {.log_file_name = rig_wide(path, path16),
        .process_trace_mode = ETW_PROCESS_EVENT_RECORD,
        .event_callback = rig_on_event,
        .context = &c};
    uint64_t trace = api->OpenTraceW(&logfile);
    assert_int_equal(api->ProcessTrace(&trace, 1, NULL, NULL), 0);
    assert_int_equal(api->CloseTrace(trace), 0);
    assert_int_equal(c.count, 2);
    assert_int_equal(c.events[0].header.flags, 0x0240); /* 64_BIT_HEADER, PROCESSOR_INDEX */
    assert_int_equal(c.events[1].header.flags, 0x0220);
    c.trace = ETW_INVALID_TRACE;
    rig_consumer_fini(&c);
}

/* ---- replay ---------------------------------------------------------------------------------- */

static void a_trace_is_replayed_as_its_providers_events(void **state)
{
    (void)state;
    struct rig_consumer c;
    uint64_t records = 0;
    struct error err = {0};
    start("file", path, 0, 0);
    write_events(0, 300);
    rig_stop(sim, "file");
    uint64_t session = rig_start(sim, "live", 64, 0);
    rig_enable(sim, session, &provider_guid, 5, 0, 0);
    assert_true(rig_consumer_start(&c, sim, "live", 0));
    uint64_t before = etw_sim_filetime(sim);
    const struct etw_sim_replay replay = {.path = path, .per_second = 100};
    assert_true(etw_sim_replay(sim, &replay, &records, &err));
    assert_int_equal(records, 300);
    assert_true(etw_sim_filetime(sim) - before >= 2 * UINT64_C(10000000)); /* at its rate */
    rig_stop(sim, "live");
    rig_consumer_wait(&c);
    assert_int_equal(c.count, 300);
    for (uint16_t i = 0; i < 300; i++) {
        assert_int_equal(c.events[i].header.descriptor.id, i);
        assert_int_equal(c.events[i].header.process_id, 4711);
        assert_int_equal(c.events[i].header.thread_id, 4715);
        assert_memory_equal(c.events[i].payload, "data", 4);
    }
    rig_consumer_fini(&c);
    assert_false(etw_sim_replay(sim, &(struct etw_sim_replay){.path = "none.etl"}, NULL, &err));
}

static void a_source_writes_while_its_provider_is_enabled(void **state)
{
    (void)state;
    struct error err = {0};
    struct etw_sim_session_info info;
    start("file", path, 0, 0);
    write_events(0, 300);
    rig_stop(sim, "file");
    const struct etw_sim_replay replay = {
        .path = path, .provider = provider_guid, .per_second = 100, .rounds = UINT32_MAX};
    assert_true(etw_sim_source_add(sim, &replay, &err));
    assert_false(etw_sim_source_add(sim, &(struct etw_sim_replay){.path = folder}, &err));
    etw_sim_advance(sim, 5000);
    uint64_t session = rig_start(sim, "live", 64, 0);
    rig_enable(sim, session, &provider_guid, 5, 0, 0);
    etw_sim_advance(sim, 10000); /* more than one round of it */
    etw_sim_session_get(sim, "live", &info);
    assert_in_range(info.counts.logged, 980, 1001);
    rig_stop(sim, "live");
    etw_sim_advance(sim, 10000);
}

static void real_clocks_flush_and_replay_by_themselves(void **state)
{
    (void)state;
    struct error err = {0};
    start("file", path, 0, 0);
    write_events(0, 300);
    rig_stop(sim, "file");
    etw_sim_destroy(sim);
    sim = etw_sim_create(
        &(struct etw_sim_options){.real_clock = true, .logger_period_ms = 1}, &err);
    api = etw_sim_api(sim);
    struct rig_consumer c;
    const struct etw_sim_replay replay = {
        .path = path, .provider = provider_guid, .per_second = 100000, .rounds = UINT32_MAX};
    assert_true(etw_sim_source_add(sim, &replay, &err));
    uint64_t session = rig_start(sim, "live", 4, 0);
    assert_true(rig_consumer_start(&c, sim, "live", 0));
    rig_enable(sim, session, &provider_guid, 5, 0, 0);
    rig_consumer_await(&c, 2000);
    rig_stop(sim, "live");
    assert_int_equal(rig_consumer_wait(&c), 0);
    struct etw_sim_session_info info;
    etw_sim_session_get(sim, "live", &info);
    assert_int_equal(info.counts.pending, 0);
    assert_int_equal(info.counts.logged, info.counts.delivered + info.counts.in_lost_buffers);
    assert_int_equal(c.count, info.counts.delivered);
    rig_consumer_fini(&c);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_sequential_file_holds_all_events),
        TEST(a_flush_brings_events_into_the_file),
        TEST(a_session_can_have_a_file_and_a_consumer),
        TEST(a_full_sequential_file_ends_its_session),
        TEST(a_circular_file_keeps_the_newest),
        TEST(new_files_get_numbers),
        TEST(appending_goes_on_behind_what_is_there),
        TEST(preallocated_space_is_there_at_once),
        TEST(buffering_writes_a_snapshot_when_it_is_flushed),
        TEST(compressed_files_can_be_read),
        TEST(a_file_belongs_to_one_session),
        TEST(update_changes_the_file),
        TEST(a_slow_disk_loses_log_buffers),
        TEST(open_trace_reads_files_merged_and_bounded),
        TEST(events_of_files_have_the_flags_of_their_header_types),
        TEST(a_trace_is_replayed_as_its_providers_events),
        TEST(a_source_writes_while_its_provider_is_enabled),
        TEST(real_clocks_flush_and_replay_by_themselves),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
