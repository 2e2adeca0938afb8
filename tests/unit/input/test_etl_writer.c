/* The trace writer of tests/support against the reader: each proves the other. The mix says which
 * records a reader has to deliver; the test compares each of them with the reader's. */
#include "support/test.h"

#include <stdlib.h>

#include "input/etl/etl_file.h"
#include "support/etl_encode.h"
#include "support/etl_mix.h"
#include "support/etl_writer.h"

enum { EVENTS = 3000, MAX_RECORDS = 2 * EVENTS, MAX_TRACE = 64 << 20 };

struct expected {
    int64_t time;
    uint16_t cpu;
    size_t at, size; /* in `bytes` */
    bool seen;
};

struct round_trip {
    struct expected list[MAX_RECORDS];
    size_t count;
    struct buf bytes;
    struct buf again;
    struct buf trace;
    size_t read;
    size_t damages;
};

static bool read_record(void *self, const struct event_record *record)
{
    struct round_trip *t = self;
    if (record_is_metadata(record)) {
        return true;
    }
    size_t low = 0;
    size_t high = t->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (t->list[middle].time < record->time_raw) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    assert_true(low < t->count);
    struct expected *e = &t->list[low];
    assert_int_equal(e->time, record->time_raw);
    assert_int_equal(e->cpu, record->cpu);
    assert_false(e->seen);
    buf_reset(&t->again);
    etl_encode_record(&t->again, record);
    assert_int_equal(t->again.size, e->size);
    assert_memory_equal(t->again.data, t->bytes.data + e->at, e->size);
    e->seen = true;
    t->read++;
    return true;
}

static void see_damage(
    void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    struct round_trip *t = self;
    (void)trace;
    print_message("damage at %llu: %s\n", (unsigned long long)offset, what);
    t->damages++;
}

static struct round_trip *start(void)
{
    struct round_trip *t = calloc(1, sizeof(*t));
    assert_non_null(t);
    buf_init(&t->bytes, MAX_TRACE);
    buf_init(&t->again, 1 << 16);
    buf_init(&t->trace, MAX_TRACE);
    return t;
}

static void end(struct round_trip *t)
{
    buf_fini(&t->bytes);
    buf_fini(&t->again);
    buf_fini(&t->trace);
    free(t);
}

static struct etl_writer *writer_for(
    const struct etl_options *options, struct round_trip *t, uint64_t offset)
{
    struct error err;
    struct etl_writer *writer = etl_writer_create(
        options, etl_writer_to_memory(&t->trace), offset, &err);
    assert_non_null(writer);
    return writer;
}

static void put_events(struct round_trip *t, struct etl_writer *writer,
    const struct etl_options *options, enum etl_mix_profile profile)
{
    struct error err;
    const struct etl_mix_options mix_options = {.seed = 11,
        .profile = profile,
        .processors = options->processors,
        .pointer_size = options->pointer_size,
        .clock = etl_writer_clock(options)};
    struct etl_mix *mix = etl_mix_create(&mix_options, &err);
    assert_non_null(mix);
    for (int i = 0; i < EVENTS; i++) {
        const struct etl_mix_event *event = etl_mix_next(mix);
        assert_non_null(event);
        struct expected *e = &t->list[t->count++];
        *e = (struct expected){.time = event->record->time_raw,
            .cpu = event->record->cpu,
            .at = t->bytes.size,
            .size = event->bytes.size};
        buf_add_span(&t->bytes, event->bytes);
        assert_true(etl_writer_put(writer, e->cpu, e->time, event->bytes, &err));
    }
    etl_mix_destroy(mix);
}

/* Walk the trace. ${ret_info} gets its header; the texts of it are invalid afterwards. */
static void walk(struct round_trip *t, struct etl_info *ret_info)
{
    struct error err;
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct etl_file *file = etl_file_open_memory(buf_span(&t->trace), "memory", &arena, &err);
    assert_non_null(file);
    const struct etl_visitor visitor = {.self = t, .record = read_record, .damage = see_damage};
    assert_true(etl_file_walk(file, &visitor, &err));
    *ret_info = *etl_file_info(file);
    etl_file_destroy(file);
    arena_fini(&arena);
}

