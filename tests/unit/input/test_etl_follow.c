#define _GNU_SOURCE

#include "input/etl_follow.h"

#include <unistd.h>

#include "input/etl_merge.h"
#include "input/etl_probe.h"
#include "support/growing.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* A trace is made write by write; in between it is looked at and read. What comes must be what
 * reading the finished file gives, and must come again when the same calls are made on it. */

enum { MAX_SEEN = 4096, MAX_CALLS = 4096 };

struct seen {
    size_t count;
    uint16_t ids[MAX_SEEN];
    struct record_position positions[MAX_SEEN];
};

enum call_kind { CALL_READ, CALL_FLUSH, CALL_HEADER };

struct call {
    enum call_kind kind;
    uint64_t value;
};

static char folder[] = "/tmp/etwship_follow_XXXXXX";
static char path[64];
static struct error err;

static struct seen whole;
static struct seen seen;
static size_t damage;
static uint64_t overwritten;
static size_t metadata;
static struct call calls[MAX_CALLS];
static size_t call_count;
static struct arena arena;
static struct growing g;

static int setup(void **state)
{
    (void)state;
    int result = temp_folder_make(folder);
    snprintf(path, sizeof(path), "%s/trace.etl", folder);
    return result;
}

static int teardown(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static int begin(void **state)
{
    (void)state;
    unlink(path);
    seen.count = 0;
    damage = 0;
    overwritten = 0;
    metadata = 0;
    call_count = 0;
    arena_init(&arena, 1 << 24);
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_fini(&arena);
    growing_fini(&g);
    return 0;
}

static void add_seen(struct seen *to, const struct event_record *record)
{
    assert_true(to->count < MAX_SEEN);
    to->ids[to->count] = record->kind == RECORD_EVENT ? record->descriptor.id : 0;
    to->positions[to->count++] = record->position;
}

static bool on_record(void *self, const struct event_record *record)
{
    (void)self;
    add_seen(&seen, record);
    return true;
}

static void on_metadata(void *self, const struct event_record *record)
{
    (void)self;
    (void)record;
    metadata++;
}

static void on_damage(void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    (void)self;
    (void)offset;
    assert_true(trace && what);
    damage++;
}

static void on_overwritten(void *self, const struct trace_info *trace, uint64_t buffers)
{
    (void)self;
    assert_non_null(trace);
    overwritten += buffers;
}

static bool on_reads(void *self, uint64_t to)
{
    (void)self;
    struct call *last = call_count ? &calls[call_count - 1] : NULL;
    if (!last || last->kind != CALL_READ) {
        assert_true(call_count < MAX_CALLS);
        last = &calls[call_count++];
    }
    *last = (struct call){.kind = CALL_READ, .value = to};
    return true;
}

static const struct etl_follow_events events = {
    .metadata = on_metadata,
    .record = on_record,
    .damage = on_damage,
    .overwritten = on_overwritten,
    .reads = on_reads,
};

/* The follower once the file has something to follow. */
static struct etl_follow *open_when_ready(struct etl_follow *follow)
{
    enum etl_probe found = follow ? ETL_PROBE_WAIT : etl_probe_path(path, &err);
    assert_int_not_equal(found, ETL_PROBE_NO_TRACE);
    if (found == ETL_PROBE_WAIT) {
        return follow;
    }
    follow = etl_follow_open(path, span_make(NULL, 0), &arena, 0, &events, &err);
    assert_non_null(follow);
    return follow;
}

/* Look, and read what is there. */
static bool poll(struct etl_follow *follow)
{
    struct etl_follow_look look;
    assert_true(etl_follow_look(follow, path, &look, &err));
    assert_false(look.replaced || look.moved);
    if (look.header_end > etl_follow_header_end(follow)) {
        assert_true(call_count < MAX_CALLS);
        calls[call_count++] = (struct call){.kind = CALL_HEADER, .value = look.header_end};
        assert_int_equal(etl_follow_grow_header(follow, look.header_end, &err), ETL_FOLLOW_DONE);
    }
    assert_int_equal(etl_follow_read(follow, UINT64_MAX, &err), ETL_FOLLOW_DONE);
    assert_true(etl_follow_look(follow, path, &look, &err));
    return look.closed;
}

static void flush(struct etl_follow *follow)
{
    assert_true(call_count < MAX_CALLS);
    calls[call_count++] = (struct call){.kind = CALL_FLUSH};
    assert_int_equal(etl_follow_flush(follow, &err), ETL_FOLLOW_DONE);
    assert_false(etl_follow_is_waiting(follow));
}

static void read_whole(void)
{
    struct etl_handles handles = {.open = 0};
    struct etl_file *file = etl_file_open(path, span_make(NULL, 0), &handles, &arena, &err);
    assert_non_null(file);
    assert_true(etl_file_index(file, NULL, &err));
    struct etl_merge *merge = etl_merge_create(&file, 1, &err);
    assert_non_null(merge);
    whole.count = 0;
    const struct event_record *record;
    size_t index;
    enum etl_merge_step step;
    while ((step = etl_merge_next(merge, &record, &index, &err)) != ETL_MERGE_END) {
        assert_int_not_equal(step, ETL_MERGE_FAILED);
        if (step == ETL_MERGE_RECORD) {
            add_seen(&whole, record);
        }
    }
    etl_merge_destroy(merge);
    etl_file_destroy(file);
}

static void assert_same(const struct seen *a, const struct seen *b)
{
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->ids, b->ids, a->count * sizeof(a->ids[0]));
    assert_memory_equal(a->positions, b->positions, a->count * sizeof(a->positions[0]));
}

