#include "input/etl/etl_copy.h"

#include <stdio.h>

#include "support/growing.h"
#include "support/temp_folder.h"
#include "support/test.h"

enum { BUFFER_BYTES = 1024, EVENTS = 60 };

static char folder[TEMP_FOLDER_BYTES];
static char paths[2][TEMP_FOLDER_BYTES + 16];
static struct growing g;

static int setup(void **state)
{
    (void)state;
    int result = temp_folder_make(folder, "etl-copy");
    for (size_t i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s/%zu.etl", folder, i);
    }
    return result;
}

static int teardown(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static void make_of(uint32_t circular_buffers, bool relogged)
{
    const struct etl_options options = {.buffer_size = relogged ? 4 * BUFFER_BYTES : BUFFER_BYTES,
        .processors = 2,
        .start_time = UINT64_C(134397270000000000),
        .relogged = relogged,
        .circular_buffers = circular_buffers};
    growing_init(&g, &options);
    for (size_t i = 0; i < EVENTS; i++) {
        growing_put(&g, i % 3 == 0, 1000 + (int64_t)i * 10, (uint16_t)(i + 1));
    }
    growing_close(&g);
}

static void make(uint32_t circular_buffers)
{
    make_of(circular_buffers, false);
}

/* The first ${count} writes of each. */
static void write_both(size_t count, size_t other_count)
{
    for (size_t f = 0; f < 2; f++) {
        remove(paths[f]);
        for (size_t i = 0; i < (f ? other_count : count); i++) {
            growing_write(&g, i, paths[f]);
        }
    }
}

static void put_bytes(const char *path, long at, int byte, size_t count)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    while (count--) {
        fputc(byte, file);
    }
    fclose(file);
}

static bool is_copy(const char *a, const char *b)
{
    return etl_copy_is(&(struct etl_place){.path = a}, &(struct etl_place){.path = b});
}

static bool both_ways(void)
{
    bool is = is_copy(paths[0], paths[1]);
    assert_int_equal(is_copy(paths[1], paths[0]), is);
    return is;
}

static void a_copy_is_one_however_far_either_has_come(void **state)
{
    (void)state;
    make(0);
    for (size_t count = 2; count <= g.write_count; count++) {
        for (size_t other = 2; other <= g.write_count; other++) {
            write_both(count, other);
            assert_true(both_ways());
        }
    }
    growing_fini(&g);
}

static void what_is_preallocated_or_half_written_is_still_to_come(void **state)
{
    (void)state;
    make(0);
    for (long from = 2 * BUFFER_BYTES; from < 4 * BUFFER_BYTES; from += 7) {
        write_both(g.write_count, g.write_count);
        long end = (long)(g.write_count - 1) * BUFFER_BYTES;
        put_bytes(paths[1], from, 0, (size_t)(end - from));
        assert_true(both_ways());
    }
    growing_fini(&g);
}

static void one_other_byte_behind_the_header_is_another_trace(void **state)
{
    (void)state;
    make(0);
    long end = (long)(g.write_count - 1) * BUFFER_BYTES;
    for (long at = 2 * BUFFER_BYTES; at < end; at += 97) {
        write_both(g.write_count, g.write_count);
        put_bytes(paths[1], at, 0xa5, 3);
        put_bytes(paths[0], at, 0x5a, 3);
        assert_false(both_ways());
    }
    growing_fini(&g);
}

/* A merged trace has the smallest possible header buffer, so that its other buffers begin
 * earlier. */
static void the_first_buffer_behind_a_small_header_is_compared_too(void **state)
{
    (void)state;
    make_of(0, true);
    write_both(g.write_count, g.write_count);
    assert_true(both_ways());
    long first = (long)g.writes[1].offset;
    assert_true(first > 0 && first < 4 * BUFFER_BYTES);
    put_bytes(paths[1], first + 500, 0xa5, 3);
    put_bytes(paths[0], first + 500, 0x5a, 3);
    assert_false(both_ways());
    growing_fini(&g);
}

static void of_what_cannot_be_compared_nothing_is_said(void **state)
{
    (void)state;
    make(0);
    write_both(g.write_count, g.write_count);
    assert_false(is_copy(paths[0], "/no/such/file.etl"));
    assert_false(is_copy("/no/such/file.etl", paths[0]));
    put_bytes(paths[1], 0, 'x', 200);
    assert_false(both_ways());
    growing_fini(&g);
    make(20);
    write_both(g.write_count, g.write_count);
    assert_false(both_ways());
    growing_fini(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_one_however_far_either_has_come),
        cmocka_unit_test(what_is_preallocated_or_half_written_is_still_to_come),
        cmocka_unit_test(one_other_byte_behind_the_header_is_another_trace),
        cmocka_unit_test(the_first_buffer_behind_a_small_header_is_compared_too),
        cmocka_unit_test(of_what_cannot_be_compared_nothing_is_said),
    };
    return cmocka_run_group_tests_name("input/etl_copy", tests, setup, teardown);
}
