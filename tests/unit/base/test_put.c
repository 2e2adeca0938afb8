#include "base/put.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

#define assert_text(start, end, expected) \
    assert_span(span_make((start), (size_t)((end) - (start))), (expected))

static uint64_t next_random(uint64_t *state)
{
    /* splitmix64 (Steele, Lea, Flood 2014) */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ---- integers -------------------------------------------------------------------------------- */

static void check_integer(uint64_t value)
{
    uint8_t text[PUT_MAX];
    char expected[PUT_MAX];
    snprintf(expected, sizeof(expected), "%" PRIu64, value);
    assert_text(text, put_u64(text, value), expected);
    snprintf(expected, sizeof(expected), "%" PRId64, (int64_t)value);
    assert_text(text, put_i64(text, (int64_t)value), expected);
    snprintf(expected, sizeof(expected), "0x%" PRIx64, value);
    assert_text(text, put_hex(text, value), expected);
}

static void integers_are_written_as_printf_writes_them(void **state)
{
    (void)state;
    uint64_t seed = 1;
    check_integer(0);
    check_integer(UINT64_MAX);
    check_integer((uint64_t)INT64_MIN);
    for (uint64_t power = 1; power <= UINT64_MAX / 10; power *= 10) {
        check_integer(power - 1);
        check_integer(power);
        check_integer(0 - power);
    }
    for (unsigned bits = 1; bits <= 64; bits++) {
        for (int i = 0; i < 200; i++) {
            check_integer(next_random(&seed) >> (64 - bits));
        }
    }
}

static void bytes_and_guids_are_lower_case_hex(void **state)
{
    (void)state;
    static const uint8_t bytes[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99,
        0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
    uint8_t text[PUT_MAX];
    assert_text(
        text, put_hex_bytes(text, span_make(bytes, 16)), "00112233445566778899aabbccddeeff");
    assert_text(text, put_hex_bytes(text, span_make(NULL, 0)), "");
    assert_text(text, put_guid(text, bytes), "33221100-5544-7766-8899-aabbccddeeff");
}

/* ---- floating point -------------------------------------------------------------------------- */

static void known_doubles_have_their_shortest_text(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {5.0, "5.0"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {0.3, "0.3"},
        {100000.0, "100000.0"},
        {123456789012345.0, "123456789012345.0"},
        {1e15, "1e+15"},
        {1e300, "1e+300"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {5e-324, "5e-324"},
        {1.0 / 3.0, "0.3333333333333333"},
        {9007199254740993.0, "9007199254740992.0"},
        /* Products with a power of ten that are rounded down. */
        {9334.71, "9334.71"},
        {-0.0957, "-0.0957"},
        {9356896.37, "9356896.37"},
        {0.29, "0.29"},
        {999999999.999999, "999999999.999999"},
        {0.000123, "0.000123"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t text[PUT_MAX];
        assert_text(text, put_double(text, cases[i].value), cases[i].text);
    }
}

static void known_floats_have_their_shortest_text(void **state)
{
    (void)state;
    static const struct {
        float value;
        const char *text;
    } cases[] = {
        {0.1f, "0.1"},
        {5.0f, "5.0"},
        {16777216.0f, "16777216.0"},
        {3.4028235e38f, "3.4028235e+38"},
        {1.17549435e-38f, "1.1754944e-38"},
        {1e-45f, "1e-45"},
        {1e10f, "1e+10"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t text[PUT_MAX];
        assert_text(text, put_float(text, cases[i].value), cases[i].text);
    }
}

static void every_finite_number_reads_back_and_shows_that_it_is_no_integer(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = next_random(&seed);
        uint32_t low = (uint32_t)bits;
        double value;
        float small;
        memcpy(&value, &bits, sizeof(value));
        memcpy(&small, &low, sizeof(small));
        uint8_t text[PUT_MAX];
        if (value - value == 0) {
            *put_double(text, value) = '\0';
            double back = strtod((char *)text, NULL);
            assert_memory_equal(&back, &value, sizeof(value));
            assert_non_null(strpbrk((char *)text, ".e"));
        }
        if (small - small == 0) {
            *put_float(text, small) = '\0';
            float back = strtof((char *)text, NULL);
            assert_memory_equal(&back, &small, sizeof(small));
            assert_non_null(strpbrk((char *)text, ".e"));
        }
    }
}

/* ---- dates ----------------------------------------------------------------------------------- */

/* Days by counting them, against the closed formula. */
static void every_day_until_the_year_10000_has_its_date(void **state)
{
    (void)state;
    static const unsigned month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    uint32_t days = 0;
    for (unsigned year = 1601; year < 10000; year++) {
        bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        for (unsigned month = 1; month <= 12; month++) {
            unsigned last = month_days[month - 1] + (leap && month == 2);
            for (unsigned day = 1; day <= last; day++, days++) {
                unsigned got_year;
                unsigned got_month;
                unsigned got_day;
                put_civil(days, &got_year, &got_month, &got_day);
                if (got_year != year || got_month != month || got_day != day) {
                    fail_msg("day %u: %u-%u-%u instead of %u-%u-%u", days, got_year, got_month,
                        got_day, year, month, day);
                }
            }
        }
    }
    assert_int_equal(days, 3067671);
}

static void filetimes_have_7_digits_and_end_with_the_year_9999(void **state)
{
    (void)state;
    static const struct {
        uint64_t filetime;
        const char *text;
    } cases[] = {
        {0, "1601-01-01T00:00:00.0000000Z"},
        {1, "1601-01-01T00:00:00.0000001Z"},
        {116444736000000000, "1970-01-01T00:00:00.0000000Z"},
        {125911583999999999, "1999-12-31T23:59:59.9999999Z"},
        {125962560000000000, "2000-02-29T00:00:00.0000000Z"},
        {133537176761234567, "2024-02-29T22:01:16.1234567Z"},
        {2650467743999999999, "9999-12-31T23:59:59.9999999Z"},
    };
    uint8_t text[PUT_MAX];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t *end = text;
        assert_true(put_filetime(&end, cases[i].filetime));
        assert_text(text, end, cases[i].text);
    }
    uint8_t *end = text;
    assert_false(put_filetime(&end, 2650467744000000000));
    assert_false(put_filetime(&end, UINT64_MAX));
    assert_ptr_equal(end, text);
}

static void systemtimes_with_a_part_out_of_range_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint16_t parts[8]; /* year, month, weekday, day, hour, minute, second, millisecond */
        const char *text;
    } cases[] = {
        {{2024, 2, 4, 29, 12, 34, 56, 7}, "2024-02-29T12:34:56.007"},
        {{9999, 12, 0, 31, 23, 59, 59, 999}, "9999-12-31T23:59:59.999"},
        {{1, 1, 0, 1, 0, 0, 0, 0}, "0001-01-01T00:00:00.000"},
        {{10000, 1, 0, 1, 0, 0, 0, 0}, NULL},
        {{2024, 0, 0, 1, 0, 0, 0, 0}, NULL},
        {{2024, 13, 0, 1, 0, 0, 0, 0}, NULL},
        {{2024, 1, 0, 0, 0, 0, 0, 0}, NULL},
        {{2024, 1, 0, 32, 0, 0, 0, 0}, NULL},
        {{2024, 1, 0, 1, 24, 0, 0, 0}, NULL},
        {{2024, 1, 0, 1, 0, 60, 0, 0}, NULL},
        {{2024, 1, 0, 1, 0, 0, 60, 0}, NULL},
        {{2024, 1, 0, 1, 0, 0, 0, 1000}, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t bytes[16];
        for (size_t k = 0; k < 8; k++) {
            bytes[k * 2] = (uint8_t)cases[i].parts[k];
            bytes[k * 2 + 1] = (uint8_t)(cases[i].parts[k] >> 8);
        }
        uint8_t text[PUT_MAX];
        uint8_t *end = text;
        bool good = put_systemtime(&end, bytes);
        assert_int_equal(good, cases[i].text != NULL);
        assert_text(text, end, good ? cases[i].text : "");
    }
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void ipv4_addresses_have_four_decimals(void **state)
{
    (void)state;
    static const uint8_t bytes[4] = {192, 0, 2, 255};
    uint8_t text[PUT_MAX];
    assert_text(text, put_ipv4(text, bytes), "192.0.2.255");
}

static void ipv6_addresses_follow_rfc_5952(void **state)
{
    (void)state;
    static const struct {
        uint16_t groups[8];
        const char *text;
    } cases[] = {
        {{0, 0, 0, 0, 0, 0, 0, 0}, "::"}, {{0, 0, 0, 0, 0, 0, 0, 1}, "::1"},
        {{1, 0, 0, 0, 0, 0, 0, 0}, "1::"}, {{0x2001, 0xdb8, 0, 0, 0, 0, 2, 1}, "2001:db8::2:1"},
        {{0x2001, 0xdb8, 0, 1, 1, 1, 1, 1}, "2001:db8:0:1:1:1:1:1"}, /* 4.2.2 */
        {{0x2001, 0, 0, 1, 0, 0, 0, 1}, "2001:0:0:1::1"},            /* 4.2.3 longest */
        {{0x2001, 0xdb8, 0, 0, 1, 0, 0, 1}, "2001:db8::1:0:0:1"},    /* 4.2.3 first */
        {{0, 0, 1, 0, 0, 0, 0, 0}, "0:0:1::"},
        {{0xfe80, 0xa, 0xab, 0xabc, 0xabcd, 1, 2, 3}, "fe80:a:ab:abc:abcd:1:2:3"},
        {{0, 1, 2, 3, 4, 5, 6, 0}, "0:1:2:3:4:5:6:0"},
        {{0, 0, 0, 0, 0, 0xffff, 0xc000, 0x0207}, "::ffff:192.0.2.7"}, /* 5 */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t bytes[16];
        for (size_t k = 0; k < 8; k++) {
            bytes[k * 2] = (uint8_t)(cases[i].groups[k] >> 8);
            bytes[k * 2 + 1] = (uint8_t)cases[i].groups[k];
        }
        uint8_t text[PUT_MAX];
        assert_text(text, put_ipv6(text, bytes), cases[i].text);
    }
}

static void sids_are_written_as_windows_writes_them(void **state)
{
    (void)state;
    static const uint8_t system[] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0};
    static const uint8_t user[] = {1, 5, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0,
        0xff, 0xff, 0xff, 0xff, 0xf4, 1, 0, 0};
    static const uint8_t wide[] = {1, 0, 0x12, 0x34, 0, 0, 0, 1};
    uint8_t text[256];
    uint8_t *end = text;
    assert_true(put_sid(&end, span_make(system, sizeof(system))));
    assert_text(text, end, "S-1-5-18");
    end = text;
    assert_true(put_sid(&end, span_make(user, sizeof(user))));
    assert_text(text, end, "S-1-5-21-1-2-4294967295-500");
    end = text;
    assert_true(put_sid(&end, span_make(wide, sizeof(wide))));
    assert_text(text, end, "S-1-0x123400000001");
    end = text;
    for (size_t size = 0; size < sizeof(user); size++) {
        assert_false(put_sid(&end, span_make(user, size)));
    }
    static const uint8_t too_many[8 + 16 * 4] = {1, 16};
    assert_false(put_sid(&end, span_make(too_many, sizeof(too_many))));
    assert_ptr_equal(end, text);
}

static void the_longest_sid_fits_into_192_bytes(void **state)
{
    (void)state;
    uint8_t sid[8 + 15 * 4];
    memset(sid, 0xff, sizeof(sid));
    sid[1] = 15;
    uint8_t text[192];
    uint8_t *end = text;
    assert_true(put_sid(&end, span_make(sid, sizeof(sid))));
    assert_true(end <= text + sizeof(text));
}

static void all_digits_of_a_word_are_written(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        const char *text;
    } cases[] = {
        {0, "0000000000000000"},
        {UINT64_C(0x0123456789abcdef), "0123456789abcdef"},
        {UINT64_MAX, "ffffffffffffffff"},
        {UINT64_C(0xa000000000000009), "a000000000000009"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t text[PUT_MAX];
        assert_ptr_equal(put_hex_all(text, cases[i].value), text + 16);
        assert_memory_equal(text, cases[i].text, 16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_digits_of_a_word_are_written),
        cmocka_unit_test(integers_are_written_as_printf_writes_them),
        cmocka_unit_test(bytes_and_guids_are_lower_case_hex),
        cmocka_unit_test(known_doubles_have_their_shortest_text),
        cmocka_unit_test(known_floats_have_their_shortest_text),
        cmocka_unit_test(every_finite_number_reads_back_and_shows_that_it_is_no_integer),
        cmocka_unit_test(every_day_until_the_year_10000_has_its_date),
        cmocka_unit_test(filetimes_have_7_digits_and_end_with_the_year_9999),
        cmocka_unit_test(systemtimes_with_a_part_out_of_range_are_refused),
        cmocka_unit_test(ipv4_addresses_have_four_decimals),
        cmocka_unit_test(ipv6_addresses_follow_rfc_5952),
        cmocka_unit_test(sids_are_written_as_windows_writes_them),
        cmocka_unit_test(the_longest_sid_fits_into_192_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