static int compare_positions(const void *a, const void *b)
{
    const struct record_position *x = a;
    const struct record_position *y = b;
    if (x->buffer_offset != y->buffer_offset) {
        return x->buffer_offset < y->buffer_offset ? -1 : 1;
    }
    return x->record_offset < y->record_offset ? -1 : x->record_offset > y->record_offset;
}

/* Every record once, in whatever order. */
static void assert_same_set(struct seen a, struct seen b)
{
    assert_int_equal(a.count, b.count);
    qsort(a.positions, a.count, sizeof(a.positions[0]), compare_positions);
    qsort(b.positions, b.count, sizeof(b.positions[0]), compare_positions);
    assert_memory_equal(a.positions, b.positions, a.count * sizeof(a.positions[0]));
}

/* The calls again, on the file as it is now. */
static void assert_repeatable(uint32_t header_end)
{
    static struct seen first;
    first = seen;
    static struct call made[MAX_CALLS];
    memcpy(made, calls, sizeof(made));
    seen.count = 0;
    size_t count = call_count;
    struct etl_follow *follow = etl_follow_open(
        path, span_make(NULL, 0), &arena, header_end, &events, &err);
    assert_non_null(follow);
    for (size_t i = 0; i < count; i++) {
        struct call call = made[i];
        enum etl_follow_end result = call.kind == CALL_READ
                                         ? etl_follow_read(follow, call.value, &err)
                                     : call.kind == CALL_FLUSH ? etl_follow_flush(follow, &err)
                                                               : etl_follow_grow_header(follow,
                                                                     (uint32_t)call.value, &err);
        assert_int_equal(result, ETL_FOLLOW_DONE);
    }
    etl_follow_destroy(follow);
    assert_same(&seen, &first);
}

/* Two processors in turns, flushed ${flushes} times on the way. */
static void make_trace(const struct etl_options *options, size_t count, size_t flushes)
{
    growing_init(&g, options);
    for (size_t i = 0; i < count; i++) {
        uint16_t cpu = options->processors > 1 ? (uint16_t)(i * 7 / 5 % options->processors) : 0;
        growing_put(&g, cpu, 1000 + (int64_t)i * 100, (uint16_t)(i + 1));
        if (flushes && i % (count / flushes) == count / flushes - 1) {
            growing_flush(&g);
        }
    }
    growing_close(&g);
}

static const struct etl_options one = {.buffer_size = 1024, .processors = 1};
static const struct etl_options two = {.buffer_size = 1024, .processors = 2};
static const struct etl_options packed = {
    .buffer_size = 1024, .processors = 2, .compression = ETL_XPRESS};

