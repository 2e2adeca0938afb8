#include <limits.h>

#include "support/await.h"
#include "unit/input/evt_rig.h"

/* The channels and records that sessions read from a simulated Windows Event Log, and the fields of
 * each record. */

static void a_channel_is_read_from_its_oldest_record_and_on(void **state)
{
    (void)state;
    write_many("Security", 100);
    start("Security", EVT_START_OLDEST, nothing);
    await_count(100);
    write_one("Security", 4624);
    await_count(101);
    end();
    assert_int_equal(rig.end, INPUT_STOPPED);
    for (size_t i = 0; i < 101; i++) {
        assert_int_equal(rig.given[i].record_id, i + 1);
    }
    assert_int_equal(rig.given[100].event_id, 4624);
    assert_string_equal(rig.given[0].host, "SIM-PC");
    assert_int_equal(rig.gap_count, 0);
}

static void patterns_find_channels_but_none_that_cannot_be_subscribed_to(void **state)
{
    (void)state;
    evt_sim_channel("Vendor-A/Operational", EVT_CHANNEL_OPERATIONAL, 10);
    evt_sim_channel("Vendor-B/Operational", EVT_CHANNEL_OPERATIONAL, 10);
    evt_sim_channel("Vendor-B/Analytic", EVT_CHANNEL_ANALYTIC, 10);
    write_one("Security", 1);
    write_one("Vendor-A/Operational", 2);
    write_one("Vendor-B/Operational", 3);
    start("vendor-*", EVT_START_OLDEST, nothing);
    await_count(2);
    await_all_read();
    end();
    assert_int_equal(rig.count, 2);
    assert_int_equal(rig.given[0].event_id + rig.given[1].event_id, 5);
    assert_int_equal(evt_sim_subscriptions(), 2);
    assert_int_equal(rig.notes, 0);
}

static void windows_is_asked_for_what_is_wanted_alone(void **state)
{
    (void)state;
    static const char *ids[] = {"4624", "4700-4702"};
    rig.channels[0].ids = (struct config_strings){ids, 2};
    write_one("Security", 4624);
    write_one("Security", 4625);
    write_one("Security", 4701);
    start("Security", EVT_START_OLDEST, nothing);
    await_count(2);
    await_all_read();
    end();
    assert_int_equal(rig.count, 2);
    assert_int_equal(rig.given[1].event_id, 4701);
    assert_string_equal(
        evt_sim_query(), "*[System[(EventID=4624 or (EventID>=4700 and EventID<=4702))]]");
}

static void a_channel_that_may_not_be_read_is_read_as_soon_as_it_may(void **state)
{
    (void)state;
    evt_sim_set_denied("Security", true);
    start("Security", EVT_START_OLDEST, nothing);
    await_all_read();
    write_one("Security", 7);
    evt_sim_set_denied("Security", false);
    await_count(1);
    end();
    assert_int_equal(rig.end, INPUT_STOPPED);
    /* one says that the channel cannot be read, one that it is read again */
    assert_int_equal(rig.notes, 2);
    assert_true(rig.troubles > 0);
    assert_string_equal(rig.trouble, "");
}

static void a_channel_that_fails_whenever_it_is_read_is_said_once(void **state)
{
    (void)state;
    write_one("Security", 7);
    evt_sim_fail_next(EVT_ERROR_RPC_FAILED, UINT_MAX);
    start("Security", EVT_START_OLDEST, nothing);
    AWAIT(evt_sim_subscriptions() == 2);
    end();
    assert_int_equal(rig.notes, 1);
    assert_int_equal(rig.count, 0);
}

static void events_too_large_to_come_together_come_in_smaller_numbers(void **state)
{
    (void)state;
    write_many("Security", 100);
    evt_sim_fail_next(EVT_ERROR_RPC_INVALID_BOUND, 6); /* batches shrink from 64 records to 1 */
    start("Security", EVT_START_OLDEST, nothing);
    await_count(100);
    await_all_read();
    end();
    assert_int_equal(rig.count, 100);
    assert_int_equal(rig.gap_count + rig.notes, 0);
}

static void an_event_that_windows_does_not_render_is_a_gap(void **state)
{
    (void)state;
    evt_sim_fail_render(2);
    write_many("Security", 3);
    start("Security", EVT_START_OLDEST, nothing);
    await_count(2);
    await_all_read();
    end();
    assert_int_equal(rig.gap_count, 1);
    assert_string_equal(rig.gaps[0].reason, "not_rendered");
    assert_int_equal(rig.gaps[0].count, 1);
    assert_true(rig.gaps[0].exact);
}

static void a_slow_render_does_not_keep_a_session_from_stopping(void **state)
{
    (void)state;
    evt_sim_slow_render(20);
    write_many("Security", 1000);
    start("Security", EVT_START_OLDEST, nothing);
    await_count(1);
    end();
    assert_int_equal(rig.end, INPUT_STOPPED);
    assert_true(rig.count < 1000);
}

