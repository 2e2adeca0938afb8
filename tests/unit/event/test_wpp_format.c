#include "event/value/wpp_format.h"

#include <stdio.h>

#include "base/put.h"
#include "unit/event/writer_fixture.h"

/* Values in texts of WPP: numbers as the C library's printf writes them. */

static struct writer_fixture fixture;

static int set_up(void **state)
{
    (void)state;
    fixture_init(&fixture, RECORD_MESSAGE, SCHEMA_WPP);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fixture_fini(&fixture);
    return 0;
}

/* One value by ${spec}, between bars. */
static void assert_text(uint16_t in_type, struct span value, struct wpp_spec spec, const char *text)
{
    static const char bar[1 + PUT_PADDING] = "|";
    const struct wpp_piece pieces[] = {
        {.text = span_make(bar, 1), .spec = spec, .insert = WPP_INSERT_ARGUMENT},
        {.text = span_make(bar, 1)}};
    const struct wpp_format format = {.pieces = pieces, .piece_count = 2};
    const struct value_context values = {.ansi = &codepage_1252};
    const struct piece field = {"V", in_type, 0, "", NULL};
    char expected[128];
    fixture_set_fields(&fixture, &field, 1);
    fixture.fields[0].data = value.data;
    fixture.fields[0].size = (uint32_t)value.size;
    fixture.schema.wpp = &format;
    buf_reset(&fixture.out);
    wpp_format_render(&values, &fixture.event, &fixture.out);
    snprintf(expected, sizeof(expected), "|%s|", text);
    assert_span(buf_span(&fixture.out), expected);
}

/* ${spec} in a format of printf. */
static void print_spec(struct wpp_spec spec, char text[32])
{
    char precision[8] = "";
    char width[8] = "";
    if (spec.precision >= 0) {
        snprintf(precision, sizeof(precision), ".%d", spec.precision);
    }
    if (spec.width) {
        snprintf(width, sizeof(width), "%u", (unsigned)spec.width);
    }
    snprintf(text, 32, "%%%s%s%s%s%s%s%s%c", spec.flags & WPP_FLAG_LEFT ? "-" : "",
        spec.flags & WPP_FLAG_ZERO ? "0" : "", spec.flags & WPP_FLAG_PLUS ? "+" : "",
        spec.flags & WPP_FLAG_SPACE ? " " : "", spec.flags & WPP_FLAG_ALT ? "#" : "", width,
        precision, spec.conversion);
}

static void integers_are_those_of_printf(void **state)
{
    (void)state;
    static const int32_t values[] = {0, 1, -1, 42, INT32_MAX, INT32_MIN};
    static const uint8_t signed_flags[] = {0, WPP_FLAG_LEFT, WPP_FLAG_ZERO, WPP_FLAG_PLUS,
        WPP_FLAG_SPACE, WPP_FLAG_PLUS | WPP_FLAG_ZERO};
    static const uint8_t other_flags[] = {0, WPP_FLAG_LEFT, WPP_FLAG_ZERO, WPP_FLAG_ALT,
        WPP_FLAG_ALT | WPP_FLAG_ZERO, WPP_FLAG_ALT | WPP_FLAG_LEFT};
    static const char conversions[] = "duxXo";
    for (size_t i = 0; i < 6 * 6 * 5 * 3 * 3; i++) {
        int32_t value = values[i % 6];
        char conversion = conversions[i / 36 % 5];
        /* The standard leaves `#` of `d` and `u` to the library. */
        uint8_t flags = conversion == 'd' ? signed_flags[i / 6 % 6] : other_flags[i / 6 % 6];
        const struct wpp_spec spec = {.conversion = (uint8_t)conversion,
            .flags = conversion == 'u' ? flags & (uint8_t)~WPP_FLAG_ALT : flags,
            .width = (uint16_t)(i / 180 % 3 * 7),
            .precision = (int16_t)(i / 540 % 3 * 5 - 1)};
        char format[32];
        char text[64];
        print_spec(spec, format);
        snprintf(text, sizeof(text), format, value);
        assert_text(conversion == 'd' ? IN_INT32 : IN_UINT32, span_make(&value, 4), spec, text);
    }
}

static void real_numbers_are_those_of_printf(void **state)
{
    (void)state;
    static const double values[] = {0.0, 1.5, -2.25, 1e100, 1e-7};
    static const char conversions[] = "efgEG";
    for (size_t i = 0; i < 5 * 5 * 3 * 2; i++) {
        const struct wpp_spec spec = {.conversion = (uint8_t)conversions[i / 5 % 5],
            .width = (uint16_t)(i / 75 * 12),
            .precision = (int16_t)((int)(i / 25 % 3) * 2 - 1)};
        char format[32];
        char text[128];
        print_spec(spec, format);
        snprintf(text, sizeof(text), format, values[i % 5]);
        assert_text(IN_DOUBLE, span_make(&values[i % 5], 8), spec, text);
    }
}

/* printf cuts strings; numbers cannot be cut. */
static void a_precision_cuts_strings_alone(void **state)
{
    (void)state;
    static const uint8_t wide[] = {'a', 0, 'b', 0, 'c', 0, 'd', 0};
    static const uint32_t number = 123456;
    const struct wpp_spec three = {.conversion = 's', .precision = 3};
    assert_text(IN_UNICODE_STRING, span_make(wide, sizeof(wide)), three, "abc");
    assert_text(IN_ANSI_STRING, span_text("abcd"), three, "abc");
    assert_text(IN_UINT32, span_make(&number, 4), three, "123456");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(integers_are_those_of_printf, set_up, tear_down),
        cmocka_unit_test_setup_teardown(real_numbers_are_those_of_printf, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_precision_cuts_strings_alone, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
