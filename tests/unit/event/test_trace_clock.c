#include "event/model/trace_clock.h"

#include "support/test.h"

/* start + (raw - start_raw) * 10^7 / frequency, computed with integers of any size. */
static void raw_stamps_become_filetimes(void **state)
{
    (void)state;
    static const uint64_t start = UINT64_C(132000000000000000);
    static const struct {
        enum trace_clock_type type;
        uint64_t frequency;
        int64_t start_raw;
        int64_t raw;
        int64_t after; /* relative to the start */
    } cases[] = {
        {TRACE_CLOCK_QPC, 10000000, 0, 0, 0},
        {TRACE_CLOCK_QPC, 10000000, 0, 1, 1},
        {TRACE_CLOCK_QPC, 10000000, 0, -1, -1},
        {TRACE_CLOCK_QPC, 10000000, 5000, 12345, 7345},
        {TRACE_CLOCK_QPC, 10000000, 12345, 5000, -7345},
        /* Rounded towards zero, on both sides. */
        {TRACE_CLOCK_QPC, 3579545, 0, 1, 2},
        {TRACE_CLOCK_QPC, 3579545, 0, -1, -2},
        {TRACE_CLOCK_QPC, 3579545, 0, 3579545, 10000000},
        {TRACE_CLOCK_QPC, 3579545, 0, 3579546, 10000002},
        {TRACE_CLOCK_QPC, 3579545, 3579546, 0, -10000002},
        {TRACE_CLOCK_QPC, 3000000000, 0, 299, 0},
        {TRACE_CLOCK_QPC, 3000000000, 0, 300, 1},
        {TRACE_CLOCK_QPC, 3000000000, 0, -299, 0},
        {TRACE_CLOCK_QPC, 3000000000, 0, -300, -1},
        {TRACE_CLOCK_QPC, 3000000000, 0, -301, -1},
        /* The product needs more than 64 bits. */
        {TRACE_CLOCK_CPU_CYCLE, 2400000000, 0, INT64_C(2400000000) * 86400 * 30 + 1199,
            INT64_C(25920000000004)},
        {TRACE_CLOCK_CPU_CYCLE, 2400000000, 0, -(INT64_C(2400000000) * 86400 * 30 + 1199),
            -INT64_C(25920000000004)},
        {TRACE_CLOCK_CPU_CYCLE, 2893000000, 0, INT64_C(9000000000000000001),
            INT64_C(31109574835810577)},
        {TRACE_CLOCK_CPU_CYCLE, 2893000000, 0, INT64_C(-9000000000000000001),
            -INT64_C(31109574835810577)},
        {TRACE_CLOCK_QPC, 10000001, 0, INT64_C(9223372036854775807), INT64_C(9223371114517664355)},
        {TRACE_CLOCK_CPU_CYCLE, UINT64_C(1800000000000), 0, INT64_C(9223372036854775807),
            INT64_C(51240955760304)},
        /* Stamps on both sides of zero. */
        {TRACE_CLOCK_QPC, 20000000, -100, 100, 100},
        {TRACE_CLOCK_QPC, 20000000, 100, -100, -100},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct trace_clock clock = {.type = cases[i].type,
            .start_time = start,
            .start_raw = cases[i].start_raw,
            .frequency = cases[i].frequency};
        uint64_t got = trace_clock_filetime(&clock, cases[i].raw);
        uint64_t expected = start + (uint64_t)cases[i].after;
        if (cases[i].after > 0 && expected > INT64_MAX) {
            expected = INT64_MAX;
        } else if (cases[i].after < 0 && start < (uint64_t)-cases[i].after) {
            expected = 0;
        }
        if (got != expected) {
            fail_msg("case %zu: %llu instead of %llu", i, (unsigned long long)got,
                (unsigned long long)expected);
        }
    }
}

static void results_are_clamped(void **state)
{
    (void)state;
    struct trace_clock clock = {.type = TRACE_CLOCK_QPC, .start_time = 1000, .frequency = 10000000};
    assert_int_equal(trace_clock_filetime(&clock, -1000), 0);
    assert_int_equal(trace_clock_filetime(&clock, -1001), 0);
    assert_int_equal(trace_clock_filetime(&clock, INT64_MIN), 0);
    assert_int_equal(trace_clock_filetime(&clock, INT64_MAX), INT64_MAX);
    clock.start_raw = INT64_MIN;
    assert_int_equal(trace_clock_filetime(&clock, INT64_MAX), INT64_MAX);
    clock.start_raw = INT64_MAX;
    assert_int_equal(trace_clock_filetime(&clock, INT64_MIN), 0);
    clock.frequency = 1;
    clock.start_raw = 0;
    assert_int_equal(trace_clock_filetime(&clock, INT64_MAX), INT64_MAX);
    assert_int_equal(trace_clock_filetime(&clock, 1), 10001000);
    clock.start_time = UINT64_MAX;
    assert_int_equal(trace_clock_filetime(&clock, 0), INT64_MAX);
    clock.frequency = UINT64_MAX;
    assert_int_equal(trace_clock_filetime(&clock, 1), INT64_MAX);
}

/* Even frequencies that no clock has give the right tenth of a millisecond. */
static void absurd_frequencies_stay_close(void **state)
{
    (void)state;
    const struct trace_clock clock = {
        .type = TRACE_CLOCK_QPC, .start_time = 0, .frequency = UINT64_C(4000000000000000000)};
    uint64_t got = trace_clock_filetime(&clock, INT64_C(9000000000000000000));
    assert_in_range(got, 22500000 - 1000, 22500000 + 1000);
}

static void system_time_is_what_it_says(void **state)
{
    (void)state;
    const struct trace_clock clock = {
        .type = TRACE_CLOCK_SYSTEM_TIME, .start_time = 7, .start_raw = 3, .frequency = 3};
    assert_int_equal(trace_clock_filetime(&clock, 132000000000000000), 132000000000000000);
    assert_int_equal(trace_clock_filetime(&clock, 0), 0);
    assert_int_equal(trace_clock_filetime(&clock, -5), 0);
    assert_int_equal(trace_clock_filetime(&clock, INT64_MAX), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_stamps_become_filetimes),
        cmocka_unit_test(results_are_clamped),
        cmocka_unit_test(absurd_frequencies_stay_close),
        cmocka_unit_test(system_time_is_what_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
