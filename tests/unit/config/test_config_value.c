#include "support/test.h"

#include "config/config_value.h"

static void sizes_are_powers_of_1024(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
        const char *written;
    } good[] = {
        {"0", 0, "0"},
        {"1", 1, "1B"},
        {"512B", 512, "512B"},
        {"64KB", 65536, "64KB"},
        {"64kib", 65536, "64KB"},
        {"1536KB", 1572864, "1536KB"},
        {"2MB", 2097152, "2MB"},
        {"3GiB", 3221225472, "3GB"},
        {"7TB", 7696581394432, "7TB"},
        {"9223372036854775807", INT64_MAX, "9223372036854775807B"},
    };
    static const char *const bad[] = {"", "KB", "1 KB", "-1", "+1", "1.5MB", "1K", "1EB", "0x10",
        "9223372036854775808", "8388608TB", "99999999999999999999", "1KB "};
    struct error err;
    uint64_t bytes = 42;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(config_value_size(span_text(good[i].text), &bytes, &err));
        assert_true(bytes == good[i].bytes);
        assert_string_equal(config_value_write_size(bytes).text, good[i].written);
    }
    bytes = 42;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(config_value_size(span_text(bad[i]), &bytes, &err));
        assert_int_equal(err.code, ERR_CONFIG);
        assert_int_equal(bytes, 42);
    }
}

static void percentages_have_a_sign_and_two_decimals(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t hundredths;
        const char *written;
    } good[] = {{"0%", 0, "0%"}, {"20%", 2000, "20%"}, {"12.5%", 1250, "12.5%"},
        {"0.25%", 25, "0.25%"}, {"0.05%", 5, "0.05%"}, {"99.90%", 9990, "99.9%"},
        {"100%", 10000, "100%"}, {"100.00%", 10000, "100%"}};
    static const char *const bad[] = {"", "%", "20", "20 %", "-1%", "101%", "100.01%", "1.%", ".5%",
        "1.234%", "1,5%", "20%%", "0x10%", "99999999999999999999%"};
    struct error err;
    uint64_t got;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(config_value_percent(span_text(good[i].text), &got, &err));
        assert_int_equal(got, good[i].hundredths);
        assert_string_equal(config_value_write_percent(got).text, good[i].written);
    }
    got = 42;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(config_value_percent(span_text(bad[i]), &got, &err));
        assert_int_equal(err.code, ERR_CONFIG);
        assert_int_equal(got, 42);
    }
}

static void durations_need_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ms;
        const char *written;
    } good[] = {
        {"0", 0, "0"},
        {"0s", 0, "0"},
        {"1ms", 1, "1ms"},
        {"1500ms", 1500, "1500ms"},
        {"60s", 60000, "1m"},
        {"1h30m", 5400000, "90m"},
        {"7d", 604800000, "7d"},
        {"1d2h3m4s5ms", 93784005, "93784005ms"},
        {"106751d", 9223286400000, "106751d"},
    };
    static const char *const bad[] = {"", "1", "00", "s", "1 s", "-1s", "1.5s", "1us", "1S", "1s1m",
        "1m1m", "1s5", "106752d", "99999999999999999999s", "1h 30m"};
    struct error err;
    uint64_t ns = 42;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(config_value_duration(span_text(good[i].text), &ns, &err));
        assert_true(ns == good[i].ms * 1000000);
        assert_string_equal(config_value_write_duration(ns).text, good[i].written);
    }
    ns = 42;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(config_value_duration(span_text(bad[i]), &ns, &err));
        assert_int_equal(ns, 42);
    }
}

/* FILETIME values computed with Python's datetime. */
static void times_are_rfc_3339(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t filetime;
    } good[] = {
        {"1601-01-01T00:00:00Z", 0},
        {"1601-01-01T01:00:00+01:00", 0},
        {"1970-01-01T00:00:00Z", UINT64_C(116444736000000000)},
        {"2000-02-29T23:59:59Z", UINT64_C(125963423990000000)},
        {"2024-02-29t12:00:00.5z", UINT64_C(133536816005000000)},
        {"2026-11-21 09:30:00.123456789Z", UINT64_C(134397270001234567)},
        {"2026-11-21T09:30:00-01:30", UINT64_C(134397324000000000)},
        {"2026-11-21T09:30", UINT64_C(134397270000000000)},
        {"2026-11-21", UINT64_C(134396928000000000)},
        {"2100-03-01T00:00:00Z", UINT64_C(157520160000000000)},
        {"9999-12-31T23:59:59.9999999Z", UINT64_C(2650467743999999999)},
    };
    static const char *const bad[] = {"", "202", "2026-11-21T", "2026-11-21T09:30:Z",
        "2026-11-21T09:30:00.", "2026-11-21T09:30:00.Z", "2026-11-21T09:30:60Z",
        "2026-11-21T24:00:00Z", "2026-11-21T09:60:00Z", "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z", "2026-04-31T00:00:00Z", "2100-02-29T00:00:00Z",
        "1600-12-31T00:00:00Z", "1601-01-01T00:59:00+01:00", "2026-11-21T09:30:00+24:00",
        "2026-11-21T09:30:00+0100", "2026-11-21T09:30:00Z ", "26-11-21T09:30:00Z",
        "+026-11-21T09:30:00Z", "2026-1-21T09:30:00Z", "2026-11-21T09:30:00ZZ"};
    struct error err;
    uint64_t filetime = 42;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(config_value_time(span_text(good[i].text), &filetime, &err));
        assert_true(filetime == good[i].filetime);
    }
    filetime = 42;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(config_value_time(span_text(bad[i]), &filetime, &err));
        assert_int_equal(filetime, 42);
    }
}

static void a_time_may_end_behind_a_number_and_nowhere_else(void **state)
{
    (void)state;
    static const char text[] = "2026-11-21T09:30:00.1234567+01:00";
    static const char ends[] = "...x..x..x..x..x..x.xxxxxxx.....x"; /* x: after this byte */
    uint64_t filetime;
    for (size_t size = 1; size < sizeof(text); size++) {
        assert_int_equal(
            config_value_time(span_make(text, size), &filetime, NULL), ends[size - 1] == 'x');
    }
    assert_true(config_value_time(span_text(text), &filetime, NULL));
}

static void integers_are_decimal_or_hexadecimal(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {
        {"0", 0},
        {"-0", 0},
        {"42", 42},
        {"-7", -7},
        {"0x10", 16},
        {"0XfF", 255},
        {"-0x1", -1},
        {"0x0010", 16},
        {"9223372036854775807", INT64_MAX},
        {"0x7fffffffffffffff", INT64_MAX},
    };
    static const char *const bad[] = {"", "-", "+1", "01", "1.0", "1e3", "0x", "0xg", "--1", " 1",
        "1 ", "9223372036854775808", "0x8000000000000000", "0x10000000000000000", "one", "1_0"};
    struct error err;
    int64_t value = 42;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(config_value_int(span_text(good[i].text), &value, &err));
        assert_true(value == good[i].value);
    }
    value = 42;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(config_value_int(span_text(bad[i]), &value, &err));
        assert_int_equal(value, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_powers_of_1024),
        cmocka_unit_test(percentages_have_a_sign_and_two_decimals),
        cmocka_unit_test(durations_need_units),
        cmocka_unit_test(times_are_rfc_3339),
        cmocka_unit_test(a_time_may_end_behind_a_number_and_nowhere_else),
        cmocka_unit_test(integers_are_decimal_or_hexadecimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
