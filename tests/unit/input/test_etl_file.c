#include "input/etl/etl_file.h"

#include <stdlib.h>

#include "support/test.h"
#include "unit/input/trace_bytes.h"

/* Opening, walking and damage, on small traces in memory. */

enum { MAX_NOTES = 64 };

struct seen {
    size_t buffers;
    size_t records;
    uint16_t ids[512];
    uint64_t times[512];
    size_t damage;
    uint64_t damage_at[MAX_NOTES];
};

static bool on_buffer(void *self, const struct etl_buffer *buffer, size_t epoch)
{
    struct seen *seen = self;
    (void)epoch;
    assert_true(buffer->end >= 0x48);
    seen->buffers++;
    return true;
}

static bool on_record(void *self, const struct event_record *record)
{
    struct seen *seen = self;
    if (seen->records < 512) {
        seen->ids[seen->records] = record->descriptor.id;
        seen->times[seen->records] = record->time;
    }
    seen->records++;
    return true;
}

static void on_damage(void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    struct seen *seen = self;
    assert_non_null(trace);
    assert_non_null(what);
    if (seen->damage < MAX_NOTES) {
        seen->damage_at[seen->damage] = offset;
    }
    seen->damage++;
}

/* A walk that may leave out plain events must find the same damage. All events here are plain, so
 * it gives only those at the edges of a window. */
static void check_skipping(struct etl_file *file, const struct seen *all)
{
    static struct seen some;
    memset(&some, 0, sizeof(some));
    const struct etl_visitor visitor = {.self = &some,
        .buffer = on_buffer,
        .record = on_record,
        .skips_plain_events = true,
        .damage = on_damage};
    assert_true(etl_file_walk(file, &visitor, NULL));
    assert_int_equal(some.buffers, all->buffers);
    assert_true(some.records <= all->records);
    assert_int_equal(some.damage, all->damage);
    assert_memory_equal(some.damage_at, all->damage_at, sizeof(some.damage_at));
}

/* Walk a copy of exactly this size. */
static bool walk(const uint8_t *bytes, size_t size, struct seen *seen, struct error *err)
{
    memset(seen, 0, sizeof(*seen));
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    struct arena arena;
    arena_init(&arena, 1 << 24);
    struct etl_file *file = etl_file_open_memory(span_make(copy, size), "mem.etl", &arena, err);
    bool ok = file;
    if (file) {
        const struct etl_visitor visitor = {
            .self = seen,
            .buffer = on_buffer,
            .record = on_record,
            .damage = on_damage,
        };
        assert_true(etl_file_walk(file, &visitor, err));
        check_skipping(file, seen);
    }
    etl_file_destroy(file);
    arena_fini(&arena);
    free(copy);
    return ok;
}

static struct trace t;
static struct seen seen;
static struct error err;

/* A header, then three buffers of four records each: ids 1-4, 5-8, 9-12. */
static void make(struct trace_options options)
{
    memset(&t, 0, sizeof(t));
    trace_header(&t, options);
    trace_buffer(&t, 0, 1, 2000, 10, 1, 4);
    trace_buffer(&t, 1, 2, 2005, 10, 5, 4);
    trace_buffer(&t, 0, 3, 3000, 10, 9, 4);
}

static void an_empty_file_is_named(void **state)
{
    (void)state;
    assert_false(walk(t.bytes, 0, &seen, &err));
    assert_int_equal(err.code, ERR_FORMAT);
    assert_non_null(strstr(err.text, "mem.etl"));
    assert_non_null(strstr(err.text, "offset 0"));
}

static void what_is_no_trace_is_refused(void **state)
{
    (void)state;
    static uint8_t bytes[4096];
    for (int fill = 0; fill < 256; fill += 51) {
        memset(bytes, fill, sizeof(bytes));
        for (size_t size = 1; size <= sizeof(bytes); size += 71) {
            assert_false(walk(bytes, size, &seen, &err));
            assert_int_equal(err.code, ERR_FORMAT);
            assert_non_null(strstr(err.text, "offset 0"));
            assert_null(strchr(err.text, '\n'));
        }
    }
}

