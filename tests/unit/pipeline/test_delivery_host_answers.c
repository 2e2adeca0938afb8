#include "delivery_rig.h"

/* Requests and complaints of a destination, beside its verdicts on records. */

static unsigned next_wait(const char **at)
{
    char *end;
    unsigned long ms = strtoul(*at, &end, 10);
    assert_true(end > *at);
    *at = end + 1;
    return (unsigned)ms;
}

static void what_was_sent_before_is_called_repeated(void **state)
{
    (void)state;
    struct script script = {.connects_that_fail = 2};
    struct delivery_host *host = start(&script, "CMdrDD", &full_ops, false);
    assert_true(deliver(host, "a b"));
    assert_true(deliver(host, "c"));
    /* A connection that was never made has sent nothing. */
    assert_span(buf_span(&script.log), "<<<(a,b)><(a,b)*(b)*(c)");
    finish(&script, host);
}

static void a_batch_that_an_earlier_run_may_have_sent_is_repeated_from_the_first_try(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "RD", &full_ops, false);
    static const uint32_t ends[] = {1};
    struct delivery delivery = {
        .bytes = span_text("a"), .record_ends = ends, .record_count = 1, .repeated = true};
    assert_true(delivery_host_deliver(host, &delivery));
    assert_span(buf_span(&script.log), "<(a)*(a)*");
    finish(&script, host);
}

static void that_a_route_was_cleared_is_told_once(void **state)
{
    (void)state;
    struct script script = {.connects_that_fail = 1};
    struct delivery_host *host = start(&script, "RRD", &full_ops, false);
    static const uint32_t ends[] = {1};
    struct delivery delivery = {
        .bytes = span_text("a"), .record_ends = ends, .record_count = 1, .cleared = true};
    assert_true(delivery_host_deliver(host, &delivery));
    assert_span(buf_span(&script.log), "<<(a)!(a)*(a)*");
    finish(&script, host);
}

static void waits_grow_over_batches_until_something_arrives(void **state)
{
    (void)state;
    struct script script = {.stop_after = 4};
    struct delivery_host *host = start(&script, "RRRRRRRMdrRD", &full_ops, false);
    assert_true(deliver(host, "a b")); /* stops after the fourth wait: bounds 1, 2, 4, 4 */
    script.stop_after = 0;
    assert_true(deliver(host, "c d")); /* continues with 4, 4, 4; 1 after the partial success, 2 */
    buf_add_byte(&script.waits, 0);
    static const unsigned bounds[] = {1, 2, 4, 4, 4, 4, 4, 1, 2};
    const char *at = (const char *)script.waits.data;
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        unsigned ms = next_wait(&at);
        assert_true(ms >= 1 && ms <= bounds[i]);
    }
    assert_string_equal(at, "");
    finish(&script, host);
}

static void a_destination_is_left_alone_for_as_long_as_it_asks(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "wRWwMdrWMrdD", &full_ops, false);
    assert_true(deliver(host, "a b"));
    assert_true(deliver(host, "c"));
    buf_add_byte(&script.waits, 0);
    static const unsigned asked[] = {7000, 7000, 3600000}; /* at most an hour is accepted */
    const char *at = (const char *)script.waits.data;
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]) - 1; i++) {
        assert_int_equal(*at++, '!');
        assert_int_equal(next_wait(&at), asked[i]);
        unsigned ms = next_wait(&at);
        assert_true(ms > asked[i] && ms <= asked[i] + 4);
    }
    finish(&script, host);
}

static void nothing_is_sent_until_the_destination_may_be_asked(void **state)
{
    (void)state;
    struct script script = {.never_clear = true};
    struct delivery_host *host = start(&script, "D", &full_ops, false);
    assert_true(deliver(host, "a b"));
    assert_span(buf_span(&script.log), "");
    assert_counts(host, 0, 0, 2, 0, 0);
    assert_span(buf_span(&script.lost), "0+2u ");
    finish(&script, host);
}

