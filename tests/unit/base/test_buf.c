#include "support/test.h"

#include <stdlib.h>

#include "base/buf.h"

static void what_is_added_is_there_in_order(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1 << 20);
    buf_add_text(&buf, "a");
    buf_add_byte(&buf, 'b');
    buf_add(&buf, NULL, 0);
    buf_add_span(&buf, span_text("cd"));
    buf_printf(&buf, "%d-%s", 42, "x");
    assert_span(buf_span(&buf), "abcd42-x");
    buf_fini(&buf);
}

static void growth_keeps_the_content(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1 << 20);
    for (unsigned i = 0; i < 100000; i++) {
        buf_add_byte(&buf, (uint8_t)(i * 7));
    }
    assert_false(buf.failed);
    assert_int_equal(buf.size, 100000);
    for (unsigned i = 0; i < 100000; i++) {
        assert_int_equal(buf.data[i], (uint8_t)(i * 7));
    }
    buf_fini(&buf);
}

static void a_full_buffer_fails_for_good_and_keeps_what_it_had(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1000);
    for (unsigned i = 0; i < 1000; i++) {
        buf_add_byte(&buf, 'x');
    }
    assert_false(buf.failed);
    assert_true(buf.capacity <= 1000);
    buf_add_byte(&buf, 'y');
    assert_true(buf.failed);
    assert_int_equal(buf.size, 1000);
    assert_int_equal(buf.data[999], 'x');

    buf_reset(&buf);
    assert_false(buf.failed);
    buf_add_text(&buf, "again");
    assert_span(buf_span(&buf), "again");
    buf_fini(&buf);
}

static void a_write_after_a_failed_one_adds_nothing_that_needs_room(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 300);
    static const uint8_t large[400];
    buf_add(&buf, large, sizeof(large));
    assert_true(buf.failed);
    assert_false(buf_reserve(&buf, 1));
    assert_false(buf_reserve(&buf, SIZE_MAX));
    assert_int_equal(buf.size, 0);
    buf_fini(&buf);
}

static void long_formatted_text_is_not_cut(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1 << 20);
    char text[1001];
    memset(text, 'a', 1000);
    text[1000] = '\0';
    for (int size = 505; size < 520; size++) {
        buf_reset(&buf);
        buf_printf(&buf, "<%.*s>", size, text);
        assert_int_equal(buf.size, size + 2);
        assert_int_equal(buf.data[0], '<');
        assert_int_equal(buf.data[size], 'a');
        assert_int_equal(buf.data[size + 1], '>');
    }
    buf_printf(&buf, "%s", text);
    assert_false(buf.failed);
    buf_fini(&buf);
}

static void a_lower_maximum_holds_though_more_is_allocated(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1 << 20);
    static const uint8_t bytes[4096];
    buf_add(&buf, bytes, sizeof(bytes));
    buf_reset(&buf);
    buf_add(&buf, bytes, 100);
    buf_set_max(&buf, 200);
    assert_true(buf_reserve(&buf, 100));
    assert_false(buf_reserve(&buf, 101));
    assert_true(buf.failed);
    assert_int_equal(buf.size, 100);

    buf.failed = false;
    buf_set_max(&buf, 50); /* below its content */
    assert_int_equal(buf.max, 100);
    assert_false(buf_reserve(&buf, 1));
    buf.failed = false;
    buf_set_max(&buf, 1 << 20);
    assert_true(buf_reserve(&buf, 1000));
    assert_int_equal(buf.data[99], 0);
    buf_fini(&buf);
}

static void adopted_memory_is_used_up_to_the_maximum(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1000);
    uint8_t *block = malloc(4096);
    assert_non_null(block);
    memcpy(block, "abc", 3);
    buf.size = 3;
    buf_adopt(&buf, block, 4096);
    assert_true(buf_reserve(&buf, 997));
    assert_ptr_equal(buf.data, block);
    assert_false(buf_reserve(&buf, 998));
    buf.failed = false;
    buf_set_max(&buf, 100); /* like the limit of one event, and back */
    buf_set_max(&buf, 1000);
    assert_true(buf_reserve(&buf, 997));
    assert_ptr_equal(buf.data, block); /* nothing was copied */
    assert_span(buf_span(&buf), "abc");
    buf_fini(&buf);
}

/* xorshift64 */
static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t any_size(uint64_t *state)
{
    static const size_t edges[] = {0, 1, 255, 256, 257, 4096, SIZE_MAX - 1, SIZE_MAX};
    uint64_t number = next(state);
    return number & 1 ? edges[number / 2 % (sizeof(edges) / sizeof(edges[0]))]
                      : (size_t)(number >> 8) % 8192;
}

/* With any maximum, size and demand, a reservation succeeds exactly when size + more fits the
 * maximum, and then the bytes are there. */
static void a_reservation_succeeds_exactly_when_it_fits_the_maximum(void **state)
{
    (void)state;
    uint64_t seed = 0x9e3779b97f4a7c15;
    for (int life = 0; life < 2000; life++) {
        struct buf buf;
        size_t max = any_size(&seed) % 16384;
        buf_init(&buf, max);
        for (int step = 0; step < 50; step++) {
            if (next(&seed) % 4 == 0) {
                max = any_size(&seed) % 16384;
                buf_set_max(&buf, max);
                max = max < buf.size ? buf.size : max;
            }
            size_t more = any_size(&seed);
            size_t size = buf.size;
            bool fits = more == 0 || (size <= max && more <= max - size);
            bool reserved = buf_reserve(&buf, more);
            assert_int_equal(reserved, fits);
            assert_int_equal(buf.size, size);
            assert_true(buf.size <= buf.capacity);
            if (reserved && more) {
                memset(buf.data + size, 'x', more);
                buf.size += next(&seed) % 2 ? more : more / 2;
            } else if (!reserved) {
                assert_true(buf.failed);
                buf.failed = false;
                buf.size = (size_t)(next(&seed) % (buf.size + 1)); /* remove a part of it */
            }
        }
        buf_fini(&buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_there_in_order),
        cmocka_unit_test(growth_keeps_the_content),
        cmocka_unit_test(a_full_buffer_fails_for_good_and_keeps_what_it_had),
        cmocka_unit_test(a_write_after_a_failed_one_adds_nothing_that_needs_room),
        cmocka_unit_test(long_formatted_text_is_not_cut),
        cmocka_unit_test(a_lower_maximum_holds_though_more_is_allocated),
        cmocka_unit_test(adopted_memory_is_used_up_to_the_maximum),
        cmocka_unit_test(a_reservation_succeeds_exactly_when_it_fits_the_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
