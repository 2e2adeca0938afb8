#include "base/text/time_zone.h"

#include "base/bytes.h"
#include "base/text/calendar.h"
#include "base/text/rfc3339.h"
#include "support/test.h"

/* Each zone as TIME_ZONE_INFORMATION (timezoneapi.h on learn.microsoft.com). The changes of their
 * time are those of the tz database (Python's zoneinfo). */

struct zone_bytes {
    uint8_t bytes[TIME_ZONE_INFORMATION_SIZE];
};

struct change {
    uint16_t year, month, weekday, day, hour;
};

static void put_change(uint8_t *p, struct change change)
{
    store_le16(p, change.year);
    store_le16(p + 2, change.month);
    store_le16(p + 4, change.weekday);
    store_le16(p + 6, change.day);
    store_le16(p + 8, change.hour);
}

static struct zone_bytes make(int32_t bias, struct change to_standard, int32_t standard_bias,
    struct change to_daylight, int32_t daylight_bias)
{
    struct zone_bytes zone = {{0}};
    store_le32(zone.bytes, (uint32_t)bias);
    put_change(zone.bytes + 68, to_standard);
    store_le32(zone.bytes + 84, (uint32_t)standard_bias);
    put_change(zone.bytes + 152, to_daylight);
    store_le32(zone.bytes + 168, (uint32_t)daylight_bias);
    return zone;
}

static struct time_zone read_zone(struct zone_bytes zone)
{
    return time_zone_read(span_make(zone.bytes, sizeof(zone.bytes)));
}

static uint64_t filetime(const char *text)
{
    uint64_t time = 0;
    assert_true(rfc3339_parse(span_text(text), &time));
    return time;
}

static const struct change none = {0};

static struct zone_bytes berlin(void)
{
    return make(-60, (struct change){0, 10, 0, 5, 3}, 0, (struct change){0, 3, 0, 5, 2}, -60);
}

static struct zone_bytes new_york(void)
{
    return make(300, (struct change){0, 11, 0, 1, 2}, 0, (struct change){0, 3, 0, 2, 2}, -60);
}

static struct zone_bytes sydney(void)
{
    return make(-600, (struct change){0, 4, 0, 1, 3}, 0, (struct change){0, 10, 0, 1, 2}, -60);
}

static void a_zone_changes_when_its_rules_say(void **state)
{
    (void)state;
    const struct {
        struct zone_bytes zone;
        const char *time;
        int32_t before; /* a second */
        int32_t at;
    } cases[] = {
        {berlin(), "2026-03-29T01:00:00Z", 3600, 7200},
        {berlin(), "2026-10-25T01:00:00Z", 7200, 3600},
        {berlin(), "2020-03-29T01:00:00Z", 3600, 7200},
        {berlin(), "2024-10-27T01:00:00Z", 7200, 3600},
        {new_york(), "2026-03-08T07:00:00Z", -18000, -14400},
        {new_york(), "2026-11-01T06:00:00Z", -14400, -18000},
        {new_york(), "2023-03-12T07:00:00Z", -18000, -14400},
        {sydney(), "2026-04-04T16:00:00Z", 39600, 36000},
        {sydney(), "2026-10-03T16:00:00Z", 36000, 39600},
        {sydney(), "2025-12-31T13:00:00Z", 39600, 39600},
        {make(-330, none, 0, none, 0), "2026-06-01T00:00:00Z", 19800, 19800},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct time_zone zone = read_zone(cases[i].zone);
        assert_true(zone.is_known);
        uint64_t time = filetime(cases[i].time);
        if (time_zone_offset(&zone, time - 10000000) != cases[i].before ||
            time_zone_offset(&zone, time) != cases[i].at) {
            fail_msg("%s", cases[i].time);
        }
    }
}

