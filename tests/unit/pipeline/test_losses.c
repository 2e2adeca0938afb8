#include "pipeline/slab/losses.h"

#include <stdio.h>

#include "store/catalogue/catalogue_sources.h"
#include "store/store.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* Losses between outputs and a queue; the test plays both. */
enum { SESSIONS = 2, OUTPUTS = 2 };

static const uint64_t hour_ns = UINT64_C(3600) * 1000000000;

struct rig {
    struct slab_queue *queue;
    struct losses *losses;
    struct buf log; /* the gaps of the queue: `1:output/rejected(3)b@10-12 ` */
};

static void rig_init_as(struct rig *rig, uint64_t gap_age_ns, bool ends_with_us)
{
    static const bool comes_again[SESSIONS] = {false, true};
    static const char *const outputs[OUTPUTS] = {"a", "b"};
    static const char *const sessions[SESSIONS] = {"s", ""};
    struct error err;
    rig->queue = slab_queue_create(1, 1, &err);
    assert_non_null(rig->queue);
    rig->losses = losses_create(&(struct losses_settings){.session_count = SESSIONS,
                                    .sessions = sessions,
                                    .comes_again = comes_again,
                                    .ends_with_us = ends_with_us,
                                    .outputs = outputs,
                                    .output_count = OUTPUTS,
                                    .queue = rig->queue,
                                    .gap_age_ns = gap_age_ns},
        &err);
    assert_non_null(rig->losses);
    buf_init(&rig->log, 4096);
}

static void rig_init(struct rig *rig, uint64_t gap_age_ns)
{
    rig_init_as(rig, gap_age_ns, false);
}

static void rig_fini(struct rig *rig)
{
    slab_queue_destroy(rig->queue);
    losses_destroy(rig->losses);
    buf_fini(&rig->log);
}

static void lose(struct rig *rig, size_t session, size_t output, enum output_drop reason,
    uint64_t count, uint64_t from, uint64_t to)
{
    struct loss loss = {.session = session,
        .output = output,
        .reason = reason,
        .count = count,
        .times = {.from = from, .to = to}};
    losses_add(rig->losses, &loss);
}

/* Take a gap, like a worker; it is in flight until it is destroyed. */
static struct slab *take(struct rig *rig)
{
    struct slab *slab = slab_queue_pop(rig->queue, 0);
    if (slab) {
        assert_int_equal(slab->kind, SLAB_GAP);
        assert_int_equal(slab->last_sequence, 0);
        assert_int_equal(slab->counts.gaps, 1);
        assert_true(slab->gap.exact);
        assert_string_equal(slab->gap.unit, "events");
        if (slab->gap.to) {
            assert_int_equal(slab->now, slab->gap.to);
        }
        buf_printf(&rig->log, "%u:%s/%s(%llu)%s@%llu-%llu ", (unsigned)slab->session,
            slab->gap.stage, slab->gap.reason, (unsigned long long)slab->gap.count,
            slab->gap.output ? slab->gap.output : "", (unsigned long long)slab->gap.from,
            (unsigned long long)slab->gap.to);
    }
    return slab;
}

static void take_all(struct rig *rig)
{
    slab_queue_close(rig->queue);
    struct slab *slab;
    while ((slab = take(rig))) {
        slab_destroy(slab);
    }
}

#define assert_log(rig, text) assert_span(buf_span(&(rig)->log), text)

static void losses_of_one_kind_are_one_gap(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, hour_ns);
    lose(&rig, 0, 1, OUTPUT_DROP_REJECTED, 3, 50, 60);
    lose(&rig, 0, 1, OUTPUT_DROP_REJECTED, 0, 1, 99);
    lose(&rig, 0, 1, OUTPUT_DROP_REJECTED, 4, 40, 55);
    lose(&rig, 0, 1, OUTPUT_DROP_REJECTED, 1, 0, 0);
    losses_ship(rig.losses);
    take_all(&rig);
    assert_log(&rig, "0:output/rejected(8)b@40-60 ");
    rig_fini(&rig);
}

