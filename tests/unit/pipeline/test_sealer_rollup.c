#include "pipeline/work/sealer.h"

#include <stdlib.h>

#include "event/write/event_formats.h"
#include "support/test.h"

/*
 * Windows on their way through the sealer and a memory spool, compared with a count of the test's
 * own. Slabs are random. Outputs take any number of batches before the agent is killed, and then
 * continue where they were. An event has a number, a time, and values; some are rolled up.
 */
enum { EVENTS = 6000, VALUES = 5, OUTPUTS = 2, ROUNDS = 60, WINDOW = 50, MAX_SLAB = 200 };

static const size_t outputs[OUTPUTS] = {0, 1};
static const size_t streams[1] = {0};

static uint64_t state;

static uint64_t dice(uint64_t below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (state >> 33) % below;
}

struct event_plan {
    uint64_t time;
    uint64_t value;
    bool rolled;
};

static struct event_plan events[EVENTS + 1]; /* by number, from 1 */

static void make_events(void)
{
    uint64_t time = 1000;
    for (size_t i = 1; i <= EVENTS; i++) {
        time += dice(3);
        events[i] = (struct event_plan){
            .time = time - dice(4), .value = dice(VALUES), .rolled = dice(4) > 0};
    }
}

/* One entry of the count: value and window, or an event that is not rolled up. */
enum { WINDOWS = 4096 };
static uint64_t wanted[VALUES][WINDOWS];
static uint64_t got[OUTPUTS][VALUES][WINDOWS];
static uint8_t plain[OUTPUTS][EVENTS + 1];

struct rig {
    struct sealer_stream stream;
    struct sealer_session session;
    uint64_t resume[OUTPUTS];
    uint64_t resume_max;
    size_t cursors[OUTPUTS];
    struct spool *spool;
    struct ledger *ledger;
    struct sealer *sealer;
    uint64_t next_ticket;
};

/* ${live}: the session is live, and each batch is sealed at once. */
static void rig_init_as(
    struct rig *rig, const uint64_t resume[OUTPUTS], size_t batch_records, bool live)
{
    struct error err;
    *rig = (struct rig){.resume = {resume[0], resume[1]}};
    rig->resume_max = resume[0] > resume[1] ? resume[0] : resume[1];
    rig->stream = (struct sealer_stream){.format = &event_format_native,
        .max_bytes = 1024 * 1024,
        .max_events = batch_records,
        .max_age_ns = live ? 1 : UINT64_C(3600000000000),
        .outputs = outputs,
        .output_count = OUTPUTS};
    rig->session = (struct sealer_session){
        .streams = streams, .stream_count = 1, .replayable = !live};
    rig->spool = spool_memory_create(1, 64 * 1024 * 1024, &err);
    rig->ledger = ledger_create(1, OUTPUTS, &err);
    assert_non_null(rig->spool);
    assert_non_null(rig->ledger);
    for (size_t i = 0; i < OUTPUTS; i++) {
        const struct spool_reader reader = {.name = "out", .route = SIZE_MAX};
        struct spool_backlog backlog;
        assert_true(
            rig->spool->ops->add_cursor(rig->spool, &reader, &rig->cursors[i], &backlog, &err));
    }
    const struct sealer_settings settings = {.streams = &rig->stream,
        .stream_count = 1,
        .sessions = &rig->session,
        .session_count = 1,
        .output_count = OUTPUTS,
        .resume = rig->resume,
        .worker_count = 1,
        .spool = rig->spool,
        .ledger = rig->ledger};
    rig->sealer = sealer_create(&settings, &err);
    assert_non_null(rig->sealer);
}

static void rig_init(struct rig *rig, const uint64_t resume[OUTPUTS], size_t batch_records)
{
    rig_init_as(rig, resume, batch_records, false);
}

static void rig_fini(struct rig *rig)
{
    sealer_destroy(rig->sealer);
    spool_destroy(rig->spool);
    ledger_destroy(rig->ledger);
}

static void write(struct piece *piece, uint64_t number)
{
    buf_printf(&piece->bytes, "{\"n\":%llu}\n", (unsigned long long)number);
    assert_true(piece_end_record(piece, number));
}

