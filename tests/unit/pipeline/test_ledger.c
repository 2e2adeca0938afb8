#include "pipeline/record/ledger.h"

#include "support/test.h"

static struct ledger *make_ledger(void)
{
    struct error err;
    struct ledger *ledger = ledger_create(2, 2, &err);
    assert_non_null(ledger);
    return ledger;
}

static void counts_of_a_session_add_up(void **state)
{
    (void)state;
    struct ledger *ledger = make_ledger();
    struct session_counts counts = {.received = 10,
        .metadata = 1,
        .joined = 2,
        .filtered = 3,
        .accepted = 2,
        .dropped = {[SESSION_DROP_FULL] = 2},
        .decode = {.raw = 1, .messages = 3}};
    ledger_add_session(ledger, 1, &counts);
    ledger_add_session(ledger, 1, &counts);
    struct session_counts seen[2];
    ledger_look(ledger, seen, NULL);
    assert_int_equal(seen[0].received, 0);
    assert_int_equal(seen[1].received, 20);
    assert_int_equal(seen[1].dropped[SESSION_DROP_FULL], 4);
    assert_int_equal(seen[1].decode.raw, 2);
    assert_int_equal(seen[1].decode.messages, 6);
    assert_true(ledger_session_balances(&seen[1]));
    seen[1].filtered++;
    assert_false(ledger_session_balances(&seen[1]));
    ledger_destroy(ledger);
}

static void what_is_offered_is_pending_until_it_is_settled(void **state)
{
    (void)state;
    struct ledger *ledger = make_ledger();
    struct output_counts seen[2];
    ledger_offer(ledger, 0, 100, 30, false);
    ledger_offer(ledger, 0, 5, 0, true);
    ledger_look(ledger, NULL, seen);
    assert_int_equal(seen[0].pending, 70);
    assert_int_equal(seen[0].own_pending, 5);
    assert_true(ledger_output_balances(&seen[0]));

    struct ledger_settlement settlement = {.acked = 40, .bytes = 4000};
    settlement.dropped[OUTPUT_DROP_REJECTED] = 10;
    ledger_settle(ledger, 0, &settlement, false);
    ledger_look(ledger, NULL, seen);
    assert_int_equal(seen[0].pending, 20);
    assert_int_equal(seen[0].acked, 40);
    assert_int_equal(seen[0].bytes, 4000);
    assert_int_equal(seen[0].own_pending, 5);
    assert_true(ledger_output_balances(&seen[0]));
    seen[0].acked++;
    assert_false(ledger_output_balances(&seen[0]));
    ledger_destroy(ledger);
}

static void a_retry_counts_before_its_batch_is_settled(void **state)
{
    (void)state;
    struct ledger *ledger = make_ledger();
    ledger_retry(ledger, 1);
    ledger_retry(ledger, 1);
    struct output_counts seen[2];
    ledger_look(ledger, NULL, seen);
    assert_int_equal(seen[0].retries, 0);
    assert_int_equal(seen[1].retries, 2);
    ledger_destroy(ledger);
}

static void trouble_lasts_until_the_next_ack(void **state)
{
    (void)state;
    struct ledger *ledger = make_ledger();
    struct output_counts seen[2];
    ledger_offer(ledger, 0, 2, 0, false);
    ledger_set_trouble(ledger, 0, "connection refused");
    ledger_settle(ledger, 0, &(struct ledger_settlement){.dead_lettered = 1}, false);
    ledger_look(ledger, NULL, seen);
    assert_string_equal(seen[0].trouble, "connection refused");
    assert_string_equal(seen[1].trouble, "");
    ledger_settle(ledger, 0, &(struct ledger_settlement){.acked = 1}, false);
    ledger_look(ledger, NULL, seen);
    assert_string_equal(seen[0].trouble, "");
    ledger_destroy(ledger);
}

static void latencies_are_kept_by_output(void **state)
{
    (void)state;
    struct ledger *ledger = make_ledger();
    struct output_counts seen[2];
    ledger_add_latency(ledger, 1, 5, 3);
    ledger_add_latency(ledger, 1, 40, 2);
    ledger_look(ledger, NULL, seen);
    assert_int_equal(seen[1].latency.counts[0], 3);
    assert_int_equal(seen[1].latency.counts[3], 2);
    assert_int_equal(seen[1].latency.sum_ms, 95);
    assert_int_equal(seen[0].latency.sum_ms, 0);
    ledger_destroy(ledger);
}

static void an_error_says_how_many_events_are_missing(void **state)
{
    (void)state;
    struct session_counts session = {.received = 10, .accepted = 7};
    struct output_counts output = {.offered = 5, .acked = 9, .own_offered = 2};
    assert_int_equal(ledger_session_error(&session), 3);
    assert_int_equal(ledger_output_error(&output), 4 + 2);
}

static void events_of_the_agent_itself_are_counted_apart(void **state)
{
    (void)state;
    struct ledger *ledger = make_ledger();
    ledger_offer(ledger, 1, 3, 0, true);
    struct ledger_settlement settlement = {.acked = 2};
    settlement.dropped[OUTPUT_DROP_STOPPED] = 1;
    ledger_settle(ledger, 1, &settlement, true);
    struct output_counts seen[2];
    ledger_look(ledger, NULL, seen);
    assert_int_equal(seen[1].offered, 0);
    assert_int_equal(seen[1].acked, 0);
    assert_int_equal(seen[1].own_acked, 2);
    assert_int_equal(seen[1].own_dropped, 1);
    assert_int_equal(seen[1].own_pending, 0);
    assert_true(ledger_output_balances(&seen[1]));
    ledger_destroy(ledger);
}

static void waiting_ends_when_nothing_is_pending_or_at_the_deadline(void **state)
{
    (void)state;
    struct ledger *ledger = make_ledger();
    ledger_wait_settled(ledger);
    ledger_offer(ledger, 0, 1, 0, false);
    ledger_set_deadline(ledger, 0);
    ledger_wait_settled(ledger);
    ledger_destroy(ledger);
}

static void every_reason_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < SESSION_DROP_COUNT; i++) {
        assert_non_null(ledger_session_drop_stage((enum session_drop)i));
        assert_non_null(ledger_session_drop_reason((enum session_drop)i));
    }
    for (int i = 0; i < OUTPUT_DROP_COUNT; i++) {
        assert_non_null(ledger_output_drop_reason((enum output_drop)i));
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
