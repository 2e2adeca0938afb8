#include "pipeline/deliver/parking.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_clock.h"
#include "support/test.h"

/* Which batches are claimed at what time, and which records of them are left. */

enum { LONG_MS = 24 * 3600 * 1000 };

struct fixture {
    struct parking parking;
    struct batch *batches[8];
    struct buf told;
    bool live; /* newly parked records are live */
};

static void on_tell(void *self, enum parking_news news, const char *route, const char *text)
{
    static const char *const words[] = {"parked", "refuses", "opened", "empty"};
    struct fixture *f = self;
    buf_printf(&f->told, "%s %s %s;", words[news], route, text);
}

static void setup(struct fixture *f, unsigned retry_ms, uint64_t max_age_ns)
{
    const struct delivery_retry retry = {
        .min_ms = retry_ms, .max_ms = retry_ms, .max_age_ns = max_age_ns};
    *f = (struct fixture){.batches = {NULL}};
    parking_init(&f->parking, &retry, 1 << 20, 2);
    f->parking.tell = on_tell;
    f->parking.self = f;
    buf_init(&f->told, 10000);
}

static void teardown(struct fixture *f)
{
    parking_fini(&f->parking);
    for (size_t i = 0; i < 8; i++) {
        batch_destroy(f->batches[i]);
    }
    buf_fini(&f->told);
}

/* Park all records of batch ${number}, with a route for each letter of ${routes}. */
static struct parked_batch *park(struct fixture *f, size_t number, const char *routes)
{
    uint8_t marks[16];
    memset(marks, 1, sizeof(marks));
    struct batch *batch = batch_create(1, NULL, 0);
    assert_non_null(batch);
    f->batches[number] = batch;
    batch->number = number;
    for (; *routes; routes++) {
        assert_true(routes_add(&batch->piece.routes[0], span_make(routes, 1)));
        buf_add_text(&batch->piece.bytes, "x");
        assert_true(piece_end_record(&batch->piece, 0));
    }
    const struct spool_item item = {.batch = batch, .bytes = 100};
    struct parked_batch *parked = parking_make(&f->parking, &item, marks, plat_monotonic_ns());
    assert_non_null(parked);
    parked->live = f->live;
    parking_put(&f->parking, parked);
    return parked;
}

/* The next claim is of ${batch}, with these of its records. */
static void expect_claim(
    struct fixture *f, struct parked_batch *batch, const char *records, bool retry_now)
{
    uint8_t marks[16] = {0};
    char found[64] = "";
    assert_ptr_equal(parking_claim(&f->parking, retry_now), batch);
    parking_mark(batch, true, marks, 1);
    for (size_t i = 0; i < sizeof(marks); i++) {
        if (marks[i]) {
            snprintf(found + strlen(found), sizeof(found) - strlen(found), "%zu ", i);
        }
    }
    assert_string_equal(found, records);
}

static struct parking_facts facts_of(struct fixture *f)
{
    struct parking_facts facts;
    parking_look_at(&f->parking, &facts);
    return facts;
}

static void routes_are_claimed_by_the_order_of_their_batches(void **state)
{
    (void)state;
    static const uint8_t none[16] = {0};
    struct fixture f;
    setup(&f, LONG_MS, 0);
    struct parked_batch *second = park(&f, 2, "ab");
    struct parked_batch *first = park(&f, 1, "cac"); /* from a slower worker */
    assert_null(parking_claim(&f.parking, false));   /* nothing is due */
    assert_int_equal(facts_of(&f).events, 5);
    assert_int_equal(facts_of(&f).routes, 3);
    /* In the first batch all records are the oldest of their routes, in the second only those of
     * b. */
    struct parked_batch *claimed = parking_claim(&f.parking, true);
    assert_non_null(claimed);
    struct parked_batch *other = claimed == first ? second : first;
    expect_claim(&f, other, other == first ? "0 1 2 " : "1 ", true);
    assert_null(parking_claim(&f.parking, true)); /* once each */
    assert_int_equal(parking_return(&f.parking, first, none, true), true);
    assert_int_equal(parking_return(&f.parking, second, none, true), false);
    parked_batch_free(first);
    /* The first batch opened route a, so the second follows. */
    expect_claim(&f, second, "0 ", false);
    assert_true(parking_return(&f.parking, second, none, true));
    parked_batch_free(second);
    assert_false(parking_any(&f.parking));
    assert_int_equal(facts_of(&f).events, 0);
    teardown(&f);
}

