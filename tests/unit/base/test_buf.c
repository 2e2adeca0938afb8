#include "support/test.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_there_in_order),
        cmocka_unit_test(growth_keeps_the_content),
        cmocka_unit_test(a_full_buffer_fails_for_good_and_keeps_what_it_had),
        cmocka_unit_test(a_write_after_a_failed_one_adds_nothing_that_needs_room),
        cmocka_unit_test(long_formatted_text_is_not_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
