#include "pipeline/work/limiter.h"

#include "platform/plat_thread.h"
#include "support/test.h"

/* Times are seconds of FILETIME. */
enum { SESSIONS = 2 };
static const uint64_t second = 10000000;

struct rig {
    struct filter *filter;
    struct limiter *limiter;
};

static void rig_init(struct rig *rig, const char *rate, uint64_t burst, bool per)
{
    static const char *const fields[] = {"process.pid"};
    struct filter_rule rule = {.action = FILTER_ACTION_LIMIT,
        .text = span_text("true"),
        .fields = fields,
        .field_count = per};
    struct filter_place place;
    struct error err;
    assert_true(filter_limit_parse(span_text(rate), &rule.limit));
    rule.limit.burst = burst;
    rig->filter = filter_create(&rule, 1, &place, &err);
    assert_non_null(rig->filter);
    rig->limiter = limiter_create(rig->filter, SESSIONS, &err);
    assert_non_null(rig->limiter);
}

static void rig_fini(struct rig *rig)
{
    limiter_destroy(rig->limiter);
    filter_destroy(rig->filter);
}

/* The number of ${count} events at ${time} that find a token. */
static unsigned takes(struct rig *rig, size_t session, uint64_t key, uint64_t time, unsigned count)
{
    unsigned taken = 0;
    for (unsigned i = 0; i < count; i++) {
        taken += limiter_take(rig->limiter, session, 0, key, time);
    }
    return taken;
}

static void a_bucket_holds_its_burst_and_fills_at_its_rate(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, "3/s", 5, false);
    uint64_t start = 1000 * second;
    assert_int_equal(takes(&rig, 0, 0, start, 9), 5);
    /* A third of a second is not a whole number of 100 ns: no token is added by rounding, and none
     * is lost. */
    assert_int_equal(takes(&rig, 0, 0, start + second / 3, 9), 0);
    assert_int_equal(takes(&rig, 0, 0, start + second / 3 + 1, 9), 1);
    assert_int_equal(takes(&rig, 0, 0, start + second, 9), 2);
    assert_int_equal(takes(&rig, 0, 0, start + 2 * second, 9), 3);
    assert_int_equal(takes(&rig, 0, 0, start + 1000 * second, 9), 5);
    rig_fini(&rig);
}

static void the_largest_limits_do_not_overflow(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, "10000000/d", FILTER_MAX_BURST, false);
    assert_int_equal(takes(&rig, 0, 0, 1, 10000001), 10000000);
    assert_int_equal(takes(&rig, 0, 0, UINT64_MAX, 10000001), 10000000);
    rig_fini(&rig);
}

static void keys_and_sessions_have_buckets_of_their_own(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, "1/m", 2, true);
    assert_int_equal(takes(&rig, 0, 7, second, 5), 2);
    assert_int_equal(takes(&rig, 0, 8, second, 5), 2);
    assert_int_equal(takes(&rig, 1, 7, second, 5), 2);
    assert_int_equal(takes(&rig, 0, 7, second, 5), 0);
    rig_fini(&rig);
}

static void an_older_event_takes_what_is_there_and_a_clock_may_be_set_back(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, "1/s", 2, false);
    assert_int_equal(takes(&rig, 0, 0, 1000 * second, 1), 1);
    assert_int_equal(takes(&rig, 0, 0, 995 * second, 5), 1);
    assert_int_equal(takes(&rig, 0, 0, 1001 * second, 5), 1);
    assert_int_equal(takes(&rig, 0, 0, 500 * second, 5), 0);
    assert_int_equal(takes(&rig, 0, 0, 501 * second, 5), 1);
    rig_fini(&rig);
}

/* 256 sets of 16: keys that differ by 256 fall into one set. */
static void keys_without_room_share_one_bucket_until_others_are_full_again(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, "1/s", 1, true);
    unsigned taken = 0;
    for (uint64_t i = 0; i < 20; i++) {
        taken += takes(&rig, 0, i * 256, 1000 * second, 1);
    }
    assert_int_equal(taken, 17);
    for (uint64_t i = 100; i < 116; i++) {
        assert_int_equal(takes(&rig, 0, i * 256, 1001 * second, 2), 1);
    }
    rig_fini(&rig);
}

/* At the beginning of the next trace, or after the clock was set. */
static void buckets_of_a_time_that_is_over_make_room(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, "1/s", 1, true);
    for (uint64_t i = 0; i < 16; i++) {
        assert_int_equal(takes(&rig, 0, i * 256, 1000 * second, 2), 1);
    }
    for (uint64_t i = 100; i < 116; i++) {
        assert_int_equal(takes(&rig, 0, i * 256, 500 * second, 2), 1);
    }
    rig_fini(&rig);
}

static void what_is_held_back_is_told_once(void **state)
{
    (void)state;
    struct rig rig;
    struct time_range times;
    rig_init(&rig, "1/d", 1, false);
    takes(&rig, 0, 0, 5 * second, 3);
    takes(&rig, 0, 0, 4 * second, 1);
    assert_int_equal(limiter_held(rig.limiter, 1, &times), 0);
    assert_int_equal(limiter_held(rig.limiter, 0, &times), 3);
    assert_int_equal(times.from, 4 * second);
    assert_int_equal(times.to, 5 * second);
    assert_int_equal(limiter_held(rig.limiter, 0, &times), 0);
    rig_fini(&rig);
}

struct taker {
    struct rig *rig;
    uint64_t taken;
};

static void take_many(void *self)
{
    struct taker *taker = self;
    for (uint64_t i = 0; i < 20000; i++) {
        taker->taken += limiter_take(taker->rig->limiter, 0, 0, i % 4, second);
    }
}

static void workers_together_get_no_more_than_one_would(void **state)
{
    (void)state;
    enum { TAKERS = 4 };
    struct rig rig;
    struct taker takers[TAKERS];
    struct plat_thread *threads[TAKERS];
    struct time_range times;
    uint64_t taken = 0;
    rig_init(&rig, "1/d", 5000, true);
    for (size_t i = 0; i < TAKERS; i++) {
        takers[i] = (struct taker){.rig = &rig};
        threads[i] = plat_thread_start("take", take_many, &takers[i], NULL);
        assert_non_null(threads[i]);
    }
    for (size_t i = 0; i < TAKERS; i++) {
        plat_thread_join(threads[i]);
        taken += takers[i].taken;
    }
    assert_int_equal(taken, 4 * 5000);
    assert_int_equal(limiter_held(rig.limiter, 0, &times), TAKERS * 20000 - 4 * 5000);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bucket_holds_its_burst_and_fills_at_its_rate),
        cmocka_unit_test(the_largest_limits_do_not_overflow),
        cmocka_unit_test(keys_and_sessions_have_buckets_of_their_own),
        cmocka_unit_test(an_older_event_takes_what_is_there_and_a_clock_may_be_set_back),
        cmocka_unit_test(keys_without_room_share_one_bucket_until_others_are_full_again),
        cmocka_unit_test(buckets_of_a_time_that_is_over_make_room),
        cmocka_unit_test(what_is_held_back_is_told_once),
        cmocka_unit_test(workers_together_get_no_more_than_one_would),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