static void publishers_say_events_in_words(void **state)
{
    (void)state;
    struct evt_sim_event event = {
        .provider = "Test", .id = 1, .message = "First line.\r\nSecond line.\r\n"};
    rig.settings.messages = true;
    rig.settings.language = "en-US";
    evt_sim_write("Security", &event);
    event.message = "Another.";
    evt_sim_write("Security", &event);
    event.message = NULL;
    evt_sim_write("Security", &event);
    start("Security", EVT_START_OLDEST, nothing);
    await_count(3);
    end();
    assert_string_equal(rig.given[0].message, "First line.\nSecond line.");
    assert_string_equal(rig.given[1].message, "Another.");
    assert_string_equal(rig.given[2].message, "");
    assert_int_equal(evt_sim_opened_publishers(), 1);
    assert_int_equal(evt_sim_locale(), 1033);
}

static void a_message_comes_with_the_inserts_that_it_has(void **state)
{
    static const uint32_t codes[] = {EVT_ERROR_UNRESOLVED_VALUE_INSERT,
        EVT_ERROR_UNRESOLVED_PARAMETER_INSERT, EVT_ERROR_MAX_INSERTS_REACHED};
    const size_t count = sizeof(codes) / sizeof(codes[0]);
    (void)state;
    struct evt_sim_event event = {.provider = "Test", .id = 1, .message = "Of %7."};
    rig.settings.messages = true;
    for (size_t i = 0; i < count; i++) {
        event.message_code = codes[i];
        evt_sim_write("Security", &event);
    }
    start("Security", EVT_START_OLDEST, nothing);
    await_count(count);
    end();
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(rig.given[i].message, "Of %7.");
    }
    assert_int_equal(rig.notes, 0);
}

static void a_note_says_why_a_publisher_has_no_messages(void **state)
{
    (void)state;
    static const struct evt_sim_event event = {.provider = "Locked", .id = 1, .message = "x"};
    rig.settings.messages = true;
    evt_sim_write("Security", &event);
    start("Security", EVT_START_OLDEST, nothing);
    await_count(1);
    end();
    assert_int_equal(rig.notes, 1);
    assert_non_null(strstr(rig.note, "provider Locked: "));
    assert_non_null(strstr(rig.note, "(error 5)")); /* ERROR_ACCESS_DENIED of winerror.h */
}

static void a_channel_that_cannot_be_added_is_said_once(void **state)
{
    (void)state;
    static char name[600];
    memset(name, 'x', sizeof(name) - 1);
    start(name, EVT_START_OLDEST, nothing);
    await_all_read();
    end();
    assert_int_equal(rig.notes, 1);
    assert_non_null(strstr(rig.note, "channel xxx"));
}

static void a_missing_publisher_is_said_once(void **state)
{
    (void)state;
    const struct evt_sim_event event = {.provider = "Missing-Provider", .id = 1, .message = "x"};
    rig.settings.messages = true;
    for (int i = 0; i < 5; i++) {
        evt_sim_write("Security", &event);
    }
    start("Security", EVT_START_OLDEST, nothing);
    await_count(5);
    end();
    assert_int_equal(rig.notes, 1);
    assert_int_equal(evt_sim_opened_publishers(), 1);
    assert_string_equal(rig.given[4].message, "");
}

static void more_publishers_than_stay_open_are_opened_again(void **state)
{
    (void)state;
    enum { PUBLISHERS = 300 };
    rig.settings.messages = true;
    for (int i = 0; i < 2 * PUBLISHERS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "P%d", i % PUBLISHERS);
        const struct evt_sim_event event = {.provider = name, .id = 1, .message = name};
        evt_sim_write("Security", &event);
    }
    start("Security", EVT_START_OLDEST, nothing);
    await_count(2 * PUBLISHERS);
    end();
    assert_string_equal(rig.given[PUBLISHERS + 7].message, "P7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_channel_is_read_from_its_oldest_record_and_on),
        TEST(patterns_find_channels_but_none_that_cannot_be_subscribed_to),
        TEST(windows_is_asked_for_what_is_wanted_alone),
        TEST(a_channel_that_may_not_be_read_is_read_as_soon_as_it_may),
        TEST(a_channel_that_fails_whenever_it_is_read_is_said_once),
        TEST(events_too_large_to_come_together_come_in_smaller_numbers),
        TEST(an_event_that_windows_does_not_render_is_a_gap),
        TEST(a_slow_render_does_not_keep_a_session_from_stopping),
        TEST(publishers_say_events_in_words),
        TEST(a_message_comes_with_the_inserts_that_it_has),
        TEST(a_note_says_why_a_publisher_has_no_messages),
        TEST(a_channel_that_cannot_be_added_is_said_once),
        TEST(a_missing_publisher_is_said_once),
        TEST(more_publishers_than_stay_open_are_opened_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
