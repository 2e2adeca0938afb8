#include "input/windows/eventlog/evt_publishers.h"

#include "support/evt_sim.h"
#include "support/test.h"

/* When the list of publishers asks Windows again. */

#define SECONDS(s) (UINT64_C(1000000000) * (s))

static struct evt_publishers publishers;

static int set_up(void **state)
{
    (void)state;
    evt_sim_start();
    evt_publishers_init(&publishers, evt_sim_api(), 0);
    return 0;
}

/* Every handle was closed. */
static int tear_down(void **state)
{
    (void)state;
    evt_publishers_fini(&publishers);
    return evt_sim_end() == 0 ? 0 : -1;
}

static uint32_t find(const char *name, uint64_t now_ns)
{
    evt_handle handle;
    uint32_t code = evt_publishers_find(&publishers, span_text(name), now_ns, &handle);
    assert_true((code == EVT_OK) == (handle != NULL));
    return code;
}

static void a_publisher_that_was_opened_stays_open_for_an_hour(void **state)
{
    (void)state;
    assert_int_equal(find("Test", SECONDS(5)), EVT_OK);
    assert_int_equal(find("Test", SECONDS(3604)), EVT_OK);
    assert_int_equal(evt_sim_opened_publishers(), 1);
    assert_int_equal(find("Test", SECONDS(3605)), EVT_OK);
    assert_int_equal(find("Test", SECONDS(7000)), EVT_OK);
    assert_int_equal(evt_sim_opened_publishers(), 2);
}

static void a_publisher_that_is_missing_is_sought_again_after_a_minute(void **state)
{
    (void)state;
    evt_sim_refuse_publishers(EVT_ERROR_PUBLISHER_NOT_FOUND);
    assert_int_equal(find("Test", SECONDS(5)), EVT_ERROR_PUBLISHER_NOT_FOUND);
    evt_sim_refuse_publishers(EVT_OK);
    assert_int_equal(find("Test", SECONDS(64)), EVT_ERROR_PUBLISHER_NOT_FOUND);
    assert_int_equal(evt_sim_opened_publishers(), 1);
    assert_int_equal(find("Test", SECONDS(65)), EVT_OK);
}

static void a_publisher_that_was_removed_is_missing_after_its_hour(void **state)
{
    (void)state;
    assert_int_equal(find("Test", 0), EVT_OK);
    evt_sim_refuse_publishers(EVT_ERROR_PUBLISHER_NOT_FOUND);
    assert_int_equal(find("Test", SECONDS(3599)), EVT_OK);
    assert_int_equal(find("Test", SECONDS(3600)), EVT_ERROR_PUBLISHER_NOT_FOUND);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_publisher_that_was_opened_stays_open_for_an_hour),
        TEST(a_publisher_that_is_missing_is_sought_again_after_a_minute),
        TEST(a_publisher_that_was_removed_is_missing_after_its_hour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
