#include "pipeline/source.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_thread.h"
#include "support/test.h"

/* A source between a fake input, the test, and a fake worker, also the test. Times are either 0, so
 * that they are over at once, or an hour, so that they never are. */
static const uint64_t hour_ns = UINT64_C(3600) * 1000000000;

enum { RECORD_BYTES = 10000, QUEUE_SLABS = 4 };

struct rig {
    struct slab_queue *queue;
    struct books *books;
    struct source_settings settings;
    struct source *source;
    struct input_sink sink;
    struct trace_info trace;
    uint64_t time;
    struct buf log; /* what came out of the queue: `1-24 gap(3) 28-30` */
    uint64_t run_first;
    uint64_t run_last;
    struct session_counts counts; /* of the slabs that came out */
};

static void rig_init(struct rig *rig, bool replayable)
{
    struct error err;
    *rig = (struct rig){.time = 1000};
    rig->queue = slab_queue_create(QUEUE_SLABS * SLAB_BYTES, 1, &err);
    rig->books = books_create(1, 0, &err);
    rig->settings = (struct source_settings){.queue = rig->queue,
        .books = rig->books,
        .decoding = {.stack_walk = STACK_WALK_EVENTS},
        .replayable = replayable,
        .slab_age_ns = hour_ns,
        .gap_age_ns = hour_ns};
    buf_init(&rig->log, 1 << 20);
}

static void rig_start(struct rig *rig)
{
    struct error err;
    rig->source = source_create(&rig->settings, &err);
    assert_non_null(rig->source);
    source_sink(rig->source, &rig->sink);
}

static bool push(struct rig *rig)
{
    static const uint8_t payload[RECORD_BYTES];
    struct event_record record = {.kind = RECORD_OPAQUE,
        .pointer_size = 8,
        .time = rig->time++,
        .payload = span_make(payload, sizeof(payload)),
        .trace = &rig->trace};
    return rig->sink.record(rig->sink.self, &record);
}

static void push_many(struct rig *rig, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(push(rig));
    }
}

static void end_run(struct rig *rig)
{
    if (rig->run_last) {
        buf_printf(&rig->log, "%llu-%llu ", (unsigned long long)rig->run_first,
            (unsigned long long)rig->run_last);
    }
    rig->run_last = 0;
}

static void add_counts(struct rig *rig, const struct session_counts *more)
{
    rig->counts.received += more->received;
    rig->counts.metadata += more->metadata;
    rig->counts.gaps += more->gaps;
    rig->counts.unlearned += more->unlearned;
    for (size_t i = 0; i < SESSION_DROP_COUNT; i++) {
        rig->counts.dropped[i] += more->dropped[i];
    }
}

static void take_apart(struct rig *rig, struct slab *slab)
{
    if (slab->kind == SLAB_LESSONS) {
        end_run(rig);
        buf_printf(&rig->log, "learn(%u) ", (unsigned)slab->count);
        slab_queue_learned(rig->queue, slab);
        return;
    }
    add_counts(rig, &slab->tally);
    if (slab->kind == SLAB_GAP) {
        end_run(rig);
        buf_printf(&rig->log, "%s/%s(%llu)@%llu ", slab->gap.stage, slab->gap.reason,
            (unsigned long long)slab->gap.count, (unsigned long long)slab->last_sequence);
    }
    struct slab_item item;
    size_t cursor = 0;
    while (slab_next(slab, &cursor, &item)) {
        if (rig->run_last && item.record->sequence != rig->run_last + 1) {
            end_run(rig);
        }
        rig->run_first = rig->run_last ? rig->run_first : item.record->sequence;
        rig->run_last = item.record->sequence;
        assert_int_equal(item.record->payload.size, RECORD_BYTES);
        assert_true(item.record->sequence <= slab->last_sequence);
        rig->counts.accepted++;
    }
    slab_destroy(slab);
}

/* Take one slab, as a worker would. */
static void take(struct rig *rig)
{
    struct slab *slab = slab_queue_pop(rig->queue, 0);
    assert_non_null(slab);
    take_apart(rig, slab);
}

static void take_all(struct rig *rig)
{
    while (slab_queue_bytes(rig->queue)) {
        take(rig);
    }
}

/* End the source, take the rest, and see that nothing was lost on the way. */
static void rig_finish(struct rig *rig, bool stopped)
{
    source_finish(rig->source, stopped);
    slab_queue_close(rig->queue);
    struct slab *slab;
    while ((slab = slab_queue_pop(rig->queue, 0))) {
        take_apart(rig, slab);
    }
    end_run(rig);
    assert_true(books_session_balances(&rig->counts));
    assert_int_equal(
        rig->counts.received + source_counts(rig->source).resumed, source_counts(rig->source).seen);
}

