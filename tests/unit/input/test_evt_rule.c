#include "input/live/evt_rule.h"

#include <stdio.h>

#include "support/evt_sim.h"
#include "support/test.h"

/* Rules of channels: the records that they keep. The query never keeps fewer. */

static struct evt_rule read_rule(const struct evt_channel_settings *settings)
{
    struct evt_rule rule;
    struct error err;
    const void *member;
    assert_true(evt_rule_read(settings, &rule, &member, &err));
    return rule;
}

static const char *query_of(const struct evt_rule *rule, bool *ret_whole)
{
    static char text[16384];
    struct buf out;
    buf_init(&out, sizeof(text) - 1);
    *ret_whole = evt_rule_write_query(rule, &out);
    memcpy(text, out.data, out.size);
    text[out.size] = 0;
    buf_fini(&out);
    return text;
}

static void a_rule_is_said_in_xpath(void **state)
{
    (void)state;
    const char *ids[] = {"1", "3-5"};
    const char *levels[] = {"warning", "information"};
    const char *providers[] = {"Microsoft-Windows-Sysmon", "It's"};
    struct evt_channel_settings settings = {.name = "X"};
    bool is_whole;
    struct evt_rule rule = read_rule(&settings);
    assert_string_equal(query_of(&rule, &is_whole), "*");
    assert_true(is_whole);
    settings.ids = (struct config_strings){ids, 2};
    settings.levels = (struct config_strings){levels, 2};
    settings.providers = (struct config_strings){providers, 2};
    rule = read_rule(&settings);
    assert_string_equal(query_of(&rule, &is_whole),
        "*[System[(Level=0 or (Level>=3 and Level<=4)) and "
        "Provider[@Name='Microsoft-Windows-Sysmon' or @Name=\"It's\"] and "
        "(EventID=1 or (EventID>=3 and EventID<=5))]]");
    assert_true(is_whole);
}

static void a_query_of_the_user_stands_as_it_is(void **state)
{
    (void)state;
    const char *ids[] = {"1"};
    struct evt_channel_settings settings = {
        .name = "X", .query = "*[System[EventID=1]]", .ids = {ids, 1}};
    bool is_whole;
    struct evt_rule rule = read_rule(&settings);
    assert_string_equal(query_of(&rule, &is_whole), "*[System[EventID=1]]");
    assert_false(is_whole);
}

static void what_is_wrong_is_said_at_its_value(void **state)
{
    (void)state;
    const char *ids[] = {"1", "x"};
    struct evt_channel_settings settings = {.name = "X", .ids = {ids, 2}};
    struct evt_rule rule;
    struct error err;
    const void *member = NULL;
    assert_false(evt_rule_read(&settings, &rule, &member, &err));
    assert_ptr_equal(member, &ids[1]);
}

static unsigned random_state = 1;

static unsigned roll(unsigned sides)
{
    random_state = random_state * 1103515245 + 12345;
    return (random_state >> 16) % sides;
}

/* Any rule, also one that needs far more terms than Windows allows. */
static void the_query_is_never_stricter_than_the_rule(void **state)
{
    (void)state;
    enum { ROUNDS = 3000, EVENTS = 30, MAX_IDS = 30, TEXT = 16 };
    static char texts[MAX_IDS][TEXT];
    static const char *names[] = {"A", "B'", "C\"'", "D", "E", "F", "G", "H", "I", "J", "K", "L",
        "M", "N", "O", "P", "Q", "R", "S", "T", "U", "V", "W", "X", "Y"};
    static const char *level_names[] = {"1", "2", "3", "4", "5", "0", "7", "9", "11"};
    size_t passed = 0;
    size_t loose = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const char *ids[MAX_IDS];
        struct evt_channel_settings settings = {.name = "X",
            .ids = {ids, roll(3) ? roll(4) : roll(MAX_IDS)},
            .levels = {level_names, roll(2) ? 0 : roll(9)},
            .providers = {names, roll(2)   ? 0
                                 : roll(3) ? roll(3)
                                           : roll(25)}};
        for (size_t i = 0; i < settings.ids.count; i++) {
            unsigned first = roll(40);
            if (roll(2)) {
                snprintf(texts[i], TEXT, "%u", first);
            } else {
                snprintf(texts[i], TEXT, "%u-%u", first, first + roll(5));
            }
            ids[i] = texts[i];
        }
        struct evt_rule rule = read_rule(&settings);
        rule.max_age_ns = roll(4) ? 0 : UINT64_C(3600000000000);
        bool is_whole;
        const char *query = query_of(&rule, &is_whole);
        loose += !is_whole;
        for (int i = 0; i < EVENTS; i++) {
            const uint64_t now = UINT64_C(134084814000000000);
            struct evt_sim_event event = {.provider = names[roll(25)],
                .id = (uint16_t)roll(45),
                .level = (uint8_t)roll(12),
                .time = now - roll(2) * UINT64_C(1000000)};
            struct event_record record = {
                .time = event.time, .descriptor = {.id = event.id, .level = event.level}};
            bool valid;
            bool keeps = evt_rule_keeps(&rule, &record, span_text(event.provider), now);
            evt_sim_now(now);
            bool selects = evt_sim_selects(query, &event, &valid);
            assert_true(valid);
            assert_true(selects || !keeps);
            assert_true(keeps || !selects || !is_whole);
            passed += keeps;
        }
    }
    assert_true(passed > ROUNDS);
    assert_true(loose > 100);
}

static void information_takes_what_is_always_logged(void **state)
{
    (void)state;
    const char *levels[] = {"information"};
    struct evt_channel_settings settings = {.name = "X", .levels = {levels, 1}};
    struct evt_rule rule = read_rule(&settings);
    struct event_record record = {.descriptor = {.level = 0}};
    assert_true(evt_rule_keeps(&rule, &record, span_text("P"), 0));
    record.descriptor.level = 4;
    assert_true(evt_rule_keeps(&rule, &record, span_text("P"), 0));
    record.descriptor.level = 3;
    assert_false(evt_rule_keeps(&rule, &record, span_text("P"), 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_is_said_in_xpath),
        cmocka_unit_test(a_query_of_the_user_stands_as_it_is),
        cmocka_unit_test(what_is_wrong_is_said_at_its_value),
        cmocka_unit_test(the_query_is_never_stricter_than_the_rule),
        cmocka_unit_test(information_takes_what_is_always_logged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
