#include "unit/outputs/es_sender_rig.h"

/* Requests that are halved: too large, or with a bad event in them. */

static void what_is_too_large_is_halved_and_the_size_is_kept(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 100);
    bulk_fake_limit(f.fake, 2000, false);
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_stored(f.fake, 0, 100);
    size_t before = bulk_fake_count(f.fake);
    f.ids.first_number = 1000;
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    /* The sender has learnt the limit: no request is refused any more, and none is needlessly
     * small. */
    size_t requests = bulk_fake_count(f.fake) - before;
    size_t bytes = 0;
    for (size_t i = before; i < before + requests; i++) {
        size_t size = bulk_fake_request(f.fake, i)->body.size;
        assert_true(size <= 2000);
        bytes += size;
    }
    assert_true(requests <= 2 * (bytes / 2000 + 1));
    assert_stored(f.fake, 0, 100);
    teardown(&f);
}

static void a_single_event_that_is_too_large_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 8);
    struct buf bytes;
    buf_init(&bytes, 1 << 16);
    for (size_t i = 0; i < 8; i++) {
        buf_printf(&bytes, "{\"n\":%04zu%*s}\n", i, i == 5 ? 3000 : 0, "");
        f.ends[i] = (uint32_t)bytes.size;
    }
    f.delivery.bytes = buf_span(&bytes);
    bulk_fake_limit(f.fake, 2000, false);
    assert_int_equal(send_all(&f), OUTPUT_MIXED);
    assert_records(&f, 0, 5, RECORD_DELIVERED);
    assert_records(&f, 5, 6, RECORD_REJECTED);
    assert_records(&f, 6, 8, RECORD_DELIVERED);
    assert_int_equal(strncmp((const char *)f.rejections.data, "5 413 |", 7), 0);
    buf_fini(&bytes);
    teardown(&f);
}

static void where_large_requests_break_the_connection_they_get_smaller_and_grow_again(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 100);
    bulk_fake_limit(f.fake, 2200, true);
    int tries = 0;
    enum output_verdict verdict = send_all(&f);
    for (; verdict == OUTPUT_RETRY; tries++) {
        assert_in_range(tries, 0, 20);
        assert_false(f.report.degraded);
        verdict = send_all(&f);
    }
    /* 7,900 bytes, halved twice after three losses each. */
    assert_int_equal(tries, 6);
    assert_int_equal(verdict, OUTPUT_DELIVERED);
    assert_stored(f.fake, 0, 100);
    bulk_fake_limit(f.fake, 0, false);
    size_t requests = 0;
    for (int i = 0; i < 100 && requests != 1; i++) {
        size_t before = bulk_fake_count(f.fake);
        f.delivery.repeated = true;
        assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
        requests = bulk_fake_count(f.fake) - before;
    }
    assert_int_equal(requests, 1);
    teardown(&f);
}

static void a_limit_that_was_lifted_is_found_out(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 100);
    bulk_fake_limit(f.fake, 200, false); /* two or three events */
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    bulk_fake_limit(f.fake, 0, false);
    size_t requests = 0;
    for (int i = 0; i < 100 && requests != 1; i++) {
        size_t before = bulk_fake_count(f.fake);
        f.delivery.repeated = true;
        assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
        requests = bulk_fake_count(f.fake) - before;
    }
    assert_int_equal(requests, 1);
    teardown(&f);
}

static void a_bad_event_is_found_wherever_it_is(void **state)
{
    (void)state;
    for (size_t count = 1; count < 20; count++) {
        for (size_t bad = 0; bad < count; bad++) {
            char text[32];
            struct fixture f;
            setup(&f, count);
            snprintf(text, sizeof(text), "{\"n\":%04zu}", bad);
            bulk_fake_mind(f.fake, text);
            enum output_verdict verdict = send_all(&f);
            assert_int_equal(verdict, count == 1 ? OUTPUT_REJECTED : OUTPUT_MIXED);
            if (verdict == OUTPUT_MIXED) {
                assert_records(&f, 0, bad, RECORD_DELIVERED);
                assert_records(&f, bad, bad + 1, RECORD_REJECTED);
                assert_records(&f, bad + 1, count, RECORD_DELIVERED);
            }
            char expected[64];
            snprintf(expected, sizeof(expected), "%zu 400 minded|why|\n", bad);
            assert_span(buf_span(&f.rejections), expected);
            assert_true(bulk_fake_count(f.fake) <= 12);
            teardown(&f);
        }
    }
}

static void several_bad_events_are_found(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 100);
    bulk_fake_mind(f.fake, "3}"); /* every tenth */
    assert_int_equal(send_all(&f), OUTPUT_MIXED);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(f.records[i], i % 10 == 3 ? RECORD_REJECTED : RECORD_DELIVERED);
    }
    assert_int_equal(f.report.unexpected_duplicates, 0);
    teardown(&f);
}

static void many_bad_events_side_by_side_are_no_fault_of_set_up(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 200);
    bulk_fake_mind(f.fake, "{\"n\":00"); /* the first hundred */
    assert_int_equal(send_all(&f), OUTPUT_MIXED);
    assert_records(&f, 0, 100, RECORD_REJECTED);
    assert_records(&f, 100, 200, RECORD_DELIVERED);
    assert_int_equal(f.report.unexpected_duplicates, 0);
    teardown(&f);
}

static void a_server_that_refuses_every_event_is_set_up_wrongly(void **state)
{
    (void)state;
    static const struct bulk_step all = {
        .status = 400, .body = "{\"error\":{\"type\":\"t\",\"reason\":\"unknown parameter\"}}"};
    struct fixture f;
    setup(&f, 100);
    bulk_fake_always(f.fake, &all);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(send_all(&f), OUTPUT_RETRY);
        assert_true(f.report.degraded);
        assert_int_equal(f.rejections.size, 0);
        assert_said(&f, "unknown parameter: the server rejects everything");
    }
    bulk_fake_always(f.fake, NULL);
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_stored(f.fake, 0, 100);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_too_large_is_halved_and_the_size_is_kept),
        cmocka_unit_test(a_single_event_that_is_too_large_is_refused),
        cmocka_unit_test(where_large_requests_break_the_connection_they_get_smaller_and_grow_again),
        cmocka_unit_test(a_limit_that_was_lifted_is_found_out),
        cmocka_unit_test(a_bad_event_is_found_wherever_it_is),
        cmocka_unit_test(several_bad_events_are_found),
        cmocka_unit_test(many_bad_events_side_by_side_are_no_fault_of_set_up),
        cmocka_unit_test(a_server_that_refuses_every_event_is_set_up_wrongly),
    };
    return cmocka_run_group_tests_name("outputs/elasticsearch/es_sender_halves", tests, NULL, NULL);
}
