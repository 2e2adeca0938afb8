#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/etl_encode.h"
#include "support/etl_mix_schema.h"
#include "support/etl_put.h"
#include "support/etl_writer.h"
#include "support/etw_sim/etw_sim_rig.h"
#include "support/etw_sim/sim_world_file.h"
#include "support/temp_folder.h"

/* A world for a foreign program: everything comes from files, nothing is set up by calls. */
static char folder[TEMP_FOLDER_BYTES];
static struct error err;
static char warning[256];

static const char *path_of(const char *name)
{
    static char path[TEMP_FOLDER_BYTES + 16];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, struct span bytes)
{
    FILE *f = fopen(path_of(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.data, 1, bytes.size, f), bytes.size);
    assert_int_equal(fclose(f), 0);
}

static void note_warning(void *self, const char *text)
{
    (void)self;
    snprintf(warning, sizeof(warning), "%s", text);
}

static struct sim_world *make(const char *text)
{
    write_file("w.world", span_text(text));
    err = (struct error){0};
    warning[0] = '\0';
    return sim_world_create(path_of("w.world"), NULL, note_warning, NULL, &err);
}

/* Some events of the sample provider. */
static void write_trace(void)
{
    enum { EVENTS = 20 };
    struct buf payload;
    struct buf record;
    FILE *f = fopen(path_of("dns.etl"), "wb");
    assert_non_null(f);
    struct etl_writer *writer = etl_writer_create(
        &(struct etl_options){.processors = 1}, etl_writer_to_file(f), 0, NULL);
    assert_non_null(writer);
    buf_init(&payload, 1024);
    buf_init(&record, 4096);
    for (int64_t i = 1; i <= EVENTS; i++) {
        buf_reset(&payload);
        buf_reset(&record);
        etl_put_u64(&payload, (uint64_t)i);
        etl_put_utf16z(&payload, "host.example");
        etl_put_zeros(&payload, 10);
        const struct etl_event header = {.pointer_size = 8,
            .flags = EVENT_FLAG_64_BIT,
            .process_id = 1234,
            .thread_id = 1238,
            .time = i * 1000,
            .provider = etl_mix_schema_dns.guid,
            .descriptor = etl_mix_schema_dns.types[1].descriptor};
        etl_encode_event(&record, &header, buf_span(&payload));
        assert_true(etl_writer_put(writer, 0, i * 1000, buf_span(&record), NULL));
    }
    assert_true(etl_writer_close(writer, NULL));
    etl_writer_destroy(writer);
    buf_fini(&record);
    buf_fini(&payload);
    assert_int_equal(fclose(f), 0);
}

