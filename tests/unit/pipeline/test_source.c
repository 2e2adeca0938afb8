#include "source_rig.h"

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
        assert_int_equal(rig.counts.etw_events_lost, cases[i].resume < 3 ? 9 : 0);
        assert_int_equal(rig.counts.etw_buffers_lost, 0);
        rig_fini(&rig);
    }
}

static void metadata_is_learned_before_what_follows(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, true);
    rig_start(&rig);
    struct event_record metadata = {.kind = RECORD_EVENT, .trace = &rig.trace};
    rig.sink.metadata(rig.sink.self, &metadata);
    rig.sink.metadata(rig.sink.self, &metadata);
    push_many(&rig, 3);
    rig.sink.metadata(rig.sink.self, &metadata);
    push_many(&rig, 3);
    rig.sink.pause(rig.sink.self);
    take_all(&rig);
    rig_finish(&rig, false);
    assert_log(&rig, "learn(2) 1-3 learn(1) 4-6 ");
    rig_fini(&rig);
}

/* A recorded trace is searched for it ahead. */
static void metadata_among_the_events_of_a_live_session_is_learned(void **state)
{
    (void)state;
    static const struct {
        bool replayable;
        const char *log;
    } cases[] = {{false, "1-2 learn(1) 3-3 "}, {true, "1-3 "}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig rig;
        rig_init(&rig, cases[i].replayable);
        rig_start(&rig);
        const struct event_record metadata = {
            .kind = RECORD_CLASSIC, .provider = record_metadata_class, .trace = &rig.trace};
        push_many(&rig, 2);
        assert_true(rig.sink.record(rig.sink.self, &metadata));
        push_many(&rig, 1);
        rig_finish(&rig, false);
        assert_log(&rig, cases[i].log);
        assert_int_equal(rig.counts.metadata, 1);
        rig_fini(&rig);
    }
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
    assert_int_equal(rig.sink.renumber(rig.sink.self, 0), 60);
    push_many(&rig, 2);
    assert_int_equal(rig.sink.renumber(rig.sink.self, 70), 70);
    push_many(&rig, 1);
    rig_finish(&rig, false);
    assert_log(&rig, "46-50 61-62 71-71 ");
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
    ledger_look(rig.ledger, &counts, NULL);
    assert_true(ledger_session_balances(&counts));
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
        cmocka_unit_test(metadata_among_the_events_of_a_live_session_is_learned),
        cmocka_unit_test(numbers_go_on_behind_files_that_are_done),
        cmocka_unit_test(a_queue_that_takes_nothing_more_ends_the_source),
        cmocka_unit_test(a_gap_behind_what_was_abandoned_has_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