/* The second gap is due only when the first has left: no other code looks at the clock. */
static void a_thread_ships_what_gets_due(void **state)
{
    (void)state;
    struct rig rig;
    struct error err;
    rig_init(&rig, 1000000);
    assert_true(losses_start(rig.losses, &err));
    for (uint64_t i = 1; i <= 3; i++) {
        lose(&rig, 0, 0, OUTPUT_DROP_REJECTED, i, 5, 6);
        struct slab *slab = take(&rig); /* waits for as long as it takes */
        assert_non_null(slab);
        slab_destroy(slab);
    }
    losses_stop(rig.losses);
    assert_log(&rig, "0:output/rejected(1)a@5-6 0:output/rejected(2)a@5-6 "
                     "0:output/rejected(3)a@5-6 ");
    rig_fini(&rig);
}

static void sessions_outputs_and_reasons_are_told_apart(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, hour_ns);
    lose(&rig, 1, 1, OUTPUT_DROP_TOO_OLD, 1, 5, 6);
    lose(&rig, 0, 0, OUTPUT_DROP_REJECTED, 2, 5, 6);
    lose(&rig, 0, 0, OUTPUT_DROP_ENDED, 3, 5, 6);
    lose(&rig, 0, 1, OUTPUT_DROP_STOPPED, 4, 5, 6);
    lose(&rig, 0, SIZE_MAX, OUTPUT_DROP_STOPPED, 5, 5, 6);
    losses_ship(rig.losses);
    take_all(&rig);
    assert_log(&rig, "0:output/rejected(2)a@5-6 0:output/ended(3)a@5-6 0:output/stopped(4)b@5-6 "
                     "0:queue/stopped(5)@5-6 1:output/too_old(1)b@5-6 ");
    rig_fini(&rig);
}

static void what_is_held_is_left_to_the_next_run(void **state)
{
    (void)state;
    struct rig before;
    struct rig after;
    struct losses_left left = {.items = NULL};
    rig_init(&before, hour_ns);
    rig_init(&after, hour_ns);
    losses_hold(before.losses);
    lose(&before, 0, 1, OUTPUT_DROP_STOPPED, 3, 50, 60);
    lose(&before, 0, SIZE_MAX, OUTPUT_DROP_STOPPED, 2, 70, 80);
    losses_add_stranger(before.losses, span_text("gone"), OUTPUT_DROP_REJECTED, 4,
        (struct time_range){.from = 1, .to = 2});
    losses_ship(before.losses);
    assert_true(losses_hand_over(before.losses, &left));
    losses_close(before.losses); /* it has no gaps left */
    take_all(&before);
    assert_log(&before, "");
    assert_int_equal(left.count, 3);

    lose(&after, 0, 1, OUTPUT_DROP_STOPPED, 1, 55, 65);
    losses_take(after.losses, &left);
    assert_int_equal(left.count, 0);
    losses_ship(after.losses);
    take_all(&after);
    assert_log(&after,
        "0:output/stopped(4)b@50-65 0:queue/stopped(2)@70-80 1:output/rejected(4)gone@1-2 ");
    losses_left_fini(&left);
    rig_fini(&before);
    rig_fini(&after);
}

static void a_batch_without_outputs_is_freed(void **state)
{
    (void)state;
    struct rig rig;
    struct losses_left left = {.items = NULL};
    rig_init(&rig, hour_ns);
    lose(&rig, 0, 0, OUTPUT_DROP_ENDED, 3, 50, 60);
    assert_true(losses_hand_over(rig.losses, &left));
    assert_int_equal(left.count, 1);
    losses_left_fini(&left);
    assert_int_equal(left.count, 0);
    rig_fini(&rig);
}

static void what_comes_again_is_no_loss(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, hour_ns);
    lose(&rig, 1, 0, OUTPUT_DROP_STOPPED, 1, 0, 0);
    lose(&rig, 1, 0, OUTPUT_DROP_ENDED, 2, 0, 0);
    lose(&rig, 1, SIZE_MAX, OUTPUT_DROP_STOPPED, 3, 0, 0);
    lose(&rig, 1, 0, OUTPUT_DROP_REJECTED, 4, 0, 0);
    losses_close(rig.losses);
    take_all(&rig);
    assert_log(&rig, "1:output/rejected(4)a@0-0 ");
    rig_fini(&rig);
}

static void what_limits_hold_back_is_told_of_sessions_that_come_again_too(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, hour_ns);
    for (int i = 0; i < 2; i++) {
        struct loss loss = {.session = 1,
            .output = SIZE_MAX,
            .held = true,
            .count = 3,
            .times = {.from = 20, .to = 30}};
        losses_add(rig.losses, &loss);
    }
    struct loss loss = {.output = 1, .held = true, .count = 4, .times = {.from = 1, .to = 2}};
    losses_add(rig.losses, &loss);
    losses_close(rig.losses);
    take_all(&rig);
    assert_log(&rig, "0:filter/limit(4)b@1-2 1:filter/limit(6)@20-30 ");
    rig_fini(&rig);
}

