#include "pipeline/work/tap.h"

#include <stdatomic.h>

#include "platform/plat_thread.h"
#include "support/test.h"

#define SECOND UINT64_C(1000000000)

enum { OUT_BYTES = 1 << 20, WORKERS = 3, ROUNDS = 2000 };

static const struct tap_settings of_session = {
    .session = 1, .rate = 10, .worker_count = WORKERS, .session_count = 2};

static struct tap_hub *make_hub(void)
{
    struct error err;
    struct tap_hub *hub = tap_hub_create(&err);
    assert_non_null(hub);
    return hub;
}

/* A worker with a slab of ${count} records; returns how many the tap wants. */
static size_t offer(struct tap_hub *hub, size_t worker, size_t count)
{
    static const struct trace_info trace;
    static const struct event_record record = {.trace = &trace};
    static const struct event event = {.record = &record};
    static const struct event_path_context paths;
    struct tap_asker asker = {.worker = worker, .session = 1, .paths = &paths};
    struct tap_view view;
    size_t wanted = 0;
    tap_acquire(hub, &view);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < view.count; k++) {
            if (tap_is_of_session(&view, k, 1) && tap_may_want(&view, k) &&
                tap_wants(&view, k, &asker, &event)) {
                tap_give(&view, k, span_text("{}"));
                wanted++;
            }
        }
    }
    tap_release(hub, &view);
    return wanted;
}

static size_t take(struct tap *tap, uint64_t passed_ns, bool *ret_goes_on)
{
    struct buf out;
    buf_init(&out, OUT_BYTES);
    *ret_goes_on = tap_take(tap, passed_ns, &out);
    assert_false(out.failed);
    size_t lines = out.size / 3; /* {} and a line feed */
    assert_int_equal(out.size % 3, 0);
    buf_fini(&out);
    return lines;
}

static void a_rate_holds_and_what_is_beyond_it_is_counted(void **state)
{
    (void)state;
    struct error err;
    struct tap_hub *hub = make_hub();
    assert_int_equal(offer(hub, 0, 5), 0); /* no tap is open */
    struct tap *tap = tap_open(hub, &of_session, &err);
    bool goes_on;
    assert_non_null(tap);
    /* The tap gets the first one at once, at a rate of one in a tenth of a second. */
    assert_int_equal(offer(hub, 0, 3), 1);
    assert_int_equal(tap_omitted(tap), 2);
    assert_int_equal(take(tap, SECOND / 2, &goes_on), 1);
    assert_int_equal(offer(hub, 0, 8), 5);
    assert_int_equal(tap_omitted(tap), 3);
    assert_int_equal(take(tap, 60 * SECOND, &goes_on), 5); /* a pause saves up no tokens */
    assert_int_equal(offer(hub, 1, 50), 10);
    assert_int_equal(tap_omitted(tap), 40);
    assert_int_equal(tap_omitted(tap), 0);
    /* Parts of a token add up. */
    for (int i = 0; i < 3; i++) {
        take(tap, SECOND / 30 + 1, &goes_on);
    }
    assert_int_equal(offer(hub, 2, 5), 1);
    assert_true(goes_on);
    tap_close(tap);
    tap_hub_destroy(hub);
}

static void what_finds_no_room_is_counted(void **state)
{
    (void)state;
    struct error err;
    struct tap_hub *hub = make_hub();
    struct tap_settings settings = of_session;
    settings.rate = TAP_MAX_RATE;
    struct tap *tap = tap_open(hub, &settings, &err);
    static uint8_t large[TAP_ROOM_BYTES / 2];
    struct tap_view view;
    bool goes_on;
    take(tap, SECOND, &goes_on);
    tap_acquire(hub, &view);
    for (int i = 0; i < 3; i++) {
        tap_give(&view, 0, span_make(large, sizeof(large)));
    }
    tap_release(hub, &view);
    assert_int_equal(tap_omitted(tap), 2);
    assert_int_equal(offer(hub, 0, 3), 0); /* events are not written for nothing */
    assert_int_equal(tap_omitted(tap), 3);
    struct buf out;
    buf_init(&out, OUT_BYTES);
    assert_true(tap_take(tap, SECOND, &out));
    buf_fini(&out);
    assert_int_equal(offer(hub, 0, 3), 3);
    tap_close(tap);
    tap_hub_destroy(hub);
}

