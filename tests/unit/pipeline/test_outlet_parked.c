#include "outlet_rig.h"

#include <stdatomic.h>

#include "platform/plat_clock.h"

/* An output with a route that accepts nothing for a while. A record is a line "ROUTE N". */

struct parked_rig {
    struct rig base;
    struct output_ops ops;
    uint64_t next; /* number of a record */
    struct spool *spool;
    bool drops_held;
    bool second_recorded; /* the second session can be read again */
};

static void setup_parked(
    struct parked_rig *rig, size_t workers, size_t spool_bytes, uint64_t max_age_ns, bool keeps)
{
    struct error err = {0};
    size_t cursor = 0;
    struct spool_backlog backlog;
    *rig = (struct parked_rig){.ops = fake_output_ops,
        .drops_held = rig->drops_held,
        .second_recorded = rig->second_recorded};
    struct rig *base = &rig->base;
    rig->ops.checkpoint = NULL;
    buf_init(&base->warnings, 10000);
    buf_init(&base->kept, 10000);
    buf_init(&base->kept_records, 10000);
    base->letters.ops = &letter_ops;
    base->warns = true;
    base->fake = fake_output_create(NULL, 0);
    base->fake_settings = (struct fake_settings){.fake = base->fake, .route = "{x}"};
    base->spool = spool_memory_create(1, spool_bytes, &err);
    base->ledger = ledger_create(SESSIONS, 1, &err);
    assert_true(base->spool && base->ledger);
    base->queue = slab_queue_create(1, 1, &err);
    assert_non_null(base->queue);
    base->losses = losses_create(
        &(struct losses_settings){.session_count = SESSIONS,
            .comes_again = (const bool[SESSIONS]){false, rig->second_recorded},
            .outputs = (const char *const[]){"fake"},
            .output_count = 1,
            .queue = base->queue},
        &err);
    assert_non_null(base->losses);
    const struct spool_reader reader = {.name = "fake", .route = 0};
    assert_true(base->spool->ops->add_cursor(base->spool, &reader, &cursor, &backlog, &err));
    base->outlet = outlet_create(
        &(struct outlet_settings){.name = "fake",
            .ops = &rig->ops,
            .settings = &base->fake_settings,
            .retry = {.min_ms = SHORT_MS, .max_ms = SHORT_MS, .max_age_ns = max_age_ns},
            .workers = workers,
            .session_count = SESSIONS,
            .spool = base->spool,
            .cursor = cursor,
            .ledger = base->ledger,
            .drops_held = rig->drops_held,
            .losses = rig->second_recorded ? base->losses : NULL,
            .dead_letters = keeps ? &base->letters : NULL,
            .warn = on_warn,
            .self = base},
        &err);
    assert_non_null(base->outlet);
}

/* A batch with a record for each letter of ${routes}; the letter is the name of the route. */
static void add_routed(struct parked_rig *rig, const char *routes)
{
    struct batch *batch = batch_create(1, NULL, 0);
    assert_non_null(batch);
    ledger_offer(rig->base.ledger, 0, strlen(routes), 0, false);
    for (const char *route = routes; *route; route++) {
        assert_true(routes_add(&batch->piece.routes[0], span_make(route, 1)));
        buf_printf(&batch->piece.bytes, "%llu\n", (unsigned long long)++rig->next);
        assert_true(piece_end_record(&batch->piece, 0));
    }
    assert_true(batch_mark(batch, &(struct batch_segment){.last_sequence = rig->next}));
    rig->base.spool->ops->append(rig->base.spool, 0, batch);
}

/* A batch of two records, the second one of the second session. */
static void add_of_both(struct parked_rig *rig, const char *routes)
{
    struct batch *batch = batch_create(1, NULL, 0);
    assert_non_null(batch);
    ledger_offer(rig->base.ledger, 0, 2, 0, false);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(routes_add(&batch->piece.routes[0], span_make(routes + i, 1)));
        buf_printf(&batch->piece.bytes, "%llu\n", (unsigned long long)++rig->next);
        assert_true(piece_end_record(&batch->piece, 0));
        assert_true(batch_mark(
            batch, &(struct batch_segment){.session = i, .cut = true, .last_sequence = rig->next}));
    }
    rig->base.spool->ops->append(rig->base.spool, 0, batch);
}

static void start_parked(struct parked_rig *rig)
{
    struct error err = {0};
    assert_true(outlet_start(rig->base.outlet, &err));
}

static void end_parked(struct parked_rig *rig)
{
    rig->base.spool->ops->close(rig->base.spool);
    assert_true(outlet_join(rig->base.outlet));
}

