#include "support/test.h"

#include "platform/plat_clock.h"
#include "platform/plat_thread.h"

enum { THREADS = 4, ROUNDS = 20000 };

struct shared {
    struct plat_mutex mutex;
    struct plat_cond changed;
    uint64_t count;
    unsigned turn;
    bool ready;
};

static void shared_init(struct shared *shared)
{
    *shared = (struct shared){.count = 0};
    plat_mutex_init(&shared->mutex);
    plat_cond_init(&shared->changed);
}

static void shared_fini(struct shared *shared)
{
    plat_cond_fini(&shared->changed);
    plat_mutex_fini(&shared->mutex);
}

static void start_all(
    struct plat_thread *threads[THREADS], plat_thread_fn *run, struct shared *shared)
{
    struct error err;
    for (unsigned i = 0; i < THREADS; i++) {
        threads[i] = plat_thread_start("one of many", run, shared, &err);
        assert_non_null(threads[i]);
    }
}

static void join_all(struct plat_thread *const threads[THREADS])
{
    for (unsigned i = 0; i < THREADS; i++) {
        plat_thread_join(threads[i]);
    }
}

static void add_many(void *self)
{
    struct shared *shared = self;
    for (unsigned i = 0; i < ROUNDS; i++) {
        plat_mutex_lock(&shared->mutex);
        shared->count++;
        plat_mutex_unlock(&shared->mutex);
    }
}

static void a_mutex_lets_one_thread_in_at_a_time(void **state)
{
    (void)state;
    struct shared shared;
    shared_init(&shared);
    struct plat_thread *threads[THREADS];
    start_all(threads, add_many, &shared);
    join_all(threads);
    assert_int_equal(shared.count, (uint64_t)THREADS * ROUNDS);
    shared_fini(&shared);
}

static void answer_turns(void *self)
{
    struct shared *shared = self;
    plat_mutex_lock(&shared->mutex);
    for (unsigned i = 0; i < ROUNDS / 10; i++) {
        while (shared->turn % 2 == 0) {
            plat_cond_wait(&shared->changed, &shared->mutex);
        }
        shared->turn++;
        plat_cond_signal(&shared->changed);
    }
    plat_mutex_unlock(&shared->mutex);
}

static void a_condition_hands_turns_over(void **state)
{
    (void)state;
    struct shared shared;
    shared_init(&shared);
    struct error err;
    struct plat_thread *other = plat_thread_start(
        "a name that is longer than fifteen bytes", answer_turns, &shared, &err);
    assert_non_null(other);
    plat_mutex_lock(&shared.mutex);
    for (unsigned i = 0; i < ROUNDS / 10; i++) {
        while (shared.turn % 2 == 1) {
            plat_cond_wait(&shared.changed, &shared.mutex);
        }
        shared.turn++;
        plat_cond_signal(&shared.changed);
    }
    plat_mutex_unlock(&shared.mutex);
    plat_thread_join(other);
    assert_int_equal(shared.turn, 2 * (ROUNDS / 10));
    shared_fini(&shared);
}

static void a_wait_ends_at_its_deadline_and_not_before(void **state)
{
    (void)state;
    struct shared shared;
    shared_init(&shared);
    uint64_t deadline = plat_monotonic_ns() + 20 * UINT64_C(1000000);
    plat_mutex_lock(&shared.mutex);
    while (plat_cond_wait_until(&shared.changed, &shared.mutex, deadline)) {}
    plat_mutex_unlock(&shared.mutex);
    assert_true(plat_monotonic_ns() >= deadline);
    shared_fini(&shared);
}

static void a_deadline_of_the_past_does_not_wait(void **state)
{
    (void)state;
    struct shared shared;
    shared_init(&shared);
    plat_mutex_lock(&shared.mutex);
    assert_false(plat_cond_wait_until(&shared.changed, &shared.mutex, 1));
    plat_mutex_unlock(&shared.mutex);
    shared_fini(&shared);
}

static void wait_for_ready(void *self)
{
    struct shared *shared = self;
    plat_mutex_lock(&shared->mutex);
    while (!shared->ready) {
        plat_cond_wait_until(&shared->changed, &shared->mutex, UINT64_MAX);
    }
    shared->count++;
    plat_mutex_unlock(&shared->mutex);
}

static void a_broadcast_wakes_everybody(void **state)
{
    (void)state;
    struct shared shared;
    shared_init(&shared);
    struct plat_thread *threads[THREADS];
    start_all(threads, wait_for_ready, &shared);
    plat_mutex_lock(&shared.mutex);
    shared.ready = true;
    plat_cond_broadcast(&shared.changed);
    plat_mutex_unlock(&shared.mutex);
    join_all(threads);
    assert_int_equal(shared.count, THREADS);
    shared_fini(&shared);
}

static void count_up(void *self)
{
    struct shared *shared = self;
    plat_mutex_lock(&shared->mutex);
    shared->count++;
    plat_cond_signal(&shared->changed);
    plat_mutex_unlock(&shared->mutex);
}

static void a_thread_that_is_left_before_it_begins_runs_all_the_same(void **state)
{
    enum { LEFT = 500 };
    /* threads still use it after the last one has counted */
    static struct shared shared;
    (void)state;
    shared_init(&shared);
    struct error err;
    for (unsigned i = 0; i < LEFT; i++) {
        struct plat_thread *thread = plat_thread_start("left", count_up, &shared, &err);
        assert_non_null(thread);
        plat_thread_detach(thread);
    }
    plat_mutex_lock(&shared.mutex);
    while (shared.count < LEFT) {
        plat_cond_wait(&shared.changed, &shared.mutex);
    }
    plat_mutex_unlock(&shared.mutex);
}

static void joining_nothing_is_fine(void **state)
{
    (void)state;
    plat_thread_join(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mutex_lets_one_thread_in_at_a_time),
        cmocka_unit_test(a_condition_hands_turns_over),
        cmocka_unit_test(a_wait_ends_at_its_deadline_and_not_before),
        cmocka_unit_test(a_deadline_of_the_past_does_not_wait),
        cmocka_unit_test(a_broadcast_wakes_everybody),
        cmocka_unit_test(a_thread_that_is_left_before_it_begins_runs_all_the_same),
        cmocka_unit_test(joining_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
