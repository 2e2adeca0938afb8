#include "base/text/fold.h"

#include "base/utf.h"
#include "support/test.h"

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static void assert_folds(const char *text, const char *folded)
{
    uint8_t out[256];
    struct span source = span_text(text);
    assert_true(fold_bound(source.size) <= sizeof(out));
    assert_span(span_make(out, fold_utf8(source, out)), folded);
}

/* By CaseFolding.txt, statuses C and S. */
static void letters_of_any_script_lose_their_case(void **state)
{
    (void)state;
    assert_folds("", "");
    assert_folds("ABCXYZabcxyz019@[`{", "abcxyzabcxyz019@[`{");
    assert_folds("ABCDEFGHIJKLMNOPQRSTUVWXYZ-and-more-THAN-16",
        "abcdefghijklmnopqrstuvwxyz-and-more-"
        "than-16");
    assert_folds("M\xc3\x9cNCHEN", "m\xc3\xbcnchen");
    assert_folds("\xd0\x96\xd0\xa3\xd0\x9a", "\xd0\xb6\xd1\x83\xd0\xba"); /* Cyrillic */
    assert_folds("\xce\xa3\xcf\x82", "\xcf\x83\xcf\x83");                 /* both sigmas */
    assert_folds("\xe2\x84\xaa", "k");                                    /* Kelvin */
    assert_folds("\xc8\xba", "\xe2\xb1\xa5");                             /* grows */
    assert_folds("\xe1\xba\x9e\xc3\x9f", "\xc3\x9f\xc3\x9f");             /* sharp s, S not F */
    assert_folds("\xc4\xb0\xc4\xb1", "\xc4\xb0\xc4\xb1");                 /* Turkish i: T only */
    assert_folds("\xf0\x90\x90\x80", "\xf0\x90\x90\xa8");                 /* Deseret */
    assert_folds("\xc4\x80\xc4\x81\xc4\x82", "\xc4\x81\xc4\x81\xc4\x83"); /* every second one */
}

static void what_is_no_character_becomes_one_replacement(void **state)
{
    (void)state;
    assert_folds("A\xff"
                 "B",
        "a\xef\xbf\xbd"
        "b");
    assert_folds("\xc3", "\xef\xbf\xbd");
}

/* Folding again changes nothing, characters stay in their plane, and the room is enough. */
static void every_character_folds_once_and_within_bounds(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 0x110000; c++) {
        uint32_t folded = fold_character(c);
        assert_int_equal(fold_character(folded), folded);
        assert_int_equal(folded >> 16, c >> 16);
        if ((c & 0xfffff800) != 0xd800) {
            uint8_t in[4];
            uint8_t out[8];
            size_t size = utf8_put(c, in);
            assert_true(fold_utf8(span_make(in, size), out) <= fold_bound(size));
        }
    }
}

static void a_match_counts_the_bytes_before_the_first_difference(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *folded;
        size_t size;
    } cases[] = {
        {"", "", 0},
        {"ABC", "", 0},
        {"ABC", "abc", 3},
        {"ABCD", "abc", 3},
        {"AB", "abc", SIZE_MAX},
        {"ABD", "abc", SIZE_MAX},
        {"M\xc3\x9cN", "m\xc3\xbc", 3},
        {"M\xc3\x9cN", "m\xc3", SIZE_MAX},
        {"\xe2\x84\xaa!", "k", 3},
        {"\xc8\xba", "\xe2\xb1\xa5", 2},
        {"k", "\xe2\x84\xaa", SIZE_MAX},
        {"\xff", "\xef\xbf\xbd", 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t size = fold_match(span_text(cases[i].text), span_text(cases[i].folded));
        if (size != cases[i].size) {
            fail_msg("%zu: %zu", i, size);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_of_any_script_lose_their_case),
        cmocka_unit_test(what_is_no_character_becomes_one_replacement),
        cmocka_unit_test(a_match_counts_the_bytes_before_the_first_difference),
        cmocka_unit_test(every_character_folds_once_and_within_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