static void what_is_still_blocked_waits_again_in_its_place(void **state)
{
    (void)state;
    static const uint8_t last[16] = {0, 0, 1};
    struct fixture f;
    setup(&f, LONG_MS, 0);
    struct parked_batch *first = park(&f, 1, "aaa");
    struct parked_batch *second = park(&f, 2, "a");
    expect_claim(&f, first, "0 1 2 ", true);
    assert_true(parking_due(&f.parking) == UINT64_MAX); /* its only route is claimed */
    assert_false(parking_return(&f.parking, first, last, true));
    assert_int_equal(facts_of(&f).events, 2);
    assert_null(parking_claim(&f.parking, false));
    assert_true(parking_due(&f.parking) > plat_monotonic_ns());
    struct parked_batch *dropped = parking_drop(&f.parking);
    assert_true(dropped == first || dropped == second);
    parking_end(&f.parking, dropped);
    parked_batch_free(dropped);
    struct parked_batch *rest = parking_drop(&f.parking);
    assert_true(rest && rest != dropped);
    assert_null(parking_drop(&f.parking));
    parking_end(&f.parking, rest);
    parked_batch_free(rest);
    assert_false(parking_any(&f.parking));
    teardown(&f);
}

static void some_workers_are_left_to_what_is_not_parked(void **state)
{
    (void)state;
    static const uint8_t all[16] = {1, 1, 1};
    static const uint8_t none[16] = {0};
    struct fixture f;
    setup(&f, LONG_MS, 1); /* ns: everything is due at once */
    struct parked_batch *batches[] = {park(&f, 1, "a"), park(&f, 2, "b"), park(&f, 3, "cc")};
    struct parked_batch *second = NULL;
    struct parked_batch *first = parking_claim(&f.parking, false);
    assert_true(first && (second = parking_claim(&f.parking, false)));
    assert_null(parking_claim(&f.parking, false));
    assert_true(parking_due(&f.parking) == UINT64_MAX);
    assert_false(parking_return(&f.parking, second, all, false));
    assert_non_null(second = parking_claim(&f.parking, false));
    for (size_t i = 0; i < 3; i++) {
        if (batches[i] != first && batches[i] != second) {
            assert_null(parking_claim(&f.parking, false));
        }
    }
    assert_true(parking_return(&f.parking, second, none, false));
    parking_end(&f.parking, first);
    parked_batch_free(first);
    parked_batch_free(second);
    assert_non_null(second = parking_claim(&f.parking, true));
    assert_true(parking_return(&f.parking, second, none, false));
    parked_batch_free(second);
    assert_false(parking_any(&f.parking));
    teardown(&f);
}

static void what_gets_too_old_is_due(void **state)
{
    (void)state;
    static const uint8_t none[16] = {0};
    struct fixture f;
    setup(&f, LONG_MS, 1);
    struct parked_batch *first = park(&f, 1, "a");
    struct parked_batch *second = park(&f, 2, "a");
    expect_claim(&f, first, "0 ", false);
    assert_true(parking_return(&f.parking, first, none, false)); /* given up */
    parked_batch_free(first);
    expect_claim(&f, second, "0 ", false);
    assert_true(parking_return(&f.parking, second, none, false));
    parked_batch_free(second);
    assert_span(buf_span(&f.told), "parked a it accepts no events;empty a it accepts no events;");
    teardown(&f);
}

static void what_is_too_old_and_stays_waits_like_any_other(void **state)
{
    (void)state;
    static const uint8_t none[16] = {0};
    struct fixture f;
    setup(&f, LONG_MS, 1);
    struct parked_batch *first = park(&f, 1, "a");
    struct parked_batch *second = park(&f, 2, "a");
    expect_claim(&f, first, "0 ", false);
    assert_false(parking_return(&f.parking, first, NULL, false)); /* could not be given up */
    assert_null(parking_claim(&f.parking, false));
    assert_true(parking_due(&f.parking) > plat_monotonic_ns());
    expect_claim(&f, first, "0 ", true);
    assert_true(parking_return(&f.parking, first, none, false));
    parked_batch_free(first);
    expect_claim(&f, second, "0 ", false); /* records after it that are too old are due at once */
    assert_true(parking_return(&f.parking, second, none, false));
    parked_batch_free(second);
    teardown(&f);
}