static void a_trace_read_as_it_grows_is_the_trace_read_at_once(void **state)
{
    (void)state;
    static const struct {
        const struct etl_options *options;
        size_t flushes;
    } cases[] = {{&one, 0}, {&one, 10}, {&two, 0}, {&two, 10}, {&packed, 0}, {&packed, 10}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        begin(NULL);
        make_trace(cases[c].options, 200, cases[c].flushes);
        struct etl_follow *follow = NULL;
        uint32_t header_end = 0;
        bool closed = false;
        for (size_t i = 0; i < g.write_count; i++) {
            assert_false(closed);
            growing_write(&g, i, path);
            follow = open_when_ready(follow);
            if (follow) {
                header_end = header_end ? header_end : etl_follow_header_end(follow);
                closed = poll(follow);
            }
        }
        assert_true(closed);
        assert_false(etl_follow_is_waiting(follow));
        etl_follow_destroy(follow);
        read_whole();
        assert_int_equal(whole.count, 201);
        assert_same(&seen, &whole);
        assert_int_equal(damage, 0);
        assert_repeatable(header_end);
        end(NULL);
    }
    growing_init(&g, &one); /* for the teardown */
}

static void half_written_buffers_are_waited_for(void **state)
{
    (void)state;
    /* Where the writes are torn, in bytes: in the header, behind it, in a record, at its end. */
    static const size_t cuts[] = {1, 0x30, 0x48, 0x4c, 0x90, 0x48 + 96, 1000, 1023};
    for (size_t c = 0; c < sizeof(cuts) / sizeof(cuts[0]); c++) {
        for (int preallocated = 0; preallocated < 2; preallocated++) {
            begin(NULL);
            make_trace(&two, 100, 0);
            if (preallocated) {
                growing_write_part(&g, 0, 0, 0, path);
                assert_int_equal(truncate(path, 32 * 1024), 0);
            }
            struct etl_follow *follow = NULL;
            for (size_t i = 0; i < g.write_count; i++) {
                size_t cut = cuts[c] < g.writes[i].size ? cuts[c] : 0;
                growing_write_part(&g, i, 0, cut, path);
                follow = open_when_ready(follow);
                size_t before = seen.count;
                /* Nine records end at 936: what is cut off behind them is filler. */
                bool torn = cut < 936 || !preallocated;
                if (follow && g.writes[i].offset && torn) {
                    poll(follow);
                    assert_int_equal(seen.count, before);
                }
                growing_write_part(&g, i, cut, g.writes[i].size, path);
                follow = open_when_ready(follow);
                if (follow) {
                    poll(follow);
                }
            }
            flush(follow);
            etl_follow_destroy(follow);
            read_whole();
            assert_int_equal(whole.count, 101);
            assert_same(&seen, &whole);
            assert_int_equal(damage, 0);
            end(NULL);
        }
    }
    growing_init(&g, &one);
}

static void a_trace_without_data_is_waited_for(void **state)
{
    (void)state;
    make_trace(&one, 20, 0);
    assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_NO_TRACE); /* no file */
    for (size_t size = 0; size < 1024; size += size < 0x200 ? 1 : 64) {
        growing_write_part(&g, 0, 0, size, path);
        assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_WAIT);
    }
    growing_write(&g, 0, path);
    assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_WAIT);
    growing_write_part(&g, 1, 0, 1000, path);
    assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_WAIT);
    growing_write(&g, 1, path);
    assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_GROWING);
    for (size_t i = 2; i < g.write_count - 1; i++) {
        growing_write(&g, i, path);
        assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_GROWING);
    }
    growing_write(&g, g.write_count - 1, path);
    assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_WHOLE);
    assert_int_equal(truncate(path, (off_t)g.writes[g.write_count - 2].offset), 0);
    assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_GROWING); /* not all there yet */
}

static void other_bytes_are_no_trace(void **state)
{
    (void)state;
    make_trace(&one, 20, 0);
    growing_write(&g, 0, path);
    growing_write(&g, 1, path);
    static const uint8_t wrong = 0x77;
    static const size_t places[] = {3, 0x4b, 0x4f}; /* sizes of buffer and record, marker */
    for (size_t i = 0; i < 3; i++) {
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        assert_int_equal(fseek(file, (long)places[i], SEEK_SET), 0);
        uint8_t was;
        assert_int_equal(fread(&was, 1, 1, file), 1);
        assert_int_equal(fseek(file, (long)places[i], SEEK_SET), 0);
        assert_int_equal(fwrite(&wrong, 1, 1, file), 1);
        assert_int_equal(fflush(file), 0);
        assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_NO_TRACE);
        assert_non_null(strstr(err.text, path));
        assert_int_equal(fseek(file, (long)places[i], SEEK_SET), 0);
        assert_int_equal(fwrite(&was, 1, 1, file), 1);
        fclose(file);
        assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_GROWING);
    }
}

