#include "base/text/nearest.h"

#include "support/test.h"

static void the_name_that_was_meant_is_found(void **state)
{
    (void)state;
    static const char *const names[] = {"provider.name", "provider.guid", "process.pid", "data"};
    static const struct {
        const char *text;
        const char *meant;
    } cases[] = {
        {"provder.name", "provider.name"}, /* missing */
        {"providerr.name", "provider.name"},
        {"porvider.guid", "provider.guid"}, /* swapped */
        {"PROVIDER.NAME", "provider.name"},
        {"proc", "process.pid"}, /* its start */
        {"dada", "data"},
        {"x", ""},
        {"something.else", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct nearest nearest = {.text = span_text(cases[i].text)};
        assert_span(nearest_meant(&nearest), "");
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            nearest_consider(&nearest, span_text(names[k]));
        }
        assert_span(nearest_meant(&nearest), cases[i].meant);
    }
}

static void long_names_are_not_compared(void **state)
{
    (void)state;
    char text[200];
    memset(text, 'a', sizeof(text));
    struct nearest nearest = {.text = span_make(text, 129)};
    nearest_consider(&nearest, span_make(text, 128));
    assert_span(nearest_meant(&nearest), "");
    nearest.text.size = 128;
    nearest_consider(&nearest, span_make(text, 129));
    assert_span(nearest_meant(&nearest), "");
    nearest_consider(&nearest, span_make(text, 127));
    assert_int_equal(nearest_meant(&nearest).size, 127);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_that_was_meant_is_found),
        cmocka_unit_test(long_names_are_not_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