static void a_wrong_set_up_is_tried_slowly_and_told_at_its_begin_and_end(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "gRgRRgCDgRD", &full_ops, false);
    assert_true(deliver(host, "a"));
    /* That it could not be reached meanwhile is a different problem. */
    assert_span(buf_span(&script.warnings), "degraded: said no;said no;mended;");
    assert_true(deliver(host, "b"));
    assert_span(
        buf_span(&script.warnings), "degraded: said no;said no;mended;degraded: said no;mended;");
    buf_add_byte(&script.waits, 0);
    static const unsigned least[] = {3, 3, 1, 3, 3};
    const char *at = (const char *)script.waits.data;
    for (size_t i = 0; i < sizeof(least) / sizeof(least[0]); i++) {
        unsigned ms = next_wait(&at);
        assert_true(ms >= least[i] && ms <= 4);
    }
    finish(&script, host);
}

static void an_output_is_degraded_as_long_as_part_of_a_batch_is(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "gMdrrgMdrMdDD", &full_ops, false);
    assert_true(deliver(host, "a b c"));
    assert_true(deliver(host, "d"));
    assert_span(buf_span(&script.warnings), "degraded: some failed;mended;");
    assert_counts(host, 4, 0, 0, 4, 2);
    finish(&script, host);
}

static void an_output_that_is_degraded_a_second_time_is_told_a_second_time(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "gMdrrMdrgRD", &full_ops, false);
    assert_true(deliver(host, "a b c"));
    assert_span(buf_span(&script.warnings),
        "degraded: some failed;mended;some failed;degraded: said no;mended;");
    finish(&script, host);
}

static void refused_records_are_kept_with_what_is_said_of_them(void **state)
{
    (void)state;
    struct script script = {.keeps = true};
    struct delivery_host *host = start(&script, "xMjdrxMjD", &full_ops, false);
    assert_true(deliver(host, "a b c"));
    assert_span(
        buf_span(&script.kept), "0 a 400 bad not my type logs;2 c 400 bad not my type logs;");
    assert_span(buf_span(&script.lost), "");
    assert_span(buf_span(&script.warnings), "refused: some failed;some failed;");
    struct delivery_counts counts = delivery_host_counts(host);
    assert_int_equal(counts.dead_lettered, 2);
    assert_int_equal(counts.rejected, 0);
    assert_int_equal(counts.delivered, 1);
    finish(&script, host);
}

static void a_batch_refused_as_a_whole_is_kept_record_by_record(void **state)
{
    (void)state;
    struct script script = {.keeps = true};
    struct delivery_host *host = start(&script, "xJ", &full_ops, false);
    assert_true(deliver(host, "a b c"));
    assert_span(buf_span(&script.kept),
        "0 a 400 bad not my type logs;1 b 0   ;2 c 402 bad not my type logs;");
    assert_int_equal(delivery_host_counts(host).dead_lettered, 3);
    finish(&script, host);
}

/* A report in a call that then had another verdict is ignored. */
static void a_record_that_is_not_refused_after_all_is_not_kept(void **state)
{
    (void)state;
    struct script script = {.keeps = true};
    struct delivery_host *host = start(&script, "xRJ", &full_ops, false);
    assert_true(deliver(host, "a"));
    assert_span(buf_span(&script.kept), "0 a 0   ;");
    finish(&script, host);
}

static void what_cannot_be_kept_is_tried_again_and_kept_once(void **state)
{
    (void)state;
    struct script script = {.keeps = true, .keeps_that_fail = 2};
    struct delivery_host *host = start(&script, "MdjJJ", &full_ops, false);
    assert_true(deliver(host, "a b"));
    assert_span(buf_span(&script.log), "<(a,b)(b)*(b)*");
    assert_span(buf_span(&script.kept), "1 b 0   ;");
    assert_span(buf_span(&script.warnings), "refused: some failed;disk full;");
    assert_int_equal(delivery_host_counts(host).dead_lettered, 1);
    finish(&script, host);
}

/* Of two records one has arrived, and it is unknown which. */
static void what_may_have_arrived_and_cannot_be_kept_is_a_possible_duplicate(void **state)
{
    (void)state;
    struct script script = {.keeps = true, .keeps_that_fail = 1};
    struct delivery_host *host = start(&script, "pJ", &full_ops, false);
    assert_true(deliver(host, "a b"));
    assert_span(buf_span(&script.log), "<(a,b)(a,b)*");
    assert_int_equal(delivery_host_counts(host).delivered, 2);
    assert_int_equal(delivery_host_counts(host).dead_lettered, 0);
    assert_int_equal(delivery_host_counts(host).maybe_duplicates, 1);
    finish(&script, host);
}

