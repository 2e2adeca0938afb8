#include "etw/session/etw_heap.h"
#include "support/etw_sim/etw_sim.h"
#include "support/test.h"

/* The simulator accepts as a session of heaps the block that ntwmi.h describes, and nothing
 * else. */

static struct etw_sim *sim;

static int set_up(void **state)
{
    (void)state;
    sim = etw_sim_create(&(struct etw_sim_options){.processors = 1}, NULL);
    etw_api_use(sim ? etw_sim_api(sim) : NULL);
    return sim ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    etw_api_use(NULL);
    etw_sim_destroy(sim);
    return 0;
}

/* 0, or the code with which the session is refused. */
static uint32_t start(
    const char *name, const struct guid *guid, uint32_t mode, const void *block, size_t size)
{
    struct etw_session_state session;
    struct error err = {0};
    const struct etw_session_spec spec = {.name = name,
        .guid = *guid,
        .mode = ETW_MODE_REAL_TIME | mode,
        .buffer_kb = 64,
        .extension = span_make(block, size)};
    return etw_control_start(&spec, &session, &err) ? 0 : (uint32_t)err.os_code;
}

static void a_block_is_taken_as_a_whole_or_not_at_all(void **state)
{
    static const struct {
        uint8_t bytes[24];
        size_t size;
        uint32_t code;
    } rows[] = {
        {{3, 0, 1, 0, 2, 0, 2, 0, 7, 0, 0, 0}, 12, 0},
        {{5, 0, 2, 0, 2, 0, 2, 0, 7, 0, 0, 0, 2, 0, 3, 0, 0x21, 0x10, 0, 0}, 20, 0},
        {{3, 0, 1, 0, 2, 0, 3, 0, 0x21, 0x10, 0, 0}, 12, 1004},       /* no processes */
        {{3, 0, 2, 0, 2, 0, 2, 0, 7, 0, 0, 0}, 12, 1004},             /* one item of two */
        {{2, 0, 1, 0, 2, 0, 2, 0, 7, 0, 0, 0}, 12, 1004},             /* the block is cut */
        {{4, 0, 1, 0, 2, 0, 2, 0, 7, 0, 0, 0}, 12, 1004},             /* it is too long */
        {{4, 0, 1, 0, 2, 0, 2, 0, 7, 0, 0, 0, 0, 0, 0, 0}, 16, 1004}, /* something is left */
        {{3, 0, 1, 0, 0, 0, 2, 0, 7, 0, 0, 0}, 12, 1004},             /* an item without a head */
        {{2, 0, 1, 0, 1, 0, 2, 0}, 8, 1004},                          /* an item without data */
        {{3, 0, 1, 0, 2, 0, 9, 0, 7, 0, 0, 0}, 12, 1004},             /* an unknown type */
        {{5, 0, 2, 0, 2, 0, 2, 0, 7, 0, 0, 0, 2, 0, 3, 0, 0x21, 0xff, 0, 0}, 20, 1004},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(
            start("heap", &etw_heap_guid, 0, rows[i].bytes, rows[i].size), rows[i].code);
        if (rows[i].code == 0) {
            assert_true(etw_control_stop("heap", NULL, NULL));
        }
    }
    assert_int_equal(start("heap", &etw_heap_guid, 0, NULL, 0), 1004);
}

static void there_is_one_session_of_heaps_and_no_other_has_processes(void **state)
{
    static const uint8_t block[] = {3, 0, 1, 0, 2, 0, 2, 0, 7, 0, 0, 0};
    static const struct guid other = {{9}};
    (void)state;
    assert_int_equal(start("k", &other, ETW_MODE_SYSTEM_LOGGER, block, sizeof(block)), 87);
    assert_int_equal(start("k", &etw_heap_guid, ETW_MODE_SYSTEM_LOGGER, block, sizeof(block)), 87);
    assert_int_equal(
        start("k", &etw_heap_guid, ETW_MODE_USE_PAGED_MEMORY, block, sizeof(block)), 87);
    assert_int_equal(start("heap", &etw_heap_guid, 0, block, sizeof(block)), 0);
    assert_int_equal(start("other", &etw_heap_guid, 0, block, sizeof(block)), 183);
}

static void an_event_arrives_in_the_session_that_has_its_process(void **state)
{
    static const uint8_t block[] = {
        5, 0, 2, 0, 2, 0, 2, 0, 7, 0, 0, 0, 2, 0, 3, 0, 0x21, 0x10, 0, 0};
    struct etw_sim_session_info info;
    (void)state;
    assert_int_equal(start("heap", &etw_heap_guid, 0, block, sizeof(block)), 0);
    struct etw_sim_kernel_event event = {.hook_id = 0x1021, .process_id = 7};
    assert_int_equal(etw_sim_kernel_write(sim, &event), 0);
    assert_true(etw_sim_session_get(sim, "heap", &info));
    assert_int_equal(info.counts.logged, 2); /* with its stack */
    event.hook_id = 0x1024;
    etw_sim_kernel_write(sim, &event);
    assert_true(etw_sim_session_get(sim, "heap", &info));
    assert_int_equal(info.counts.logged, 3); /* none was asked for */
    event.process_id = 8;
    etw_sim_kernel_write(sim, &event);
    event.process_id = 7;
    event.hook_id = 0x0301; /* a process begins */
    etw_sim_kernel_write(sim, &event);
    assert_true(etw_sim_session_get(sim, "heap", &info));
    assert_int_equal(info.counts.logged, 3);
}

int main(void)
{
#define T(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(a_block_is_taken_as_a_whole_or_not_at_all),
        T(there_is_one_session_of_heaps_and_no_other_has_processes),
        T(an_event_arrives_in_the_session_that_has_its_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