static void a_first_record_that_is_no_trace_header_is_refused(void **state)
{
    (void)state;
    static const size_t breaks[] = {0x4a, 0x4b, 0x4c, 0x4e};
    for (size_t i = 0; i < sizeof(breaks) / sizeof(breaks[0]); i++) {
        make((struct trace_options){0});
        t.bytes[breaks[i]] = 4;
        assert_false(walk(t.bytes, t.size, &seen, &err));
        assert_int_equal(err.code, ERR_FORMAT);
        assert_non_null(strstr(err.text, "offset 72"));
    }
}

static void traces_of_windows_xp_are_unsupported(void **state)
{
    (void)state;
    make((struct trace_options){0});
    t.bytes[0x48 + 0x20 + 4] = 5;
    t.bytes[0x48 + 0x20 + 5] = 1;
    assert_false(walk(t.bytes, t.size, &seen, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "the layout before Windows 7 is not supported"));
}

static void a_sound_trace_has_no_damage(void **state)
{
    (void)state;
    make((struct trace_options){0});
    assert_true(walk(t.bytes, t.size, &seen, &err));
    assert_int_equal(seen.buffers, 4);
    assert_int_equal(seen.records, 13);
    assert_int_equal(seen.ids[12], 12);
    assert_int_equal(seen.damage, 0);
}

static void header_buffers_may_have_only_the_saved_offset(void **state)
{
    (void)state;
    make((struct trace_options){0});
    memcpy(t.bytes + 4, t.bytes + 0x30, 4);
    memset(t.bytes + 0x30, 0, 4);
    assert_true(walk(t.bytes, t.size, &seen, &err));
    assert_int_equal(seen.records, 13);
}

static void a_bad_record_costs_the_rest_of_its_buffer(void **state)
{
    (void)state;
    size_t second = TRACE_BUFFER_BYTES + 0x48 + 0x58;
    static const struct {
        size_t at;
        uint8_t value;
    } rows[] = {{1, 0xff}, {0, 0x4f}, {3, 0x40}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        make((struct trace_options){0});
        t.bytes[second + rows[i].at] = rows[i].value;
        assert_true(walk(t.bytes, t.size, &seen, &err));
        assert_int_equal(seen.buffers, 4);
        assert_int_equal(seen.records, 13 - 3);
        assert_int_equal(seen.damage, 1);
        assert_int_equal(seen.damage_at[0], second);
    }
}

static void a_bad_record_at_the_end_of_its_buffer_is_told_once(void **state)
{
    (void)state;
    size_t last = TRACE_BUFFER_BYTES + 0x48 + 3 * 0x58;
    make((struct trace_options){0});
    t.bytes[last + 4] = 1; /* extended items are announced, but there are none */
    assert_true(walk(t.bytes, t.size, &seen, &err));
    assert_int_equal(seen.records, 13);
    assert_int_equal(seen.damage, 1);
    assert_int_equal(seen.damage_at[0], last);
}

/* The damage lies before an appended session, so the second walk knows of it. */
static void a_header_buffer_without_trace_header_is_told_by_every_walk(void **state)
{
    (void)state;
    make((struct trace_options){0});
    store_le16(t.bytes + 2 * TRACE_BUFFER_BYTES + 0x36, 4); /* BufferType HEADER */
    trace_header(&t, (struct trace_options){0});
    trace_buffer(&t, 0, 1, 2000, 10, 13, 4);
    assert_true(walk(t.bytes, t.size, &seen, &err));
    assert_int_equal(seen.records, 1 + 12 + 1 + 4);
    assert_int_equal(seen.damage, 1);
    assert_int_equal(seen.damage_at[0], 2 * TRACE_BUFFER_BYTES);
}