static void rig_fini(struct rig *rig)
{
    source_destroy(rig->source);
    slab_queue_destroy(rig->queue);
    books_destroy(rig->books);
    buf_fini(&rig->log);
}

#define assert_log(rig, text) assert_span(buf_span(&(rig)->log), text)

/* ---- numbering -------------------------------------------------------------------------------- */

static void events_are_numbered_and_copied(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, true);
    rig_start(&rig);
    push_many(&rig, 50);
    rig_finish(&rig, false);
    assert_log(&rig, "1-50 ");
    rig_fini(&rig);
}

static void what_was_delivered_before_keeps_its_number_and_is_left_out(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, true);
    rig.settings.resume = 30;
    rig_start(&rig);
    push_many(&rig, 50);
    rig_finish(&rig, false);
    assert_log(&rig, "31-50 ");
    assert_int_equal(source_counts(rig.source).resumed, 30);
    rig_fini(&rig);
}

static void a_gap_takes_its_number_in_every_run(void **state)
{
    (void)state;
    static const struct {
        uint64_t resume;
        const char *log;
    } cases[] = {{0, "1-2 etw/lost(9)@3 4-5 "}, {2, "etw/lost(9)@3 4-5 "}, {3, "4-5 "}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig rig;
        rig_init(&rig, true);
        rig.settings.resume = cases[i].resume;
        rig_start(&rig);
        push_many(&rig, 2);
        struct gap gap = {.stage = "etw", .reason = "lost", .unit = "events", .count = 9};
        rig.sink.gap(rig.sink.self, &gap);
        push_many(&rig, 2);
        rig_finish(&rig, false);
        assert_log(&rig, cases[i].log);
        rig_fini(&rig);
    }
}

static void metadata_is_learned_before_what_follows(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, true);
    rig_start(&rig);
    struct event_record lesson = {.kind = RECORD_EVENT, .trace = &rig.trace};
    rig.sink.metadata(rig.sink.self, &lesson);
    rig.sink.metadata(rig.sink.self, &lesson);
    push_many(&rig, 3);
    rig.sink.metadata(rig.sink.self, &lesson);
    push_many(&rig, 3);
    rig.sink.pause(rig.sink.self);
    take_all(&rig);
    rig_finish(&rig, false);
    assert_log(&rig, "learn(2) 1-3 learn(1) 4-6 ");
    rig_fini(&rig);
}

/* ---- files ------------------------------------------------------------------------------------ */

static uint64_t ended_at;

static void on_file_end(
    void *self, uint32_t session, const uint8_t file_id[16], uint64_t last_sequence)
{
    (void)self;
    assert_int_equal(session, 0);
    assert_int_equal(file_id[0], 7);
    ended_at = last_sequence;
}

static bool on_is_done(
    void *self, uint32_t session, const uint8_t file_id[16], uint64_t *ret_last_sequence)
{
    (void)self;
    (void)session;
    if (file_id[0] == 7) {
        *ret_last_sequence = 40;
    }
    return file_id[0] == 7;
}

static void numbers_go_on_behind_files_that_are_done(void **state)
{
    (void)state;
    static const uint8_t seven[16] = {7};
    static const uint8_t eight[16] = {8};
    struct rig rig;
    rig_init(&rig, true);
    rig.settings.file_end = on_file_end;
    rig.settings.is_done = on_is_done;
    rig.settings.resume = 45;
    rig.settings.resume_max = 60;
    rig_start(&rig);
    assert_true(rig.sink.is_done(rig.sink.self, seven));
    assert_false(rig.sink.is_done(rig.sink.self, eight));
    rig.sink.skipped(rig.sink.self, seven);
    push_many(&rig, 10);
    rig.sink.file_end(rig.sink.self, seven);
    assert_int_equal(ended_at, 50);
    rig.sink.renumber(rig.sink.self);
    push_many(&rig, 2);
    rig_finish(&rig, false);
    assert_log(&rig, "46-50 61-62 ");
    rig_fini(&rig);
}