static void an_expression_is_asked_about_so_many_events_a_second(void **state)
{
    (void)state;
    struct error err;
    struct tap_hub *hub = make_hub();
    struct filter_rule nothing = {.action = FILTER_ACTION_DROP, .text = span_text("true")};
    struct filter_place place;
    struct tap_settings settings = of_session;
    settings.filter = filter_create(&nothing, 1, &place, &err);
    assert_non_null(settings.filter);
    struct tap *tap = tap_open(hub, &settings, &err);
    bool goes_on;
    assert_non_null(tap);
    take(tap, SECOND, &goes_on);
    assert_int_equal(offer(hub, 0, TAP_LOOKS + 7), 0);
    assert_int_equal(tap_omitted(tap), 7); /* it is unknown whether they were wanted */
    take(tap, SECOND, &goes_on);
    assert_int_equal(offer(hub, 0, 7), 0);
    assert_int_equal(tap_omitted(tap), 0);
    tap_close(tap);
    tap_hub_destroy(hub);
}

static void so_many_may_look_on_until_the_pipeline_ends(void **state)
{
    (void)state;
    struct error err;
    struct tap_hub *hub = make_hub();
    struct tap *taps[TAP_MAX];
    bool goes_on;
    for (size_t i = 0; i < TAP_MAX; i++) {
        taps[i] = tap_open(hub, &of_session, &err);
        assert_non_null(taps[i]);
    }
    assert_null(tap_open(hub, &of_session, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    tap_hub_end(hub);
    take(taps[0], SECOND, &goes_on);
    assert_false(goes_on);
    struct tap *next = tap_open(hub, &of_session, &err);
    assert_non_null(next);
    tap_close(next);
    for (size_t i = 0; i < TAP_MAX; i++) {
        tap_close(taps[i]);
    }
    tap_hub_destroy(hub);
}

struct busy {
    struct tap_hub *hub;
    size_t worker;
    atomic_bool *stop;
};

static void work(void *self)
{
    const struct busy *busy = self;
    while (!atomic_load(busy->stop)) {
        offer(busy->hub, busy->worker, 4);
    }
}

/* Taps open and close while workers offer records: for ThreadSanitizer, and against use after
 * free. */
static void taps_come_and_go_while_workers_give(void **state)
{
    (void)state;
    struct error err;
    struct tap_hub *hub = make_hub();
    atomic_bool stop = false;
    struct busy busy[WORKERS];
    struct plat_thread *threads[WORKERS];
    for (size_t i = 0; i < WORKERS; i++) {
        busy[i] = (struct busy){.hub = hub, .worker = i, .stop = &stop};
        threads[i] = plat_thread_start("worker", work, &busy[i], &err);
        assert_non_null(threads[i]);
    }
    for (int i = 0; i < ROUNDS; i++) {
        struct tap *tap = tap_open(hub, &of_session, &err);
        bool goes_on;
        assert_non_null(tap);
        take(tap, SECOND, &goes_on);
        take(tap, SECOND, &goes_on);
        if (i % 3 == 0) {
            tap_hub_end(hub);
        }
        tap_close(tap);
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < WORKERS; i++) {
        plat_thread_join(threads[i]);
    }
    tap_hub_destroy(hub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_holds_and_what_is_beyond_it_is_counted),
        cmocka_unit_test(what_finds_no_room_is_counted),
        cmocka_unit_test(an_expression_is_asked_about_so_many_events_a_second),
        cmocka_unit_test(so_many_may_look_on_until_the_pipeline_ends),
        cmocka_unit_test(taps_come_and_go_while_workers_give),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
