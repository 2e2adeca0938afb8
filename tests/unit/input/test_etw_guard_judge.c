#include "input/windows/session/etw_guard_judge.h"

#include <string.h>

#include "support/test.h"

static char detail[ETW_GUARD_DETAIL];

/* ---- settings -------------------------------------------------------------------------------- */

static struct etw_session_state session(void)
{
    return (struct etw_session_state){.handle = 5,
        .mode = ETW_MODE_REAL_TIME | ETW_MODE_INDEPENDENT_SESSION,
        .flush_ms = 1000,
        .buffers = 8,
        .free_buffers = 7,
        .max_buffers = 16,
        .buffer_kb = 64};
}

static void a_session_as_it_began_is_whole(void **state)
{
    (void)state;
    struct etw_session_state was = session();
    struct etw_session_state now = session();
    struct etw_guard_settings found;
    now.buffers = 12; /* their number changes by itself */
    now.free_buffers = 1;
    now.events_lost = 9;
    etw_guard_judge_settings(&was, &now, &found);
    assert_false(found.worse || found.other || found.mends);
    assert_string_equal(found.detail, "");
}

static void what_makes_less_come_is_changed_back(void **state)
{
    (void)state;
    struct etw_session_state was = session();
    struct etw_session_state now = session();
    struct etw_guard_settings found;
    now.mode = ETW_MODE_INDEPENDENT_SESSION;
    now.flush_ms = 3600000;
    now.max_buffers = 8;
    etw_guard_judge_settings(&was, &now, &found);
    assert_true(found.worse && found.mends);
    assert_true(found.change.set_real_time && found.change.real_time);
    assert_true(found.change.set_flush);
    assert_int_equal(found.change.flush_ms, 1000);
    assert_true(found.change.set_max_buffers);
    assert_int_equal(found.change.max_buffers, 16);
    assert_null(found.change.file);
    assert_string_equal(found.detail,
        "its events are not delivered live any more, flush was set from "
        "1000 to 3600000 ms, the maximum of buffers was set from 16 to 8");
}

static void what_does_no_harm_is_left(void **state)
{
    (void)state;
    struct etw_session_state was = session();
    struct etw_session_state now = session();
    struct etw_guard_settings found;
    now.flush_ms = 100;
    now.max_buffers = 64;
    strcpy(now.file, "C:\\else.etl");
    etw_guard_judge_settings(&was, &now, &found);
    assert_true(found.other);
    assert_false(found.worse || found.mends);
    assert_false(found.change.set_flush || found.change.set_max_buffers);
    assert_non_null(strstr(found.detail, "its file is now C:\\else.etl"));
    was.mode = now.mode = ETW_MODE_NEWFILE; /* the names of its files have numbers */
    now.flush_ms = was.flush_ms;
    now.max_buffers = was.max_buffers;
    etw_guard_judge_settings(&was, &now, &found);
    assert_false(found.other);
}

static void groups_that_were_on_and_are_off_are_lost(void **state)
{
    (void)state;
    struct etw_groups wanted = {.words = {0x7, 0, 0x40}};
    /* Windows refused one and added another */
    struct etw_groups was = {.words = {0x3, 0x100, 0x40}};
    struct etw_groups lost;
    assert_false(etw_guard_judge_groups(&wanted, &was, &was, &lost));
    struct etw_groups now = {.words = {0x2, 0, 0}};
    assert_true(etw_guard_judge_groups(&wanted, &was, &now, &lost));
    assert_int_equal(lost.words[0], 0x1);
    assert_int_equal(lost.words[1], 0);
    assert_int_equal(lost.words[2], 0x40);
}

/* ---- providers ------------------------------------------------------------------------------- */

static const struct etw_request request = {
    .level = 5, .any = 0x50, .properties = ETW_ENABLE_PROCESS_START_KEY};

/* As Windows reports it: with properties and keywords that it has added. */
static struct etw_provider_enabled enabled(void)
{
    return (struct etw_provider_enabled){.known = true,
        .instances = 3,
        .entries = 3,
        .level = 255,
        .properties = 0xc0,
        .any = 0x850};
}

static enum etw_guard_enabled judge(struct etw_provider_enabled now)
{
    struct etw_provider_enabled was = enabled();
    return etw_guard_judge_provider(&request, &was, &now, detail);
}

