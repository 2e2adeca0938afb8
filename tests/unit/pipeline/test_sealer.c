#include "pipeline/work/sealer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/batch/batch_codec.h"
#include "support/test.h"

/* One session, one stream, two outputs: the sealer between slabs made by hand and a memory
 * spool. */

enum { OUTPUTS = 2, RECORD_BYTES = 10 };

struct rig {
    struct sealer_stream stream;
    struct sealer_session session;
    uint64_t resume[OUTPUTS];
    size_t cursors[OUTPUTS];
    struct spool *spool;
    struct ledger *ledger;
    struct sealer *sealer;
    uint64_t next_ticket;
    uint64_t next_sequence;
};

static const size_t outputs[OUTPUTS] = {0, 1};
static const size_t streams[1] = {0};

static void rig_init_losses(
    struct rig *rig, size_t batch_records, uint64_t first, uint64_t second, struct losses *losses)
{
    struct error err;
    *rig = (struct rig){.resume = {first, second}, .next_sequence = 1};
    rig->stream = (struct sealer_stream){.max_bytes = batch_records * RECORD_BYTES,
        .max_events = 1000,
        .max_age_ns = UINT64_C(3600000000000),
        .outputs = outputs,
        .output_count = OUTPUTS};
    rig->session = (struct sealer_session){.streams = streams, .stream_count = 1};
    rig->spool = spool_memory_create(1, 256 * 1024 * 1024, &err);
    rig->ledger = ledger_create(1, OUTPUTS, &err);
    assert_non_null(rig->spool);
    assert_non_null(rig->ledger);
    for (size_t i = 0; i < OUTPUTS; i++) {
        const struct spool_reader reader = {.name = "out", .route = SIZE_MAX};
        struct spool_backlog backlog;
        assert_true(
            rig->spool->ops->add_cursor(rig->spool, &reader, &rig->cursors[i], &backlog, &err));
    }
    struct sealer_settings settings = {.streams = &rig->stream,
        .stream_count = 1,
        .sessions = &rig->session,
        .session_count = 1,
        .output_count = OUTPUTS,
        .resume = rig->resume,
        .worker_count = 1,
        .spool = rig->spool,
        .ledger = rig->ledger,
        .losses = losses};
    rig->sealer = sealer_create(&settings, &err);
    assert_non_null(rig->sealer);
}

static void rig_init(struct rig *rig, size_t batch_records, uint64_t first, uint64_t second)
{
    rig_init_losses(rig, batch_records, first, second, NULL);
}

static void rig_fini(struct rig *rig)
{
    sealer_destroy(rig->sealer);
    spool_destroy(rig->spool);
    ledger_destroy(rig->ledger);
}

static struct slab *make_slab(struct rig *rig, enum slab_kind kind)
{
    struct slab *slab = slab_create(kind, 0, 0, NULL);
    assert_non_null(slab);
    slab->pieces = calloc(1, sizeof(*slab->pieces));
    slab->rolls = calloc(1, sizeof(*slab->rolls));
    assert_true(slab->pieces && slab->rolls);
    assert_true(piece_init(&slab->pieces[0], rig->stream.route_count, NULL));
    slab->piece_count = 1;
    slab->ticket = rig->next_ticket++;
    return slab;
}

/* A decoded slab of ${count} records of RECORD_BYTES; every ${filtered_each}th was filtered. */
static void finish_slab(struct rig *rig, size_t count, size_t filtered_each)
{
    struct slab *slab = make_slab(rig, SLAB_RECORDS);
    struct piece *piece = &slab->pieces[0];
    for (size_t i = 0; i < count; i++, rig->next_sequence++) {
        piece->seen++;
        if (filtered_each && rig->next_sequence % filtered_each == 0) {
            piece->filtered++;
            continue;
        }
        buf_printf(&piece->bytes, "%09llu\n", (unsigned long long)rig->next_sequence);
        assert_true(piece_end_record(piece, rig->next_sequence));
    }
    slab->last_sequence = slab->done_sequence = rig->next_sequence - 1;
    slab->counts.received = slab->counts.accepted = count;
    sealer_finish(rig->sealer, slab);
}

/* The records that an output that continues after ${resume} would deliver: the segments after it.
 * Each of these must be after it, and none may be missing. */
