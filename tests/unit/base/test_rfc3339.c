#include "base/text/rfc3339.h"

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

static void the_end_of_a_time_may_be_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t filetime;
        bool has_zone;
    } cases[] = {
        {"2026", UINT64_C(134116992000000000), false},
        {"2026-11", UINT64_C(134379648000000000), false},
        {"2026-11-21", UINT64_C(134396928000000000), false},
        {"2026-11-21Z", UINT64_C(134396928000000000), true},
        {"2026-11-21+01:00", UINT64_C(134396892000000000), true},
        {"2026-11-21T09", UINT64_C(134397252000000000), false},
        {"2026-11-21T09Z", UINT64_C(134397252000000000), true},
        {"2026-11-21T09:30", UINT64_C(134397270000000000), false},
        {"2026-11-21 09:30-00:30", UINT64_C(134397288000000000), true},
        {"2026-11-21T09:30:00", UINT64_C(134397270000000000), false},
        {"2026-11-21T09:30:00.1234567", UINT64_C(134397270001234567), false},
        {"2026-11-21T09:30:00.1234567Z", UINT64_C(134397270001234567), true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t filetime = 1;
        bool has_zone = !cases[i].has_zone;
        if (!rfc3339_parse_start(span_text(cases[i].text), &filetime, &has_zone) ||
            filetime != cases[i].filetime || has_zone != cases[i].has_zone) {
            fail_msg("%s: %llu", cases[i].text, (unsigned long long)filetime);
        }
    }
}

static void what_begins_no_time_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "20", "202", "2026-", "2026-1", "2026-13", "2026-11-",
        "2026-11-3", "2026-11-31", "2026-11Z", "2026Z", "2026+01:00", "2026-11-21T", "2026-11-21T9",
        "2026-11-21T09:", "2026-11-21T09:3", "2026-11-21T09:30:", "2026-11-21T09:30:00.",
        "2026-11-21x", "2026-11-2109", "20261121", "now", "-1h", "1601-01-01+01:00",
        "2026-11-21T24"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        uint64_t filetime = 1;
        bool has_zone;
        if (rfc3339_parse_start(span_text(wrong[i]), &filetime, &has_zone) || filetime != 1) {
            fail_msg("%s", wrong[i]);
        }
    }
}

static void offsets_are_written_in_one_way(void **state)
{
    (void)state;
    int64_t seconds = 1;
    assert_true(rfc3339_parse_zone(span_text("Z"), &seconds) && seconds == 0);
    assert_true(rfc3339_parse_zone(span_text("+05:30"), &seconds) && seconds == 19800);
    assert_true(rfc3339_parse_zone(span_text("-10:00"), &seconds) && seconds == -36000);
    static const char *const wrong[] = {
        "", "+", "05:30", "+5:30", "+0530", "+05", "+24:00", "+05:60", "+05:30x", "Zx", "local"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_false(rfc3339_parse_zone(span_text(wrong[i]), &seconds));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read_in_any_zone),
        cmocka_unit_test(what_is_no_time_is_refused),
        cmocka_unit_test(the_end_of_a_time_may_be_left_out),
        cmocka_unit_test(what_begins_no_time_is_refused),
        cmocka_unit_test(offsets_are_written_in_one_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
