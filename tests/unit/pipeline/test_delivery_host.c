#include "delivery_rig.h"

static void delivered_batches_are_counted(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "DD", &full_ops, false);
    assert_true(deliver(host, "one two"));
    assert_true(deliver(host, "three"));
    assert_true(deliver(host, ""));
    assert_span(buf_span(&script.log), "<(one,two)(three)");
    assert_counts(host, 3, 0, 0, 11, 0);
    assert_span(buf_span(&script.warnings), "");
    assert_false(delivery_host_closed(host));
    finish(&script, host);
}

static void an_output_without_connection_needs_none(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "CD", &bare_ops, false);
    assert_true(deliver(host, "one"));
    assert_span(buf_span(&script.log), "(one)(one)*");
    assert_counts(host, 1, 0, 0, 3, 1);
    finish(&script, host);
}

static void an_output_that_cannot_be_made_says_why(void **state)
{
    (void)state;
    struct script script = {.no_create = true};
    const struct delivery_host_settings settings = {
        .ops = &full_ops, .settings = &script, .name = "fake"};
    struct error err = {0};
    assert_null(delivery_host_create(&settings, &err));
    assert_string_equal(err.text, "no way");
    delivery_host_destroy(NULL);
}

static void retry_keeps_the_batch_and_warns_once(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "RRD", &full_ops, false);
    assert_true(deliver(host, "one two"));
    assert_span(buf_span(&script.log), "<(one,two)(one,two)*(one,two)*");
    assert_span(buf_span(&script.delivered), "onetwo");
    assert_span(buf_span(&script.warnings), "said no;");
    assert_counts(host, 2, 0, 0, 6, 2);
    finish(&script, host);
}

static void a_new_series_of_failures_is_warned_of_again(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "RDRD", &full_ops, false);
    assert_true(deliver(host, "one"));
    assert_true(deliver(host, "two"));
    assert_span(buf_span(&script.warnings), "said no;said no;");
    finish(&script, host);
}

static void a_lost_connection_is_made_again(void **state)
{
    (void)state;
    struct script script = {.connects_that_fail = 1};
    struct delivery_host *host = start(&script, "CD", &full_ops, false);
    assert_true(deliver(host, "one"));
    assert_span(buf_span(&script.log), "<<(one)><(one)*");
    assert_counts(host, 1, 0, 0, 3, 2);
    assert_span(buf_span(&script.warnings), "nobody there;");
    finish(&script, host);
}

static void a_rejected_batch_is_settled(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "JD", &full_ops, false);
    assert_true(deliver(host, "one two"));
    assert_true(deliver(host, "three"));
    assert_counts(host, 1, 2, 0, 5, 0);
    assert_span(buf_span(&script.warnings), "refused: said no;");
    finish(&script, host);
}

static void a_partial_resend_keeps_order_and_bytes(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "MdrjrdrMrdrD", &full_ops, false);
    assert_true(deliver(host, "a bb ccc dddd eeeee ffffff"));
    assert_span(
        buf_span(&script.log), "<(a,bb,ccc,dddd,eeeee,ffffff)(bb,dddd,ffffff)*(bb,ffffff)*");
    assert_span(buf_span(&script.delivered), "aeeeeeddddbbffffff");
    assert_counts(host, 5, 1, 0, 18, 2);
    finish(&script, host);
}

static void what_is_lost_is_named_by_its_place_in_the_batch(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        const char *lost;
    } cases[] = {{"D", ""}, {"J", "0+4j "}, {"F", "0+4u "}, {"RRJ", "0+4j "}, {"Mjjjj", "0+4j "},
        {"MdrjrJ", "2+1j 1+1j 3+1j "}, {"MjjdjD", "0+2j 3+1j "},
        {"MrjrrMrdjMrJ", "1+1j 3+1j 0+1j "}, {"MrdrdMdjD", "2+1j "}, {"MrdrdF", "0+1u 2+1u "}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct script script = {.at = ""};
        struct delivery_host *host = start(&script, cases[i].script, &full_ops, false);
        deliver(host, "a bb ccc dddd");
        assert_span(buf_span(&script.lost), cases[i].lost);
        finish(&script, host);
    }
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "FD", &full_ops, false);
    assert_false(deliver(host, "a bb"));
    assert_false(deliver(host, "ccc dddd eeeee"));
    assert_span(buf_span(&script.lost), "0+2u 0+3u ");
    finish(&script, host);
}

static void a_mixed_answer_can_settle_everything(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "Mdj", &full_ops, false);
    assert_true(deliver(host, "a bb"));
    assert_span(buf_span(&script.log), "<(a,bb)");
    assert_counts(host, 1, 1, 0, 1, 0);
    finish(&script, host);
}