static void check_output(struct rig *rig, size_t output, size_t filtered_each)
{
    uint64_t resume = rig->resume[output];
    uint64_t expected = resume + 1;
    struct spool_item item;
    while (rig->spool->ops->next(rig->spool, rig->cursors[output], 0, &item) == SPOOL_BATCH) {
        const struct batch *batch = item.batch;
        size_t start = 0;
        for (size_t s = 0; s < batch->segment_count; s++) {
            const struct batch_segment *segment = &batch->segments[s];
            for (size_t i = start; i < segment->record_end; i++) {
                const uint8_t *text = batch->piece.bytes.data + piece_start(&batch->piece, i);
                uint64_t sequence = strtoull((const char *)text, NULL, 10);
                if (segment->last_sequence <= resume) {
                    assert_true(sequence <= resume);
                    continue;
                }
                while (filtered_each && expected % filtered_each == 0) {
                    expected++;
                }
                assert_int_equal(sequence, expected);
                expected++;
            }
            start = segment->record_end;
        }
        assert_int_equal(start, batch->piece.count);
        rig->spool->ops->ack(rig->spool, rig->cursors[output], &item, true);
    }
    while (filtered_each && expected % filtered_each == 0) {
        expected++;
    }
    assert_true(expected >= rig->next_sequence);
}

static void check_both(struct rig *rig, size_t filtered_each)
{
    sealer_flush(rig->sealer);
    for (size_t i = 0; i < OUTPUTS; i++) {
        check_output(rig, i, filtered_each);
    }
    struct output_counts counts[OUTPUTS];
    ledger_look(rig->ledger, NULL, counts);
    for (size_t i = 0; i < OUTPUTS; i++) {
        assert_true(ledger_output_balances(&counts[i]));
    }
}

static void a_cut_is_made_where_the_open_batch_has_no_room_for_what_is_before_it(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 4, 0, 5);
    rig.stream.max_bytes = 35;
    finish_slab(&rig, 3, 0);
    finish_slab(&rig, 6, 0);
    check_both(&rig, 0);
    rig_fini(&rig);
}

/* Every pair of positions, with slabs and batches of many sizes. */
static void outputs_of_one_stream_go_on_where_each_had_come_to(void **state)
{
    (void)state;
    enum { EVENTS = 24 };
    for (size_t slab = 1; slab <= 7; slab += 2) {
        for (size_t batch = 1; batch <= 8; batch++) {
            for (size_t filtered = 0; filtered <= 4; filtered += 2) {
                for (uint64_t second = 0; second <= EVENTS; second++) {
                    struct rig rig;
                    rig_init(&rig, batch, second / 3, second);
                    rig.stream.max_bytes += batch % 3 * 3; /* room into which no record fits */
                    while (rig.next_sequence <= EVENTS) {
                        finish_slab(&rig, slab, filtered);
                    }
                    check_both(&rig, filtered);
                    rig_fini(&rig);
                }
            }
        }
    }
}

/* Take the next batch of the first output, and check its content. */
static void take_batch(struct rig *rig, bool own, size_t records, uint64_t last_sequence)
{
    struct spool_item item;
    assert_int_equal(rig->spool->ops->next(rig->spool, rig->cursors[0], 0, &item), SPOOL_BATCH);
    const struct batch *batch = item.batch;
    assert_int_equal(batch->own, own);
    assert_int_equal(batch->piece.count, records);
    assert_int_equal(batch->segment_count, last_sequence ? 1 : 0);
    if (batch->segment_count) {
        assert_int_equal(batch->segments[0].last_sequence, last_sequence);
    }
    rig->spool->ops->ack(rig->spool, rig->cursors[0], &item, true);
}

static void what_has_no_number_takes_its_session_nowhere(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 100, 3, 3);
    finish_slab(&rig, 5, 0);
    struct slab *gap = make_slab(&rig, SLAB_GAP);
    buf_add_text(&gap->pieces[0].bytes, "a gap\n");
    assert_true(piece_end_record(&gap->pieces[0], 0));
    gap->counts.gaps = 1;
    sealer_finish(rig.sealer, gap);
    finish_slab(&rig, 2, 0);
    sealer_flush(rig.sealer);
    /* The outputs continue after 3: the first batch has a segment up to there, and one after it. */
    struct spool_item first;
    assert_int_equal(rig.spool->ops->next(rig.spool, rig.cursors[0], 0, &first), SPOOL_BATCH);
    assert_int_equal(first.batch->segment_count, 2);
    rig.spool->ops->ack(rig.spool, rig.cursors[0], &first, true);
    take_batch(&rig, true, 1, 0);
    take_batch(&rig, false, 2, 7);
    struct output_counts counts[OUTPUTS];
    ledger_look(rig.ledger, NULL, counts);
    assert_int_equal(counts[0].own_offered, 1);
    assert_int_equal(counts[0].offered, 4);
    rig_fini(&rig);
}

