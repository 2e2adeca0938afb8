#include "support/test.h"

#include "base/span_compare.h"

static void spans_compare_by_bytes(void **state)
{
    (void)state;
    assert_true(span_equal(span_text("abc"), span_make("abcd", 3)));
    assert_false(span_equal(span_text("abc"), span_text("abd")));
    assert_false(span_equal(span_text("abc"), span_text("ab")));
    assert_true(span_equal(span_make(NULL, 0), span_text("")));
    assert_true(span_is(span_text(NULL), ""));
}

static void cutting_stays_inside(void **state)
{
    (void)state;
    struct span s = span_text("abc");
    assert_span(span_from(s, 0), "abc");
    assert_span(span_from(s, 2), "c");
    assert_span(span_from(s, 3), "");
    assert_span(span_from(s, SIZE_MAX), "");
    assert_span(span_first(s, 2), "ab");
    assert_span(span_first(s, SIZE_MAX), "abc");
}

static void only_ascii_letters_lose_their_case(void **state)
{
    (void)state;
    assert_true(span_equal_nocase(span_text("AzZa"), span_text("aZzA")));
    assert_true(span_equal_nocase(span_make(NULL, 0), span_text("")));
    assert_false(span_equal_nocase(span_text("a"), span_text("ab")));
    /* Neighbours of the letters, 32 apart like a letter and its other case. */
    assert_false(span_equal_nocase(span_text("@"), span_text("`")));
    assert_false(span_equal_nocase(span_text("["), span_text("{")));
    assert_false(span_equal_nocase(span_text("\xc4"), span_text("\xe4")));
}

static void an_ending_may_be_all_there_is(void **state)
{
    (void)state;
    assert_true(span_ends_nocase(span_text("a.XML"), ".xml"));
    assert_true(span_ends_nocase(span_text(".xml"), ".XML"));
    assert_true(span_ends_nocase(span_make(NULL, 0), ""));
    assert_false(span_ends_nocase(span_text("xml"), ".xml"));
    assert_false(span_ends_nocase(span_text("a.xmls"), ".xml"));
    assert_false(span_ends_nocase(span_make(NULL, 0), "."));
}

static void white_space_is_trimmed_from_the_ends(void **state)
{
    (void)state;
    assert_true(span_is(span_trim(span_text(" \t\r\n\f\va b\t c \n")), "a b\t c"));
    assert_true(span_is(span_trim(span_text("\x1f a\x7f")), "\x1f a\x7f"));
    assert_int_equal(span_trim(span_text(" \n ")).size, 0);
    assert_int_equal(span_trim(span_make(NULL, 0)).size, 0);
}

static void a_text_is_found_where_it_begins_first(void **state)
{
    (void)state;
    assert_int_equal(span_find(span_text("abab"), "ab"), 0);
    assert_int_equal(span_find(span_text("aab"), "ab"), 1);
    assert_int_equal(span_find(span_text("ab"), "ab"), 0);
    assert_int_equal(span_find(span_text("xab"), "b"), 2);
    assert_true(span_find(span_text("a"), "ab") == SIZE_MAX);
    assert_true(span_find(span_text("ba"), "ab") == SIZE_MAX);
    assert_true(span_find(span_make(NULL, 0), "a") == SIZE_MAX);
}

static void a_run_ends_before_the_first_byte_that_does_not_belong(void **state)
{
    (void)state;
    assert_int_equal(span_run(span_text(" \t a "), span_is_blank), 3);
    assert_int_equal(span_run(span_text("  "), span_is_blank), 2);
    assert_int_equal(span_run(span_text("a "), span_is_blank), 0);
    assert_int_equal(span_run(span_make(NULL, 0), span_is_blank), 0);
}

static void the_order_is_that_of_bytes(void **state)
{
    (void)state;
    static const char *const sorted[] = {"", "A", "Ab", "B", "a", "a ", "ab", "b", "\x80", "\xff"};
    for (size_t i = 0; i < sizeof(sorted) / sizeof(sorted[0]); i++) {
        for (size_t k = 0; k < sizeof(sorted) / sizeof(sorted[0]); k++) {
            int order = span_compare(span_text(sorted[i]), span_text(sorted[k]));
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
    }
    assert_int_equal(span_compare(span_make(NULL, 0), span_text("")), 0);
    assert_true(span_compare(span_make(NULL, 0), span_make("", 1)) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_compare_by_bytes),
        cmocka_unit_test(cutting_stays_inside),
        cmocka_unit_test(only_ascii_letters_lose_their_case),
        cmocka_unit_test(an_ending_may_be_all_there_is),
        cmocka_unit_test(a_text_is_found_where_it_begins_first),
        cmocka_unit_test(a_run_ends_before_the_first_byte_that_does_not_belong),
        cmocka_unit_test(the_order_is_that_of_bytes),
        cmocka_unit_test(white_space_is_trimmed_from_the_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