static bool roll_up(struct rig *rig, struct roll_list *list, uint64_t number)
{
    const struct event_plan *event = &events[number];
    struct roll_key key = {
        .values = event->value, .begin = roll_window_begin(event->time, WINDOW), .length = WINDOW};
    if (!event->rolled || number <= rig->resume_max + 1) {
        return false;
    }
    if (!roll_list_count(list, &key, event->time)) {
        assert_true(roll_list_has_room(list));
        write(&list->texts, number);
        roll_list_add(list, &key, number, event->time);
    }
    return true;
}

/* Events from ${first} on, as a worker treats them. */
static void finish_slab(struct rig *rig, uint64_t first, uint64_t end)
{
    struct slab *slab = slab_create(SLAB_RECORDS, 0, 0, NULL);
    assert_non_null(slab);
    slab->pieces = calloc(1, sizeof(*slab->pieces));
    slab->rolls = calloc(1, sizeof(*slab->rolls));
    assert_true(slab->pieces && slab->rolls && piece_init(&slab->pieces[0], 0, NULL));
    slab->rolls[0] = roll_list_create(0);
    assert_non_null(slab->rolls[0]);
    slab->piece_count = 1;
    slab->ticket = rig->next_ticket++;
    for (uint64_t n = first; n < end; n++) {
        uint64_t time = events[n].time;
        slab->pieces[0].seen++;
        time_range_add(&slab->times, (struct time_range){.from = time, .to = time});
        if (!roll_up(rig, slab->rolls[0], n)) {
            write(&slab->pieces[0], n);
        }
    }
    slab->last_sequence = slab->done_sequence = end - 1;
    slab->counts.received = slab->counts.accepted = end - first;
    sealer_finish(rig->sealer, slab);
}

static void deliver(size_t output, const char *text)
{
    char *rest;
    uint64_t number = strtoull(text + strlen("{\"n\":"), &rest, 10);
    static const char counted[] = ",\"rollup\":{\"count\":";
    assert_true(number >= 1 && number <= EVENTS);
    if (strncmp(rest, counted, sizeof(counted) - 1) == 0) {
        const struct event_plan *event = &events[number];
        assert_true(event->rolled);
        got[output][event->value][event->time / WINDOW] += strtoull(
            rest + sizeof(counted) - 1, NULL, 10);
    } else {
        assert_int_equal(*rest, '}');
        plain[output][number] = true;
    }
}

/* Take up to ${batches} batches, like an outlet; returns the position then. */
static uint64_t take(struct rig *rig, size_t output, size_t batches)
{
    uint64_t at = rig->resume[output];
    struct spool_item item;
    while (batches-- &&
           rig->spool->ops->next(rig->spool, rig->cursors[output], 0, &item) == SPOOL_BATCH) {
        const struct batch *batch = item.batch;
        size_t start = 0;
        for (size_t s = 0; s < batch->segment_count; s++) {
            const struct batch_segment *segment = &batch->segments[s];
            bool had = segment->last_sequence <= rig->resume[output];
            for (size_t i = start; !had && i < segment->record_end; i++) {
                deliver(
                    output, (const char *)batch->piece.bytes.data + piece_start(&batch->piece, i));
            }
            start = segment->record_end;
            at = segment->last_sequence > at ? segment->last_sequence : at;
        }
        assert_int_equal(start, batch->piece.count);
        rig->spool->ops->ack(rig->spool, rig->cursors[output], &item, true);
    }
    return at;
}

/* Feed events after those that all outputs have, up to ${end}, in random slabs. */
static void feed(struct rig *rig, uint64_t end)
{
    uint64_t first = (rig->resume[0] < rig->resume[1] ? rig->resume[0] : rig->resume[1]) + 1;
    while (first <= end) {
        uint64_t next = first + 1 + dice(MAX_SLAB);
        next = next > end + 1 ? end + 1 : next;
        finish_slab(rig, first, next);
        first = next;
    }
}

static void forget(void)
{
    memset(wanted, 0, sizeof(wanted));
    memset(got, 0, sizeof(got));
    memset(plain, 0, sizeof(plain));
    make_events();
}

