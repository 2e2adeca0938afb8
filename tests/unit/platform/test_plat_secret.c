#include "support/test.h"

#include "platform/plat_secret.h"

static void what_is_protected_reads_the_same_on_this_machine(void **state)
{
    (void)state;
    static const char secret[] = "k\xc3\xa4y:0123456789";
    struct buf bytes;
    struct buf text;
    struct error err;
    buf_init(&bytes, 4096);
    buf_init(&text, 4096);
    if (!plat_secret_protect(span_text(secret), &bytes, &err)) {
        assert_int_equal(err.code, ERR_UNSUPPORTED);
        assert_non_null(strstr(err.text, "on Windows only"));
        assert_false(plat_secret_unprotect(span_text("x"), &text, &err));
        assert_int_equal(err.code, ERR_UNSUPPORTED);
        assert_false(plat_secret_ask("? ", &text, &err));
        assert_int_equal(text.size + bytes.size, 0);
        buf_fini(&bytes);
        buf_fini(&text);
        return;
    }
    assert_true(bytes.size > sizeof(secret));
    for (size_t i = 0; i + sizeof(secret) - 1 <= bytes.size; i++) {
        assert_memory_not_equal(bytes.data + i, secret, sizeof(secret) - 1);
    }
    assert_true(plat_secret_unprotect(buf_span(&bytes), &text, &err));
    assert_true(span_is(buf_span(&text), secret));

    buf_reset(&text);
    bytes.data[bytes.size - 1] ^= 0x40; /* of its digest */
    assert_false(plat_secret_unprotect(buf_span(&bytes), &text, &err));
    assert_non_null(strstr(err.text, "DPAPI"));
    assert_null(strstr(err.text, "0123456789"));
    assert_false(plat_secret_unprotect(span_first(buf_span(&bytes), 20), &text, &err));
    assert_false(plat_secret_unprotect(span_make(NULL, 0), &text, &err));
    assert_int_equal(text.size, 0);
    buf_fini(&bytes);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_protected_reads_the_same_on_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
