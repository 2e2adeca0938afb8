#include "etw/etw_text.h"
#include "support/test.h"

static void utf8_becomes_utf16_with_a_nul(void **state)
{
    static const struct {
        const char *utf8;
        uint16_t units[8];
        size_t count;
    } rows[] = {
        {"", {0}, 0}, {"etw", {'e', 't', 'w', 0}, 3},
        {"\xc3\xa9\xe2\x82\xac", {0xe9, 0x20ac, 0}, 2},
        {"\xf0\x90\x80\x80", {0xd800, 0xdc00, 0}, 2}, /* U+10000 */
        {"\xf0\x9f\x98\x80x", {0xd83d, 0xde00, 'x', 0}, 3}, {"a\xff", {'a', 0xfffd, 0}, 2},
        {"\xed\xa0\x80", {0xfffd, 0xfffd, 0xfffd, 0}, 3}, /* a surrogate is no character */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint16_t units[8] = {0x5555, 0x5555, 0x5555, 0x5555, 0x5555, 0x5555, 0x5555, 0x5555};
        size_t count = 99;
        assert_true(etw_text_encode(span_text(rows[i].utf8), units, 8, &count));
        assert_int_equal(count, rows[i].count);
        assert_memory_equal(units, rows[i].units, (count + 1) * 2);
        assert_int_equal(units[count + 1], 0x5555);
    }
}

static void text_that_does_not_fit_is_refused_and_nothing_written(void **state)
{
    static const struct {
        const char *utf8;
        size_t capacity;
        bool fits;
    } rows[] = {
        {"abc", 4, true},
        {"abc", 3, false},
        {"\xf0\x9f\x98\x80", 3, true},
        {"\xf0\x9f\x98\x80", 2, false},
        {"", 1, true},
        {"", 0, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint16_t units[4] = {7, 7, 7, 7};
        assert_int_equal(
            etw_text_encode(span_text(rows[i].utf8), units, rows[i].capacity, NULL), rows[i].fits);
        assert_int_equal(units[0] == 7, !rows[i].fits);
    }
    uint16_t units[8] = {7};
    assert_false(etw_text_encode(span_make("a\0b", 3), units, 8, NULL));
    assert_int_equal(units[0], 7);
}

static void utf16_becomes_utf8_up_to_its_nul_or_its_end(void **state)
{
    static const struct {
        uint16_t units[6];
        size_t max_units;
        size_t capacity;
        const char *utf8;
    } rows[] = {
        {{'a', 'b', 0, 'c'}, 6, 16, "ab"},
        {{'a', 'b', 'c', 'd'}, 2, 16, "ab"},
        {{0xd83d, 0xde00, 0}, 6, 16, "\xf0\x9f\x98\x80"},
        {{0xd83d, 0xde00, 0}, 1, 16, "\xef\xbf\xbd"},
        {{0xde00, 'x', 0}, 6, 16, "\xef\xbf\xbdx"},
        {{0xd83d, 0xd83d, 0xde00, 0}, 6, 16, "\xef\xbf\xbd\xf0\x9f\x98\x80"},
        {{'a', 0x20ac, 'b', 0}, 6, 5, "a\xe2\x82\xac"},
        {{'a', 0x20ac, 'b', 0}, 6, 4, "a"}, /* never half a character */
        {{'a', 0}, 6, 1, ""},
        {{'a', 0}, 0, 4, ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[16];
        memset(text, 0x55, sizeof(text));
        size_t size = etw_text_decode(rows[i].units, rows[i].max_units, text, rows[i].capacity);
        assert_string_equal(text, rows[i].utf8);
        assert_int_equal(size, strlen(rows[i].utf8));
    }
}

static void the_longest_name_survives_both_ways(void **state)
{
    char name[ETW_NAME_BYTES];
    char back[ETW_NAME_BYTES];
    uint16_t units[ETW_MAX_NAME_CHARS];
    (void)state;
    for (size_t i = 0; i < ETW_MAX_NAME_CHARS - 1; i++) {
        memcpy(name + 3 * i, "\xe2\x82\xac", 3);
    }
    name[3 * (ETW_MAX_NAME_CHARS - 1)] = '\0';
    assert_true(etw_text_encode(span_text(name), units, ETW_MAX_NAME_CHARS, NULL));
    assert_int_equal(etw_text_decode(units, ETW_MAX_NAME_CHARS, back, sizeof(back)), 3069);
    assert_string_equal(back, name);
}

static void names_are_the_same_whatever_their_case(void **state)
{
    (void)state;
    assert_true(etw_text_same_name("NT Kernel Logger", "nt kernel LOGGER"));
    assert_true(etw_text_same_name("\xc3\x84rger", "\xc3\xa4RGER"));
    assert_true(etw_text_same_name("", ""));
    assert_false(etw_text_same_name("etwship-a", "etwship-ab"));
    assert_false(etw_text_same_name("etwship-ab", "etwship-a"));
    assert_false(etw_text_same_name("a", "b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_becomes_utf16_with_a_nul),
        cmocka_unit_test(text_that_does_not_fit_is_refused_and_nothing_written),
        cmocka_unit_test(utf16_becomes_utf8_up_to_its_nul_or_its_end),
        cmocka_unit_test(the_longest_name_survives_both_ways),
        cmocka_unit_test(names_are_the_same_whatever_their_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
