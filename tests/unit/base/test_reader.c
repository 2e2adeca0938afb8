#include "support/test.h"

#include "base/reader.h"

static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0xff};

static void numbers_are_little_endian_and_follow_each_other(void **state)
{
    (void)state;
    struct reader r = reader_make(span_make(bytes, sizeof(bytes)));
    assert_int_equal(reader_u8(&r), 1);
    assert_int_equal(reader_u16(&r), 0x0302);
    assert_int_equal(reader_u32(&r), 0x07060504);
    assert_true(reader_u64(&r) == 0x0f0e0d0c0b0a0908);
    assert_int_equal(reader_left(&r), 1);
    assert_int_equal(reader_rest(&r).data[0], 0xff);
    assert_false(r.failed);
}

static void a_read_beyond_the_end_gives_nothing_and_fails_for_good(void **state)
{
    (void)state;
    for (size_t size = 0; size < 8; size++) {
        struct reader r = reader_make(span_make(bytes, size));
        assert_true(reader_u64(&r) == 0);
        assert_true(r.failed);
        assert_int_equal(reader_left(&r), size);
        assert_int_equal(reader_u8(&r), 0); /* also if a byte would be there */
        assert_int_equal(reader_take(&r, 0).size, 0);
        assert_true(r.failed);
    }
}

static void huge_sizes_do_not_wrap(void **state)
{
    (void)state;
    struct reader r = reader_make(span_make(bytes, sizeof(bytes)));
    assert_false(reader_skip(&r, SIZE_MAX));
    assert_int_equal(reader_left(&r), sizeof(bytes));
}

static void the_empty_span_is_fine(void **state)
{
    (void)state;
    struct reader r = reader_make(span_make(NULL, 0));
    assert_int_equal(reader_left(&r), 0);
    assert_int_equal(reader_take(&r, 0).size, 0);
    assert_false(r.failed);
    assert_int_equal(reader_text(&r).size, 0);
    assert_true(r.failed);
}

static void a_guid_is_sixteen_bytes(void **state)
{
    (void)state;
    struct reader r = reader_make(span_make(bytes, sizeof(bytes)));
    struct guid guid = reader_guid(&r);
    assert_memory_equal(guid.bytes, bytes, 16);
    r = reader_make(span_make(bytes, 15));
    guid = reader_guid(&r);
    assert_true(guid_is_zero(&guid));
    assert_true(r.failed);
}

static void text_ends_at_its_nul_which_is_consumed(void **state)
{
    (void)state;
    struct reader r = reader_make(span_make("ab\0\0c", 5));
    assert_span(reader_text(&r), "ab");
    assert_span(reader_text(&r), "");
    assert_false(r.failed);
    assert_span(reader_text(&r), "");
    assert_true(r.failed);
    assert_int_equal(reader_left(&r), 1);
}

static void utf16_text_ends_at_a_nul_unit_not_at_two_zero_bytes(void **state)
{
    (void)state;
    static const uint8_t text[] = {0x00, 0x01, 0x02, 0x00, 0x00, 0x03, 0, 0, 'x'};
    struct reader r = reader_make(span_make(text, sizeof(text)));
    assert_int_equal(reader_text16(&r).size, 6);
    assert_int_equal(reader_left(&r), 1);
    for (size_t size = 0; size < 8; size++) {
        r = reader_make(span_make(text, size));
        assert_int_equal(reader_text16(&r).size, 0);
        assert_true(r.failed);
    }
}

static void utf16_text_ends_at_its_first_nul_unit_wherever_that_is(void **state)
{
    (void)state;
    static const uint16_t units[] = {0x0001, 0x0080, 0x0100, 0x7fff, 0x8000, 0xff00, 0xffff};
    enum { MAX = 20 };
    for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++) {
        for (size_t count = 0; count <= MAX; count++) {
            uint8_t text[2 * MAX + 2 + 4 + 1] = {0};
            for (size_t i = 0; i < count; i++) {
                store_le16(text + 2 * i, units[u]);
            }
            memset(text + 2 * count + 2, 'x', 4);
            struct reader r = reader_make(span_make(text, 2 * count + 2 + 4));
            assert_int_equal(reader_text16(&r).size, 2 * count);
            assert_int_equal(reader_left(&r), 4);
            r = reader_make(span_make(text, 2 * count + 1));
            assert_int_equal(reader_text16(&r).size, 0);
            assert_true(r.failed);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_little_endian_and_follow_each_other),
        cmocka_unit_test(a_read_beyond_the_end_gives_nothing_and_fails_for_good),
        cmocka_unit_test(huge_sizes_do_not_wrap),
        cmocka_unit_test(the_empty_span_is_fine),
        cmocka_unit_test(a_guid_is_sixteen_bytes),
        cmocka_unit_test(text_ends_at_its_nul_which_is_consumed),
        cmocka_unit_test(utf16_text_ends_at_a_nul_unit_not_at_two_zero_bytes),
        cmocka_unit_test(utf16_text_ends_at_its_first_nul_unit_wherever_that_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
