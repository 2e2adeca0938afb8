#include "store/catalogue/catalogue_sources.h"
#include "support/await.h"
#include "unit/pipeline/spool_rig.h"

/* The effect of time on waiting batches, and on outputs that do not return. */

struct hands {
    atomic_uint_fast64_t wall;
    atomic_uint_fast64_t monotonic_ns;
};

static uint64_t wall(void *self)
{
    return atomic_load(&((struct hands *)self)->wall);
}

static uint64_t monotonic(void *self)
{
    return atomic_load(&((struct hands *)self)->monotonic_ns);
}

/* A commit checks this twice a second. */
static bool is_lost_by_age(struct spool_rig *rig)
{
    rig_flush(rig);
    return atomic_load(&rig->lost[0][OUTPUT_DROP_SPOOL_TOO_OLD]) > 0;
}

static void what_waits_longer_than_it_may_is_lost_and_counted(void **state)
{
    (void)state;
    struct spool_rig rig;
    struct hands hands = {.wall = UINT64_C(134000000000000000), .monotonic_ns = 1};
    const struct store_clock clock = {.now = wall, .monotonic_ns = monotonic, .self = &hands};
    rig_init(&rig);
    rig.store_settings.clock = &clock;
    rig.store_settings.max_age_ms = 60000;
    rig_open(&rig);
    rig_append(&rig, 0, 1, 3);
    rig_flush(&rig);
    atomic_fetch_add(&hands.wall, UINT64_C(1000000000)); /* 100 s */
    atomic_fetch_add(&hands.monotonic_ns, UINT64_C(100000000000));
    AWAIT(is_lost_by_age(&rig));
    assert_int_equal(atomic_load(&rig.lost[0][OUTPUT_DROP_SPOOL_TOO_OLD]), 3);
    rig_append(&rig, 0, 4, 4);
    rig_take(&rig, 0, 4, 4);
    rig_fini(&rig);
}

/* On the disk, the agent's own are those without a time. Traces may have events without one. */
static void events_without_a_time_are_not_the_agents_own(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        struct spool_rig rig;
        struct hands hands = {.wall = UINT64_C(134000000000000000), .monotonic_ns = 1};
        const struct store_clock clock = {.now = wall, .monotonic_ns = monotonic, .self = &hands};
        rig_init(&rig);
        rig.store_settings.clock = &clock;
        rig.store_settings.max_age_ms = 60000;
        rig_open(&rig);
        struct batch *batch = rig_batch(RIG_FILE, 1, 3, 0);
        batch->own = own;
        batch->segments[0].times = (struct time_range){.from = 0};
        rig.spool->ops->append(rig.spool, 0, batch);
        rig_flush(&rig);
        atomic_fetch_add(&hands.wall, UINT64_C(1000000000)); /* 100 s */
        atomic_fetch_add(&hands.monotonic_ns, UINT64_C(100000000000));
        AWAIT(is_lost_by_age(&rig));
        assert_int_equal(atomic_load(&rig.lost[0][OUTPUT_DROP_SPOOL_TOO_OLD]), 3);
        assert_int_equal(atomic_load(&rig.lost_own), own ? 3 : 0);
        rig_fini(&rig);
    }
}

/* The output may still deliver a batch that it has in hand, and acked batches are not lost,
 * although no commit has recorded that. */
static void what_an_output_has_taken_is_not_lost_by_age(void **state)
{
    (void)state;
    struct spool_rig rig;
    struct hands hands = {.wall = UINT64_C(134000000000000000), .monotonic_ns = 1};
    const struct store_clock clock = {.now = wall, .monotonic_ns = monotonic, .self = &hands};
    rig_init(&rig);
    rig.store_settings.clock = &clock;
    rig.store_settings.max_age_ms = 60000;
    rig_open(&rig);
    rig_append(&rig, 0, 1, 3);
    rig_append(&rig, 0, 4, 6);
    rig_append(&rig, 0, 7, 10);
    rig_append(&rig, 0, 11, 15);
    rig_take(&rig, 0, 1, 3);
    struct spool_item held = rig_expect(&rig, 0, 4, 6);
    rig_take(&rig, 0, 7, 10);
    rig_flush(&rig);
    atomic_fetch_add(&hands.wall, UINT64_C(1000000000)); /* 100 s */
    atomic_fetch_add(&hands.monotonic_ns, UINT64_C(100000000000));
    AWAIT(is_lost_by_age(&rig));
    rig_flush(&rig);
    assert_int_equal(atomic_load(&rig.lost[0][OUTPUT_DROP_SPOOL_TOO_OLD]), 5);
    rig_ack(&rig, 0, &held);
    rig_append(&rig, 0, 16, 16);
    rig_take(&rig, 0, 16, 16);
    rig_checkpoint(&rig, 0, "", true);
    rig_reopen(&rig);
    assert_int_equal(rig.backlogs[0].batches, 0);
    rig_fini(&rig);
}

