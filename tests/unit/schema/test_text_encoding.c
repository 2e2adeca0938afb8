#include "schema/text/text_encoding.h"

#include "support/test.h"

/* Files of definitions, in the encodings that editors of Windows write. */

static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, 1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

#define BYTES(text)            \
    {                          \
        text, sizeof(text) - 1 \
    }

static void every_encoding_becomes_utf_8(void **state)
{
    (void)state;
    static const struct {
        struct {
            const char *data;
            size_t size;
        } bytes;
        const char *text;
    } rows[] = {
        {BYTES("plain"), "plain"},
        {BYTES("\xc3\xa4"), "\xc3\xa4"},
        {BYTES("\xef\xbb\xbf\xc3\xa4"), "\xc3\xa4"},
        {BYTES("\xff\xfe\xe4\0b\0"), "\xc3\xa4"
                                     "b"},
        {BYTES("\xfe\xff\0\xe4\0b"), "\xc3\xa4"
                                     "b"},
        /* Without a mark, of which two characters are enough. */
        {BYTES("a\0b\0"), "ab"},
        {BYTES("\0a\0b"), "ab"},
        {BYTES("a\0b\0\xe4\0"), "ab\xc3\xa4"},
        /* No valid UTF-8: Windows' code page of western Europe. */
        {BYTES("a\xe4\x80"), "a\xc3\xa4\xe2\x82\xac"},
        {BYTES(""), ""},
        {BYTES("\xff\xfe"), ""},
        {BYTES("ab"), "ab"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct span text = {0};
        assert_true(text_encoding_to_utf8(
            span_make(rows[i].bytes.data, rows[i].bytes.size), &arena, &text));
        assert_span(text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_encoding_becomes_utf_8, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
