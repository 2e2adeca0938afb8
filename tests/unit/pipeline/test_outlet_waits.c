#include "outlet_rig.h"

#include "support/await.h"

/* Destinations with a wrong set-up, or that ask for time. */

static void an_output_is_degraded_until_all_its_workers_deliver(void **state)
{
    (void)state;
    static const struct fake_step wrong = {.verdict = OUTPUT_RETRY, .degraded = true};
    const struct fake_step steps[] = {wrong, wrong, wrong, wrong};
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 0}, false, 2, true);
    rig.warns = true;
    fake_output_script(rig.fake, steps, 4);
    for (uint64_t i = 1; i <= 10; i++) {
        add_batch(&rig, 0, 1, i);
    }
    run_to_the_end(&rig);
    assert_false(counts_of(&rig).degraded);
    assert_int_equal(counts_of(&rig).acked, 10);
    assert_int_equal(counts_of(&rig).dead_lettered, 0);
    /* The workers come and go one after the other: each beginning has its end. */
    buf_add_byte(&rig.warnings, 0);
    const char *at = (const char *)rig.warnings.data;
    size_t begun = 0;
    for (; strncmp(at, "degraded;mended;", 16) == 0; at += 16) {
        begun++;
    }
    assert_string_equal(at, "");
    assert_true(begun >= 1 && begun <= 4);
    teardown(&rig);
}

static void the_ledger_say_that_an_output_is_degraded(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.verdict = OUTPUT_RETRY, .degraded = true}};
    struct error err = {0};
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 0}, false, 1, true);
    rig.warns = true;
    fake_output_script(rig.fake, steps, 1);
    add_batch(&rig, 0, 1, 1);
    rig.spool->ops->close(rig.spool);
    fake_output_hold(rig.fake);
    assert_true(outlet_start(rig.outlet, &err));
    fake_output_let_go_once(rig.fake); /* its connect */
    fake_output_wait_sends(rig.fake, 1);
    assert_false(counts_of(&rig).degraded);
    fake_output_let_go_once(rig.fake);
    fake_output_wait_sends(rig.fake, 2);
    assert_true(counts_of(&rig).degraded);
    fake_output_let_go(rig.fake);
    assert_true(outlet_join(rig.outlet));
    assert_false(counts_of(&rig).degraded);
    assert_span(buf_span(&rig.warnings), "degraded;mended;");
    teardown(&rig);
}

static void a_destination_that_asks_for_it_is_left_alone_by_all_workers(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.verdict = OUTPUT_RETRY, .wait_ms = 150}};
    struct error err = {0};
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 0}, false, 4, true);
    rig.warns = true;
    fake_output_script(rig.fake, steps, 1);
    add_batch(&rig, 0, 1, 1);
    assert_true(outlet_start(rig.outlet, &err));
    AWAIT(counts_of(&rig).retries > 0); /* the destination has answered, and the worker waits */
    for (uint64_t i = 2; i <= 20; i++) {
        add_batch(&rig, 0, 1, i);
    }
    rig.spool->ops->close(rig.spool);
    assert_true(outlet_join(rig.outlet));
    assert_int_equal(fake_output_counts(rig.fake).early, 0);
    assert_int_equal(counts_of(&rig).acked, 20);
    teardown(&rig);
}

static void a_stop_ends_a_long_wait_that_was_asked_for(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.verdict = OUTPUT_RETRY, .wait_ms = UINT32_MAX}};
    struct error err = {0};
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 0}, false, 2, true);
    rig.warns = true;
    fake_output_script(rig.fake, steps, 1);
    add_batch(&rig, 0, 1, 1);
    assert_true(outlet_start(rig.outlet, &err));
    AWAIT(counts_of(&rig).retries > 0);
    add_batch(&rig, 0, 1, 2);
    rig.spool->ops->close(rig.spool);
    outlet_move(rig.outlet, OUTLET_CANCELS);
    assert_true(outlet_join(rig.outlet));
    assert_int_equal(counts_of(&rig).dropped[OUTPUT_DROP_STOPPED], 2);
    assert_int_equal(fake_output_counts(rig.fake).sends, 1);
    teardown(&rig);
}

