#include "input/file/input_file.h"
#include "platform/plat_file.h"
#include "support/etl_mix.h"
#include "support/etl_writer.h"
#include "support/pipeline_rig.h"
#include "support/temp_folder.h"

/*
 * The ids of records on their way from traces to an output: equal however a trace is read, and
 * different for any two records. The content of its record, `time.cpu.payload`, identifies an
 * event, so that ids can be compared between readings that number the events differently.
 */
enum { FILES = 2, EVENTS = 3000 };

static char folder[TEMP_FOLDER_BYTES];
static char paths[FILES][TEMP_FOLDER_BYTES + 16];

/* FNV-1a */
static uint64_t hash(struct span bytes)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes.size; i++) {
        value = (value ^ bytes.data[i]) * UINT64_C(0x100000001b3);
    }
    return value;
}

static void put_content(struct event_writer *writer, const struct event *event, struct buf *out)
{
    (void)writer;
    buf_printf(out, "%llx.%u.%llx\n", (unsigned long long)event->record->time_raw,
        (unsigned)event->record->cpu, (unsigned long long)hash(event->record->payload));
}

static const struct event_format content_format = {
    .name = "content", .event = put_content, .gap = put_gap, .status = put_status};

/* Two traces of one time, each with several processors, stacks and a hole. */
static void write_trace(const char *path, uint64_t number)
{
    struct error err = {0};
    struct etl_options options = {
        .buffer_size = 8192, .processors = 3, .start_time = UINT64_C(134082414000000000) + number};
    struct etl_mix_options mixed = {
        .seed = number, .processors = 3, .clock = etl_writer_clock(&options)};
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    struct etl_mix *mix = etl_mix_create(&mixed, &err);
    struct etl_writer *writer = etl_writer_create(&options, etl_writer_to_file(file), 0, &err);
    assert_true(mix && writer);
    for (size_t i = 0; i < EVENTS; i++) {
        const struct etl_mix_event *event = etl_mix_next(mix);
        assert_true(etl_writer_put(
            writer, event->record->cpu, event->record->time_raw, event->bytes, &err));
        if (i == EVENTS / 2) {
            etl_writer_lose_buffer(writer, 0);
        }
    }
    assert_true(etl_writer_close(writer, &err));
    etl_writer_destroy(writer);
    etl_mix_destroy(mix);
    fclose(file);
}

static int setup(void **state)
{
    (void)state;
    if (temp_folder_make(folder, "pipeline_ids") != 0) {
        return -1;
    }
    for (size_t i = 0; i < FILES; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s/%zu.etl", folder, i);
        write_trace(paths[i], i);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
    bool apart;     /* one file after the other, in reverse order, instead of merged */
    size_t workers; /* of decoding */
    size_t lanes;   /* workers of the output */
    uint64_t resume;
    const struct fake_step *steps;
    size_t step_count;
    const char *trace; /* in place of ours */
};

struct lines {
    char *text;
    char **list; /* `content TAB id`; sorted */
    size_t count;
};

static void free_lines(struct lines *lines)
{
    free(lines->text);
    free(lines->list);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void split(struct lines *lines)
{
    size_t most = 0;
    for (const char *p = lines->text; *p; p++) {
        most += *p == '\n';
    }
    lines->count = 0;
    lines->list = calloc(most + 1, sizeof(char *));
    assert_non_null(lines->list);
    for (char *line = strtok(lines->text, "\n"); line; line = strtok(NULL, "\n")) {
        lines->list[lines->count++] = line;
    }
    qsort(lines->list, lines->count, sizeof(lines->list[0]), compare);
}

static const char *id_of(const char *line)
{
    const char *tab = strchr(line, '\t');
    assert_non_null(tab);
    return tab + 1;
}

static void run_input(struct rig *rig, size_t session, const struct input_file_settings *settings)
{
    struct error err;
    struct input_sink sink;
    pipeline_sink(rig->pipeline, session, &sink);
    void *input = input_file.create(settings, &(struct input_env){.name = "test"}, &err);
    assert_non_null(input);
    assert_int_equal(input_file.run(input, &sink, &err), INPUT_DONE);
    rig_finish(rig); /* records refer to memory of the input */
    input_file.destroy(input);
}

static void feed_files(struct rig *rig, const struct reading *reading)
{
    const char *both[] = {paths[0], paths[1]};
    struct input_file_settings settings = {
        .paths = {both, FILES}, .merge = reading->apart ? INPUT_FILE_EACH : INPUT_FILE_ALL};
    if (reading->apart) {
        both[0] = paths[1];
        both[1] = paths[0];
    }
    if (reading->trace) {
        both[0] = reading->trace;
        settings.paths.count = 1;
    }
    run_input(rig, 0, &settings);
}

static void read_traces(const struct reading *reading, struct lines *ret_lines)
{
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0}, 1);
    rig.settings.worker_count = reading->workers;
    rig.streams[0].shape.format = &content_format;
    rig.streams[0].shape.ids = true;
    rig.streams[0].hash = 0x12345678;
    rig.streams[0].max_events = 100;
    rig.outputs[0].ids = rig.fake_settings[0].ids = true;
    rig.outputs[0].workers = reading->lanes;
    rig.resume[0] = reading->resume;
    rig.settings.resume = rig.resume;
    rig_script(&rig, 0, reading->steps, reading->step_count);
    rig_start(&rig);
    feed_files(&rig, reading);
    ret_lines->text = fake_output_text(rig.fakes[0]);
    rig_fini(&rig);
    split(ret_lines);
}

