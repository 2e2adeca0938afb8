#include "event/model/event_zone.h"

#include "base/text/rfc3339.h"
#include "support/test.h"

static uint64_t filetime(const char *text)
{
    uint64_t time = 0;
    assert_true(rfc3339_parse(span_text(text), &time));
    return time;
}

/* Berlin: +1, and +2 from the last Sunday of March, 2:00, to that of October, 3:00. */
static struct trace_info berlin(void)
{
    return (struct trace_info){.zone = {.is_known = true,
                                   .standard_s = 3600,
                                   .daylight_s = 7200,
                                   .to_standard = {.month = 10, .day = 5, .second = 3 * 3600},
                                   .to_daylight = {.month = 3, .day = 5, .second = 2 * 3600}}};
}

static void local_times_are_moments(void **state)
{
    (void)state;
    const struct trace_info trace = berlin();
    const struct event_zone zone = {.kind = EVENT_ZONE_TRACE};
    static const struct {
        const char *local;
        const char *utc;
    } cases[] = {
        {"2026-01-01T12:00:00Z", "2026-01-01T11:00:00Z"},
        {"2026-07-01T12:00:00Z", "2026-07-01T10:00:00Z"},
        {"2026-03-29T01:59:59Z", "2026-03-29T00:59:59Z"},
        {"2026-03-29T03:00:00Z", "2026-03-29T01:00:00Z"},
        {"2026-10-25T01:59:59Z", "2026-10-24T23:59:59Z"},
        {"2026-10-25T02:30:00Z", "2026-10-25T00:30:00Z"}, /* the first of two */
        {"2026-10-25T03:00:00Z", "2026-10-25T02:00:00Z"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t utc = event_zone_to_utc(&zone, &trace, filetime(cases[i].local));
        if (utc != filetime(cases[i].utc)) {
            fail_msg("%s", cases[i].local);
        }
    }
}

static int32_t one_hour(uint64_t when)
{
    (void)when;
    return 3600;
}

static void each_kind_has_its_offset(void **state)
{
    (void)state;
    const struct trace_info trace = berlin();
    const struct trace_info silent = {.zone = {.is_known = false}};
    const uint64_t summer = filetime("2026-07-01T12:00:00Z");
    struct event_zone zone = {.kind = EVENT_ZONE_UTC, .offset_s = 1};
    assert_int_equal(event_zone_offset(&zone, &trace, summer), 0);
    zone.kind = EVENT_ZONE_FIXED;
    assert_int_equal(event_zone_offset(&zone, &trace, summer), 1);
    zone = (struct event_zone){.kind = EVENT_ZONE_HERE, .offset_at = one_hour};
    assert_int_equal(event_zone_offset(&zone, &trace, summer), 3600);
    zone.kind = EVENT_ZONE_TRACE;
    assert_int_equal(event_zone_offset(&zone, &trace, summer), 7200);
    assert_int_equal(event_zone_offset(&zone, &silent, summer), 0);
    assert_int_equal(event_zone_offset(&zone, NULL, summer), 0);
    assert_int_equal(event_zone_to_utc(&zone, &trace, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_times_are_moments),
        cmocka_unit_test(each_kind_has_its_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
