#include <stdatomic.h>

#include "platform/plat_thread.h"
#include "source_rig.h"

/* A source whose queue is full. */

/* ---- back-pressure --------------------------------------------------------------------------- */

struct feeder {
    struct rig *rig;
    atomic_size_t pushed;
    size_t count;
};

static void feed(void *self)
{
    struct feeder *feeder = self;
    while (atomic_load(&feeder->pushed) < feeder->count && push(feeder->rig)) {
        atomic_fetch_add(&feeder->pushed, 1);
    }
}

static void a_recorded_trace_waits_for_room(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, true);
    rig_start(&rig);
    struct feeder feeder = {.rig = &rig, .count = 1000};
    struct error err;
    struct plat_thread *thread = plat_thread_start("feed", feed, &feeder, &err);
    assert_non_null(thread);
    while (rig.run_last < 900) {
        take(&rig);
        assert_true(slab_queue_bytes(rig.queue) <= QUEUE_SLABS * SLAB_BYTES);
    }
    plat_thread_join(thread);
    rig_finish(&rig, false);
    assert_log(&rig, "1-1000 ");
    rig_fini(&rig);
}

/* Fill the queue and the slab in hand until the first event is dropped; its number. */
static uint64_t fill(struct rig *rig)
{
    uint64_t before;
    do {
        before = source_counts(rig->source).sequence;
        assert_true(push(rig));
    } while (slab_queue_bytes(rig->queue) + SLAB_BYTES <= QUEUE_SLABS * SLAB_BYTES);
    /* The queue is full. 25 records of 10,000 bytes fill the slab in hand. */
    push_many(rig, 24);
    return before + 26;
}

static void a_live_session_drops_until_the_queue_is_half_empty(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, false);
    rig_start(&rig);
    uint64_t first = fill(&rig);
    push_many(&rig, 10); /* these find no room */
    take(&rig);          /* room for one slab: not enough yet */
    push_many(&rig, 5);
    take(&rig); /* half empty: the next one is accepted */
    push_many(&rig, 3);
    rig_finish(&rig, true);
    char expected[100];
    int size = snprintf(expected, sizeof(expected), "1-%llu queue/full(15)@%llu %llu-%llu ",
        (unsigned long long)first - 1, (unsigned long long)first + 15,
        (unsigned long long)first + 16, (unsigned long long)first + 18);
    assert_true(size > 0);
    assert_log(&rig, expected);
    assert_int_equal(rig.counts.dropped[SESSION_DROP_FULL], 15);
    assert_int_equal(rig.counts.gaps, 1);
    rig_fini(&rig);
}

static void what_describes_events_is_kept_while_a_live_session_drops(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, false);
    rig_start(&rig);
    uint64_t first = fill(&rig);
    push_many(&rig, 10); /* these find no room, */
    struct event_record metadata = {.kind = RECORD_EVENT, .trace = &rig.trace};
    rig.sink.metadata(rig.sink.self, &metadata); /* nor does this, */
    push_many(&rig, 5);
    rig.sink.metadata(rig.sink.self, &metadata);
    take(&rig);
    take(&rig);
    push_many(&rig, 1); /* now both have room, and use it up */
    take(&rig);
    push_many(&rig, 3);
    rig_finish(&rig, true);
    char expected[100];
    int size = snprintf(expected, sizeof(expected),
        "1-%llu learn(2) %llu-%llu queue/full(16)@%llu %llu-%llu ", (unsigned long long)first - 26,
        (unsigned long long)first - 25, (unsigned long long)first - 1,
        (unsigned long long)first + 16, (unsigned long long)first + 17,
        (unsigned long long)first + 19);
    assert_true(size > 0);
    assert_log(&rig, expected);
    rig_fini(&rig);
}

static void what_describes_events_and_finds_no_room_is_counted(void **state)
{
    (void)state;
    static const uint8_t payload[RECORD_BYTES];
    struct rig rig;
    rig_init(&rig, false);
    rig_start(&rig);
    fill(&rig);
    struct event_record metadata = {
        .kind = RECORD_EVENT, .payload = span_make(payload, RECORD_BYTES), .trace = &rig.trace};
    for (int i = 0; i < 40; i++) {
        metadata.time = 5000 + (uint64_t)i;
        rig.sink.metadata(rig.sink.self, &metadata);
    }
    take_all(&rig);
    push_many(&rig, 1);
    rig_finish(&rig, true);
    buf_add_byte(&rig.log, 0);
    const char *log = (const char *)rig.log.data;
    const char *learned = strstr(log, "learn(");
    const char *lost = strstr(log, "queue/metadata(");
    assert_true(learned && lost && learned < lost);
    assert_null(strstr(learned + 1, "learn("));
    assert_null(strstr(lost + 1, "queue/"));
    uint64_t unlearned = strtoull(lost + strlen("queue/metadata("), NULL, 10);
    assert_true(unlearned > 10);
    assert_int_equal(strtoull(learned + strlen("learn("), NULL, 10) + unlearned, 40);
    assert_int_equal(rig.counts.unlearned, unlearned);
    assert_int_equal(rig.counts.gaps, 1);
    assert_int_equal(rig.counts.dropped[SESSION_DROP_FULL], 0);
    rig_fini(&rig);
}

