#include "input/etl/etl_walk.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_file.h"
#include "support/temp_folder.h"
#include "support/test.h"
#include "unit/input/trace_bytes.h"

/* The search for the next buffer in a file that has none for a long way: holes, garbage, and a
 * requested stop. */

enum { MB = 1024 * 1024 };

struct seen {
    size_t records;
    size_t damage;
    uint64_t damage_at[8];
    size_t asked;
    size_t stop_at; /* number of the question to which the test answers "stop"; 0: none */
};

static char folder[TEMP_FOLDER_BYTES];
static char path[TEMP_FOLDER_BYTES + 16];
static struct trace t;
static struct seen seen;
static struct arena arena;
static struct etl_handles handles;

static bool on_record(void *self, const struct event_record *record)
{
    (void)self;
    (void)record;
    seen.records++;
    return true;
}

static void on_damage(void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    (void)self;
    (void)trace;
    (void)what;
    if (seen.damage < 8) {
        seen.damage_at[seen.damage] = offset;
    }
    seen.damage++;
}

static bool is_stopped(void *self)
{
    (void)self;
    return ++seen.asked == seen.stop_at;
}

static const struct etl_visitor visitor = {
    .record = on_record, .damage = on_damage, .is_stopped = is_stopped};

/* A header and one buffer of four records, as a file; what follows is added by tests. */
static int set_up(void **state)
{
    (void)state;
    memset(&t, 0, sizeof(t));
    memset(&seen, 0, sizeof(seen));
    trace_header(&t, (struct trace_options){0});
    trace_buffer(&t, 0, 1, 2000, 10, 1, 4);
    arena_init(&arena, 1 << 24);
    handles = (struct etl_handles){.newest = NULL};
    if (temp_folder_make(folder, "search") != 0) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/t.etl", folder);
    return plat_file_replace(path, span_make(t.bytes, t.size), NULL) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    arena_fini(&arena);
    return temp_folder_remove(folder);
}

static void append(const void *bytes, size_t size)
{
    struct plat_file *file = plat_file_open(path, PLAT_FILE_APPEND, NULL);
    assert_non_null(file);
    assert_true(plat_file_write(file, span_make(bytes, size), NULL));
    plat_file_close(file);
}

/* Make a hole without writing. False if the file system makes none here, or does not report it. */
static bool lengthen(uint64_t size)
{
    struct plat_file *file = plat_file_open(path, PLAT_FILE_APPEND, NULL);
    assert_non_null(file);
    bool ok = plat_file_truncate(file, size, NULL);
    plat_file_close(file);
    file = plat_file_open(path, PLAT_FILE_READ, NULL);
    ok = ok && file && plat_file_next_data(file, size / 2) == size;
    plat_file_close(file);
    return ok;
}

static void append_garbage(size_t size)
{
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    memset(bytes, 0xfe, size);
    append(bytes, size);
    free(bytes);
}

/* Append another buffer of four records; returns its offset in the file. */
static uint64_t append_buffer(void)
{
    struct trace more = {.size = 0};
    trace_buffer(&more, 0, 2, 3000, 10, 5, 4);
    struct plat_file *file = plat_file_open(path, PLAT_FILE_READ, NULL);
    uint64_t size = 0;
    assert_non_null(file);
    assert_true(plat_file_size(file, &size, NULL));
    plat_file_close(file);
    append(more.bytes, more.size);
    return size;
}

static struct etl_file *open_trace(void)
{
    struct etl_file *file = etl_file_open(path, NULL, &handles, &arena, NULL);
    assert_non_null(file);
    return file;
}

/* Reading a terabyte takes hours, so a search that skips no holes would not end here. */
static void a_terabyte_of_hole_is_not_read(void **state)
{
    (void)state;
    const uint64_t end = 1ULL << 40;
    if (!lengthen(end + 5)) {
        skip();
    }
    /* The next buffer is not aligned to anything. */
    assert_int_equal(append_buffer(), end + 5);
    struct etl_file *file = open_trace();
    assert_true(etl_file_walk(file, &visitor, NULL));
    etl_file_destroy(file);
    assert_int_equal(seen.records, 1 + 4 + 4);
    assert_int_equal(seen.damage, 1);
    assert_int_equal(seen.damage_at[0], 2 * TRACE_BUFFER_BYTES);
}

static void a_search_stops_when_it_is_asked_to(void **state)
{
    (void)state;
    append_garbage(MB);
    append_buffer();
    seen.stop_at = 3;
    struct etl_file *file = open_trace();
    struct etl_walk *walk = etl_walk_create(file, &visitor, NULL);
    enum etl_walk_step step;
    do {
        step = etl_walk_next(walk, ETL_WALK_WHOLE, NULL);
    } while (step == ETL_WALK_ON);
    assert_int_equal(step, ETL_WALK_STOPPED);
    assert_int_equal(seen.asked, 3);
    assert_int_equal(seen.damage, 0); /* bytes that were not searched do not count as damage */
    assert_true(seen.records <= 1 + 4);
    etl_walk_destroy(walk);
    etl_file_destroy(file);
}

/* A growing file is searched again and again: each look searches a bounded stretch. A complete file
 * is searched further. */
static void a_growing_file_is_searched_in_bounds(void **state)
{
    (void)state;
    append_garbage(65 * MB);
    append_buffer();
    struct etl_file *file = open_trace();
    struct etl_walk *walk = etl_walk_create(file, &visitor, NULL);
    enum etl_walk_step step;
    do {
        step = etl_walk_next(walk, ETL_WALK_GROWING, NULL);
    } while (step == ETL_WALK_ON);
    assert_int_equal(step, ETL_WALK_END);
    assert_int_equal(seen.records, 1 + 4);
    while ((step = etl_walk_next(walk, ETL_WALK_WHOLE, NULL)) == ETL_WALK_ON) {}
    assert_int_equal(step, ETL_WALK_END);
    assert_int_equal(seen.records, 1 + 4 + 4);
    assert_int_equal(seen.damage, 1);
    etl_walk_destroy(walk);
    etl_file_destroy(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_terabyte_of_hole_is_not_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_search_stops_when_it_is_asked_to, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_growing_file_is_searched_in_bounds, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