static void without_room_for_dead_letters_the_output_is_degraded_and_waits(void **state)
{
    (void)state;
    struct script script = {.keeps = true, .keeps_that_fail = 2, .full = true};
    struct delivery_host *host = start(&script, "MdjJJ", &full_ops, false);
    assert_true(deliver(host, "a b"));
    assert_span(buf_span(&script.log), "<(a,b)(b)*(b)*");
    assert_span(buf_span(&script.kept), "1 b 0   ;");
    assert_span(buf_span(&script.warnings), "refused: some failed;degraded: disk full;mended;");
    assert_int_equal(delivery_host_counts(host).dead_lettered, 1);
    finish(&script, host);
}

/* They are kept a few at a time: a failure in the middle leaves those before it settled. */
static void many_refused_records_are_each_kept_once(void **state)
{
    (void)state;
    enum { RECORDS = 200 };
    struct buf text;
    buf_init(&text, 1 << 16);
    for (unsigned i = 0; i < RECORDS; i++) {
        buf_printf(&text, "%s%u", i ? " " : "", i);
    }
    buf_add_byte(&text, 0);
    for (unsigned failing = 0; failing < 3; failing++) {
        struct script script = {.keeps = true, .keeps_that_fail = failing};
        struct delivery_host *host = start(&script, "JJJ", &full_ops, false);
        assert_true(deliver(host, (const char *)text.data));
        struct buf expected;
        buf_init(&expected, 1 << 16);
        for (unsigned i = 0; i < RECORDS; i++) {
            buf_printf(&expected, "%u %u 0   ;", i, i);
        }
        assert_true(span_equal(buf_span(&script.kept), buf_span(&expected)));
        assert_int_equal(delivery_host_counts(host).dead_lettered, RECORDS);
        buf_fini(&expected);
        finish(&script, host);
    }
    buf_fini(&text);
}

static void unexpected_duplicates_are_counted_and_told_once_per_series(void **state)
{
    (void)state;
    struct script script = {.at = ""};
    struct delivery_host *host = start(&script, "uMdruDDuD", &full_ops, false);
    assert_true(deliver(host, "a b"));
    assert_true(deliver(host, "c"));
    assert_true(deliver(host, "d"));
    assert_int_equal(delivery_host_counts(host).unexpected_duplicates, 6);
    assert_int_equal(delivery_host_counts(host).maybe_duplicates, 9);
    assert_int_equal(delivery_host_counts(host).maybe_lost, 12);
    assert_int_equal(delivery_host_counts(host).delivered, 4);
    assert_span(buf_span(&script.warnings), "duplicates;some failed;duplicates;");
    finish(&script, host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_sent_before_is_called_repeated),
        cmocka_unit_test(a_batch_that_an_earlier_run_may_have_sent_is_repeated_from_the_first_try),
        cmocka_unit_test(that_a_route_was_cleared_is_told_once),
        cmocka_unit_test(waits_grow_over_batches_until_something_arrives),
        cmocka_unit_test(a_destination_is_left_alone_for_as_long_as_it_asks),
        cmocka_unit_test(nothing_is_sent_until_the_destination_may_be_asked),
        cmocka_unit_test(a_wrong_set_up_is_tried_slowly_and_told_at_its_begin_and_end),
        cmocka_unit_test(an_output_is_degraded_as_long_as_part_of_a_batch_is),
        cmocka_unit_test(an_output_that_is_degraded_a_second_time_is_told_a_second_time),
        cmocka_unit_test(refused_records_are_kept_with_what_is_said_of_them),
        cmocka_unit_test(a_batch_refused_as_a_whole_is_kept_record_by_record),
        cmocka_unit_test(a_record_that_is_not_refused_after_all_is_not_kept),
        cmocka_unit_test(what_cannot_be_kept_is_tried_again_and_kept_once),
        cmocka_unit_test(what_may_have_arrived_and_cannot_be_kept_is_a_possible_duplicate),
        cmocka_unit_test(without_room_for_dead_letters_the_output_is_degraded_and_waits),
        cmocka_unit_test(many_refused_records_are_each_kept_once),
        cmocka_unit_test(unexpected_duplicates_are_counted_and_told_once_per_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
