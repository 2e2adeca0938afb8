#include "base/bytes.h"
#include "event/model/kernel_groups.h"
#include "process/process_reader.h"
#include "source_rig.h"

/* ---- numbering ------------------------------------------------------------------------------- */

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

/* In a recorded trace the first pass searches for it. */
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

/* ---- processes ------------------------------------------------------------------------------- */

/* A start of Process_V3_TypeGroup1: pid, name and a command line of 4980 characters. */
static struct event_record start_of(const struct rig *rig, uint32_t pid, char name)
{
    static uint8_t payload[RECORD_BYTES];
    enum { PID = 8, NAME = 36, COMMAND_LINE = 38, PROCESS_START = 0x0301 };
    memset(payload, 0, sizeof(payload));
    store_le32(payload + PID, pid);
    payload[NAME] = (uint8_t)name;
    for (size_t i = COMMAND_LINE; i + 2 < sizeof(payload); i += 2) {
        payload[i] = 'c';
    }
    return (struct event_record){.kind = RECORD_KERNEL,
        .hook_id = PROCESS_START,
        .provider = *kernel_group_class(PROCESS_START),
        .pointer_size = 8,
        .present = RECORD_HAS_TIME,
        .descriptor = {.version = 3, .opcode = 1},
        .time = UINT64_C(132000000000000000) + pid,
        .payload = span_make(payload, sizeof(payload)),
        .trace = &rig->trace};
}

/* The first pass tells of all processes up to ${count}. Then the first one comes in its place, with
 * another name. Returns its name then. */
static char name_after(uint32_t count)
{
    const struct process_table_settings small = {.max_bytes = 64 * 1024};
    struct rig rig;
    rig_init(&rig, true);
    rig.settings.processes = process_table_create(&small, NULL);
    rig_start(&rig);
    for (uint32_t pid = 1; pid <= count; pid++) {
        struct event_record ahead = start_of(&rig, pid, 'a');
        rig.sink.metadata(rig.sink.self, &ahead);
    }
    struct event_record again = start_of(&rig, 1, 'b');
    assert_true(rig.sink.record(rig.sink.self, &again));
    struct process_reader *reader = process_reader_create(rig.settings.processes, NULL);
    struct event_record of_it = {.kind = RECORD_EVENT,
        .present = RECORD_HAS_TIME | RECORD_HAS_PROCESS,
        .process_id = 1,
        .time = again.time + 1,
        .trace = &rig.trace};
    const struct event_process *process = process_reader_find(reader, &of_it);
    char name = process && process->name.size ? (char)process->name.data[0] : 0;
    process_reader_destroy(reader);
    rig_finish(&rig, false);
    struct process_table *table = rig.settings.processes;
    rig_fini(&rig);
    process_table_destroy(table);
    return name;
}

/* The workers' view must not depend on how far they lag. A process without room is not lost. */
static void processes_told_ahead_are_learned_in_their_places_only_for_want_of_room(void **state)
{
    (void)state;
    assert_int_equal(name_after(2), 'a');
    assert_int_equal(name_after(100), 'b');
}

/* ---- files ----------------------------------------------------------------------------------- */

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
    rig.settings.hooks.file_end = on_file_end;
    rig.settings.hooks.is_done = on_is_done;
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

/* ---- ends ------------------------------------------------------------------------------------ */

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

/* Its number would move positions past the events, which come again if positions are kept, and the
 * gap with them. */
static void a_gap_behind_what_was_abandoned_has_no_number(void **state)
{
    (void)state;
    for (int kept = 0; kept <= 1; kept++) {
        struct rig rig;
        rig_init(&rig, true);
        rig.settings.hooks.is_done = kept ? on_is_done : NULL;
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
        cmocka_unit_test(processes_told_ahead_are_learned_in_their_places_only_for_want_of_room),
        cmocka_unit_test(metadata_is_learned_before_what_follows),
        cmocka_unit_test(metadata_among_the_events_of_a_live_session_is_learned),
        cmocka_unit_test(numbers_go_on_behind_files_that_are_done),
        cmocka_unit_test(a_queue_that_takes_nothing_more_ends_the_source),
        cmocka_unit_test(a_gap_behind_what_was_abandoned_has_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