static void a_buffer_with_a_broken_header_is_skipped(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint32_t value;
    } rows[] = {
        {0x00, 0},          /* size */
        {0x00, 0x47},       /* smaller than a header */
        {0x00, 0x01000001}, /* larger than any */
        {0x00, 1032},       /* into the next buffer */
        {0x00, 0x00100000}, /* beyond the file */
        {0x30, 0x47},       /* end of records before their start */
        {0x30, 1032},       /* after the buffer */
        {0x34, 0x00080000}, /* type */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        make((struct trace_options){0});
        store_le32(t.bytes + 2 * TRACE_BUFFER_BYTES + rows[i].at, rows[i].value);
        assert_true(walk(t.bytes, t.size, &seen, &err));
        assert_int_equal(seen.records, 1 + 8);
        assert_int_equal(seen.ids[5], 9);
        assert_int_equal(seen.damage, 1);
        assert_int_equal(seen.damage_at[0], 2 * TRACE_BUFFER_BYTES);
    }
}

static void garbage_between_buffers_is_skipped(void **state)
{
    (void)state;
    make((struct trace_options){0});
    static uint8_t bytes[TRACE_MAX_BYTES];
    for (size_t hole = 1; hole < 3000; hole += 13) {
        memcpy(bytes, t.bytes, 2 * TRACE_BUFFER_BYTES);
        memset(bytes + 2 * TRACE_BUFFER_BYTES, 0xa5, hole);
        memcpy(bytes + 2 * TRACE_BUFFER_BYTES + hole, t.bytes + 2 * TRACE_BUFFER_BYTES,
            2 * TRACE_BUFFER_BYTES);
        assert_true(walk(bytes, t.size + hole, &seen, &err));
        assert_int_equal(seen.records, 13);
        assert_int_equal(seen.damage, 1);
        assert_int_equal(seen.damage_at[0], 2 * TRACE_BUFFER_BYTES);
    }
}

static void garbage_behind_the_last_buffer_is_damage(void **state)
{
    (void)state;
    make((struct trace_options){0});
    memset(t.bytes + t.size, 0xa5, 100);
    assert_true(walk(t.bytes, t.size + 100, &seen, &err));
    assert_int_equal(seen.records, 13);
    assert_int_equal(seen.damage, 1);
    assert_int_equal(seen.damage_at[0], t.size);
}

static void zeros_behind_a_live_or_preallocated_trace_are_its_end(void **state)
{
    (void)state;
    static const struct {
        struct trace_options options;
        size_t damage;
    } rows[] = {
        {{.open = true}, 0},
        {{.mode = 0x20}, 0},
        {{0}, 1},
    };
    for (size_t i = 0; i < 3; i++) {
        make(rows[i].options);
        assert_true(walk(t.bytes, t.size + 5000, &seen, &err));
        assert_int_equal(seen.records, 13);
        assert_int_equal(seen.damage, rows[i].damage);
    }
}

static void a_hole_of_zeros_does_not_end_the_trace(void **state)
{
    (void)state;
    make((struct trace_options){.open = true});
    memset(t.bytes + 2 * TRACE_BUFFER_BYTES, 0, TRACE_BUFFER_BYTES);
    assert_true(walk(t.bytes, t.size, &seen, &err));
    assert_int_equal(seen.records, 9);
    assert_int_equal(seen.damage, 1);
}

static void a_trace_cut_anywhere_gives_the_records_before_the_cut(void **state)
{
    (void)state;
    make((struct trace_options){.open = true});
    size_t header_end = 0x48 + TRACE_HEADER_RECORD_BYTES;
    for (size_t size = 0; size <= t.size; size++) {
        bool ok = walk(t.bytes, size, &seen, &err);
        assert_int_equal(ok, size >= header_end);
        if (!ok) {
            continue;
        }
        size_t whole = 1;
        for (size_t b = 1; b < 4; b++) {
            for (size_t r = 0; r < 4; r++) {
                size_t at = b * TRACE_BUFFER_BYTES + 0x48 + r * 0x58;
                whole += at + TRACE_RECORD_BYTES <= size;
            }
        }
        assert_int_equal(seen.records, whole);
        /* A single byte after a buffer is a zero, which may be spare room. */
        assert_int_equal(seen.damage, size % TRACE_BUFFER_BYTES > 1);
    }
}