static void a_slow_processor_is_waited_for_then_passes_late(void **state)
{
    (void)state;
    const int64_t second = 10000000;
    growing_init(&g, &two);
    /* Processor 1 keeps its one event to the end; 0 fills a buffer a second, nine events each. */
    growing_put(&g, 1, 5, 999);
    for (int i = 0; i < 45; i++) {
        growing_put(&g, 0, 10 + i * second / 9, (uint16_t)(i + 1));
    }
    size_t filled = g.write_count; /* the header, and four buffers of processor 0 */
    assert_int_equal(filled, 5);
    growing_close(&g);
    struct etl_follow *follow = NULL;
    for (size_t i = 0; i < filled; i++) {
        growing_write(&g, i, path);
        follow = open_when_ready(follow);
        if (follow) {
            poll(follow);
        }
    }
    /* The fourth buffer ends at 35/9 s: what is older than 1.5 s is given, up to 21/9 s. */
    assert_int_equal(seen.count, 1 + 22);
    assert_true(etl_follow_is_waiting(follow));
    flush(follow);
    assert_int_equal(seen.count, 1 + 36);
    uint32_t header_end = etl_follow_header_end(follow);
    for (size_t i = filled; i < g.write_count; i++) {
        growing_write(&g, i, path);
        poll(follow);
    }
    assert_false(etl_follow_is_waiting(follow)); /* the last buffer ended a flush */
    etl_follow_destroy(follow);
    assert_int_equal(seen.count, 1 + 46);
    assert_int_equal(seen.ids[37], 999);
    read_whole();
    assert_same_set(seen, whole);
    assert_repeatable(header_end);
}

static void what_the_header_buffer_gains_at_the_end_is_read(void **state)
{
    (void)state;
    make_trace(&one, 40, 0);
    growing_add_to_header(&g, 100000, 7777);
    struct etl_follow *follow = NULL;
    uint32_t header_end = 0;
    for (size_t i = 0; i < g.write_count; i++) {
        growing_write(&g, i, path);
        follow = open_when_ready(follow);
        if (follow) {
            poll(follow);
            header_end = header_end ? header_end : etl_follow_header_end(follow);
        }
    }
    assert_true(etl_follow_header_end(follow) > header_end);
    flush(follow);
    etl_follow_destroy(follow);
    read_whole();
    assert_int_equal(whole.count, 42);
    assert_int_equal(seen.ids[41], 7777);
    assert_same(&seen, &whole);
    assert_repeatable(header_end);
}

static void metadata_is_taught_as_far_as_the_file_has_come(void **state)
{
    (void)state;
    make_trace(&one, 40, 0);
    growing_write(&g, 0, path);
    growing_write(&g, 1, path);
    growing_write(&g, 2, path);
    struct etl_follow *follow = open_when_ready(NULL);
    assert_int_equal(etl_follow_teach(follow, &err), ETL_FOLLOW_DONE);
    assert_int_equal(metadata, 1 + 2 * 9); /* the caller picks those that it wants */
    assert_int_equal(seen.count, 0);
    assert_false(poll(follow));
    assert_int_equal(seen.count, 1 + 2 * 9);
    etl_follow_destroy(follow);
}

static void another_file_or_other_bytes_are_noticed(void **state)
{
    (void)state;
    struct etl_follow_look look;
    char moved[80];
    snprintf(moved, sizeof(moved), "%s.old", path);
    make_trace(&one, 40, 0);
    growing_write(&g, 0, path);
    growing_write(&g, 1, path);
    growing_write(&g, 2, path);
    struct etl_follow *follow = open_when_ready(NULL);
    poll(follow);
    assert_int_equal(rename(path, moved), 0);
    assert_true(etl_follow_look(follow, path, &look, &err));
    assert_true(look.moved && !look.replaced);
    growing_write(&g, 3, moved); /* it can still be read */
    assert_true(etl_follow_look(follow, moved, &look, &err));
    assert_false(look.moved);
    assert_int_equal(etl_follow_read(follow, UINT64_MAX, &err), ETL_FOLLOW_DONE);
    assert_int_equal(seen.count, 1 + 3 * 9);
    assert_int_equal(truncate(moved, 2048), 0);
    assert_true(etl_follow_look(follow, moved, &look, &err));
    assert_true(look.replaced);
    growing_write(&g, 2, moved);
    growing_write(&g, 3, moved);
    assert_true(etl_follow_look(follow, moved, &look, &err));
    assert_false(look.replaced);
    FILE *file = fopen(moved, "r+b"); /* StartTime */
    assert_non_null(file);
    assert_int_equal(fseek(file, 0x48 + 0x20 + 0x108, SEEK_SET), 0);
    assert_int_equal(fputc(0x55, file), 0x55);
    fclose(file);
    assert_true(etl_follow_look(follow, moved, &look, &err));
    assert_true(look.replaced);
    etl_follow_destroy(follow);
    unlink(moved);
}

