#include "support/test.h"

#include "base/text/base64.h"

/* RFC 4648, 10. */
static void texts_of_the_rfc_are_written_and_read(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"},
        {"\xfb\xff\xbf", "+/+/"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf out;
        buf_init(&out, 64);
        base64_write(&out, span_text(cases[i][0]));
        assert_true(span_is(buf_span(&out), cases[i][1]));
        buf_reset(&out);
        assert_true(base64_read(span_text(cases[i][1]), &out));
        assert_true(span_is(buf_span(&out), cases[i][0]));
        buf_fini(&out);
    }
}

static void what_is_no_base64_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {"Z", "Zg",
        "Zg=", "Zg==Zg==", "Z===", "====", "Zh==", "Zm9=", "Zm 9", "Zm9v\n", "Zm-_",
        "\xc3\xa4\xc3\xa4"};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf out;
        buf_init(&out, 64);
        if (base64_read(span_text(cases[i]), &out)) {
            print_error("%s\n", cases[i]);
            fail();
        }
        buf_fini(&out);
    }
}

static void the_maximum_of_the_buffer_holds(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 2);
    assert_true(base64_read(span_text("Zm9v"), &out));
    assert_true(out.failed);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_the_rfc_are_written_and_read),
        cmocka_unit_test(what_is_no_base64_is_refused),
        cmocka_unit_test(the_maximum_of_the_buffer_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
