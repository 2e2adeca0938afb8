#include "input/windows/etw_turn.h"

#include "platform/plat_clock.h"
#include "support/test.h"

enum { ROUNDS = 20000 };

struct shared {
    struct etw_turn turn;
    uint64_t calls; /* only the thread that has the turn counts: TSan reports any other */
    uint64_t refused;
};

static void consume(void *self)
{
    struct shared *shared = self;
    for (int i = 0; i < ROUNDS; i++) {
        if (!etw_turn_take(&shared->turn)) {
            shared->refused = 1;
            return;
        }
        shared->calls++;
        etw_turn_give(&shared->turn);
    }
}

static void one_at_a_time_has_the_turn(void **state)
{
    (void)state;
    struct shared shared = {.calls = 0};
    struct error err;
    etw_turn_init(&shared.turn);
    struct plat_thread *thread = plat_thread_start("test", consume, &shared, &err);
    assert_non_null(thread);
    uint64_t mine = 0;
    for (int i = 0; i < ROUNDS / 10; i++) {
        if (etw_turn_ask(&shared.turn, UINT64_MAX)) {
            shared.calls++;
            mine++;
            etw_turn_give(&shared.turn);
        }
    }
    plat_thread_join(thread);
    assert_int_equal(mine, ROUNDS / 10);
    assert_int_equal(shared.calls, ROUNDS + mine);
    etw_turn_fini(&shared.turn);
}

static void a_request_ends_where_the_turn_does_not_come_back(void **state)
{
    (void)state;
    struct etw_turn turn;
    etw_turn_init(&turn);
    assert_true(etw_turn_take(&turn));
    assert_false(etw_turn_ask(&turn, plat_monotonic_ns() + 1000000));
    etw_turn_give(&turn);
    assert_true(etw_turn_ask(&turn, 0));
    etw_turn_give(&turn);
    assert_true(etw_turn_take(&turn)); /* a refused request delays no other thread */
    etw_turn_give(&turn);
    etw_turn_fini(&turn);
}

static void a_closed_turn_is_given_to_no_consumer(void **state)
{
    (void)state;
    struct shared shared = {.calls = 0};
    struct error err;
    etw_turn_init(&shared.turn);
    assert_true(etw_turn_ask(&shared.turn, 0));
    struct plat_thread *thread = plat_thread_start("test", consume, &shared, &err);
    assert_non_null(thread);
    etw_turn_give(&shared.turn);
    etw_turn_close(&shared.turn);
    uint64_t calls = shared.calls;
    plat_thread_join(thread);
    assert_int_equal(shared.calls, calls);
    assert_true(shared.refused || calls == ROUNDS);
    etw_turn_fini(&shared.turn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_at_a_time_has_the_turn),
        cmocka_unit_test(a_request_ends_where_the_turn_does_not_come_back),
        cmocka_unit_test(a_closed_turn_is_given_to_no_consumer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
