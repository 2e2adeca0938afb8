/* The simulated Windows under many threads at once: controllers, providers, consumers. The tests
 * are for ThreadSanitizer, and for a ledger that adds up in any order. */
#include "support/test.h"

#include <stdatomic.h>
#include <stdio.h>

#include "support/etw_sim/etw_sim_rig.h"

enum { WRITERS = 2, ROUNDS = 200 };

static const struct guid provider_guid = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

struct writer {
    struct etw_sim *sim;
    atomic_bool stop;
    atomic_uint enabled; /* by the last call of its callback */
    uint64_t writes;
};

static void on_enable(const struct guid *source_id, uint32_t code, uint8_t level, uint64_t any,
    uint64_t all, const struct etw_filter *filter, void *context)
{
    (void)source_id;
    (void)level;
    (void)any;
    (void)all;
    (void)filter;
    atomic_store(&((struct writer *)context)->enabled, code);
}

static void write_on(void *self)
{
    struct writer *w = self;
    const struct etw_api *api = etw_sim_api(w->sim);
    const struct event_descriptor d = {.id = 1, .level = 4};
    const struct etw_data data = {(uint64_t)(uintptr_t) "0123456789", 10, 0, 0, 0};
    while (!atomic_load(&w->stop)) {
        uint64_t handle = 0;
        api->EventRegister(&provider_guid, on_enable, w, &handle);
        for (int i = 0; i < 100; i++) {
            api->EventWriteTransfer(handle, &d, NULL, NULL, 1, &data);
            w->writes++;
        }
        api->EventUnregister(handle);
    }
}

static void start_and_stop_rounds_leave_nothing_and_lose_nothing_uncounted(void **state)
{
    (void)state;
    struct etw_sim *sim = etw_sim_create(
        &(struct etw_sim_options){.real_clock = true, .playback_kb = 64, .consumer_buffers = 4},
        NULL);
    assert_non_null(sim);
    struct writer writers[WRITERS];
    struct plat_thread *threads[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.sim = sim};
        threads[i] = plat_thread_start("writer", write_on, &writers[i], NULL);
        assert_non_null(threads[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        struct etw_sim_session_info info;
        struct rig_consumer c;
        uint64_t session = rig_start(sim, "round", 1 + (uint32_t)round % 8, 0);
        assert_true(session != 0);
        assert_true(rig_consumer_start(&c, sim, "round", 0));
        assert_int_equal(rig_enable(sim, session, &provider_guid, 5, 0, 0), 0);
        rig_consumer_await(&c, (uint64_t)round % 16);
        if (round % 3 == 0) { /* a consumer that leaves before its session ends */
            etw_sim_api(sim)->CloseTrace(c.trace);
            rig_consumer_wait(&c);
        }
        assert_int_equal(rig_stop(sim, "round"), 0);
        assert_int_equal(rig_consumer_wait(&c), 0);
        assert_true(etw_sim_session_get(sim, "round", &info));
        const struct etw_sim_counts *n = &info.counts;
        assert_int_equal(n->offered, n->filtered + n->withheld + n->events_lost + n->logged);
        assert_int_equal(n->logged, n->delivered + n->in_lost_buffers + n->discarded);
        assert_int_equal(n->pending, 0);
        assert_int_equal(c.count, n->delivered);
        rig_consumer_fini(&c);
    }
    for (int i = 0; i < WRITERS; i++) {
        atomic_store(&writers[i].stop, true);
        plat_thread_join(threads[i]);
    }
    assert_int_equal(etw_sim_session_count(sim), 0);
    assert_int_equal(etw_sim_open_traces(sim), 0);
    assert_int_equal(etw_sim_registrations(sim), 0);
    etw_sim_destroy(sim);
}

static void sessions_are_consumed_side_by_side(void **state)
{
    (void)state;
    enum { SESSIONS = 6 };
    struct etw_sim *sim = etw_sim_create(&(struct etw_sim_options){.processors = 4}, NULL);
    struct etw_sim_provider *p = etw_sim_provider_add(
        sim, &(struct etw_sim_provider_options){.guid = provider_guid});
    struct rig_consumer c[SESSIONS];
    char name[16];
    for (int i = 0; i < SESSIONS; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        uint64_t session = rig_start(sim, name, 4, ETW_MODE_INDEPENDENT_SESSION);
        assert_true(rig_consumer_start(&c[i], sim, name, 0));
        assert_int_equal(rig_enable(sim, session, &provider_guid, 5, 0, 0), 0);
    }
    const struct etw_sim_event event = {.descriptor = {.id = 1}};
    assert_int_equal(etw_sim_burst(p, &event, 0, 5000, 0), 5000);
    assert_true(etw_sim_settle(sim, 60000));
    for (int i = 0; i < SESSIONS; i++) {
        snprintf(name, sizeof(name), "s%d", i);
        rig_stop(sim, name);
        assert_int_equal(rig_consumer_wait(&c[i]), 0);
        assert_int_equal(c[i].count, 5000);
        for (uint64_t k = 0; k < RIG_KEEP; k++) {
            assert_true(load_le64(c[i].events[k].payload) == k);
        }
        rig_consumer_fini(&c[i]);
    }
    etw_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_and_stop_rounds_leave_nothing_and_lose_nothing_uncounted),
        cmocka_unit_test(sessions_are_consumed_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