static const struct reading plain = {.workers = 1, .lanes = 1};

/* ---- tests ----------------------------------------------------------------------------------- */

static void check_distinct(const struct lines *lines)
{
    const char **ids = calloc(lines->count + 1, sizeof(char *));
    assert_non_null(ids);
    for (size_t i = 0; i < lines->count; i++) {
        ids[i] = id_of(lines->list[i]);
    }
    qsort(ids, lines->count, sizeof(ids[0]), compare);
    for (size_t i = 1; i < lines->count; i++) {
        assert_string_not_equal(ids[i - 1], ids[i]);
    }
    free(ids);
}

static bool is_of_agent(const char *line)
{
    return strncmp(line, "gap", 3) == 0;
}

/* Only lines of events. */
static size_t keep_events(struct lines *lines)
{
    size_t kept = 0;
    for (size_t i = 0; i < lines->count; i++) {
        if (!is_of_agent(lines->list[i])) {
            lines->list[kept++] = lines->list[i];
        }
    }
    return lines->count = kept;
}

static void names_tell_all_records_apart(void **state)
{
    (void)state;
    struct lines lines;
    read_traces(&plain, &lines);
    check_distinct(&lines);
    size_t own = 0;
    for (size_t i = 0; i < lines.count; i++) {
        const char *id = id_of(lines.list[i]);
        assert_int_equal(strlen(id), is_of_agent(lines.list[i]) ? 32 : 60);
        assert_true(is_of_agent(lines.list[i]) || strcmp(id + 52, "12345678") == 0);
        own += is_of_agent(lines.list[i]);
    }
    assert_int_equal(own, FILES); /* the holes */
    assert_true(lines.count > FILES * EVENTS * 9 / 10);
    free_lines(&lines);
}

static void a_trace_read_again_gives_the_same_names(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.verdict = OUTPUT_MIXED, .delivers = 0x5555},
        {.verdict = OUTPUT_RETRY}, {.verdict = OUTPUT_MIXED, .delivers = 0xf0f00},
        {.verdict = OUTPUT_RECONNECT}};
    static const struct reading readings[] = {
        {.workers = 1, .lanes = 1},
        {.workers = 2, .lanes = 1},
        {.workers = 2, .lanes = 3, .steps = steps, .step_count = 4},
        {.workers = 1, .lanes = 1, .apart = true},
        {.workers = 2, .lanes = 1, .apart = true, .steps = steps, .step_count = 4},
    };
    struct lines first;
    struct lines again;
    read_traces(&plain, &first);
    keep_events(&first);
    for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++) {
        read_traces(&readings[i], &again);
        assert_int_equal(keep_events(&again), first.count);
        for (size_t k = 0; k < first.count; k++) {
            assert_string_equal(again.list[k], first.list[k]);
        }
        free_lines(&again);
    }
    free_lines(&first);
}