/* The records that arrived for ${route}: numbers, each with a space after it. */
static void assert_arrived(const struct parked_rig *rig, char route, const char *expected)
{
    char *text = fake_output_text(rig->base.fake);
    struct buf found;
    buf_init(&found, 1 << 20);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (line[0] == route) {
            buf_printf(&found, "%s ", line + 2);
        }
    }
    assert_span(buf_span(&found), expected);
    buf_fini(&found);
    free(text);
}

static uint64_t mark_of(const struct parked_rig *rig)
{
    uint64_t sequences[SESSIONS];
    struct buf checkpoint;
    buf_init(&checkpoint, 1000);
    outlet_progress(rig->base.outlet, 0, sequences, &checkpoint);
    buf_fini(&checkpoint);
    return sequences[0];
}

static void others_go_on_and_the_route_keeps_its_order(void **state)
{
    (void)state;
    struct parked_rig rig = {.drops_held = false};
    setup_parked(&rig, 1, 1 << 20, 0, true);
    fake_output_shut(rig.base.fake, "s");
    add_routed(&rig, "asbs");
    add_routed(&rig, "sss");
    add_routed(&rig, "ba");
    add_routed(&rig, "sa");
    start_parked(&rig);
    fake_output_wait_records(rig.base.fake, 5);
    assert_arrived(&rig, 'a', "1 9 11 ");
    assert_arrived(&rig, 'b', "3 8 ");
    assert_arrived(&rig, 's', "");
    assert_int_equal(mark_of(&rig), 0); /* the first batch is not settled */
    size_t sends = fake_output_counts(rig.base.fake).sends;
    fake_output_wait_sends(rig.base.fake, sends + 3); /* probes, which deliver nothing else */
    struct output_counts counts = counts_of(&rig.base);
    assert_true(counts.degraded);
    assert_int_equal(counts.acked, 5);
    assert_int_equal(counts.pending, 6);
    assert_int_equal(counts.parked, 6);
    assert_int_equal(counts.parked_routes, 1);
    assert_string_equal(counts.parked_first, "s: status 403 shut: it is shut");
    fake_output_shut(rig.base.fake, NULL);
    end_parked(&rig);
    assert_arrived(&rig, 's', "2 4 5 6 7 10 ");
    counts = counts_of(&rig.base);
    assert_false(counts.degraded);
    assert_int_equal(counts.acked, 11);
    assert_int_equal(counts.parked, 0);
    assert_int_equal(counts.parked_routes, 0);
    assert_int_equal(mark_of(&rig), 11);
    assert_span(buf_span(&rig.base.warnings), "parked;unparked;");
    teardown(&rig.base);
}

/* Route s fails because of its set-up. */
static atomic_bool is_sick;

static enum output_verdict send_sick(
    void *self, const struct delivery *delivery, struct output_report *report)
{
    bool any = false;
    for (size_t i = 0; i < delivery->record_count; i++) {
        any = any || span_is(delivery->route_names[delivery->routes[i]], "s");
    }
    if (!any || !atomic_load(&is_sick)) {
        return fake_output_ops.send(self, delivery, report);
    }
    report->degraded = true;
    error_set(&report->error, ERR_CONFIG, "every event is refused");
    return OUTPUT_RETRY;
}

static void what_is_held_and_then_fails_holds_nothing_else_up(void **state)
{
    (void)state;
    struct parked_rig rig = {.drops_held = false};
    setup_parked(&rig, 1, 1 << 20, 0, true);
    rig.ops.send = send_sick;
    fake_output_shut(rig.base.fake, "s");
    add_routed(&rig, "as");
    add_routed(&rig, "ss");
    start_parked(&rig);
    fake_output_wait_records(rig.base.fake, 1);
    while (counts_of(&rig.base).parked < 3) {
        plat_sleep_ms(1);
    }
    atomic_store(&is_sick, true);
    fake_output_shut(rig.base.fake, NULL);
    uint64_t retries = counts_of(&rig.base).retries;
    while (counts_of(&rig.base).retries < retries + 3) {
        plat_sleep_ms(1);
    }
    add_routed(&rig, "a");
    add_routed(&rig, "as");
    fake_output_wait_records(rig.base.fake, 3);
    assert_arrived(&rig, 'a', "1 5 6 ");
    assert_true(counts_of(&rig.base).degraded);
    atomic_store(&is_sick, false);
    end_parked(&rig);
    assert_arrived(&rig, 's', "2 3 4 7 ");
    assert_false(counts_of(&rig.base).degraded);
    assert_int_equal(mark_of(&rig), 7);
    teardown(&rig.base);
}

