#include "pipeline/record/books.h"

#include "support/test.h"

static struct books *make_books(void)
{
    struct error err;
    struct books *books = books_create(2, 2, &err);
    assert_non_null(books);
    return books;
}

static void counts_of_a_session_add_up(void **state)
{
    (void)state;
    struct books *books = make_books();
    struct session_counts counts = {.received = 10,
        .metadata = 1,
        .joined = 2,
        .filtered = 3,
        .accepted = 2,
        .dropped = {[SESSION_DROP_FULL] = 2},
        .decode = {.raw = 1, .messages = 3}};
    books_add_session(books, 1, &counts);
    books_add_session(books, 1, &counts);
    struct session_counts seen[2];
    books_look(books, seen, NULL);
    assert_int_equal(seen[0].received, 0);
    assert_int_equal(seen[1].received, 20);
    assert_int_equal(seen[1].dropped[SESSION_DROP_FULL], 4);
    assert_int_equal(seen[1].decode.raw, 2);
    assert_int_equal(seen[1].decode.messages, 6);
    assert_true(books_session_balances(&seen[1]));
    seen[1].filtered++;
    assert_false(books_session_balances(&seen[1]));
    books_destroy(books);
}

static void what_is_offered_is_pending_until_it_is_settled(void **state)
{
    (void)state;
    struct books *books = make_books();
    struct output_counts seen[2];
    books_offer(books, 0, 100, 30, false);
    books_offer(books, 0, 5, 0, true);
    books_look(books, NULL, seen);
    assert_int_equal(seen[0].pending, 70);
    assert_int_equal(seen[0].own_pending, 5);
    assert_true(books_output_balances(&seen[0]));

    struct books_settlement settlement = {.acked = 40, .bytes = 4000};
    settlement.dropped[OUTPUT_DROP_REJECTED] = 10;
    books_settle(books, 0, &settlement, false);
    books_look(books, NULL, seen);
    assert_int_equal(seen[0].pending, 20);
    assert_int_equal(seen[0].acked, 40);
    assert_int_equal(seen[0].bytes, 4000);
    assert_int_equal(seen[0].own_pending, 5);
    assert_true(books_output_balances(&seen[0]));
    seen[0].acked++;
    assert_false(books_output_balances(&seen[0]));
    books_destroy(books);
}

static void a_retry_counts_before_its_batch_is_settled(void **state)
{
    (void)state;
    struct books *books = make_books();
    books_retry(books, 1);
    books_retry(books, 1);
    struct output_counts seen[2];
    books_look(books, NULL, seen);
    assert_int_equal(seen[0].retries, 0);
    assert_int_equal(seen[1].retries, 2);
    books_destroy(books);
}

static void trouble_lasts_until_the_next_ack(void **state)
{
    (void)state;
    struct books *books = make_books();
    struct output_counts seen[2];
    books_offer(books, 0, 2, 0, false);
    books_set_trouble(books, 0, "connection refused");
    books_settle(books, 0, &(struct books_settlement){.dead_lettered = 1}, false);
    books_look(books, NULL, seen);
    assert_string_equal(seen[0].trouble, "connection refused");
    assert_string_equal(seen[1].trouble, "");
    books_settle(books, 0, &(struct books_settlement){.acked = 1}, false);
    books_look(books, NULL, seen);
    assert_string_equal(seen[0].trouble, "");
    books_destroy(books);
}

static void latencies_are_kept_by_output(void **state)
{
    (void)state;
    struct books *books = make_books();
    struct output_counts seen[2];
    books_add_latency(books, 1, 5, 3);
    books_add_latency(books, 1, 40, 2);
    books_look(books, NULL, seen);
    assert_int_equal(seen[1].latency.counts[0], 3);
    assert_int_equal(seen[1].latency.counts[3], 2);
    assert_int_equal(seen[1].latency.sum_ms, 95);
    assert_int_equal(seen[0].latency.sum_ms, 0);
    books_destroy(books);
}

static void an_error_says_how_many_events_are_missing(void **state)
{
    (void)state;
    struct session_counts session = {.received = 10, .accepted = 7};
    struct output_counts output = {.offered = 5, .acked = 9, .own_offered = 2};
    assert_int_equal(books_session_error(&session), 3);
    assert_int_equal(books_output_error(&output), 4 + 2);
}

static void events_of_the_agent_itself_are_counted_apart(void **state)
{
    (void)state;
    struct books *books = make_books();
    books_offer(books, 1, 3, 0, true);
    struct books_settlement settlement = {.acked = 2};
    settlement.dropped[OUTPUT_DROP_STOPPED] = 1;
    books_settle(books, 1, &settlement, true);
    struct output_counts seen[2];
    books_look(books, NULL, seen);
    assert_int_equal(seen[1].offered, 0);
    assert_int_equal(seen[1].acked, 0);
    assert_int_equal(seen[1].own_acked, 2);
    assert_int_equal(seen[1].own_dropped, 1);
    assert_int_equal(seen[1].own_pending, 0);
    assert_true(books_output_balances(&seen[1]));
    books_destroy(books);
}

static void waiting_ends_when_nothing_is_pending_or_at_the_deadline(void **state)
{
    (void)state;
    struct books *books = make_books();
    books_wait_settled(books);
    books_offer(books, 0, 1, 0, false);
    books_set_deadline(books, 0);
    books_wait_settled(books);
    books_destroy(books);
}

static void every_reason_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < SESSION_DROP_COUNT; i++) {
        assert_non_null(books_session_drop_stage((enum session_drop)i));
        assert_non_null(books_session_drop_reason((enum session_drop)i));
    }
    for (int i = 0; i < OUTPUT_DROP_COUNT; i++) {
        assert_non_null(books_output_drop_reason((enum output_drop)i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_a_session_add_up),
        cmocka_unit_test(what_is_offered_is_pending_until_it_is_settled),
        cmocka_unit_test(a_retry_counts_before_its_batch_is_settled),
        cmocka_unit_test(trouble_lasts_until_the_next_ack),
        cmocka_unit_test(latencies_are_kept_by_output),
        cmocka_unit_test(an_error_says_how_many_events_are_missing),
        cmocka_unit_test(events_of_the_agent_itself_are_counted_apart),
        cmocka_unit_test(waiting_ends_when_nothing_is_pending_or_at_the_deadline),
        cmocka_unit_test(every_reason_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
