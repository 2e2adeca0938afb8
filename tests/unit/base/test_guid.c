#include "support/test.h"

#include "base/guid.h"

static void names_give_the_guids_seen_in_real_traces(void **state)
{
    (void)state;
    /* Providers with their names, as EventSource and TraceLogging logged them. */
    static const struct {
        const char *name;
        const char *guid;
    } providers[] = {
        {"PerfView", "a8a71ac1-040f-54a2-07ca-00a89b5ab761"},
        {"Microsoft-Build", "d44a2098-821f-5808-4cea-1e24e982ca37"},
        {"Atum-Hw3d", "2c759654-e0cc-5e69-a99d-480ab2fa0c64"},
        {"MySource", "a61ea624-4944-55fc-c2a8-37838829438d"},
    };
    for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++) {
        struct guid guid = guid_from_name(span_text(providers[i].name));
        char text[GUID_TEXT_SIZE];
        guid_write(&guid, text);
        assert_span(span_make(text, sizeof(text)), providers[i].guid);
    }
}

static void case_of_a_name_does_not_matter(void **state)
{
    (void)state;
    struct guid a = guid_from_name(span_text("MySource"));
    struct guid b = guid_from_name(span_text("mYsOURCE"));
    struct guid c = guid_from_name(span_text("MySourcf"));
    assert_true(guid_equal(&a, &b));
    assert_false(guid_equal(&a, &c));
}

static void the_stored_order_is_that_of_windows(void **state)
{
    (void)state;
    /* EventTraceGuid of evntrace.h, {68fdd900-4a3e-11d1-84f4-0000f80464e3}. */
    static const uint8_t stored[16] = {
        0x00, 0xd9, 0xfd, 0x68, 0x3e, 0x4a, 0xd1, 0x11, 0x84, 0xf4, 0, 0, 0xf8, 0x04, 0x64, 0xe3};
    static const char *const texts[] = {
        "68fdd900-4a3e-11d1-84f4-0000f80464e3",
        "{68FDD900-4A3E-11D1-84F4-0000F80464E3}",
    };
    for (size_t i = 0; i < 2; i++) {
        struct guid guid;
        assert_true(guid_parse(span_text(texts[i]), &guid));
        assert_memory_equal(guid.bytes, stored, sizeof(stored));
    }
}

static void what_is_no_guid_is_refused_and_leaves_the_result_alone(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "{}",
        "68fdd900-4a3e-11d1-84f4-0000f80464e",
        "68fdd900-4a3e-11d1-84f4-0000f80464e33",
        "{68fdd900-4a3e-11d1-84f4-0000f80464e3",
        "68fdd900-4a3e-11d1-84f4-0000f80464e3}",
        "(68fdd900-4a3e-11d1-84f4-0000f80464e3)",
        "68fdd900-4a3e-11d1-84f4-0000f80464eg",
        "68fdd900-4a3e-11d1-84f4-0000f80464e:",
        "68fdd900_4a3e-11d1-84f4-0000f80464e3",
        "68fdd9004-a3e-11d1-84f4-0000f80464e3",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct guid guid = {{0x55}};
        assert_false(guid_parse(span_text(texts[i]), &guid));
        assert_int_equal(guid.bytes[0], 0x55);
    }
}

static void the_zero_guid_is_known(void **state)
{
    (void)state;
    struct guid guid = {{0}};
    assert_true(guid_is_zero(&guid));
    guid.bytes[15] = 1;
    assert_false(guid_is_zero(&guid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_give_the_guids_seen_in_real_traces),
        cmocka_unit_test(case_of_a_name_does_not_matter),
        cmocka_unit_test(the_stored_order_is_that_of_windows),
        cmocka_unit_test(what_is_no_guid_is_refused_and_leaves_the_result_alone),
        cmocka_unit_test(the_zero_guid_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
