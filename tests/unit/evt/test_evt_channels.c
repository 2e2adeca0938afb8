#include "evt/evt_channels.h"

#include "etw/etw_text.h"
#include "support/evt_sim.h"
#include "support/test.h"

/* What is told of a channel, and what is unknown where Windows does not tell it. */

static struct evt_channel_info info;

static int set_up(void **state)
{
    (void)state;
    evt_sim_start();
    evt_api_use(evt_sim_api());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    evt_api_use(NULL);
    return evt_sim_end() == 0 ? 0 : -1;
}

/* Members that are not told keep nothing of what was there before. */
static void look(const char *name)
{
    size_t units;
    memset(&info, 0x55, sizeof(info));
    info.record_count = info.oldest_record = info.file_bytes = info.max_bytes = 0;
    info.is_enabled = false;
    assert_true(etw_text_encode(span_text(name), info.name, EVT_CHANNELS_NAME_CHARS, &units));
    evt_channels_look(&info);
}

static void a_channel_has_its_type_records_and_sizes(void **state)
{
    (void)state;
    const struct evt_sim_event event = {.provider = "P", .id = 1};
    evt_sim_channel("A/Debug", EVT_CHANNEL_DEBUG, 2);
    for (int i = 0; i < 3; i++) {
        evt_sim_write("A/Debug", &event); /* the third takes the place of the first */
    }
    look("A/Debug");
    assert_int_equal(info.type, EVT_CHANNEL_DEBUG);
    assert_string_equal(evt_channels_type(info.type), "debug");
    assert_true(info.is_enabled);
    assert_true(info.is_readable);
    assert_int_equal(info.record_count, 2);
    assert_int_equal(info.oldest_record, 2);
    assert_int_equal(info.file_bytes, 69632);
    assert_int_equal(info.max_bytes, 20971520);
    assert_int_equal(info.access[0], 0); /* this one does not tell its rights */
}

static void a_channel_that_may_not_be_read_has_a_reason(void **state)
{
    (void)state;
    evt_sim_channel("Security", EVT_CHANNEL_ADMIN, 1);
    evt_sim_set_denied("Security", true);
    look("Security");
    assert_false(info.is_readable);
    assert_int_equal(info.reason, 5); /* ERROR_ACCESS_DENIED */
    assert_int_equal(info.type, EVT_CHANNEL_ADMIN);
}

static void what_is_not_told_is_unknown(void **state)
{
    (void)state;
    look("None");
    assert_false(info.is_readable);
    assert_int_equal(info.type, UINT32_MAX);
    assert_string_equal(evt_channels_type(info.type), "unknown");
    assert_int_equal(info.access[0], 0);
    assert_int_equal(info.max_bytes, 0);
}

static bool count(void *self, struct evt_channel_info *each)
{
    size_t *left = self;
    return each->name[0] != 0 && --*left > 0;
}

static void channels_are_listed_until_it_is_enough(void **state)
{
    (void)state;
    struct error err = {0};
    evt_sim_channel("A", EVT_CHANNEL_ADMIN, 1);
    evt_sim_channel("B", EVT_CHANNEL_ADMIN, 1);
    evt_sim_channel("C", EVT_CHANNEL_ADMIN, 1);
    size_t left = 10;
    assert_true(evt_channels_each(count, &left, &err));
    size_t all = 10 - left;
    assert_true(all >= 3);
    left = 2;
    assert_true(evt_channels_each(count, &left, &err));
    assert_int_equal(left, 0);
    static const struct evt_api none = {.EvtClose = NULL};
    evt_api_use(&none);
    assert_false(evt_channels_each(count, &left, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_channel_has_its_type_records_and_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_channel_that_may_not_be_read_has_a_reason, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_told_is_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(channels_are_listed_until_it_is_enough, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