static void a_live_session_waits_for_a_while_before_it_drops(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, false);
    rig.settings.block_for_ns = hour_ns;
    rig_start(&rig);
    struct feeder feeder = {.rig = &rig, .count = 300};
    struct error err;
    struct plat_thread *thread = plat_thread_start("feed", feed, &feeder, &err);
    assert_non_null(thread);
    while (rig.run_last < 200) {
        take(&rig);
    }
    plat_thread_join(thread);
    rig_finish(&rig, true);
    assert_log(&rig, "1-300 ");
    rig_fini(&rig);
}

static void a_gap_does_not_stay_open_for_ever(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, false);
    rig.settings.gap_age_ns = 0;
    rig_start(&rig);
    uint64_t first = fill(&rig);
    push_many(&rig, 10);
    rig.sink.pause(rig.sink.self); /* there is still no room, but the gap is old */
    push_many(&rig, 4);
    rig.sink.pause(rig.sink.self);
    take_all(&rig);
    push_many(&rig, 1);
    rig_finish(&rig, true);
    /* Looks at the clock decide how often a gap is cut off. No loss is missing, and none is counted
     * twice. */
    assert_int_equal(rig.counts.dropped[SESSION_DROP_FULL], 14);
    assert_true(rig.counts.gaps >= 2);
    unsigned long long in_gaps = 0;
    buf_add_byte(&rig.log, 0);
    for (const char *at = (const char *)rig.log.data; (at = strstr(at, "queue/full(")); at++) {
        in_gaps += strtoull(at + strlen("queue/full("), NULL, 10);
    }
    assert_int_equal(in_gaps, 14);
    assert_int_equal(strtoull((const char *)rig.log.data + 2, NULL, 10), first - 1);
    rig_fini(&rig);
}

/* Events that waited for their stacks begin a slab while earlier metadata find no room. */
static void a_slab_in_hand_makes_way_for_an_old_gap_with_its_counts(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, false);
    rig.settings.gap_age_ns = 0;
    rig.settings.decoding.stack_walk = STACK_WALK_JOIN;
    rig.trace.has_stacks = true;
    rig_start(&rig);
    struct gap lost = {.stage = "etw", .reason = "lost", .unit = "events", .count = 2};
    while (slab_queue_bytes(rig.queue) < QUEUE_SLABS * SLAB_BYTES) {
        push_many(&rig, 20);
        rig.sink.gap(rig.sink.self, &lost);
    }
    push_many(&rig, 3);
    struct event_record metadata = {.kind = RECORD_EVENT, .trace = &rig.trace};
    rig.sink.metadata(rig.sink.self, &metadata);
    rig.sink.gap(rig.sink.self, &lost);
    rig.sink.pause(rig.sink.self);
    struct session_counts sum = {0};
    while (sum.accepted < QUEUE_SLABS * 20 + 3) {
        take(&rig); /* the numbers of its records are up to the slab's */
        assert_true(ledger_session_balances(&rig.counts));
        sum = rig.counts;
    }
    rig_finish(&rig, true);
    rig_fini(&rig);
}

static void a_gap_of_unknown_size_is_shipped_too(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, false);
    rig_start(&rig);
    struct gap gap = {.stage = "agent", .reason = "not_running", .unit = "events"};
    rig.sink.gap(rig.sink.self, &gap);
    push_many(&rig, 1);
    rig_finish(&rig, true);
    assert_log(&rig, "agent/not_running(0)@1 2-2 ");
    rig_fini(&rig);
}

static void gaps_of_a_live_session_are_gathered_while_there_is_no_room(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, false);
    rig_start(&rig);
    fill(&rig);
    push_many(&rig, 1);
    struct gap lost = {.stage = "etw", .reason = "lost", .unit = "events", .count = 2};
    for (int i = 0; i < 100; i++) {
        rig.sink.gap(rig.sink.self, &lost);
    }
    size_t bytes = slab_queue_bytes(rig.queue);
    assert_true(bytes <= QUEUE_SLABS * SLAB_BYTES);
    take_all(&rig);
    push_many(&rig, 1);
    rig_finish(&rig, true);
    buf_add_byte(&rig.log, 0);
    assert_non_null(strstr((const char *)rig.log.data, "etw/lost(200)@"));
    assert_non_null(strstr((const char *)rig.log.data, "queue/full(1)@"));
    assert_int_equal(rig.counts.gaps, 2);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_trace_waits_for_room),
        cmocka_unit_test(a_live_session_drops_until_the_queue_is_half_empty),
        cmocka_unit_test(what_describes_events_is_kept_while_a_live_session_drops),
        cmocka_unit_test(what_describes_events_and_finds_no_room_is_counted),
        cmocka_unit_test(a_live_session_waits_for_a_while_before_it_drops),
        cmocka_unit_test(a_gap_does_not_stay_open_for_ever),
        cmocka_unit_test(a_slab_in_hand_makes_way_for_an_old_gap_with_its_counts),
        cmocka_unit_test(a_gap_of_unknown_size_is_shipped_too),
        cmocka_unit_test(gaps_of_a_live_session_are_gathered_while_there_is_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