/* ---- back-pressure ---------------------------------------------------------------------------- */

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
    /* The queue is full; 25 records of 10,000 bytes fill the slab in hand. */
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
    push_many(&rig, 10); /* these find no room … */
    struct event_record lesson = {.kind = RECORD_EVENT, .trace = &rig.trace};
    rig.sink.metadata(rig.sink.self, &lesson); /* … nor does this, … */
    push_many(&rig, 5);
    rig.sink.metadata(rig.sink.self, &lesson);
    take(&rig);
    take(&rig);
    push_many(&rig, 1); /* now both have room, and need what there is */
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
    struct event_record lesson = {
        .kind = RECORD_EVENT, .payload = span_make(payload, RECORD_BYTES), .trace = &rig.trace};
    for (int i = 0; i < 40; i++) {
        lesson.time = 5000 + (uint64_t)i;
        rig.sink.metadata(rig.sink.self, &lesson);
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
    rig.sink.pause(rig.sink.self); /* no room still, but the gap is old */
    push_many(&rig, 4);
    rig.sink.pause(rig.sink.self);
    take_all(&rig);
    push_many(&rig, 1);
    rig_finish(&rig, true);
    /* How often a gap is cut off depends on looks at the clock; none is lost, none is twice. */
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

/* Events that waited for their stacks begin a slab while lessons before it find no room. */
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
    struct event_record lesson = {.kind = RECORD_EVENT, .trace = &rig.trace};
    rig.sink.metadata(rig.sink.self, &lesson);
    rig.sink.gap(rig.sink.self, &lost);
    rig.sink.pause(rig.sink.self);
    struct session_counts sum = {0};
    while (sum.accepted < QUEUE_SLABS * 20 + 3) {
        take(&rig); /* the numbers of its records are up to the slab's */
        assert_true(books_session_balances(&rig.counts));
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

/* ---- ends ------------------------------------------------------------------------------------- */

static void a_queue_that_takes_nothing_more_ends_the_source(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, true);
    rig_start(&rig);
    push_many(&rig, 10);
    slab_queue_cancel(rig.queue);
    size_t more = 0;
    while (push(&rig)) {
        more++;
    }
    assert_true(more < 30);
    source_finish(rig.source, true);
    struct session_counts counts;
    books_look(rig.books, &counts, NULL);
    assert_true(books_session_balances(&counts));
    assert_int_equal(counts.received, source_counts(rig.source).seen);
    assert_int_equal(counts.dropped[SESSION_DROP_STOPPED], counts.received);
    assert_false(source_counts(rig.source).complete);
    rig_fini(&rig);
}

/* Its number would move positions across the events, which come again where positions are kept: and
 * it with them. */
static void a_gap_behind_what_was_abandoned_has_no_number(void **state)
{
    (void)state;
    for (int kept = 0; kept <= 1; kept++) {
        struct rig rig;
        rig_init(&rig, true);
        rig.settings.is_done = kept ? on_is_done : NULL;
        rig_start(&rig);
        push_many(&rig, 10);
        slab_queue_cancel(rig.queue);
        struct gap gap = {.stage = "file", .reason = "damaged", .unit = "bytes", .count = 9};
        rig.sink.gap(rig.sink.self, &gap);
        source_finish(rig.source, true);
        slab_queue_close(rig.queue);
        struct slab *slab = slab_queue_pop(rig.queue, 0);
        if (slab) {
            take_apart(&rig, slab);
        }
        assert_log(&rig, kept ? "" : "file/damaged(9)@0 ");
        assert_false(source_counts(rig.source).complete);
        rig_fini(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_numbered_and_copied),
        cmocka_unit_test(what_was_delivered_before_keeps_its_number_and_is_left_out),
        cmocka_unit_test(a_gap_takes_its_number_in_every_run),
        cmocka_unit_test(metadata_is_learned_before_what_follows),
        cmocka_unit_test(numbers_go_on_behind_files_that_are_done),
        cmocka_unit_test(a_recorded_trace_waits_for_room),
        cmocka_unit_test(a_live_session_drops_until_the_queue_is_half_empty),
        cmocka_unit_test(what_describes_events_is_kept_while_a_live_session_drops),
        cmocka_unit_test(what_describes_events_and_finds_no_room_is_counted),
        cmocka_unit_test(a_live_session_waits_for_a_while_before_it_drops),
        cmocka_unit_test(a_gap_does_not_stay_open_for_ever),
        cmocka_unit_test(a_slab_in_hand_makes_way_for_an_old_gap_with_its_counts),
        cmocka_unit_test(a_gap_of_unknown_size_is_shipped_too),
        cmocka_unit_test(gaps_of_a_live_session_are_gathered_while_there_is_no_room),
        cmocka_unit_test(a_queue_that_takes_nothing_more_ends_the_source),
        cmocka_unit_test(a_gap_behind_what_was_abandoned_has_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