static const struct {
    const char *name;
    struct etl_options options;
    enum etl_mix_profile profile;
} traces[] = {
    {"plain", {.processors = 4}, MIX_ALL},
    {"one processor", {.processors = 1, .buffer_size = 4096}, MIX_REALISTIC},
    {"many processors", {.processors = 300, .buffer_size = 16384}, MIX_REALISTIC},
    {"32 bits", {.processors = 2, .pointer_size = 4}, MIX_ALL},
    {"Windows 7", {.processors = 8, .windows_7 = true}, MIX_KERNEL},
    {"system time", {.processors = 2, .clock = TRACE_CLOCK_SYSTEM_TIME}, MIX_MANIFEST},
    {"cycles", {.processors = 2, .clock = TRACE_CLOCK_CPU_CYCLE}, MIX_EVENTSOURCE},
    {"disorder", {.processors = 2, .disorder = true, .buffer_size = 8192}, MIX_TRACELOGGING},
    {"relogged", {.processors = 3, .relogged = true}, MIX_WPP_ONLY},
    {"XPRESS", {.processors = 3, .relogged = true, .compression = ETL_XPRESS}, MIX_ALL},
    {"LZNT1", {.processors = 3, .relogged = true, .compression = ETL_LZNT1}, MIX_ALL},
    {"Huffman", {.processors = 3, .compression = ETL_XPRESS_HUFF}, MIX_ALL},
    {"large buffers", {.processors = 2, .buffer_size = 1 << 20}, MIX_REALISTIC},
};

static void every_record_comes_back_as_it_was(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
        print_message("%s\n", traces[i].name);
        struct error err;
        struct etl_info info;
        struct round_trip *t = start();
        struct etl_writer *writer = writer_for(&traces[i].options, t, 0);
        put_events(t, writer, &traces[i].options, traces[i].profile);
        assert_true(etl_writer_close(writer, &err));
        assert_int_equal(etl_writer_end(writer), t->trace.size);
        etl_writer_destroy(writer);
        walk(t, &info);
        assert_int_equal(t->read, EVENTS);
        assert_int_equal(t->damages, 0);
        assert_int_equal(info.end_time / 10000000, info.trace.clock.start_time / 10000000);
        end(t);
    }
}

static void a_trace_that_was_never_closed_has_no_end_time(void **state)
{
    (void)state;
    struct error err;
    struct etl_info info;
    const struct etl_options options = {.processors = 2};
    struct round_trip *t = start();
    struct etl_writer *writer = writer_for(&options, t, 0);
    put_events(t, writer, &options, MIX_REALISTIC);
    assert_true(etl_writer_flush(writer, &err));
    etl_writer_destroy(writer);
    walk(t, &info);
    assert_int_equal(info.end_time, 0);
    assert_int_equal(t->read, EVENTS);
    end(t);
}

static void a_circular_trace_keeps_its_newest_buffers(void **state)
{
    (void)state;
    enum { RING = 10, SIZE = 16384 };
    struct error err;
    struct etl_info info;
    const struct etl_options options = {
        .processors = 2, .buffer_size = SIZE, .circular_buffers = RING};
    struct round_trip *t = start();
    struct etl_writer *writer = writer_for(&options, t, 0);
    put_events(t, writer, &options, MIX_REALISTIC);
    assert_true(etl_writer_close(writer, &err));
    etl_writer_destroy(writer);
    assert_int_equal(t->trace.size, (RING + 1) * SIZE);
    walk(t, &info);
    assert_true(t->read > 0 && t->read < EVENTS);
    assert_true(t->list[EVENTS - 1].seen);
    assert_false(t->list[0].seen);
    end(t);
}