static void a_slab_that_was_taken_in_part_is_dropped_in_part(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 100, 0, 0);
    struct slab *slab = make_slab(&rig, SLAB_RECORDS);
    struct piece *piece = &slab->pieces[0];
    for (uint64_t i = 1; i <= 3; i++) {
        buf_add_text(&piece->bytes, "event\n");
        assert_true(piece_end_record(piece, i));
        piece->seen++;
    }
    slab->last_sequence = 10;
    slab->done_sequence = 4;
    slab->counts = (struct session_counts){.received = 10, .accepted = 3, .filtered = 1};
    assert_true(sealer_take(rig.sealer, slab));
    slab->counts.accepted = 5; /* two more, which are not accepted: the agent stops */
    slab->undecoded = true;
    sealer_finish(rig.sealer, slab);
    struct session_counts session;
    struct output_counts counts[OUTPUTS];
    ledger_look(rig.ledger, &session, counts);
    assert_true(ledger_session_balances(&session));
    assert_int_equal(session.accepted, 3);
    assert_int_equal(session.filtered, 1);
    assert_int_equal(session.dropped[SESSION_DROP_STOPPED], 6);
    assert_int_equal(counts[0].offered, 3);
    rig_fini(&rig);
}

/* A gap with the session's next number, like the source's. */
static void finish_gap(struct rig *rig)
{
    struct slab *gap = make_slab(rig, SLAB_GAP);
    buf_add_text(&gap->pieces[0].bytes, "a gap\n");
    assert_true(piece_end_record(&gap->pieces[0], rig->next_sequence));
    gap->last_sequence = gap->done_sequence = rig->next_sequence++;
    sealer_finish(rig->sealer, gap);
}

/* Its number would move positions past the events, which come again if positions are kept, and the
 * gap with them. */
static void a_gap_behind_what_was_dropped_takes_its_session_nowhere(void **state)
{
    (void)state;
    for (int kept = 0; kept <= 1; kept++) {
        struct error err;
        bool comes_again = kept;
        const char *const names[OUTPUTS] = {"one", "two"};
        struct slab_queue *queue = slab_queue_create(SLAB_BYTES, 1, &err);
        assert_non_null(queue);
        struct losses_settings settings = {.session_count = 1,
            .comes_again = &comes_again,
            .outputs = names,
            .output_count = OUTPUTS,
            .queue = queue};
        struct losses *losses = losses_create(&settings, &err);
        assert_non_null(losses);
        struct rig rig;
        rig_init_losses(&rig, 100, 0, 0, losses);
        finish_slab(&rig, 2, 0);
        finish_gap(&rig);
        rig.spool->ops->cancel(rig.spool);
        finish_slab(&rig, 4, 0);
        finish_gap(&rig);
        sealer_flush(rig.sealer);
        take_batch(&rig, false, 2, 2);
        take_batch(&rig, true, 1, 3);
        if (!kept) {
            take_batch(&rig, true, 1, 0);
        }
        struct output_counts counts[OUTPUTS];
        ledger_look(rig.ledger, NULL, counts);
        assert_int_equal(counts[0].own_offered, kept ? 1 : 2);
        assert_int_equal(counts[0].offered, 2);
        rig_fini(&rig);
        slab_queue_destroy(queue);
        losses_destroy(losses);
    }
}

static enum spool_origin asked_for;

static enum spool_room note_origin(struct spool *spool, enum spool_origin origin)
{
    (void)spool;
    asked_for = origin;
    return SPOOL_ROOM;
}

/* Room is kept for what cannot be read again, and the agent's own events need none. */
static void room_is_asked_for_by_where_events_come_from(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 100, 0, 0);
    struct spool_ops ops = *rig.spool->ops;
    const struct spool_ops *before = rig.spool->ops;
    ops.wait_room = note_origin;
    rig.spool->ops = &ops;
    finish_slab(&rig, 1, 0);
    assert_int_equal(asked_for, SPOOL_LIVE);
    finish_gap(&rig);
    assert_int_equal(asked_for, SPOOL_OWN);
    rig.session.waits = true;
    finish_slab(&rig, 1, 0);
    assert_int_equal(asked_for, SPOOL_REPLAYED);
    rig.session = (struct sealer_session){
        .streams = streams, .stream_count = 1, .replayable = true};
    finish_gap(&rig);
    assert_int_equal(asked_for, SPOOL_OWN);
    finish_slab(&rig, 1, 0);
    assert_int_equal(asked_for, SPOOL_REPLAYED);
    rig.spool->ops = before;
    rig_fini(&rig);
}

/* ---- more than fits into a batch ------------------------------------------------------------- */

static void finish_large_slab(struct rig *rig, size_t bytes)
{
    struct slab *slab = make_slab(rig, SLAB_RECORDS);
    struct piece *piece = &slab->pieces[0];
    assert_true(buf_reserve(&piece->bytes, bytes));
    memset(piece->bytes.data, 'x', bytes);
    piece->bytes.size = bytes;
    piece->seen = 1;
    assert_true(piece_end_record(piece, rig->next_sequence));
    slab->last_sequence = slab->done_sequence = rig->next_sequence++;
    sealer_finish(rig->sealer, slab);
}