/* Statuses of the previous try must not count for a record that the output forgot. */
static void a_record_without_answer_is_sent_again(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "MddM-dD", &full_ops, false);
    assert_true(deliver(host, "a b"));
    assert_true(deliver(host, "c d"));
    assert_span(buf_span(&script.log), "<(a,b)(c,d)(c)*");
    assert_counts(host, 4, 0, 0, 4, 1);
    finish(&script, host);
}

static void a_fatal_output_takes_nothing_more(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "DFD", &full_ops, false);
    assert_true(deliver(host, "one"));
    assert_false(deliver(host, "two three"));
    assert_false(deliver(host, "four"));
    assert_false(deliver(host, ""));
    assert_span(buf_span(&script.log), "<(one)(two,three)");
    assert_counts(host, 1, 0, 3, 3, 0);
    assert_span(buf_span(&script.warnings), "said no;");
    assert_false(delivery_host_closed(host));
    finish(&script, host);
}

static void a_closed_output_ends_without_a_warning(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "X", &full_ops, false);
    assert_false(deliver(host, "one"));
    assert_true(delivery_host_closed(host));
    assert_counts(host, 0, 0, 1, 0, 0);
    assert_span(buf_span(&script.warnings), "");
    finish(&script, host);
}

static void a_host_that_ends_on_failure_tries_once(void **state)
{
    (void)state;
    static const char *const scripts[] = {"R", "C", "Mdr", "F"};
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        struct script script = {.at = ""};
        struct delivery_host *host = start(&script, scripts[i], &full_ops, true);
        assert_false(deliver(host, "one two"));
        assert_false(deliver(host, "three"));
        struct delivery_counts counts = delivery_host_counts(host);
        assert_int_equal(counts.delivered, *scripts[i] == 'M');
        assert_int_equal(counts.delivered + counts.undelivered, 3);
        assert_int_equal(counts.retries, 0);
        assert_true(script.warnings.size > 0);
        finish(&script, host);
    }
    /* Rejected records are settled: no failure of the output. */
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "JD", &full_ops, true);
    assert_true(deliver(host, "one"));
    assert_true(deliver(host, "two"));
    assert_counts(host, 1, 1, 0, 3, 0);
    finish(&script, host);
}

static void stopping_ends_the_wait_and_counts_what_is_left(void **state)
{
    (void)state;
    struct script script = {.stop_after = 1, .sleeps = true};
    struct delivery_host *host = start(&script, "MdrrRRRR", &full_ops, false);
    assert_true(deliver(host, "one two three"));
    assert_counts(host, 1, 0, 2, 3, 1);
    /* The output itself has not ended: each of the other records gets its one try. */
    assert_true(deliver(host, "four"));
    script.at = "";
    assert_true(deliver(host, "five"));
    assert_counts(host, 2, 0, 3, 7, 2);
    finish(&script, host);
}

/* The receiver that stores the change for a restart gets every change, and nothing else. */
static void what_is_left_of_a_batch_is_told_whenever_it_changes(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        const char *left;
    } cases[] = {{"D", ""}, {"RCD", ""}, {"J", ""}, {"MrrrrD", ""}, {"MdrjrD", "1 3,"},
        {"MrdrrMrrrMdrjD", "0 2 3,2,"}, {"MrdrdRF", "0 2,"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct script script = {.keeps = false};
        struct delivery_host *host = start(&script, cases[i].script, &full_ops, false);
        deliver(host, "a b c d");
        assert_span(buf_span(&script.left), cases[i].left);
        finish(&script, host);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_of_a_batch_is_told_whenever_it_changes),
        cmocka_unit_test(delivered_batches_are_counted),
        cmocka_unit_test(an_output_without_connection_needs_none),
        cmocka_unit_test(an_output_that_cannot_be_made_says_why),
        cmocka_unit_test(retry_keeps_the_batch_and_warns_once),
        cmocka_unit_test(a_new_series_of_failures_is_warned_of_again),
        cmocka_unit_test(a_lost_connection_is_made_again),
        cmocka_unit_test(a_rejected_batch_is_settled),
        cmocka_unit_test(a_partial_resend_keeps_order_and_bytes),
        cmocka_unit_test(what_is_lost_is_named_by_its_place_in_the_batch),
        cmocka_unit_test(a_mixed_answer_can_settle_everything),
        cmocka_unit_test(a_record_without_answer_is_sent_again),
        cmocka_unit_test(a_fatal_output_takes_nothing_more),
        cmocka_unit_test(a_closed_output_ends_without_a_warning),
        cmocka_unit_test(a_host_that_ends_on_failure_tries_once),
        cmocka_unit_test(stopping_ends_the_wait_and_counts_what_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
