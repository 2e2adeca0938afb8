#include "base/rfc3339.h"

#include "support/test.h"

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static void times_are_read_in_any_zone(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t filetime;
    } cases[] = {
        {"1601-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:00Z", UINT64_C(116444736000000000)},
        {"2026-11-21T09:30:00.1234567Z", UINT64_C(134397270001234567)},
        {"2026-11-21T10:30:00.1234567+01:00", UINT64_C(134397270001234567)},
        {"2026-11-20T23:30:00.1234567-10:00", UINT64_C(134397270001234567)},
        {"2026-11-21t09:30:00.12345678z", UINT64_C(134397270001234567)},
        {"2026-11-21 09:30:00.5Z", UINT64_C(134397270005000000)},
        {"2000-02-29T00:00:00Z", UINT64_C(125962560000000000)},
        {"9999-12-31T23:59:59.9999999Z", UINT64_C(2650467743999999999)},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t filetime = 1;
        if (!rfc3339_parse(span_text(cases[i].text), &filetime) || filetime != cases[i].filetime) {
            fail_msg("%s", cases[i].text);
        }
    }
}

static void what_is_no_time_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "2026-11-21", "2026-11-21T09:30:00",
        "1600-01-01T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
        "2026-02-29T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T09:60:00Z",
        "2026-11-21T09:30:60Z", "2026-11-21T09:30:00.Z", "2026-11-21T09:30:00+1:00",
        "2026-11-21T09:30:00+24:00", "2026-11-21T09:30:00Zx", " 2026-11-21T09:30:00Z",
        "26-11-21T09:30:00Z", "1601-01-01T00:00:00+01:00", "2026-1a-21T09:30:00Z",
        "2026/11/21T09:30:00Z"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        uint64_t filetime = 1;
        if (rfc3339_parse(span_text(wrong[i]), &filetime) || filetime != 1) {
            fail_msg("%s", wrong[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read_in_any_zone),
        cmocka_unit_test(what_is_no_time_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