static void what_windows_adds_or_takes_back_itself_is_no_change(void **state)
{
    (void)state;
    struct etw_provider_enabled now = enabled();
    assert_int_equal(judge(now), ETW_GUARD_ENABLED);
    now.level = 5;
    now.properties = ETW_ENABLE_PROCESS_START_KEY;
    now.any = 0x50;
    assert_int_equal(judge(now), ETW_GUARD_ENABLED);
    now.any = UINT64_MAX;
    now.properties = 0x3c1;
    assert_int_equal(judge(now), ETW_GUARD_ENABLED);
    assert_string_equal(detail, "");
}

static void what_lets_fewer_events_through_is_narrowed(void **state)
{
    (void)state;
    struct etw_provider_enabled now = enabled();
    now.level = 2;
    assert_int_equal(judge(now), ETW_GUARD_NARROWED);
    assert_string_equal(detail, "level 2 instead of 5");
    now = enabled();
    now.any = 0x40;
    assert_int_equal(judge(now), ETW_GUARD_NARROWED);
    assert_string_equal(detail, "keywords 0x40 instead of 0x850");
    now = enabled();
    now.all = 0x10;
    assert_int_equal(judge(now), ETW_GUARD_NARROWED);
    now = enabled();
    now.properties = 0x40;
    assert_int_equal(judge(now), ETW_GUARD_NARROWED);
    now = enabled();
    now.properties |= ETW_ENABLE_IGNORE_KEYWORD_0;
    assert_int_equal(judge(now), ETW_GUARD_NARROWED);
}

static void what_windows_never_told_is_not_missed(void **state)
{
    (void)state;
    struct etw_provider_enabled was = enabled();
    struct etw_provider_enabled now = enabled();
    was.any = now.any = 0x40; /* we asked for 0x50 */
    assert_int_equal(etw_guard_judge_provider(&request, &was, &now, detail), ETW_GUARD_ENABLED);
    was.entries = now.entries = 0; /* or Windows lists no session for this provider */
    assert_int_equal(etw_guard_judge_provider(&request, &was, &now, detail), ETW_GUARD_ENABLED);
    was = enabled();
    now = (struct etw_provider_enabled){.known = false};
    assert_int_equal(etw_guard_judge_provider(&request, &was, &now, detail), ETW_GUARD_ENABLED);
}

static void a_registered_provider_without_the_session_is_disabled(void **state)
{
    (void)state;
    struct etw_provider_enabled now = {.known = true, .instances = 3};
    assert_int_equal(judge(now), ETW_GUARD_DISABLED);
    now.instances = 0; /* all of its processes have ended */
    assert_int_equal(judge(now), ETW_GUARD_ENABLED);
    /* the process came after the provider was enabled */
    struct etw_provider_enabled was = {.known = true};
    now.instances = 1;
    assert_int_equal(etw_guard_judge_provider(&request, &was, &now, detail), ETW_GUARD_DISABLED);
}

static void a_provider_of_some_processes_may_have_none(void **state)
{
    (void)state;
    struct etw_request scoped = request;
    scoped.executables.count = 1;
    scoped.executables.texts[0] = "svc.exe";
    struct etw_provider_enabled was = enabled();
    struct etw_provider_enabled now = {.known = true, .instances = 3};
    assert_int_equal(etw_guard_judge_provider(&scoped, &was, &now, detail), ETW_GUARD_ENABLED);
    now = enabled();
    now.level = 1; /* an instance that is there shows the wrong level */
    assert_int_equal(etw_guard_judge_provider(&scoped, &was, &now, detail), ETW_GUARD_NARROWED);
}

static void one_that_came_later_is_held_against_what_was_asked(void **state)
{
    (void)state;
    struct etw_provider_enabled was = {.known = true};
    struct etw_provider_enabled now = enabled();
    assert_int_equal(etw_guard_judge_provider(&request, &was, &now, detail), ETW_GUARD_ENABLED);
    now.any = 0x40;
    assert_int_equal(etw_guard_judge_provider(&request, &was, &now, detail), ETW_GUARD_NARROWED);
}

/* ---- the consumer ---------------------------------------------------------------------------- */

enum { SECOND = 10000000 };

static void a_consumer_that_keeps_up_is_not_behind(void **state)
{
    (void)state;
    struct etw_guard_pace pace = {.known = false};
    struct etw_session_state at = session();
    struct etw_guard_reading reading = {.limit_ms = 10000, .state = &at};
    for (int i = 0; i < 5; i++) { /* no event is written */
        assert_false(etw_guard_judge_pace(&pace, &reading, detail));
    }
    reading.lag_ms = 10000;
    assert_false(etw_guard_judge_pace(&pace, &reading, detail));
    pace = (struct etw_guard_pace){.known = false};
    reading.lag_ms = 60000; /* these events waited for the reader before it began */
    assert_false(etw_guard_judge_pace(&pace, &reading, detail));
}