static void repeatable_events_are_lost_where_no_run_follows(void **state)
{
    (void)state;
    struct rig rig;
    rig_init_as(&rig, hour_ns, true);
    assert_false(losses_comes_again(rig.losses, 1));
    lose(&rig, 1, 0, OUTPUT_DROP_STOPPED, 1, 0, 0);
    losses_expect_successor(rig.losses);
    assert_true(losses_comes_again(rig.losses, 1));
    assert_false(losses_comes_again(rig.losses, 0));
    lose(&rig, 1, 0, OUTPUT_DROP_STOPPED, 2, 0, 0);
    losses_close(rig.losses);
    take_all(&rig);
    assert_log(&rig, "1:output/stopped(1)a@0-0 ");
    rig_fini(&rig);
}

static void what_may_have_arrived_is_told_as_not_exact_and_also_of_what_comes_again(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, hour_ns);
    for (int i = 0; i < 2; i++) {
        losses_add(
            rig.losses, &(struct loss){.session = 1, .output = 0, .maybe_lost = true, .count = 5});
    }
    losses_ship(rig.losses);
    struct slab *slab = slab_queue_pop(rig.queue, 0);
    assert_non_null(slab);
    assert_string_equal(slab->gap.stage, "output");
    assert_string_equal(slab->gap.reason, "connection_broke");
    assert_string_equal(slab->gap.output, "a");
    assert_int_equal(slab->gap.count, 10);
    assert_false(slab->gap.exact);
    slab_destroy(slab);
    rig_fini(&rig);
}

static void a_further_gap_waits_for_its_time(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, hour_ns);
    lose(&rig, 0, 0, OUTPUT_DROP_REJECTED, 1, 1, 1);
    losses_ship(rig.losses);
    slab_destroy(take(&rig));
    lose(&rig, 0, 0, OUTPUT_DROP_REJECTED, 2, 2, 2);
    lose(&rig, 0, 1, OUTPUT_DROP_REJECTED, 7, 7, 7);
    losses_ship(rig.losses);
    slab_destroy(take(&rig));
    assert_log(&rig, "0:output/rejected(1)a@1-1 0:output/rejected(7)b@7-7 ");
    lose(&rig, 0, 0, OUTPUT_DROP_REJECTED, 3, 3, 3);
    losses_close(rig.losses);
    losses_close(rig.losses); /* it has no gaps left */
    take_all(&rig);
    assert_log(&rig, "0:output/rejected(1)a@1-1 0:output/rejected(7)b@7-7 "
                     "0:output/rejected(5)a@2-3 ");
    rig_fini(&rig);
}

static void a_further_gap_waits_for_the_one_before(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 0);
    lose(&rig, 0, 0, OUTPUT_DROP_REJECTED, 1, 0, 0);
    losses_ship(rig.losses);
    struct slab *in_flight = take(&rig);
    lose(&rig, 0, 0, OUTPUT_DROP_REJECTED, 2, 0, 0);
    losses_ship(rig.losses);
    assert_int_equal(slab_queue_tickets(rig.queue), 1);
    slab_destroy(in_flight);
    losses_ship(rig.losses);
    slab_destroy(take(&rig));
    assert_log(&rig, "0:output/rejected(1)a@0-0 0:output/rejected(2)a@0-0 ");
    rig_fini(&rig);
}

static void nothing_is_shipped_behind_the_end(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 0);
    slab_queue_close(rig.queue);
    lose(&rig, 0, 0, OUTPUT_DROP_REJECTED, 1, 0, 0);
    losses_ship(rig.losses);
    losses_close(rig.losses);
    assert_null(take(&rig));
    rig_fini(&rig);
}

static void put_gap(struct store *store, const char *session, const char *output,
    const char *reason, uint64_t count)
{
    const struct catalogue_gap gap = {.session = span_text(session),
        .output = span_text(output),
        .stage = span_text("output"),
        .reason = span_text(reason),
        .unit = span_text("events"),
        .count = count,
        .exact = true,
        .from = 10,
        .to = 12};
    struct error err;
    assert_true(store_gap(store, &gap, &err));
}

static bool count_gap(void *self, const struct catalogue_gap *gap)
{
    (void)gap;
    ++*(size_t *)self;
    return true;
}