static void pass_seconds(struct hands *hands, uint64_t seconds)
{
    atomic_fetch_add(&hands->wall, seconds * UINT64_C(10000000));
    atomic_fetch_add(&hands->monotonic_ns, seconds * UINT64_C(1000000000));
}

struct told {
    struct spool_rig rig; /* first: the spool's functions get its address */
    uint64_t open;        /* events of b that open gaps count */
};

static bool count_open(void *self, const struct catalogue_gap *gap)
{
    struct told *told = self;
    assert_span(gap->output, "b");
    assert_span(gap->reason, "too_old");
    told->open += gap->count;
    return true;
}

/* Like the losses of a pipeline. */
static bool stage_gap(void *self, struct store *store, bool all, struct error *err)
{
    const struct spool_rig *rig = self;
    uint64_t count = atomic_load(&rig->lost_by_others[OUTPUT_DROP_SPOOL_TOO_OLD]);
    const struct catalogue_gap gap = {.session = span_text("agent"),
        .output = span_text("b"),
        .stage = span_text("spool"),
        .reason = span_text("too_old"),
        .unit = span_text("events"),
        .count = count,
        .exact = true};
    (void)all;
    return count == 0 || store_gap(store, &gap, err);
}

/* The forgotten output keeps nothing from being removed. A gap tells of the batches that waited for
 * it, except the agent's own events. The gap and the loss are in one commit. */
static void what_an_output_loses_that_is_forgotten_is_counted(void **state)
{
    (void)state;
    static struct told told;
    struct spool_rig *rig = &told.rig;
    struct error err = {0};
    struct hands hands = {.wall = UINT64_C(134000000000000000), .monotonic_ns = 1};
    const struct store_clock clock = {.now = wall, .monotonic_ns = monotonic, .self = &hands};
    rig_init(rig);
    rig->readers[1] = (struct spool_reader){.name = "b", .route = SIZE_MAX};
    rig->reader_count = 2;
    rig->store_settings.clock = &clock;
    rig->store_settings.max_age_ms = 60000;
    rig->settings.stage = stage_gap;
    rig_open(rig);
    struct batch *own = rig_batch(RIG_SESSIONS - 1, 1, 3, 0);
    own->own = true;
    rig->spool->ops->append(rig->spool, 0, own);
    rig_append(rig, 0, 1, 5);
    rig_append(rig, 0, 6, 6);
    rig_append(rig, 0, 7, 8);
    rig_take(rig, 1, 1, 3);
    struct spool_item item = rig_expect(rig, 1, 1, 5);
    rig_take(rig, 1, 6, 6); /* early */
    rig->spool->ops->ack(rig->spool, 1, &item, false);
    rig_checkpoint(rig, 1, "", true);
    rig_close(rig);
    rig->reader_count = 1;
    rig_open(rig);
    pass_seconds(&hands, 50);
    rig_append(rig, 0, 9, 12); /* younger than b; it waits for b as well */
    rig_flush(rig);
    assert_int_equal(atomic_load(&rig->lost_by_others[OUTPUT_DROP_SPOOL_TOO_OLD]), 0);
    pass_seconds(&hands, 11);
    rig_flush(rig);
    rig->spool->ops->halt(rig->spool);
    assert_int_equal(atomic_load(&rig->lost_by_others[OUTPUT_DROP_SPOOL_TOO_OLD]), 5 + 2 + 4);
    told.open = 0;
    assert_true(catalogue_gaps(store_catalogue(rig->store, &err), count_open, &told, &err));
    assert_int_equal(told.open, 5 + 2 + 4);
    rig_close(rig);
    rig->reader_count = 2;
    rig_open(rig);
    assert_int_equal(rig->backlogs[1].batches, 0); /* it begins anew */
    rig_fini(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_longer_than_it_may_is_lost_and_counted),
        cmocka_unit_test(events_without_a_time_are_not_the_agents_own),
        cmocka_unit_test(what_an_output_has_taken_is_not_lost_by_age),
        cmocka_unit_test(what_an_output_loses_that_is_forgotten_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