static void late_events_lost_buffers_and_full_ones_are_told_once(void **state)
{
    (void)state;
    struct etw_guard_pace pace = {.known = false};
    struct etw_session_state at = session();
    struct etw_guard_reading reading = {.limit_ms = 10000, .state = &at};
    assert_false(etw_guard_judge_pace(&pace, &reading, detail));
    reading.lag_ms = 11000;
    assert_true(etw_guard_judge_pace(&pace, &reading, detail));
    assert_non_null(strstr(detail, "events are read 11 s after they were written"));
    assert_non_null(strstr(detail, "more or bigger buffers (now at most 16 of 64 KB)"));
    assert_false(etw_guard_judge_pace(&pace, &reading, detail)); /* still behind: reported */
    reading.lag_ms = 0;
    assert_false(etw_guard_judge_pace(&pace, &reading, detail)); /* caught up */
    at.real_time_buffers_lost = 2;
    assert_true(etw_guard_judge_pace(&pace, &reading, detail));
    assert_non_null(strstr(detail, "2 buffers were lost"));
    assert_false(etw_guard_judge_pace(&pace, &reading, detail));
    at.buffers = 16;
    at.free_buffers = 0;
    assert_false(etw_guard_judge_pace(&pace, &reading, detail)); /* behind for a moment only */
    assert_true(etw_guard_judge_pace(&pace, &reading, detail));
    assert_non_null(strstr(detail, "all 16 buffers are full"));
}

/* ---- the clock ------------------------------------------------------------------------------- */

static void a_clock_that_runs_does_not_jump(void **state)
{
    (void)state;
    const uint64_t frequency = 3579545;
    struct etw_guard_clock clock = {.known = false};
    uint64_t time = 134000000000000000;
    int64_t counter = 77;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(etw_guard_judge_clock(&clock, counter, time, frequency, 1000), 0);
        counter += (int64_t)frequency * 10;
        time += 10 * (uint64_t)SECOND + SECOND / 2; /* it catches up slowly */
    }
    assert_int_equal(etw_guard_judge_clock(&clock, counter, time, 0, 1000), 0);
}

static void a_clock_that_is_set_jumps_forward_and_back(void **state)
{
    (void)state;
    const uint64_t frequency = 10000000;
    struct etw_guard_clock clock = {.known = false};
    uint64_t time = 134000000000000000;
    assert_int_equal(etw_guard_judge_clock(&clock, 1000, time, frequency, 1000), 0);
    time += 11 * (uint64_t)SECOND;
    assert_int_equal(
        etw_guard_judge_clock(&clock, 1000 + 10 * (int64_t)SECOND, time, frequency, 1000), 1000);
    time -= 3600 * (uint64_t)SECOND;
    assert_int_equal(
        etw_guard_judge_clock(&clock, 1000 + 10 * (int64_t)SECOND, time, frequency, 1000),
        -3600000);
    assert_int_equal(
        etw_guard_judge_clock(&clock, 1000 + 10 * (int64_t)SECOND, time, frequency, 1000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_as_it_began_is_whole),
        cmocka_unit_test(what_makes_less_come_is_changed_back),
        cmocka_unit_test(what_does_no_harm_is_left),
        cmocka_unit_test(groups_that_were_on_and_are_off_are_lost),
        cmocka_unit_test(what_windows_adds_or_takes_back_itself_is_no_change),
        cmocka_unit_test(what_lets_fewer_events_through_is_narrowed),
        cmocka_unit_test(what_windows_never_told_is_not_missed),
        cmocka_unit_test(a_registered_provider_without_the_session_is_disabled),
        cmocka_unit_test(a_provider_of_some_processes_may_have_none),
        cmocka_unit_test(one_that_came_later_is_held_against_what_was_asked),
        cmocka_unit_test(a_consumer_that_keeps_up_is_not_behind),
        cmocka_unit_test(late_events_lost_buffers_and_full_ones_are_told_once),
        cmocka_unit_test(a_clock_that_runs_does_not_jump),
        cmocka_unit_test(a_clock_that_is_set_jumps_forward_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
