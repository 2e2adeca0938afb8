#include "source_rig.h"

/* Events beyond the budgets of their providers, in a source. */

enum { BUDGET_EVENTS = 10, BURST_S = 4, PUSHED = 3000 };

static const struct provider_share shares[] = {
    {{{0}}, "Noisy", {.events = BUDGET_EVENTS, .burst_ns = BURST_S * UINT64_C(1000000000)}}};

struct found {
    uint64_t delivered;
    uint64_t told;
    uint64_t gaps;
    uint64_t last_sequence;
};

/* Takes slabs like a worker. Records are small, so the queue is never full. */
static void drain(struct rig *rig, struct found *found)
{
    struct slab *slab;
    while ((slab = slab_queue_pop(rig->queue, 0))) {
        struct slab_item item;
        size_t cursor = 0;
        add_counts(rig, &slab->counts);
        while (slab_next(slab, &cursor, &item)) {
            assert_true(item.record->sequence > found->last_sequence);
            found->last_sequence = item.record->sequence;
            found->delivered++;
            rig->counts.accepted++;
        }
        if (slab->kind == SLAB_GAP) {
            assert_string_equal(slab->gap.stage, "guard");
            assert_string_equal(slab->gap.provider, "Noisy");
            assert_true(slab->last_sequence > found->last_sequence);
            found->last_sequence = slab->last_sequence;
            found->told += slab->gap.count;
            found->gaps++;
        }
        slab_destroy(slab);
    }
}

static void start(struct rig *rig, bool replayable, uint64_t gap_age_ns)
{
    rig_init(rig, replayable);
    rig->settings.budget = (struct provider_budget_settings){.shares = shares, .share_count = 1};
    rig->settings.gap_age_ns = gap_age_ns;
    rig_start(rig);
}

static void push_small(struct rig *rig, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct event_record record = {.kind = RECORD_EVENT,
            .pointer_size = 8,
            .descriptor = {.level = (uint8_t)(i % 6)},
            .time = rig->time++,
            .trace = &rig->trace};
        assert_true(rig->sink.record(rig->sink.self, &record));
    }
}

static void finish(struct rig *rig, struct found *found)
{
    source_finish(rig->source, true);
    slab_queue_close(rig->queue);
    drain(rig, found);
    assert_true(ledger_session_balances(&rig->counts));
}

static uint64_t over_budget(const struct rig *rig)
{
    return rig->counts.dropped[SESSION_DROP_BUDGET_SAMPLED] +
           rig->counts.dropped[SESSION_DROP_BUDGET_VERBOSE] +
           rig->counts.dropped[SESSION_DROP_BUDGET_PROVIDER];
}

static void what_is_left_out_is_counted_to_the_event(void **state)
{
    (void)state;
    /* A gap at each look at the clock, or only one of each kind at the end. */
    static const uint64_t ages[] = {0, UINT64_C(3600) * 1000000000};
    for (int i = 0; i < 2; i++) {
        struct rig rig;
        struct found found = {0};
        start(&rig, false, ages[i]);
        push_small(&rig, PUSHED);
        finish(&rig, &found);
        assert_int_equal(found.delivered + found.told, PUSHED);
        assert_int_equal(over_budget(&rig), found.told);
        assert_int_equal(rig.counts.received, PUSHED);
        assert_int_equal(rig.counts.gaps, found.gaps);
        assert_true(found.delivered >= BUDGET_EVENTS * BURST_S / 2 && found.told > 0);
        assert_true(i == 0 ? found.gaps > 3 : found.gaps <= 3);
        assert_int_equal(source_counts(rig.source).sequence, PUSHED + found.gaps);
        rig_fini(&rig);
    }
}

/* Gaps come after the events before them (drain checks that), and a pause ships them. */
static void gaps_keep_the_order_of_the_session(void **state)
{
    (void)state;
    struct rig rig;
    struct found found = {0};
    start(&rig, false, 0);
    push_small(&rig, 20);
    for (int i = 0; i < 10; i++) {
        push_small(&rig, 100);
        assert_true(rig.sink.pause(rig.sink.self));
    }
    finish(&rig, &found);
    assert_int_equal(found.delivered + found.told, 1020);
    assert_true(found.gaps >= 8);
    rig_fini(&rig);
}

struct told {
    unsigned step;
    unsigned changes;
};

static void note_step(void *self, uint32_t session, const struct provider_change *change)
{
    struct told *told = self;
    assert_int_equal(session, 0);
    assert_string_equal(change->provider, "Noisy");
    assert_int_equal(change->from, told->step);
    told->step = change->to;
    told->changes++;
}

static void changes_of_steps_are_told(void **state)
{
    (void)state;
    struct rig rig;
    struct found found = {0};
    struct told told = {0};
    rig_init(&rig, false);
    rig.settings.budget = (struct provider_budget_settings){.shares = shares, .share_count = 1};
    rig.settings.hooks.step = note_step;
    rig.settings.hooks.self = &told;
    rig_start(&rig);
    push_small(&rig, PUSHED);
    finish(&rig, &found);
    assert_true(told.step >= 4 && told.changes >= 1 && told.changes <= 7);
    rig_fini(&rig);
}

static void recorded_traces_have_none(void **state)
{
    (void)state;
    struct rig rig;
    struct found found = {0};
    start(&rig, true, 0);
    push_small(&rig, PUSHED);
    finish(&rig, &found);
    assert_int_equal(found.delivered, PUSHED);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out_is_counted_to_the_event),
        cmocka_unit_test(gaps_keep_the_order_of_the_session),
        cmocka_unit_test(changes_of_steps_are_told),
        cmocka_unit_test(recorded_traces_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
