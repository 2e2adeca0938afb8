#include "input/etl/etl_follow.h"

#include "base/bytes.h"
#include "input/etl/etl_merge.h"
#include "support/follow_rig.h"

/* The tests write a trace step by step, and look at it and read it in between. The records must be
 * those of the finished file, and must come again when the calls are repeated on it. */

static struct seen whole;

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
    struct etl_file *file = etl_file_open(path, NULL, &handles, &arena, &err);
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

/* Every record once, in any order. */
static void assert_same_set(struct seen a, struct seen b)
{
    assert_int_equal(a.count, b.count);
    qsort(a.positions, a.count, sizeof(a.positions[0]), compare_positions);
    qsort(b.positions, b.count, sizeof(b.positions[0]), compare_positions);
    assert_memory_equal(a.positions, b.positions, a.count * sizeof(a.positions[0]));
}

/* Repeat the calls on the file as it is now. */
static void assert_repeatable(uint32_t header_end)
{
    static struct seen first;
    first = seen;
    static struct call made[MAX_CALLS];
    memcpy(made, calls, sizeof(made));
    seen.count = 0;
    size_t count = call_count;
    struct etl_follow *follow = etl_follow_open(path, NULL, &arena, header_end, &events, &err);
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
                closed = read_on(follow);
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
    growing_init(&g, &one); /* so that the teardown finds it */
}

static void half_written_buffers_are_waited_for(void **state)
{
    (void)state;
    /* Where the writes are torn, in bytes: in the header, after it, in a record, at its end. */
    static const size_t cuts[] = {1, 0x30, 0x48, 0x4c, 0x90, 0x48 + 96, 1000, 1023};
    for (size_t c = 0; c < sizeof(cuts) / sizeof(cuts[0]); c++) {
        for (int preallocated = 0; preallocated < 2; preallocated++) {
            begin(NULL);
            make_trace(&two, 100, 0);
            if (preallocated) {
                growing_write_part(&g, 0, 0, 0, path);
                assert_true(temp_file_cut(path, 32 * 1024));
            }
            struct etl_follow *follow = NULL;
            for (size_t i = 0; i < g.write_count; i++) {
                size_t cut = cuts[c] < g.writes[i].size ? cuts[c] : 0;
                growing_write_part(&g, i, 0, cut, path);
                follow = open_when_ready(follow);
                size_t before = seen.count;
                /* Nine records end at 936; the bytes after them are filler. */
                bool torn = cut < 936 || !preallocated;
                if (follow && g.writes[i].offset && torn) {
                    read_on(follow);
                    assert_int_equal(seen.count, before);
                }
                growing_write_part(&g, i, cut, g.writes[i].size, path);
                follow = open_when_ready(follow);
                if (follow) {
                    read_on(follow);
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

static void a_slow_processor_is_waited_for_then_passes_late(void **state)
{
    (void)state;
    const int64_t second = 10000000;
    growing_init(&g, &two);
    /* Processor 1 keeps its one event until the end; processor 0 fills a buffer a second, nine
     * events each. */
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
            read_on(follow);
        }
    }
    /* The fourth buffer ends at 35/9 s: events older than 1.5 s are given, up to 21/9 s. */
    assert_int_equal(seen.count, 1 + 22);
    assert_true(etl_follow_is_waiting(follow));
    flush(follow);
    assert_int_equal(seen.count, 1 + 36);
    uint32_t header_end = etl_follow_header_end(follow);
    for (size_t i = filled; i < g.write_count; i++) {
        growing_write(&g, i, path);
        read_on(follow);
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
            read_on(follow);
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
    assert_int_equal(metadata, 1 + 2 * 9); /* the caller selects those that it wants */
    assert_int_equal(seen.count, 0);
    assert_false(read_on(follow));
    assert_int_equal(seen.count, 1 + 2 * 9);
    etl_follow_destroy(follow);
}

/* The rest of the buffer cannot be read. */
static void a_damaged_record_is_told(void **state)
{
    (void)state;
    static const struct etl_options ring = {
        .buffer_size = 1024, .processors = 1, .circular_buffers = 4};
    const struct etl_options *const options[] = {&one, &ring};
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        begin(NULL);
        make_trace(options[i], 27, 0);
        const struct growing_write *second = &g.writes[2];
        const size_t head_bytes = 0x48;
        const size_t record_bytes = 0x60; /* aligned to 8 */
        store_le16(g.bytes.data + second->at + head_bytes + 4 * record_bytes, 0xffff);
        struct etl_follow *follow = NULL;
        for (size_t k = 0; k < g.write_count; k++) {
            growing_write(&g, k, path);
            follow = open_when_ready(follow);
            if (follow) {
                read_on(follow);
            }
        }
        flush(follow);
        etl_follow_destroy(follow);
        assert_int_equal(damage, 1);
        assert_int_equal(seen.count, 1 + 9 + 4 + 9);
        end(NULL);
    }
    growing_init(&g, &one);
}

static void another_file_or_other_bytes_are_noticed(void **state)
{
    (void)state;
    struct etl_follow_look look;
    char moved[sizeof(path) + 16];
    snprintf(moved, sizeof(moved), "%s.old", path);
    make_trace(&one, 40, 0);
    growing_write(&g, 0, path);
    growing_write(&g, 1, path);
    growing_write(&g, 2, path);
    struct etl_follow *follow = open_when_ready(NULL);
    read_on(follow);
    assert_true(plat_path_rename(path, moved, &err));
    assert_true(etl_follow_look(follow, path, &look, &err));
    assert_true(look.moved && !look.replaced);
    growing_write(&g, 3, moved); /* it can still be read */
    assert_true(etl_follow_look(follow, moved, &look, &err));
    assert_int_equal(look.moved, temp_system_is_wine()); /* Wine asks the old name for the volume */
    assert_int_equal(etl_follow_read(follow, UINT64_MAX, &err), ETL_FOLLOW_DONE);
    assert_int_equal(seen.count, 1 + 3 * 9);
    assert_true(temp_file_cut(moved, 2048));
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
    plat_path_remove(moved, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_trace_read_as_it_grows_is_the_trace_read_at_once, begin, end),
        cmocka_unit_test_setup_teardown(half_written_buffers_are_waited_for, begin, end),
        cmocka_unit_test_setup_teardown(
            a_slow_processor_is_waited_for_then_passes_late, begin, end),
        cmocka_unit_test_setup_teardown(
            what_the_header_buffer_gains_at_the_end_is_read, begin, end),
        cmocka_unit_test_setup_teardown(metadata_is_taught_as_far_as_the_file_has_come, begin, end),
        cmocka_unit_test_setup_teardown(a_damaged_record_is_told, begin, end),
        cmocka_unit_test_setup_teardown(another_file_or_other_bytes_are_noticed, begin, end),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