static int write_files(void **state)
{
    (void)state;
    if (temp_folder_make(folder, "sim-world") != 0) {
        return -1;
    }
    struct buf xml;
    buf_init(&xml, 1 << 20);
    etl_mix_manifest_xml(&xml);
    write_file("sample.man", buf_span(&xml));
    buf_fini(&xml);
    write_file("names.tsv", span_text("name\tguid\nFrom-A-Table\t00112233-4455-6677-8899-"
                                      "aabbccddeeff\tsource\nbroken\tline\n"));
    write_trace();
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static void a_provider_emits_when_it_is_enabled_and_tdh_knows_its_events(void **state)
{
    (void)state;
    struct sim_world *world = make("processors 3\n"
                                   "schemas sample.man\n"
                                   "process 1234 resolver.exe\n"
                                   "emit Etwship-Sample-Dns dns.etl rate 1000\n");
    if (!world) {
        fail_msg("%s", err.text);
    }
    struct etw_sim *sim = sim_world_sim(world);
    assert_ptr_equal(etw_sim_world(), sim);
    struct rig_consumer c;
    uint64_t session = rig_start(sim, "mine", 64, 0);
    assert_true(rig_consumer_start(&c, sim, "mine", 0));
    assert_int_equal(c.header.number_of_processors, 3);
    assert_int_equal(rig_enable(sim, session, &etl_mix_schema_dns.guid, 0, 0, 0), 0);
    /* More events than the trace has, so it begins again. A partly filled buffer is flushed after a
     * second. */
    rig_consumer_await(&c, 30);
    assert_int_equal(rig_stop(sim, "mine"), 0);
    assert_int_equal(rig_consumer_wait(&c), 0);
    assert_int_equal(c.events[0].header.process_id, 1234);
    assert_int_equal(c.events[0].header.descriptor.id, 3006);
    struct etw_event_record record = {.header = c.events[0].header};
    uint32_t bytes = 0;
    assert_int_equal(etw_sim_api(sim)->TdhGetEventInformation(&record, 0, NULL, NULL, &bytes), 122);
    rig_consumer_fini(&c);
    sim_world_destroy(world);
    assert_null(etw_sim_world());
    assert_int_equal(etw_sim_TdhGetEventInformation(&record, 0, NULL, NULL, &bytes), 1168);
}

static void sessions_run_from_the_start_and_names_are_listed(void **state)
{
    (void)state;
    struct sim_world *world = make("session EventLog-System\n"
                                   "session \"Steam Event Tracing\" buffer 128\n"
                                   "names names.tsv\n"
                                   "provider My.Telemetry kind tracelogging\n"
                                   "provider Protected pid 77 error 5\n");
    assert_non_null(world);
    struct etw_sim *sim = sim_world_sim(world);
    struct etw_sim_session_info info;
    assert_true(etw_sim_session_get(sim, "steam event tracing", &info));
    assert_int_equal(info.buffer_kb, 128);
    assert_int_equal(info.mode, ETW_MODE_REAL_TIME);
    assert_int_equal(etw_sim_session_count(sim), 2);
    uint32_t bytes = 0;
    const struct etw_api *api = etw_sim_api(sim);
    assert_int_equal(api->TdhEnumerateProviders(NULL, &bytes), 122);
    uint8_t *list = malloc(bytes);
    assert_non_null(list);
    assert_int_equal(api->TdhEnumerateProviders((void *)list, &bytes), 0);
    /* The kernel's classes are always there; TraceLogging providers are not installed. */
    bool has_name = false;
    for (uint32_t i = 0; i < load_le32(list); i++) {
        has_name |= list[8 + i * 24] == 0x33 && list[8 + i * 24 + 15] == 0xff;
    }
    assert_true(has_name);
    free(list);
    uint64_t session = rig_start(sim, "mine", 64, 0);
    const struct guid protected_guid = guid_from_name(span_text("Protected"));
    assert_int_equal(rig_enable(sim, session, &protected_guid, 0, 0, 0), 5);
    sim_world_destroy(world);
}

static void what_is_started_and_stopped_is_written_down(void **state)
{
    (void)state;
    struct sim_world *world = make("calls calls.txt\nsession Foreign\n");
    assert_non_null(world);
    struct etw_sim *sim = sim_world_sim(world);
    struct rig_block b;
    uint64_t session = rig_start(sim, "mine", 64, 0);
    assert_int_equal(rig_start(sim, "foreign", 64, 0), 0);
    rig_block_init(&b, NULL);
    assert_int_equal(etw_sim_api(sim)->ControlTraceW(session, NULL, &b.p, ETW_CONTROL_STOP), 0);
    sim_world_destroy(world);
    char text[256];
    FILE *f = fopen(path_of("calls.txt"), "rb");
    assert_non_null(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    assert_int_equal(fclose(f), 0);
    assert_string_equal(text, "start mine 0\nstart foreign 183\nstop mine 0\n");
}

static void a_world_without_a_file_is_empty(void **state)
{
    (void)state;
    struct sim_world *world = sim_world_create(NULL, NULL, NULL, NULL, &err);
    assert_non_null(world);
    assert_int_equal(etw_sim_session_count(sim_world_sim(world)), 0);
    sim_world_destroy(world);
}

static void what_is_wrong_with_a_world_is_told(void **state)
{
    (void)state;
    char expected[2 * TEMP_FOLDER_BYTES];
    assert_null(make("schemas sample.man\nnonsense\n"));
    snprintf(expected, sizeof(expected), "%s:2: 'nonsense' is no statement of a world",
        path_of("w.world"));
    assert_string_equal(err.text, expected);
    assert_null(make("\nemit * gone.etl\n"));
    snprintf(expected, sizeof(expected), "%s:2: ", path_of("w.world"));
    assert_memory_equal(err.text, expected, strlen(expected));
    assert_non_null(strstr(err.text, "gone.etl"));
    assert_null(make("learn gone.etl\n"));
    assert_null(make("session S\nsession s\n"));
    assert_non_null(strstr(err.text, ":2: the session cannot be started: 183"));
    assert_null(sim_world_create(path_of("no.world"), NULL, NULL, NULL, &err));
    assert_null(etw_sim_world());
    struct sim_world *world = make("schemas gone.man\n");
    assert_non_null(world);
    assert_non_null(strstr(warning, "gone.man"));
    sim_world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_provider_emits_when_it_is_enabled_and_tdh_knows_its_events),
        cmocka_unit_test(sessions_run_from_the_start_and_names_are_listed),
        cmocka_unit_test(what_is_started_and_stopped_is_written_down),
        cmocka_unit_test(a_world_without_a_file_is_empty),
        cmocka_unit_test(what_is_wrong_with_a_world_is_told),
    };
    return cmocka_run_group_tests(tests, write_files, remove_files);
}