static void any_flipped_byte_is_survived_and_costs_one_buffer_at_most(void **state)
{
    (void)state;
    make((struct trace_options){0});
    for (size_t at = TRACE_BUFFER_BYTES; at < t.size; at++) {
        for (int bit = 0; bit < 8; bit += 7) {
            t.bytes[at] ^= (uint8_t)(1 << bit);
            assert_true(walk(t.bytes, t.size, &seen, &err));
            assert_in_range(seen.records, 9, 13);
            t.bytes[at] ^= (uint8_t)(1 << bit);
        }
    }
}

static void flipped_header_bytes_are_survived(void **state)
{
    (void)state;
    make((struct trace_options){0});
    for (size_t at = 0; at < TRACE_BUFFER_BYTES; at++) {
        for (int bit = 0; bit < 8; bit++) {
            t.bytes[at] ^= (uint8_t)(1 << bit);
            walk(t.bytes, t.size, &seen, &err);
            t.bytes[at] ^= (uint8_t)(1 << bit);
        }
    }
}

static void an_appended_session_has_its_own_clock(void **state)
{
    (void)state;
    make((struct trace_options){0});
    struct trace_options second = {
        .start_raw = 50, .start_time = trace_start_time + 1000000, .frequency = 1000};
    trace_header(&t, second);
    trace_buffer(&t, 0, 1, 60, 1, 100, 2);
    assert_true(walk(t.bytes, t.size, &seen, &err));
    assert_int_equal(seen.damage, 0);
    assert_int_equal(seen.records, 13 + 3);
    assert_true(seen.times[1] == trace_start_time + 1000);
    assert_true(seen.times[14] == trace_start_time + 1000000 + 10 * 10000);
}

static void a_later_header_buffer_without_header_is_damage(void **state)
{
    (void)state;
    make((struct trace_options){0});
    trace_buffer(&t, 0, 4, 4000, 1, 100, 2);
    store_le16(t.bytes + t.buffer + 0x36, 4);
    assert_true(walk(t.bytes, t.size, &seen, &err));
    assert_int_equal(seen.damage, 1);
    assert_int_equal(seen.records, 13 + 2);
}

static void processor_numbers_have_eight_or_eleven_bits(void **state)
{
    (void)state;
    uint8_t header[0x48] = {0};
    struct etl_buffer buffer;
    const char *problem;
    store_le32(header, 0x48);
    store_le16(header + 0x28, 0xfb05);
    assert_true(etl_buffer_parse(header, 0, &buffer, &problem));
    assert_int_equal(buffer.cpu, 5);
    assert_true(buffer.empty);
    header[0x34] = 0x20;
    assert_true(etl_buffer_parse(header, 0, &buffer, &problem));
    assert_int_equal(buffer.cpu, 0x0305);
}

static void identify(uint8_t *id)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct etl_file *file = etl_file_open_memory(
        span_make(t.bytes, t.size), "mem.etl", &arena, &err);
    assert_non_null(file);
    memcpy(id, file->id, 16);
    etl_file_destroy(file);
    arena_fini(&arena);
}

static void identity_outlives_growth_and_close(void **state)
{
    (void)state;
    uint8_t a[16];
    uint8_t b[16];
    make((struct trace_options){.open = true});
    identify(a);
    make((struct trace_options){.events_lost = 5, .buffers_lost = 6});
    store_le32(t.bytes + 0x48 + 0x20 + 0x24, 99); /* BuffersWritten */
    trace_buffer(&t, 1, 4, 5000, 1, 50, 3);
    identify(b);
    assert_memory_equal(a, b, 16);
}