static const struct etl_options ring = {
    .buffer_size = 1024, .processors = 2, .circular_buffers = 4};

static void a_circular_trace_is_read_round_after_round(void **state)
{
    (void)state;
    make_trace(&ring, 200, 0);
    struct etl_follow *follow = NULL;
    bool closed = false;
    for (size_t i = 0; i < g.write_count; i++) {
        for (size_t cut = 0x40; cut <= 1024; cut += 0x1e0) { /* torn, then whole */
            growing_write_part(&g, i, 0, cut, path);
            follow = open_when_ready(follow);
            if (follow && g.writes[i].offset) {
                poll(follow);
            }
        }
        growing_write(&g, i, path);
        if (follow && g.writes[i].offset) {
            poll(follow);
            poll(follow); /* it has settled */
        } else if (follow) {
            closed = poll(follow);
        }
    }
    assert_true(closed);
    etl_follow_destroy(follow);
    assert_int_equal(overwritten, 0);
    assert_int_equal(seen.count, 201);
    bool had[201] = {false};
    for (size_t i = 0; i < seen.count; i++) {
        assert_true(seen.ids[i] <= 200 && !had[seen.ids[i]]);
        had[seen.ids[i]] = true;
        assert_true(i == 0 || compare_positions(&seen.positions[i - 1], &seen.positions[i]) < 0);
    }
}

static void what_a_circular_trace_overwrites_unread_is_counted(void **state)
{
    (void)state;
    make_trace(&ring, 200, 0);
    struct etl_follow *follow = NULL;
    for (size_t i = 0; i < g.write_count; i++) {
        growing_write(&g, i, path);
        if (i == 2 || i == 4 || i == 12) {
            follow = open_when_ready(follow);
            poll(follow);
            poll(follow);
        }
    }
    poll(follow);
    etl_follow_destroy(follow);
    /* Buffers 1 to 4 were read, then 9 to 12, then the last four. */
    size_t data_buffers = g.write_count - 2;
    assert_int_equal(overwritten, 4 + (data_buffers - 12 - 4));
    assert_int_equal(seen.count, 1 + 200 - 9 * overwritten);
}

static void a_circular_trace_found_late_has_lost_nothing_yet(void **state)
{
    (void)state;
    make_trace(&ring, 200, 0);
    for (size_t i = 0; i < g.write_count - 1; i++) {
        growing_write(&g, i, path);
    }
    struct etl_follow *follow = open_when_ready(NULL);
    poll(follow);
    assert_int_equal(overwritten, 0);
    size_t buffers = g.write_count - 2;
    assert_int_equal(seen.positions[1].buffer_offset, 1024 * (buffers - 3));
    etl_follow_destroy(follow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_trace_read_as_it_grows_is_the_trace_read_at_once, begin, end),
        cmocka_unit_test_setup_teardown(half_written_buffers_are_waited_for, begin, end),
        cmocka_unit_test_setup_teardown(a_trace_without_data_is_waited_for, begin, end),
        cmocka_unit_test_setup_teardown(other_bytes_are_no_trace, begin, end),
        cmocka_unit_test_setup_teardown(
            a_slow_processor_is_waited_for_then_passes_late, begin, end),
        cmocka_unit_test_setup_teardown(
            what_the_header_buffer_gains_at_the_end_is_read, begin, end),
        cmocka_unit_test_setup_teardown(metadata_is_taught_as_far_as_the_file_has_come, begin, end),
        cmocka_unit_test_setup_teardown(another_file_or_other_bytes_are_noticed, begin, end),
        cmocka_unit_test_setup_teardown(a_circular_trace_is_read_round_after_round, begin, end),
        cmocka_unit_test_setup_teardown(
            what_a_circular_trace_overwrites_unread_is_counted, begin, end),
        cmocka_unit_test_setup_teardown(
            a_circular_trace_found_late_has_lost_nothing_yet, begin, end),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