static void an_appended_session_has_a_clock_of_its_own(void **state)
{
    (void)state;
    struct error err;
    struct etl_info info;
    struct etl_options options = {.processors = 2, .append = true};
    struct round_trip *t = start();
    uint64_t offset = 0;
    for (int i = 0; i < 2; i++) {
        options.start_raw = 1 + i * INT64_C(100000000000);
        options.start_time = UINT64_C(134397270000000000) + (uint64_t)i * 36000000000;
        struct etl_writer *writer = writer_for(&options, t, offset);
        put_events(t, writer, &options, MIX_REALISTIC);
        assert_true(etl_writer_close(writer, &err));
        offset = etl_writer_end(writer);
        etl_writer_destroy(writer);
    }
    walk(t, &info);
    assert_int_equal(t->read, 2 * EVENTS);
    assert_int_equal(t->damages, 0);
    end(t);
}

static void losses_stand_in_the_header(void **state)
{
    (void)state;
    struct error err;
    struct etl_info info;
    const struct etl_options options = {.processors = 2};
    struct round_trip *t = start();
    struct etl_writer *writer = writer_for(&options, t, 0);
    etl_writer_lose_events(writer, 1, 1234);
    put_events(t, writer, &options, MIX_REALISTIC);
    etl_writer_lose_buffer(writer, 0);
    assert_true(etl_writer_close(writer, &err));
    etl_writer_destroy(writer);
    walk(t, &info);
    assert_int_equal(info.events_lost, 1234);
    assert_int_equal(info.buffers_lost, 1);
    assert_true(t->read < EVENTS);
    end(t);
}

static void impossible_options_are_refused(void **state)
{
    (void)state;
    static const struct etl_options wrong[] = {
        {.buffer_size = 1000},
        {.buffer_size = 65537},
        {.buffer_size = 32 << 20},
        {.processors = 2049},
        {.processors = 257, .windows_7 = true},
        {.pointer_size = 5},
        {.circular_buffers = 4, .compression = ETL_XPRESS},
        {.circular_buffers = 4, .disorder = true},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct error err = {.code = ERR_NONE};
        struct buf memory;
        buf_init(&memory, 1 << 20);
        assert_null(etl_writer_create(&wrong[i], etl_writer_to_memory(&memory), 0, &err));
        assert_int_equal(err.code, ERR_CONFIG);
        buf_fini(&memory);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct error err = {.code = ERR_NONE};
    static const uint8_t large[4096];
    const struct etl_options options = {.buffer_size = 4096};
    struct round_trip *t = start();
    struct etl_writer *writer = writer_for(&options, t, 0);
    assert_false(etl_writer_put(writer, 0, 1, span_make(large, 4096 - 0x48 + 1), &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_true(etl_writer_put(writer, 0, 1, span_make(large, 4096 - 0x48), &err));
    assert_false(etl_writer_put(writer, 1, 1, span_make(large, 8), &err));
    assert_int_equal(err.code, ERR_CONFIG);
    assert_true(etl_writer_flush(writer, &err));
    assert_false(etl_writer_put_header(writer, span_make(large, 8), &err));
    etl_writer_destroy(writer);
    end(t);
}

static void a_full_output_fails_the_writer(void **state)
{
    (void)state;
    struct error err = {.code = ERR_NONE};
    struct buf memory;
    buf_init(&memory, 70000);
    const struct etl_options options = {.processors = 1};
    struct etl_writer *writer = etl_writer_create(&options, etl_writer_to_memory(&memory), 0, &err);
    assert_non_null(writer);
    static const uint8_t record[16];
    assert_true(etl_writer_put(writer, 0, 1, span_make(record, 16), &err));
    assert_false(etl_writer_close(writer, &err));
    assert_int_equal(err.code, ERR_IO);
    etl_writer_destroy(writer);
    buf_fini(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_comes_back_as_it_was),
        cmocka_unit_test(a_trace_that_was_never_closed_has_no_end_time),
        cmocka_unit_test(a_circular_trace_keeps_its_newest_buffers),
        cmocka_unit_test(an_appended_session_has_a_clock_of_its_own),
        cmocka_unit_test(losses_stand_in_the_header),
        cmocka_unit_test(impossible_options_are_refused),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_full_output_fails_the_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