static void identity_is_that_of_header_and_first_data_buffer(void **state)
{
    (void)state;
    uint8_t a[16];
    uint8_t b[16];
    static const size_t matters[] = {0x48 + 0x10, TRACE_BUFFER_BYTES + 0x48 + 0x28,
        TRACE_BUFFER_BYTES + 0x48 + 0x54,
        TRACE_BUFFER_BYTES + 0x48 + 0x58 + 0x28}; /* the last one is in the second record */
    for (size_t i = 0; i < 4; i++) {
        make((struct trace_options){0});
        identify(a);
        t.bytes[matters[i]] ^= 1;
        identify(b);
        assert_memory_not_equal(a, b, 16);
    }
    make((struct trace_options){0});
    t.bytes[2 * TRACE_BUFFER_BYTES + 0x48 + 0x28] ^= 1; /* the second buffer does not */
    identify(b);
    make((struct trace_options){0});
    identify(a);
    assert_memory_equal(a, b, 16);
    make((struct trace_options){.mode = 2}); /* circular: the first record is overwritten */
    identify(a);
    t.bytes[TRACE_BUFFER_BYTES + 0x48 + 0x28] ^= 1;
    identify(b);
    assert_memory_equal(a, b, 16);
}

static void events_show_the_name_of_their_file_or_its_path(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *name;
    } rows[] = {
        {"/srv/traces/host a/boot.etl", "boot.etl"},
        {"C:\\traces\\boot.etl", "boot.etl"},
        {"all.zip/sub/boot.etl", "boot.etl"},
        {"boot.etl", "boot.etl"},
        {"-", "-"},
        {"/srv/", "/srv/"},
    };
    const struct trace_naming name = {.whole_path = false};
    const struct trace_naming path = {.whole_path = true};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct span given = span_text(rows[i].path);
        assert_true(span_is(etl_file_shown(&name, given), rows[i].name));
        assert_true(span_is(etl_file_shown(&path, given), rows[i].path));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_file_is_named),
        cmocka_unit_test(what_is_no_trace_is_refused),
        cmocka_unit_test(a_first_record_that_is_no_trace_header_is_refused),
        cmocka_unit_test(traces_of_windows_xp_are_unsupported),
        cmocka_unit_test(a_sound_trace_has_no_damage),
        cmocka_unit_test(header_buffers_may_have_only_the_saved_offset),
        cmocka_unit_test(a_bad_record_costs_the_rest_of_its_buffer),
        cmocka_unit_test(a_bad_record_at_the_end_of_its_buffer_is_told_once),
        cmocka_unit_test(a_header_buffer_without_trace_header_is_told_by_every_walk),
        cmocka_unit_test(a_buffer_with_a_broken_header_is_skipped),
        cmocka_unit_test(garbage_between_buffers_is_skipped),
        cmocka_unit_test(garbage_behind_the_last_buffer_is_damage),
        cmocka_unit_test(zeros_behind_a_live_or_preallocated_trace_are_its_end),
        cmocka_unit_test(a_hole_of_zeros_does_not_end_the_trace),
        cmocka_unit_test(a_trace_cut_anywhere_gives_the_records_before_the_cut),
        cmocka_unit_test(any_flipped_byte_is_survived_and_costs_one_buffer_at_most),
        cmocka_unit_test(flipped_header_bytes_are_survived),
        cmocka_unit_test(an_appended_session_has_its_own_clock),
        cmocka_unit_test(a_later_header_buffer_without_header_is_damage),
        cmocka_unit_test(processor_numbers_have_eight_or_eleven_bits),
        cmocka_unit_test(identity_outlives_growth_and_close),
        cmocka_unit_test(identity_is_that_of_header_and_first_data_buffer),
        cmocka_unit_test(events_show_the_name_of_their_file_or_its_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