static void what_was_said_is_told_with_the_index(void **state)
{
    (void)state;
    static const uint8_t none[16] = {0};
    struct fixture f;
    bool parked[2];
    const struct span names[2] = {span_text("b"), span_text("a")};
    setup(&f, LONG_MS, 0);
    assert_false(parking_look(&f.parking, names, 2, parked));
    parking_close_route(&f.parking, span_text("a"),
        &(struct output_rejection){.status = 403,
            .type = span_text("block"),
            .reason = span_text("it is shut;"),
            .index = span_text("logs-a")});
    assert_true(parking_look(&f.parking, names, 2, parked));
    assert_false(parked[0]);
    assert_true(parked[1]);
    assert_span(buf_span(&f.told), ""); /* no record is held yet */
    struct parked_batch *batch = park(&f, 1, "a");
    assert_string_equal(facts_of(&f).first, "logs-a: status 403 block: it is shut");
    expect_claim(&f, batch, "0 ", true);
    assert_true(parking_return(&f.parking, batch, none, true));
    parked_batch_free(batch);
    assert_span(buf_span(&f.told), "parked logs-a status 403 block: it is shut;"
                                   "opened logs-a status 403 block: it is shut;");
    parking_close_route(&f.parking, span_text("a"), &(struct output_rejection){.status = 403});
    parking_tidy(&f.parking);
    assert_false(parking_any(&f.parking));
    teardown(&f);
}

/* A route that refuses each event on its own is claimed alone, because one event of it is tried
 * first. */
static void what_refuses_everything_is_claimed_alone_and_is_suspect(void **state)
{
    (void)state;
    static const uint8_t none[16] = {0};
    const struct output_rejection why = {
        .status = 400, .type = span_text("bad"), .reason = span_text("no"), .set_up = "mend it"};
    struct fixture f;
    setup(&f, 1, 0);
    struct parked_batch *batch = park(&f, 1, "abca");
    parking_close_route(&f.parking, span_text("a"), &why);
    assert_span(buf_span(&f.told),
        "parked c it accepts no events;parked b it accepts no events;parked a "
        "it accepts no events;refuses a status 400 bad: no: mend it;");
    expect_claim(&f, batch, "1 2 ", true); /* the other two are claimed together */
    assert_false(batch->suspect);
    assert_false(parking_return(&f.parking, batch, none, true));
    expect_claim(&f, batch, "0 3 ", true);
    assert_true(batch->suspect);
    /* A later report does not clear it, but an accepted event does. */
    parking_close_route(&f.parking, span_text("a"), &(struct output_rejection){.status = 403});
    assert_false(parking_return(&f.parking, batch, NULL, false));
    struct parked_batch *claimed = NULL;
    while (!(claimed = parking_claim(&f.parking, false))) {}
    assert_true(claimed->suspect);
    struct parked_batch *second = park(&f, 2, "a");
    assert_true(parking_return(&f.parking, claimed, none, true));
    parked_batch_free(claimed);
    expect_claim(&f, second, "0 ", false);
    assert_false(second->suspect);
    assert_true(parking_return(&f.parking, second, none, true));
    parked_batch_free(second);
    teardown(&f);
}

static const struct output_rejection refuses = {
    .status = 400, .type = {(const uint8_t *)"bad", 3}, .set_up = "mend it"};

static struct parked_batch *claim(struct fixture *f)
{
    struct parked_batch *claimed;
    while (!(claimed = parking_claim(&f->parking, false))) {}
    return claimed;
}