static void what_is_left_after_a_restart_keeps_its_names(void **state)
{
    (void)state;
    struct lines whole;
    struct lines rest;
    read_traces(&plain, &whole);
    size_t count = whole.count;
    keep_events(&whole);
    for (size_t workers = 1; workers < 3; workers++) {
        struct reading reading = {.workers = workers, .lanes = 1, .resume = count / 3 + 17};
        read_traces(&reading, &rest);
        assert_int_equal(rest.count, count - reading.resume);
        for (size_t i = 0; i < rest.count; i++) {
            assert_true(is_of_agent(rest.list[i]) || bsearch(&rest.list[i], whole.list, whole.count,
                                                         sizeof(whole.list[0]), compare));
        }
        free_lines(&rest);
    }
    free_lines(&whole);
}

static size_t traces_read;

static bool check_trace(void *self, const char *trace)
{
    (void)self;
    struct lines lines;
    read_traces(&(struct reading){.workers = 2, .lanes = 1, .trace = trace}, &lines);
    check_distinct(&lines);
    free_lines(&lines);
    traces_read++;
    return true;
}

static void records_of_real_traces_are_told_apart(void **state)
{
    (void)state;
    char pattern[512];
    struct error err;
    const char *shared = getenv("ETWSHIP_SHARED");
    snprintf(pattern, sizeof(pattern), "%s/data/etl/*.etl", shared ? shared : "");
    if (!shared || !plat_glob(pattern, check_trace, NULL, &err)) {
        print_message("no real traces (ETWSHIP_SHARED)\n");
        skip();
    }
    print_message("%zu traces read\n", traces_read);
    assert_true(traces_read > 0);
}

/* Live records, in two streams of one spool: events and gaps, in two runs. */
static void live_records_are_never_called_the_same(void **state)
{
    (void)state;
    enum { RUNS = 2, OUTPUTS = 2, COUNT = 2500 };
    struct lines lines;
    struct buf text;
    buf_init(&text, 1 << 24);
    for (size_t run = 0; run < RUNS; run++) {
        struct rig rig;
        rig_init(&rig, 1, OUTPUTS, first_streams, OUTPUTS);
        for (size_t i = 0; i < OUTPUTS; i++) {
            rig.streams[i].shape.ids = true;
            rig.outputs[i].ids = rig.fake_settings[i].ids = true;
        }
        rig_start(&rig);
        assert_true(rig_push(&rig, 0, COUNT, 0));
        struct input_sink sink;
        pipeline_sink(rig.pipeline, 0, &sink);
        struct gap gap = {.stage = "etw", .reason = "events_lost", .unit = "events"};
        sink.gap(sink.self, &gap);
        rig_finish(&rig);
        for (size_t i = 0; i < OUTPUTS; i++) {
            char *part = fake_output_text(rig.fakes[i]);
            buf_add_text(&text, part);
            free(part);
        }
        rig_fini(&rig);
    }
    buf_add_byte(&text, 0);
    assert_false(text.failed);
    lines.text = (char *)text.data;
    split(&lines);
    assert_int_equal(lines.count, RUNS * OUTPUTS * (COUNT + 1));
    check_distinct(&lines);
    for (size_t i = 0; i < lines.count; i++) {
        assert_int_equal(strlen(id_of(lines.list[i])), 32);
    }
    free(lines.list);
    buf_fini(&text);
}

static void an_output_that_asks_for_no_names_gets_none(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 1, 1, (const size_t[]){0, 0}, 2);
    rig.streams[0].shape.ids = true;
    rig.outputs[0].ids = rig.fake_settings[0].ids = true;
    rig_start(&rig);
    assert_true(rig_push(&rig, 0, 10, 0));
    rig_finish(&rig);
    char *with = fake_output_text(rig.fakes[0]);
    char *without = fake_output_text(rig.fakes[1]);
    assert_non_null(strchr(with, '\t'));
    assert_null(strchr(without, '\t'));
    free(with);
    free(without);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_all_records_apart),
        cmocka_unit_test(a_trace_read_again_gives_the_same_names),
        cmocka_unit_test(what_is_left_after_a_restart_keeps_its_names),
        cmocka_unit_test(records_of_real_traces_are_told_apart),
        cmocka_unit_test(live_records_are_never_called_the_same),
        cmocka_unit_test(an_output_that_asks_for_no_names_gets_none),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