static void a_date_with_a_year_counts_once(void **state)
{
    (void)state;
    struct time_zone zone = read_zone(
        make(-60, (struct change){2026, 10, 0, 25, 3}, 0, (struct change){2026, 3, 0, 29, 2}, -60));
    assert_int_equal(time_zone_offset(&zone, filetime("2026-07-01T00:00:00Z")), 7200);
    assert_int_equal(time_zone_offset(&zone, filetime("2027-07-01T00:00:00Z")), 3600);
    assert_int_equal(time_zone_offset(&zone, filetime("2025-07-01T00:00:00Z")), 3600);
}

static void biases_without_dates_do_not_count(void **state)
{
    (void)state;
    struct time_zone zone = read_zone(make(-60, none, 30, none, -60));
    assert_int_equal(time_zone_offset(&zone, filetime("2026-07-01T00:00:00Z")), 3600);
    zone = read_zone(make(-60, (struct change){0, 10, 0, 5, 3}, 30, none, -60));
    assert_int_equal(time_zone_offset(&zone, filetime("2026-07-01T00:00:00Z")), 3600);
}

static void what_makes_no_sense_is_left_out(void **state)
{
    (void)state;
    assert_false(read_zone(make(1441, none, 0, none, 0)).is_known);
    assert_false(read_zone(make(INT32_MIN, none, 0, none, 0)).is_known);
    assert_false(read_zone(make(-60, (struct change){0, 10, 0, 5, 3}, INT32_MIN,
                               (struct change){0, 3, 0, 5, 2}, INT32_MAX))
                     .is_known);
    assert_false(time_zone_read(span_make("short", 5)).is_known);
    const struct change wrong[] = {{0, 13, 0, 5, 3}, {0, 10, 7, 5, 3}, {0, 10, 0, 6, 3},
        {0, 10, 0, 0, 3}, {0, 10, 0, 5, 24}, {2026, 2, 0, 29, 3}, {1600, 2, 0, 1, 3}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct time_zone zone = read_zone(
            make(-60, wrong[i], 0, (struct change){0, 3, 0, 5, 2}, -60));
        assert_true(zone.is_known);
        assert_int_equal(time_zone_offset(&zone, filetime("2026-07-01T00:00:00Z")), 3600);
    }
    const struct time_zone unknown = {.is_known = false};
    assert_int_equal(time_zone_offset(&unknown, filetime("2026-07-01T00:00:00Z")), 0);
}

/* Any bytes and any time: nothing outside is read, and an offset is at most a day. */
static void any_time_has_an_offset(void **state)
{
    (void)state;
    const struct zone_bytes zones[] = {berlin(), new_york(), sydney()};
    const uint64_t times[] = {0, 1, 10000000, UINT64_C(1) << 40, UINT64_MAX, UINT64_MAX / 2};
    for (size_t i = 0; i < sizeof(zones) / sizeof(zones[0]); i++) {
        struct time_zone zone = read_zone(zones[i]);
        for (size_t k = 0; k < sizeof(times) / sizeof(times[0]); k++) {
            int32_t offset = time_zone_offset(&zone, times[k]);
            assert_true(offset == zone.standard_s || offset == zone.daylight_s);
        }
    }
}

static void days_have_their_year(void **state)
{
    (void)state;
    assert_int_equal(calendar_year(0), 1601);
    assert_int_equal(calendar_weekday(calendar_day(2026, 11, 23)), 1); /* a Monday */
    for (unsigned year = 1601; year < 3000; year++) {
        assert_int_equal(calendar_year(calendar_day(year, 1, 1)), year);
        assert_int_equal(calendar_year(calendar_day(year, 12, 31)), year);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zone_changes_when_its_rules_say),
        cmocka_unit_test(a_date_with_a_year_counts_once),
        cmocka_unit_test(biases_without_dates_do_not_count),
        cmocka_unit_test(what_makes_no_sense_is_left_out),
        cmocka_unit_test(any_time_has_an_offset),
        cmocka_unit_test(days_have_their_year),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