/* Claim ${count} times; nothing is accepted. ${expected}: BATCH.EVENT of each claim. */
static void assert_probes(struct fixture *f, size_t count, const char *expected)
{
    struct buf found;
    buf_init(&found, 10000);
    for (size_t i = 0; i < count; i++) {
        struct parked_batch *claimed = claim(f);
        assert_true(claimed->suspect);
        assert_false(claimed->cleared);
        buf_printf(&found, "%d.%d%s ", (int)claimed->number, (int)claimed->probe,
            claimed->later ? " later" : "");
        assert_false(parking_return(&f->parking, claimed, NULL, false));
    }
    assert_span(buf_span(&found), expected);
    buf_fini(&found);
}

static void what_came_later_is_asked_for_in_turn(void **state)
{
    (void)state;
    static const uint8_t none[16] = {0};
    static const uint8_t second[16] = {0, 1};
    struct fixture f;
    setup(&f, 1, 0);
    struct parked_batch *batches[4];
    for (size_t i = 0; i < 4; i++) {
        batches[i] = park(&f, i + 1, "aa");
    }
    parking_close_route(&f.parking, span_text("a"), &refuses);
    assert_probes(&f, 8, "1.1 4.4 later 1.2 3.3 later 1.3 4.5 later 1.4 2.2 later ");
    assert_probes(&f, 4, "1.5 4.6 later 1.6 4.7 later ");
    /* One of those is accepted. The other record of its batch stays after the batches before it. */
    assert_probes(&f, 1, "1.7 ");
    struct parked_batch *claimed = claim(&f);
    assert_ptr_equal(claimed, batches[3]);
    assert_int_equal(claimed->probe, 8); /* of two records: the first */
    assert_false(parking_return(&f.parking, claimed, second, true));
    assert_int_equal(facts_of(&f).events, 7);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(parking_due(&f.parking), 0);
        expect_claim(&f, batches[i], i < 3 ? "0 1 " : "1 ", false);
        assert_false(batches[i]->suspect);
        assert_false(batches[i]->later);
        assert_int_equal(batches[i]->cleared, i == 0); /* the lane that claims it may not know */
        assert_true(parking_return(&f.parking, batches[i], none, true));
        parked_batch_free(batches[i]);
    }
    assert_false(parking_any(&f.parking));
    teardown(&f);
}

static void what_is_too_old_or_has_its_last_try_is_the_oldest(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 1, 1); /* ns: everything is too old */
    park(&f, 1, "a");
    park(&f, 2, "a");
    parking_close_route(&f.parking, span_text("a"), &refuses);
    assert_probes(&f, 4, "1.1 1.2 1.3 1.4 ");
    teardown(&f);
    setup(&f, 1, 0);
    struct parked_batch *first = park(&f, 1, "a");
    park(&f, 2, "a");
    parking_close_route(&f.parking, span_text("a"), &refuses);
    assert_probes(&f, 1, "1.1 ");
    expect_claim(&f, first, "0 ", true);
    assert_false(first->later);
    assert_false(parking_return(&f.parking, first, NULL, false));
    assert_probes(&f, 2, "2.2 later 1.3 ");
    teardown(&f);
}

static void a_later_batch_that_is_claimed_is_passed_by(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 1, 0);
    park(&f, 1, "a");
    park(&f, 2, "a");
    struct parked_batch *third = park(&f, 3, "ab");
    parking_close_route(&f.parking, span_text("a"), &refuses);
    struct parked_batch *claimed;
    while ((claimed = claim(&f))->suspect) {
        assert_false(parking_return(&f.parking, claimed, NULL, false));
    }
    assert_ptr_equal(claimed, third);
    for (size_t i = 0; i < 6; i++) {
        claimed = claim(&f);
        assert_int_equal(claimed->number, claimed->later ? 2 : 1);
        assert_false(parking_return(&f.parking, claimed, NULL, false));
    }
    assert_false(parking_return(&f.parking, third, NULL, false));
    teardown(&f);
}

