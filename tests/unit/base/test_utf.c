#include "support/test.h"

#include <iconv.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/utf.h"
#include "support/utf_check.h"

/* Input bytes with their size, so that they may contain NUL. */
#define BYTES(text)                               \
    {                                             \
        (const uint8_t *)(text), sizeof(text) - 1 \
    }

struct example {
    struct span in;
    const char *json;
};

// clang-format off
static const struct example utf16_examples[] = {
    {BYTES(""), ""},
    {BYTES("a"), ""}, /* half a unit */
    {BYTES("a\0"), "a"},
    {BYTES("a\0b"), "a"},
    {BYTES("\0\0"), "\\u0000"},
    {BYTES("\"\0\\\0/\0"), "\\\"\\\\/"},
    {BYTES("\b\0\f\0\n\0\r\0\t\0"), "\\b\\f\\n\\r\\t"},
    {BYTES("\x7e\0\x7f\0"), "~\\u007f"},
    {BYTES("\x80\0\x9f\0\xa0\0"), "\\u0080\\u009f\xc2\xa0"},
    {BYTES("\xff\x07"), "\xdf\xbf"},
    {BYTES("\0\x08"), "\xe0\xa0\x80"},
    {BYTES("\xac\x20"), "\xe2\x82\xac"},
    {BYTES("\xff\xd7\0\xe0"), "\xed\x9f\xbf\xee\x80\x80"},
    {BYTES("\xff\xff"), "\xef\xbf\xbf"},
    {BYTES("\x28\x20\x29\x20"), "\\u2028\\u2029"},
    {BYTES("\0\xd8\0\xdc"), "\xf0\x90\x80\x80"},
    {BYTES("\xff\xdb\xff\xdf"), "\xf4\x8f\xbf\xbf"},
    {BYTES("\x3d\xd8\x4d\xdc"), "\xf0\x9f\x91\x8d"},
    {BYTES("\0\xd8"), "\xef\xbf\xbd"},               /* high half at the end */
    {BYTES("\0\xd8\0"), "\xef\xbf\xbd"},             /* and half of the low one */
    {BYTES("\0\xd8x\0"), "\xef\xbf\xbdx"},
    {BYTES("\0\xdcx\0"), "\xef\xbf\xbdx"},
    {BYTES("\0\xdc\0\xd8"), "\xef\xbf\xbd\xef\xbf\xbd"}, /* in the wrong order */
    {BYTES("\0\xd8\0\xd8\0\xdc"), "\xef\xbf\xbd\xf0\x90\x80\x80"},
};