static void finish_slab_of_names(struct rig *rig, size_t count)
{
    struct slab *slab = make_slab(rig, SLAB_RECORDS);
    struct piece *piece = &slab->pieces[0];
    for (size_t i = 0; i < count; i++, rig->next_sequence++) {
        char name[32];
        snprintf(name, sizeof(name), "%llu", (unsigned long long)rig->next_sequence);
        buf_add_text(&piece->bytes, "{}\n");
        assert_true(routes_add(&piece->routes[0], span_text(name)));
        assert_true(piece_end_record(piece, rig->next_sequence));
        piece->seen++;
    }
    slab->last_sequence = slab->done_sequence = rig->next_sequence - 1;
    sealer_finish(rig->sealer, slab);
}

/* Take all batches: there are several, each small enough for a disk. */
static void take_all(struct rig *rig)
{
    static const char *const sessions[] = {"session"};
    const struct batch_codec codec = {.sessions = sessions, .session_count = 1, .other = 1};
    uint64_t records = 0;
    size_t batches = 0;
    struct spool_item item;
    sealer_flush(rig->sealer);
    while (records + 1 < rig->next_sequence) {
        assert_int_equal(rig->spool->ops->next(rig->spool, rig->cursors[0], 0, &item), SPOOL_BATCH);
        struct batch *batch = (struct batch *)item.batch;
        struct span body;
        struct error err;
        assert_true(batch_codec_write(&codec, batch, &body, &err));
        records += batch->piece.count;
        assert_int_equal(batch->segments[batch->segment_count - 1].last_sequence, records);
        batches++;
        rig->spool->ops->ack(rig->spool, rig->cursors[0], &item, true);
    }
    assert_true(batches > 1);
}

static void init_without_limits(struct rig *rig, size_t routes)
{
    rig_init(rig, 1, 0, 0);
    rig->stream.max_bytes = SIZE_MAX / 2;
    rig->stream.max_events = SIZE_MAX / 2;
    rig->stream.route_count = routes;
}

static void a_batch_ends_where_it_is_as_long_as_one_can_be(void **state)
{
    (void)state;
    struct rig rig;
    init_without_limits(&rig, 0);
    for (int i = 0; i < 20; i++) {
        finish_large_slab(&rig, PIECE_FULL_BYTES);
    }
    take_all(&rig);
    rig_fini(&rig);
}

static void a_batch_ends_where_its_routes_have_as_many_names_as_they_can(void **state)
{
    (void)state;
    struct rig rig;
    init_without_limits(&rig, 1);
    for (int i = 0; i < 20; i++) {
        finish_slab_of_names(&rig, 5000);
    }
    take_all(&rig);
    rig_fini(&rig);
}

/* ---- whole pieces ---------------------------------------------------------------------------- */

static void a_piece_that_is_longer_than_a_batch_becomes_one_if_it_is_to_stay_whole(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 4, 0, 0);
    rig.stream.whole_pieces = true;
    finish_slab(&rig, 6, 0);
    take_batch(&rig, false, 6, 6);
    finish_slab(&rig, 3, 0);
    finish_slab(&rig, 3, 0); /* has no room beside the other three */
    finish_slab(&rig, 1, 0); /* has room */
    take_batch(&rig, false, 3, 9);
    take_batch(&rig, false, 4, 13);
    rig_fini(&rig);
}

static void outputs_go_on_where_each_had_come_to_in_whole_pieces(void **state)
{
    (void)state;
    enum { EVENTS = 24 };
    for (uint64_t second = 0; second <= EVENTS; second++) {
        struct rig rig;
        rig_init(&rig, 3, second / 3, second);
        rig.stream.whole_pieces = true;
        while (rig.next_sequence <= EVENTS) {
            finish_slab(&rig, rig.next_sequence % 5 + 1, 4);
        }
        check_both(&rig, 4);
        rig_fini(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_is_made_where_the_open_batch_has_no_room_for_what_is_before_it),
        cmocka_unit_test(outputs_of_one_stream_go_on_where_each_had_come_to),
        cmocka_unit_test(what_has_no_number_takes_its_session_nowhere),
        cmocka_unit_test(a_slab_that_was_taken_in_part_is_dropped_in_part),
        cmocka_unit_test(a_gap_behind_what_was_dropped_takes_its_session_nowhere),
        cmocka_unit_test(room_is_asked_for_by_where_events_come_from),
        cmocka_unit_test(a_batch_ends_where_it_is_as_long_as_one_can_be),
        cmocka_unit_test(a_batch_ends_where_its_routes_have_as_many_names_as_they_can),
        cmocka_unit_test(a_piece_that_is_longer_than_a_batch_becomes_one_if_it_is_to_stay_whole),
        cmocka_unit_test(outputs_go_on_where_each_had_come_to_in_whole_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