/* The waits are random parts of a day. */
static void a_stop_brings_one_more_try_at_once(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {.verdict = OUTPUT_RETRY}, {.verdict = OUTPUT_RETRY, .degraded = true}};
    struct error err = {0};
    struct rig rig;
    setup_paced(&rig, (const uint64_t[]){0, 0}, false, 2, true, LONG_MS);
    rig.warns = true;
    fake_output_script(rig.fake, steps, 2);
    add_batch(&rig, 0, 1, 1);
    add_batch(&rig, 0, 1, 2);
    rig.spool->ops->close(rig.spool);
    assert_true(outlet_start(rig.outlet, &err));
    AWAIT(counts_of(&rig).retries >= 2);
    outlet_move(rig.outlet, OUTLET_RETRIES_NOW);
    assert_true(outlet_join(rig.outlet));
    assert_int_equal(counts_of(&rig).acked, 2);
    teardown(&rig);
}

/* With a spool that keeps events, another agent, or the next run, continues where this one
 * stops. */
static void an_outlet_that_leaves_tries_nothing_again(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.verdict = OUTPUT_RETRY}};
    struct error err = {0};
    struct rig rig;
    setup_paced(&rig, (const uint64_t[]){0, 0}, false, 1, true, LONG_MS);
    rig.warns = true;
    rig.spool->keeps = true;
    fake_output_script(rig.fake, steps, 1);
    add_batch(&rig, 0, 1, 1);
    assert_true(outlet_start(rig.outlet, &err));
    AWAIT(counts_of(&rig).retries > 0);
    outlet_move(rig.outlet, OUTLET_HANDS_OVER);
    assert_true(outlet_join(rig.outlet));
    assert_int_equal(fake_output_counts(rig.fake).sends, 1);
    assert_int_equal(counts_of(&rig).acked, 0);
    /* another try was planned */
    assert_span(buf_span(&rig.texts), "as the script says; trying again|");
    teardown(&rig);
}

static void an_outlet_that_leaves_waits_for_no_destination_that_asked_for_time(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.verdict = OUTPUT_RETRY, .wait_ms = UINT32_MAX}};
    struct error err = {0};
    struct rig rig;
    setup_paced(&rig, (const uint64_t[]){0, 0}, false, 1, true, LONG_MS);
    rig.warns = true;
    rig.spool->keeps = true;
    fake_output_script(rig.fake, steps, 1);
    add_batch(&rig, 0, 1, 1);
    /* It does not wait until its next try, but as long as the destination asked. */
    outlet_move(rig.outlet, OUTLET_RETRIES_NOW);
    assert_true(outlet_start(rig.outlet, &err));
    AWAIT(counts_of(&rig).retries > 0);
    outlet_move(rig.outlet, OUTLET_HANDS_OVER);
    assert_true(outlet_join(rig.outlet));
    assert_int_equal(fake_output_counts(rig.fake).sends, 1);
    assert_int_equal(counts_of(&rig).acked, 0);
    teardown(&rig);
}

static void an_outlet_that_leaves_says_of_no_failure_that_it_tries_again(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.verdict = OUTPUT_RETRY}};
    struct error err = {0};
    struct rig rig;
    setup_paced(&rig, (const uint64_t[]){0, 0}, false, 1, true, LONG_MS);
    rig.warns = true;
    rig.spool->keeps = true;
    fake_output_script(rig.fake, steps, 1);
    add_batch(&rig, 0, 1, 1);
    fake_output_hold(rig.fake);
    assert_true(outlet_start(rig.outlet, &err));
    fake_output_let_go_once(rig.fake); /* its connect */
    fake_output_wait_sends(rig.fake, 1);
    outlet_move(rig.outlet, OUTLET_HANDS_OVER);
    fake_output_let_go(rig.fake);
    assert_true(outlet_join(rig.outlet));
    assert_span(buf_span(&rig.texts), "as the script says|");
    teardown(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_output_is_degraded_until_all_its_workers_deliver),
        cmocka_unit_test(the_ledger_say_that_an_output_is_degraded),
        cmocka_unit_test(a_destination_that_asks_for_it_is_left_alone_by_all_workers),
        cmocka_unit_test(a_stop_ends_a_long_wait_that_was_asked_for),
        cmocka_unit_test(a_stop_brings_one_more_try_at_once),
        cmocka_unit_test(an_outlet_that_leaves_tries_nothing_again),
        cmocka_unit_test(an_outlet_that_leaves_waits_for_no_destination_that_asked_for_time),
        cmocka_unit_test(an_outlet_that_leaves_says_of_no_failure_that_it_tries_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
