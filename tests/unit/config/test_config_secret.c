#include "support/config_rig.h"
#include "support/temp_folder.h"

#include "base/text/base64.h"
#include "platform/plat_secret.h"

/* Secrets protected by DPAPI: read under Windows, and refused with a clear text elsewhere. */

static const char path[] = "test_config.dpapi";

/* `dpapi:` and the protected form of ${secret}. False: this system has no DPAPI. */
static bool protect(const char *secret, char *ret_value, size_t size)
{
    struct buf bytes;
    struct buf value;
    struct error err;
    buf_init(&bytes, size);
    buf_init(&value, size);
    bool good = plat_secret_protect(span_text(secret), &bytes, &err);
    assert_true(good || err.code == ERR_UNSUPPORTED);
    buf_add_text(&value, "dpapi:");
    base64_write(&value, buf_span(&bytes));
    buf_add_byte(&value, 0);
    assert_false(value.failed);
    memcpy(ret_value, value.data, value.size);
    buf_fini(&bytes);
    buf_fini(&value);
    return good;
}

static void write_private(const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_true(temp_file_share(path, false));
}

static void assert_fails(const char *text, const char *what)
{
    struct loaded l;
    load(&l, text, strlen(text));
    if (l.report.error_count != 1 || !strstr(l.report.lines[0].text, what)) {
        print_error("%s\nexpected: %s\n",
            l.report.line_count ? l.report.lines[0].text : "nothing is wrong", what);
        fail();
    }
    unload(&l);
}

static void what_is_no_base64_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {"dpapi:", "dpapi:AQ", "dpapi:hush hush", "dpapi:A==="};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64];
        snprintf(text, sizeof(text), "key: '%s'", cases[i]);
        assert_fails(text, "1:6: error: key: the text after dpapi: is not base64. write the whole "
                           "output of etwship secret protect after it");
        write_private(cases[i]);
        assert_fails("key: file:test_config.dpapi", "the text after dpapi: is not base64");
    }
    remove(path);
}

static void a_secret_may_be_protected_by_the_machine(void **state)
{
    (void)state;
    char value[4096];
    char text[2 * sizeof(value) + 32];
    struct loaded l;
    if (!protect("top secret", value, sizeof(value))) {
        assert_fails("key: 'dpapi:AQID'", "key: DPAPI is available on Windows only");
        return;
    }
    snprintf(text, sizeof(text), "key: '%s'\ntext: '%s'", value, value);
    const struct root *r = load_good(&l, text);
    assert_string_equal(r->key, "top secret");
    assert_string_equal(r->text, value);
    unload(&l);

    write_private(value);
    assert_string_equal(load_good(&l, "key: file:test_config.dpapi")->key, "top secret");
    unload(&l);
    remove(path);

    assert_fails("key: 'dpapi:AQID'", "only the machine that protected it can read it");
    assert_true(protect("two\nlines", value, sizeof(value)));
    snprintf(text, sizeof(text), "key: '%s'", value);
    assert_fails(text, "key: what dpapi: protects has more than one line");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_base64_is_refused),
        cmocka_unit_test(a_secret_may_be_protected_by_the_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