static void several_workers_deliver_each_record_once(void **state)
{
    (void)state;
    enum { BATCHES = 300 };
    struct parked_rig rig = {.drops_held = false};
    setup_parked(&rig, 4, 1 << 28, 0, true);
    fake_output_shut(rig.base.fake, "s");
    for (size_t i = 0; i < BATCHES; i++) {
        add_routed(&rig, i % 3 ? "abs" : "sst");
    }
    start_parked(&rig);
    fake_output_wait_records(rig.base.fake, BATCHES / 3 * 5);
    fake_output_shut(rig.base.fake, "a"); /* it was open: none of its records is left */
    for (size_t i = 0; i < BATCHES; i++) {
        add_routed(&rig, "ast");
    }
    fake_output_wait_records(rig.base.fake, BATCHES * 3 + BATCHES * 2);
    fake_output_shut(rig.base.fake, NULL);
    end_parked(&rig);
    struct output_counts counts = counts_of(&rig.base);
    assert_int_equal(counts.acked, BATCHES * 6);
    assert_int_equal(counts.pending, 0);
    assert_int_equal(fake_output_counts(rig.base.fake).records, BATCHES * 6);
    assert_int_equal(mark_of(&rig), BATCHES * 6);
    teardown(&rig.base);
}

static void so_much_is_held_and_no_more(void **state)
{
    (void)state;
    struct parked_rig rig = {.drops_held = false};
    /* there is room for some batches of one record: half of it */
    setup_parked(&rig, 1, 4000, 0, true);
    fake_output_shut(rig.base.fake, "s");
    for (size_t i = 0; i < 40; i++) {
        add_routed(&rig, "s");
    }
    add_routed(&rig, "a");
    start_parked(&rig);
    fake_output_wait_sends(rig.base.fake, 20);
    struct output_counts counts = counts_of(&rig.base);
    assert_true(counts.parked > 0 && counts.parked < 40);
    assert_arrived(&rig, 'a', "");
    fake_output_shut(rig.base.fake, NULL);
    end_parked(&rig);
    assert_arrived(&rig, 'a', "41 ");
    assert_int_equal(counts_of(&rig.base).acked, 41);
    assert_span(buf_span(&rig.base.warnings), "parked;full;unparked;");
    teardown(&rig.base);
}

static void the_oldest_that_is_held_makes_room_if_the_user_wants_that(void **state)
{
    (void)state;
    struct parked_rig rig = {.drops_held = true};
    setup_parked(&rig, 1, 200 * 1000, 0, true); /* half of it, some ten batches */
    fake_output_shut(rig.base.fake, "s");
    for (size_t i = 0; i < 40; i++) {
        add_routed(&rig, "s");
    }
    add_routed(&rig, "a");
    start_parked(&rig);
    fake_output_wait_records(rig.base.fake, 1);
    assert_arrived(&rig, 'a', "41 ");
    struct output_counts counts = counts_of(&rig.base);
    uint64_t lost = counts.dropped[OUTPUT_DROP_SPOOL_FULL];
    assert_true(lost > 0 && lost < 40);
    fake_output_shut(rig.base.fake, NULL);
    end_parked(&rig);
    counts = counts_of(&rig.base);
    lost = counts.dropped[OUTPUT_DROP_SPOOL_FULL];
    assert_int_equal(counts.acked + lost, 41);
    struct buf rest; /* the newest, in order */
    buf_init(&rest, 1000);
    for (uint64_t i = lost + 1; i <= 40; i++) {
        buf_printf(&rest, "%llu ", (unsigned long long)i);
    }
    buf_add_byte(&rest, 0);
    assert_arrived(&rig, 's', (const char *)rest.data);
    assert_int_equal(counts.offered,
        counts.filtered + counts.acked + counts.dead_lettered + lost + counts.pending);
    buf_fini(&rest);
    teardown(&rig.base);
}

static void what_can_be_read_again_makes_no_room(void **state)
{
    (void)state;
    struct parked_rig rig = {.drops_held = true, .second_recorded = true};
    setup_parked(&rig, 1, 4000, 0, true);
    fake_output_shut(rig.base.fake, "s");
    for (size_t i = 0; i < 20; i++) {
        add_of_both(&rig, "ss");
    }
    start_parked(&rig);
    fake_output_wait_sends(rig.base.fake, 20);
    fake_output_shut(rig.base.fake, NULL);
    end_parked(&rig);
    struct output_counts counts = counts_of(&rig.base);
    assert_int_equal(counts.dropped[OUTPUT_DROP_SPOOL_FULL], 0);
    assert_int_equal(counts.acked, 40);
    assert_span(buf_span(&rig.base.warnings), "parked;full;unparked;");
    teardown(&rig.base);
}