static void count_wanted(size_t output)
{
    memset(wanted, 0, sizeof(wanted));
    for (uint64_t n = 1; n <= EVENTS; n++) {
        /* Events that passed unchanged, as the first of a run or for lack of room, are not
         * missing. */
        if (!plain[output][n]) {
            assert_true(events[n].rolled);
            wanted[events[n].value][events[n].time / WINDOW]++;
        }
    }
}

static void without_a_kill_every_event_counts_once(void **unused)
{
    (void)unused;
    const uint64_t nothing[OUTPUTS] = {0, 0};
    for (state = 1; state <= ROUNDS;) {
        uint64_t seed = state;
        struct rig rig;
        struct output_counts counts[OUTPUTS];
        uint64_t records = 0;
        forget();
        rig_init(&rig, nothing, 1 + dice(100));
        feed(&rig, EVENTS);
        sealer_flush(rig.sealer);
        ledger_look(rig.ledger, NULL, counts);
        for (size_t o = 0; o < OUTPUTS; o++) {
            assert_int_equal(take(&rig, o, SIZE_MAX), EVENTS);
            count_wanted(o);
            assert_memory_equal(got[o], wanted, sizeof(wanted));
            assert_true(ledger_output_balances(&counts[o]));
            assert_int_equal(counts[o].offered, EVENTS);
            records = counts[o].pending;
            assert_int_equal(counts[o].rolled_up, EVENTS - records);
        }
        assert_true(records < EVENTS / 2);
        rig_fini(&rig);
        state = seed + 1;
    }
}

/* Each output is at another place when it ends, and windows are open. */
static void a_kill_loses_nothing(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        uint64_t at[OUTPUTS] = {0, 0};
        struct rig rig;
        state = seed * 7919;
        forget();
        for (size_t life = 0; life < 6; life++) {
            rig_init(&rig, at, 1 + dice(100));
            feed(&rig, at[0] + dice(EVENTS - at[0] + 1));
            for (size_t o = 0; o < OUTPUTS; o++) {
                uint64_t now = take(&rig, o, dice(40));
                assert_true(now >= at[o]);
                at[o] = now;
            }
            rig_fini(&rig); /* batches that were not taken are gone */
        }
        rig_init(&rig, at, 50);
        feed(&rig, EVENTS);
        sealer_flush(rig.sealer);
        for (size_t o = 0; o < OUTPUTS; o++) {
            assert_int_equal(take(&rig, o, SIZE_MAX), EVENTS);
            count_wanted(o);
            for (size_t v = 0; v < VALUES; v++) {
                for (size_t w = 0; w < WINDOWS; w++) {
                    assert_true(got[o][v][w] >= wanted[v][w]);
                }
            }
        }
        rig_fini(&rig);
    }
}

/* No event comes any more, so no event time ends the windows: the clock does. */
static void a_live_session_ships_by_the_clock(void **unused)
{
    (void)unused;
    const uint64_t nothing[OUTPUTS] = {0, 0};
    enum { SOME = 100 };
    struct rig rig;
    struct spool_item item;
    state = 5;
    forget();
    for (size_t i = 1; i <= SOME; i++) {
        events[i] = (struct event_plan){.time = 1000, .value = i % VALUES, .rolled = true};
    }
    rig_init_as(&rig, nothing, 1000, true);
    feed(&rig, SOME);
    uint64_t at = 0;
    uint64_t counted = 0;
    while (counted < SOME - 1) { /* the first one passes */
        assert_int_equal(
            rig.spool->ops->next(rig.spool, rig.cursors[0], UINT64_MAX, &item), SPOOL_BATCH);
        const struct batch *batch = item.batch;
        for (size_t i = 0; i < batch->piece.count; i++) {
            deliver(0, (const char *)batch->piece.bytes.data + piece_start(&batch->piece, i));
        }
        at = batch->segments[batch->segment_count - 1].last_sequence;
        rig.spool->ops->ack(rig.spool, rig.cursors[0], &item, true);
        counted = 0;
        for (size_t v = 0; v < VALUES; v++) {
            counted += got[0][v][1000 / WINDOW];
        }
    }
    assert_int_equal(counted, SOME - 1);
    assert_true(plain[0][1]);
    assert_int_equal(at, SOME);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_kill_every_event_counts_once),
        cmocka_unit_test(a_kill_loses_nothing),
        cmocka_unit_test(a_live_session_ships_by_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