static const struct example utf8_examples[] = {
    {BYTES(""), ""},
    {BYTES("C:\\a \"b\"\n\x01\x1f"), "C:\\\\a \\\"b\\\"\\n\\u0001\\u001f"},
    {BYTES("a\0b"), "a\\u0000b"},
    {BYTES("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x91\x8d"), "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x91\x8d"},
    {BYTES("\x80"), "\xef\xbf\xbd"},
    {BYTES("\xff\xfe"), "\xef\xbf\xbd\xef\xbf\xbd"},
    {BYTES("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd"},             /* overlong / */
    {BYTES("\xc1\xbf"), "\xef\xbf\xbd\xef\xbf\xbd"},
    {BYTES("\xe0\x9f\xbf"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* overlong U+07FF */
    {BYTES("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* U+D800 */
    {BYTES("\xf0\x8f\xbf\xbf"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {BYTES("\xf4\x90\x80\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {BYTES("\xf5\x80"), "\xef\xbf\xbd\xef\xbf\xbd"},
    {BYTES("\xe2\x82"), "\xef\xbf\xbd"},                         /* truncated: one for all of it */
    {BYTES("\xf0\x9f\x91"), "\xef\xbf\xbd"},
    {BYTES("\xe2\x82x"), "\xef\xbf\xbdx"},
    {BYTES("\xc3\""), "\xef\xbf\xbd\\\""},                       /* the quote is not swallowed */
    /* The Unicode Standard 15, table 3-8. */
    {BYTES("\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64"),
     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\x62\xef\xbf\xbd\x63\xef\xbf\xbd\xef\xbf\xbd\x64"},
};
// clang-format on

/* Run ${body} once with each engine of this machine. */
static void with_every_engine(void (*body)(void))
{
    assert_true(utf_set_engine("scalar"));
    body();
    for (size_t i = 0; i < utf_check_engine_count; i++) {
        if (utf_set_engine(utf_check_engines[i])) {
            assert_string_equal(utf_engine(), utf_check_engines[i]);
            body();
        }
    }
}

static void check_utf16_examples(void)
{
    for (size_t i = 0; i < sizeof(utf16_examples) / sizeof(utf16_examples[0]); i++) {
        uint8_t out[256];
        size_t size = utf16_to_json(utf16_examples[i].in, out);
        assert_span(span_make(out, size), utf16_examples[i].json);
    }
}

static void utf16_becomes_json_text(void **state)
{
    (void)state;
    with_every_engine(check_utf16_examples);
}

static void check_controls(void)
{
    for (unsigned c = 0; c < 0x20; c++) {
        /* Between letters, so that vector code finds it in the middle of a block. */
        uint8_t in[40];
        for (size_t i = 0; i < sizeof(in); i += 2) {
            store_le16(in + i, i == 12 ? (uint16_t)c : 'x');
        }
        char expected[64];
        const char *letters = "btn fr";
        char letter = c >= 8 && c <= 13 ? letters[c - 8] : ' ';
        if (letter != ' ') {
            snprintf(expected, sizeof(expected), "xxxxxx\\%cxxxxxxxxxxxxx", letter);
        } else {
            snprintf(expected, sizeof(expected), "xxxxxx\\u%04xxxxxxxxxxxxxx", c);
        }
        uint8_t out[512];
        size_t size = utf16_to_json(span_make(in, sizeof(in)), out);
        assert_span(span_make(out, size), expected);
    }
}

/* First and last of the characters that are invisible, or that change how others are shown. */
static const uint16_t unseen[][2] = {{0x7f, 0x9f}, {0x61c, 0x61c}, {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x2064}, {0x2066, 0x2069}, {0xfeff, 0xfeff}};

static bool is_unseen(unsigned c)
{
    for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++) {
        if (c >= unseen[i][0] && c <= unseen[i][1]) {
            return true;
        }
    }
    return false;
}

/* Every other unit in its UTF-8 form, at a place of a block that changes from unit to unit, and the
 * same in UTF-8. */
static void check_units(void)
{
    for (unsigned c = 0x80 - 1; c < 0x10000; c++) {
        enum { COUNT = 20 };
        uint8_t in[2 * COUNT];
        uint8_t out[512];
        char expected[64] = "";
        char utf8[64] = "";
        if (c >= 0xd800 && c < 0xe000) {
            continue;
        }
        for (size_t i = 0; i < COUNT; i++) {
            char plain[8] = "x";
            char shown[8] = "x";
            if (i == c % COUNT) {
                plain[utf8_put(c, (uint8_t *)plain)] = 0;
                if (is_unseen(c)) {
                    snprintf(shown, sizeof(shown), "\\u%04x", c & 0xffff);
                } else {
                    memcpy(shown, plain, sizeof(shown));
                }
            }
            store_le16(in + 2 * i, i == c % COUNT ? (uint16_t)c : 'x');
            strcat(expected, shown);
            strcat(utf8, plain);
        }
        size_t size = utf16_to_json(span_make(in, sizeof(in)), out);
        assert_span(span_make(out, size), expected);
        size = utf8_to_json(span_text(utf8), out);
        assert_span(span_make(out, size), expected);
    }
}

static void invisible_characters_alone_are_escaped(void **state)
{
    (void)state;
    with_every_engine(check_units);
}

static void every_control_character_is_escaped(void **state)
{
    (void)state;
    with_every_engine(check_controls);
}

static void check_plain_utf8(void)
{
    static const struct span in = BYTES("\"\0\\\0\n\0\0\0\xe4\0");
    uint8_t out[256];
    size_t size = utf16_to_utf8(in, out);
    assert_int_equal(size, 6);
    assert_memory_equal(out, "\"\\\n\0\xc3\xa4", 6);
}

static void plain_utf8_has_no_escapes(void **state)
{
    (void)state;
    with_every_engine(check_plain_utf8);
}

static void check_utf8_examples(void)
{
    for (size_t i = 0; i < sizeof(utf8_examples) / sizeof(utf8_examples[0]); i++) {
        uint8_t out[256];
        size_t size = utf8_to_json(utf8_examples[i].in, out);
        assert_span(span_make(out, size), utf8_examples[i].json);
    }
}

static void utf8_is_not_trusted(void **state)
{
    (void)state;
    with_every_engine(check_utf8_examples);
}

static void check_until_nul(void)
{
    uint8_t text[100];
    for (size_t size = 0; size <= sizeof(text); size++) {
        memset(text, 1, sizeof(text));
        assert_int_equal(utf16_until_nul(span_make(text, size)), size & ~(size_t)1);
        for (size_t at = 0; at + 2 <= size; at += 2) {
            memset(text, 0, sizeof(text));
            for (size_t i = 0; i < at; i += 2) {
                /* A zero byte on either side, but no zero unit. */
                store_le16(text + i, i % 4 ? 0x0100 : 0x0001);
            }
            assert_int_equal(utf16_until_nul(span_make(text, size)), at);
        }
    }
}

static void a_string_ends_at_its_first_nul_unit(void **state)
{
    (void)state;
    with_every_engine(check_until_nul);
    assert_int_equal(utf16_until_nul(span_make(NULL, 0)), 0);
}

static void engines_agree_on_every_unit_at_every_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < utf_check_engine_count; i++) {
        char text[1024] = "";
        if (utf_set_engine(utf_check_engines[i]) &&
            !utf_check_every_unit(utf_check_engines[i], text, sizeof(text))) {
            fail_msg("%s", text);
        }
    }
}

static void engines_agree_on_random_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < utf_check_engine_count; i++) {
        char text[1024] = "";
        if (utf_set_engine(utf_check_engines[i]) &&
            !utf_check_random(utf_check_engines[i], 40000, text, sizeof(text))) {
            fail_msg("%s", text);
        }
    }
}

static void an_engine_that_is_not_there_is_refused(void **state)
{
    (void)state;
    const char *before = utf_engine();
    assert_false(utf_set_engine("abacus"));
    assert_string_equal(utf_engine(), before);
}

/* The characters of a page in Unicode, from the C library. False where it has none. */
static bool ask_iconv(const char *from, const uint8_t *in, size_t in_size, struct span *ret_utf8)
{
    static char out[16];
    iconv_t converter = iconv_open("UTF-8", from);
    assert_true(converter != (iconv_t)-1);
    char copy[8];
    memcpy(copy, in, in_size);
    char *in_at = copy;
    char *out_at = out;
    size_t out_left = sizeof(out);
    bool good = iconv(converter, &in_at, &in_size, &out_at, &out_left) != (size_t)-1 &&
                iconv(converter, NULL, NULL, &out_at, &out_left) != (size_t)-1;
    iconv_close(converter);
    *ret_utf8 = span_make(out, sizeof(out) - out_left);
    return good;
}

static void scalar_utf16_agrees_with_iconv(void **state)
{
    (void)state;
    assert_true(utf_set_engine("scalar"));
    for (uint32_t unit = 0; unit <= 0xffff; unit += unit < 0x1000 ? 1 : 61) {
        uint8_t in[2];
        store_le16(in, (uint16_t)unit);
        uint8_t out[UTF_SLACK + 6];
        size_t size = utf16_to_utf8(span_make(in, 2), out);
        struct span expected;
        if (ask_iconv("UTF-16LE", in, 2, &expected)) {
            assert_true(span_equal(span_make(out, size), expected));
        } else {
            assert_span(span_make(out, size), "\xef\xbf\xbd");
        }
    }
}

static void codepage_1252_is_what_iconv_says_and_c1_where_it_is_silent(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        uint8_t in = (uint8_t)byte;
        uint8_t out[UTF_SLACK + 6];
        size_t size = codepage_to_utf8(&codepage_1252, span_make(&in, 1), out);
        struct span expected;
        uint8_t c1[] = {0xc2, in};
        if (!ask_iconv("CP1252", &in, 1, &expected)) {
            expected = span_make(c1, 2);
        }
        assert_true(span_equal(span_make(out, size), expected));
    }
}

static void codepage_text_is_escaped_for_json(void **state)
{
    (void)state;
    static const struct span in = BYTES("\x80 \"caf\xe9\" C:\\\x81\n");
    uint8_t out[512];
    size_t size = codepage_to_json(&codepage_1252, in, out);
    assert_span(span_make(out, size), "\xe2\x82\xac \\\"caf\xc3\xa9\\\" C:\\\\\\u0081\\n");
}

static void double_bytes_are_looked_up_and_broken_pairs_replaced(void **state)
{
    (void)state;
    static uint16_t pairs[65536];
    for (size_t i = 0; i < 65536; i++) {
        pairs[i] = 0xfffd;
    }
    pairs[0x8140] = 0x3000;
    pairs[0x8141] = 0xd800; /* no code page has this, but a table may */
    struct codepage page = codepage_1252;
    page.id = 932;
    page.single[0x81] = CODEPAGE_LEAD;
    page.pairs = pairs;
    static const struct example examples[] = {
        {BYTES("\x81\x40x"), "\xe3\x80\x80x"},
        {BYTES("\x81"), "\xef\xbf\xbd"},
        {BYTES("\x81\""), "\xef\xbf\xbd\\\""},
        {BYTES("\x81\xffx"), "\xef\xbf\xbdx"},
        {BYTES("\x81\x41x"), "\xef\xbf\xbdx"},
    };
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        uint8_t out[256];
        size_t size = codepage_to_json(&page, examples[i].in, out);
        assert_span(span_make(out, size), examples[i].json);
    }
    page.pairs = NULL;
    uint8_t out[256];
    assert_span(span_make(out, codepage_to_json(&page, examples[0].in, out)), "\xef\xbf\xbd@x");
}

static void page_65001_is_utf8(void **state)
{
    (void)state;
    static const struct codepage page = {.id = CODEPAGE_UTF8};
    static const struct span in = BYTES("\xc3\xa4\"\xff");
    uint8_t out[256];
    size_t size = codepage_to_json(&page, in, out);
    assert_span(span_make(out, size), "\xc3\xa4\\\"\xef\xbf\xbd");
    size = codepage_to_utf8(&page, in, out);
    assert_span(span_make(out, size), "\xc3\xa4\"\xef\xbf\xbd");
}

static void characters_that_cannot_be_encoded_are_replaced(void **state)
{
    (void)state;
    static const uint32_t bad[] = {0xd800, 0xdfff, 0x110000, UINT32_MAX};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint8_t out[4];
        assert_int_equal(utf8_put(bad[i], out), 3);
        assert_memory_equal(out, "\xef\xbf\xbd", 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf16_becomes_json_text),
        cmocka_unit_test(every_control_character_is_escaped),
        cmocka_unit_test(invisible_characters_alone_are_escaped),
        cmocka_unit_test(plain_utf8_has_no_escapes),
        cmocka_unit_test(utf8_is_not_trusted),
        cmocka_unit_test(a_string_ends_at_its_first_nul_unit),
        cmocka_unit_test(engines_agree_on_every_unit_at_every_place),
        cmocka_unit_test(engines_agree_on_random_text),
        cmocka_unit_test(an_engine_that_is_not_there_is_refused),
        cmocka_unit_test(scalar_utf16_agrees_with_iconv),
        cmocka_unit_test(codepage_1252_is_what_iconv_says_and_c1_where_it_is_silent),
        cmocka_unit_test(codepage_text_is_escaped_for_json),
        cmocka_unit_test(double_bytes_are_looked_up_and_broken_pairs_replaced),
        cmocka_unit_test(page_65001_is_utf8),
        cmocka_unit_test(characters_that_cannot_be_encoded_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