/* Route s accepts nothing until it is open. Then it refuses each record up to this one on its
 * own. */
enum { LAST_BAD = 10 };
static atomic_bool s_is_open;
static unsigned asked; /* by digit: the record of a suspect delivery of several that was tried */

static bool is_for_s(const struct delivery *delivery, size_t i)
{
    return span_is(delivery->route_names[delivery->routes[i]], "s");
}

static bool is_refused(const struct delivery *delivery, size_t i)
{
    uint32_t start = i ? delivery->record_ends[i - 1] : 0;
    uint64_t number = strtoull((const char *)delivery->bytes.data + start, NULL, 10);
    return is_for_s(delivery, i) && number <= LAST_BAD;
}

static void send_one(void *self, const struct delivery *delivery, size_t i)
{
    uint32_t start = i ? delivery->record_ends[i - 1] : 0;
    uint32_t size = delivery->record_ends[i] - start;
    struct output_report report = {.records = NULL};
    struct delivery one = *delivery;
    one.bytes = span_make(delivery->bytes.data + start, size);
    one.record_ends = &size;
    one.record_count = 1;
    one.routes = &delivery->routes[i];
    assert_int_equal(fake_output_ops.send(self, &one, &report), OUTPUT_DELIVERED);
}

static enum output_verdict send_while_shut(
    void *self, const struct delivery *delivery, struct output_report *report)
{
    for (size_t i = 0; i < delivery->record_count; i++) {
        report->records[i] = is_for_s(delivery, i) ? RECORD_BLOCKED : RECORD_DELIVERED;
        if (is_for_s(delivery, i)) {
            report->reject(report->host, i, &(struct output_rejection){.status = 403});
        } else {
            send_one(self, delivery, i);
        }
    }
    error_set(&report->error, ERR_IO, "shut");
    return OUTPUT_MIXED;
}

/* Holds the refused records as a whole, like a destination that blames its set-up. */
static enum output_verdict send_choosy(
    void *self, const struct delivery *delivery, struct output_report *report)
{
    if (!atomic_load(&s_is_open)) {
        return send_while_shut(self, delivery, report);
    }
    size_t count = delivery->record_count;
    size_t probe = delivery->suspect ? delivery->probe % count : count;
    bool shut = probe < count && is_refused(delivery, probe);
    bool any = false;
    if (delivery->suspect && count > 1) {
        asked = asked * 10 + (unsigned)probe;
    }
    for (size_t i = 0; i < count && !shut; i++) {
        any = any || !is_refused(delivery, i);
    }
    for (size_t i = 0; i < count; i++) {
        bool refused = shut || is_refused(delivery, i);
        bool held = refused && !any && !delivery->cleared;
        report->records[i] = held ? RECORD_HELD : refused ? RECORD_REJECTED : RECORD_DELIVERED;
        if (refused) {
            report->reject(report->host, i, &(struct output_rejection){.status = 400});
        } else {
            send_one(self, delivery, i);
        }
    }
    report->set_up = "mend it";
    error_set(&report->error, ERR_IO, "refused");
    return any && count == 1 ? OUTPUT_DELIVERED : OUTPUT_MIXED;
}

static void events_that_are_bad_first_do_not_hold_up_good_ones(void **state)
{
    (void)state;
    struct parked_rig rig = {.drops_held = false};
    setup_parked(&rig, 1, 1 << 20, 0, true);
    rig.ops.send = send_choosy;
    atomic_store(&s_is_open, false);
    asked = 0;
    add_routed(&rig, "ss");
    add_routed(&rig, "ssss");
    add_routed(&rig, "ss");
    add_routed(&rig, "ss");
    add_routed(&rig, "sas");
    add_routed(&rig, "sss");
    add_routed(&rig, "ss");
    add_routed(&rig, "a");
    start_parked(&rig);
    fake_output_wait_records(rig.base.fake, 2); /* by now all others are held */
    atomic_store(&s_is_open, true);
    fake_output_wait_records(rig.base.fake, 9);
    end_parked(&rig);
    assert_arrived(&rig, 'a', "12 19 ");
    assert_int_equal(asked, 1210); /* of the first four batches, by their numbers */
    /* Each of the records that were tried first goes ahead, alone; the others keep their order. */
    assert_arrived(&rig, 's', "18 14 17 16 11 13 15 ");
    struct output_counts counts = counts_of(&rig.base);
    assert_int_equal(counts.acked, 9);
    assert_int_equal(counts.dead_lettered, LAST_BAD);
    assert_int_equal(counts.parked, 0);
    assert_int_equal(counts.pending, 0);
    assert_int_equal(mark_of(&rig), 19);
    teardown(&rig.base);
}