static void what_was_lost_by_those_that_are_gone_is_told_by_the_agent(void **state)
{
    (void)state;
    struct rig rig;
    struct error err;
    struct store_committed committed;
    char folder[TEMP_FOLDER_BYTES];
    size_t left = 0;
    assert_int_equal(temp_folder_make(folder, "losses"), 0);
    struct store *store = store_open(&(struct store_settings){.folder = folder}, &err);
    assert_non_null(store);
    put_gap(store, "s", "a", "rejected", 1);    /* session and output exist */
    put_gap(store, "gone", "a", "rejected", 2); /* no session */
    put_gap(store, "s", "gone", "rejected", 3); /* no output */
    put_gap(store, "gone", "gone", "newer", 4); /* neither exists, and the reason is unknown */
    assert_true(store_commit(store, &committed, &err));
    rig_init(&rig, hour_ns);
    assert_true(losses_load(rig.losses, store, &err));
    losses_ship(rig.losses);
    take_all(&rig);
    static const char *const told[] = {"0:output/rejected(1)a@10-12 ",
        "1:output/rejected(2)a@10-12 ", "0:output/rejected(3)gone@10-12 ",
        "1:output/newer(4)gone@10-12 "};
    buf_add_byte(&rig.log, 0);
    for (size_t i = 0; i < 4; i++) {
        assert_non_null(strstr((const char *)rig.log.data, told[i]));
    }
    losses_begin(rig.losses);
    assert_true(losses_stage(rig.losses, store, true, &err));
    assert_true(store_commit(store, &committed, &err));
    assert_true(catalogue_gaps(store_catalogue(store, &err), count_gap, &left, &err));
    assert_int_equal(left, 0);
    rig_fini(&rig);
    store_close(store);
    assert_int_equal(temp_folder_remove(folder), 0);
}

/* While gaps of others are under way. */
static void an_output_that_is_gone_loses_more_and_more(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 0);
    losses_add_stranger(
        rig.losses, span_text("gone"), OUTPUT_DROP_SPOOL_FULL, 3, (struct time_range){10, 12});
    losses_ship(rig.losses);
    struct slab *first = take(&rig);
    assert_non_null(first);
    for (unsigned i = 0; i < 50; i++) {
        char name[20];
        snprintf(name, sizeof(name), "gone-%u", i);
        losses_add_stranger(
            rig.losses, span_text(name), OUTPUT_DROP_SPOOL_TOO_OLD, 1, (struct time_range){5, 6});
    }
    losses_add_stranger(
        rig.losses, span_text("gone"), OUTPUT_DROP_SPOOL_FULL, 4, (struct time_range){20, 22});
    slab_destroy(first);
    losses_add_stranger(
        rig.losses, span_text("gone"), OUTPUT_DROP_SPOOL_FULL, 1, (struct time_range){30, 31});
    losses_close(rig.losses);
    take_all(&rig);
    buf_add_byte(&rig.log, 0);
    const char *log = (const char *)rig.log.data;
    assert_ptr_equal(strstr(log, "1:spool/full(3)gone@10-12 "), log);
    assert_non_null(strstr(log, "1:spool/full(5)gone@20-31 "));
    assert_non_null(strstr(log, "1:spool/too_old(1)gone-49@5-6 "));
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_of_one_kind_are_one_gap),
        cmocka_unit_test(a_thread_ships_what_gets_due),
        cmocka_unit_test(sessions_outputs_and_reasons_are_told_apart),
        cmocka_unit_test(what_comes_again_is_no_loss),
        cmocka_unit_test(what_limits_hold_back_is_told_of_sessions_that_come_again_too),
        cmocka_unit_test(what_is_held_is_left_to_the_next_run),
        cmocka_unit_test(a_batch_without_outputs_is_freed),
        cmocka_unit_test(repeatable_events_are_lost_where_no_run_follows),
        cmocka_unit_test(what_may_have_arrived_is_told_as_not_exact_and_also_of_what_comes_again),
        cmocka_unit_test(a_further_gap_waits_for_its_time),
        cmocka_unit_test(a_further_gap_waits_for_the_one_before),
        cmocka_unit_test(nothing_is_shipped_behind_the_end),
        cmocka_unit_test(what_was_lost_by_those_that_are_gone_is_told_by_the_agent),
        cmocka_unit_test(an_output_that_is_gone_loses_more_and_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