static void what_would_not_make_room_is_not_dropped(void **state)
{
    (void)state;
    char name[16];
    struct fixture f;
    setup(&f, LONG_MS, 0);
    f.parking.max_bytes = 250;
    struct parked_batch *recorded[3];
    for (size_t i = 0; i < 3; i++) {
        recorded[i] = park(&f, i + 1, "a");
    }
    f.live = true;
    struct parked_batch *live = park(&f, 4, "b");
    /* 300 bytes belong to records that can be read again */
    assert_null(parking_drop_oldest(&f.parking));
    assert_ptr_equal(parking_drop_number(&f.parking, 1), recorded[0]);
    parking_end(&f.parking, recorded[0]);
    parked_batch_free(recorded[0]);
    assert_true(parking_is_full(&f.parking));
    /* The highest number of routes: route b ends with its batch, unless other events go there. */
    for (size_t i = 0; i < PARKING_MAX_ROUTES - 2; i++) {
        snprintf(name, sizeof(name), "r%zu", i);
        parking_close_route(&f.parking, span_text(name), &(struct output_rejection){.status = 403});
    }
    f.live = false;
    f.parking.max_bytes = 350;
    struct parked_batch *other = park(&f, 5, "b");
    assert_null(parking_drop_oldest(&f.parking));
    assert_ptr_equal(parking_drop_number(&f.parking, 5), other);
    parking_end(&f.parking, other);
    parked_batch_free(other);
    assert_ptr_equal(parking_drop_oldest(&f.parking), live);
    parking_end(&f.parking, live);
    parked_batch_free(live);
    assert_false(parking_is_full(&f.parking));
    teardown(&f);
}

static void the_oldest_live_batch_makes_room(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, LONG_MS, 0);
    struct parked_batch *recorded = park(&f, 1, "a");
    f.live = true;
    struct parked_batch *third = park(&f, 3, "a");
    struct parked_batch *second = park(&f, 2, "ab");
    assert_ptr_equal(parking_drop_oldest(&f.parking), second);
    assert_ptr_equal(parking_drop_oldest(&f.parking), third); /* the other one is claimed */
    assert_null(parking_drop_oldest(&f.parking));
    assert_null(parking_drop_number(&f.parking, 3));
    parking_end(&f.parking, second);
    parked_batch_free(second);
    parking_end(&f.parking, third);
    parked_batch_free(third);
    assert_int_equal(facts_of(&f).events, 1);
    assert_int_equal(f.parking.bytes, 100);
    assert_ptr_equal(parking_drop_number(&f.parking, 1), recorded);
    parking_end(&f.parking, recorded);
    parked_batch_free(recorded);
    assert_false(parking_any(&f.parking));
    assert_int_equal(f.parking.bytes, 0);
    teardown(&f);
}

static void it_is_full_at_its_bounds(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, LONG_MS, 0);
    f.parking.max_bytes = 250;
    assert_false(parking_is_full(&f.parking));
    park(&f, 1, "a");
    park(&f, 2, "a");
    assert_false(parking_is_full(&f.parking));
    park(&f, 3, "a");
    assert_true(parking_is_full(&f.parking));
    struct parked_batch *batch = parking_drop(&f.parking);
    parking_end(&f.parking, batch);
    parked_batch_free(batch);
    assert_false(parking_is_full(&f.parking));
    char name[16];
    for (size_t i = 0; i < PARKING_MAX_ROUTES; i++) {
        snprintf(name, sizeof(name), "r%zu", i);
        parking_close_route(&f.parking, span_text(name), &(struct output_rejection){.status = 403});
    }
    assert_true(parking_is_full(&f.parking));
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_are_claimed_by_the_order_of_their_batches),
        cmocka_unit_test(what_is_still_blocked_waits_again_in_its_place),
        cmocka_unit_test(some_workers_are_left_to_what_is_not_parked),
        cmocka_unit_test(what_gets_too_old_is_due),
        cmocka_unit_test(what_is_too_old_and_stays_waits_like_any_other),
        cmocka_unit_test(what_was_said_is_told_with_the_index),
        cmocka_unit_test(what_refuses_everything_is_claimed_alone_and_is_suspect),
        cmocka_unit_test(what_came_later_is_asked_for_in_turn),
        cmocka_unit_test(what_is_too_old_or_has_its_last_try_is_the_oldest),
        cmocka_unit_test(a_later_batch_that_is_claimed_is_passed_by),
        cmocka_unit_test(what_would_not_make_room_is_not_dropped),
        cmocka_unit_test(the_oldest_live_batch_makes_room),
        cmocka_unit_test(it_is_full_at_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