static void a_stop_counts_what_is_held_as_dropped(void **state)
{
    (void)state;
    struct parked_rig rig = {.drops_held = false};
    setup_parked(&rig, 2, 1 << 20, 0, true);
    fake_output_shut(rig.base.fake, "s");
    add_routed(&rig, "asss");
    add_routed(&rig, "as");
    add_routed(&rig, "b");
    start_parked(&rig);
    fake_output_wait_records(rig.base.fake, 3);
    outlet_move(rig.base.outlet, OUTLET_RETRIES_NOW);
    outlet_move(rig.base.outlet, OUTLET_CANCELS);
    end_parked(&rig);
    struct output_counts counts = counts_of(&rig.base);
    assert_int_equal(counts.acked, 3);
    assert_int_equal(counts.dropped[OUTPUT_DROP_STOPPED], 4);
    assert_int_equal(counts.pending, 0);
    assert_int_equal(counts.parked, 0);
    assert_int_equal(mark_of(&rig), 0); /* the batch comes again */
    teardown(&rig.base);
}

static void what_is_held_for_too_long_is_kept_as_a_dead_letter(void **state)
{
    (void)state;
    struct parked_rig rig = {.drops_held = false};
    setup_parked(&rig, 1, 1 << 20, 1, true); /* ns: at once */
    fake_output_shut(rig.base.fake, "s");
    add_routed(&rig, "asb");
    add_routed(&rig, "sa");
    start_parked(&rig);
    end_parked(&rig);
    struct output_counts counts = counts_of(&rig.base);
    assert_int_equal(counts.acked, 3);
    assert_int_equal(counts.dead_lettered, 2);
    assert_int_equal(counts.kept_too_old, 2);
    assert_int_equal(counts.parked, 0);
    assert_false(counts.degraded);
    assert_int_equal(mark_of(&rig), 5);
    assert_span(buf_span(&rig.base.kept), "fake 403 too_old: tried for longer than retry.max_age. "
                                          "the last answer: status 403 shut: it "
                                          "is shut s 2;fake 403 too_old: tried for longer than "
                                          "retry.max_age. the last answer: status "
                                          "403 shut: it is shut s 4;");
    assert_span(buf_span(&rig.base.kept_records), "0 2 ");
    teardown(&rig.base);
}

static void without_a_route_or_with_a_checkpoint_nothing_is_held(void **state)
{
    (void)state;
    struct parked_rig rig = {.drops_held = false};
    setup_parked(&rig, 1, 1 << 20, 0, true);
    outlet_destroy(rig.base.outlet);
    struct error err = {0};
    rig.base.outlet = outlet_create(&(struct outlet_settings){.name = "fake",
                                        .ops = &fake_output_ops,
                                        .settings = &rig.base.fake_settings,
                                        .retry = {.min_ms = SHORT_MS, .max_ms = SHORT_MS},
                                        .workers = 1,
                                        .session_count = SESSIONS,
                                        .spool = rig.base.spool,
                                        .ledger = rig.base.ledger,
                                        .warn = on_warn,
                                        .self = &rig.base},
        &err);
    assert_non_null(rig.base.outlet);
    fake_output_shut(rig.base.fake, "s");
    add_routed(&rig, "as");
    add_routed(&rig, "b");
    start_parked(&rig);
    fake_output_wait_sends(rig.base.fake, 3);
    assert_arrived(&rig, 'b', "");
    fake_output_shut(rig.base.fake, NULL);
    end_parked(&rig);
    assert_arrived(&rig, 'b', "3 ");
    assert_span(buf_span(&rig.base.warnings), "degraded;mended;");
    teardown(&rig.base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_go_on_and_the_route_keeps_its_order),
        cmocka_unit_test(what_is_held_and_then_fails_holds_nothing_else_up),
        cmocka_unit_test(several_workers_deliver_each_record_once),
        cmocka_unit_test(so_much_is_held_and_no_more),
        cmocka_unit_test(the_oldest_that_is_held_makes_room_if_the_user_wants_that),
        cmocka_unit_test(what_can_be_read_again_makes_no_room),
        cmocka_unit_test(events_that_are_bad_first_do_not_hold_up_good_ones),
        cmocka_unit_test(a_stop_counts_what_is_held_as_dropped),
        cmocka_unit_test(what_is_held_for_too_long_is_kept_as_a_dead_letter),
        cmocka_unit_test(without_a_route_or_with_a_checkpoint_nothing_is_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
