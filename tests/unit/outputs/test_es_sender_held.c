#include "unit/outputs/es_sender_rig.h"

/* A wrong mapping or template: each event is refused with a 400 of its own. */

static const struct bulk_step refuse_all = {
    .item_count = BULK_ALL, .item_status = 400, .item_type = "mapper_parsing_exception"};

static size_t documents_of(const struct http_fake_request *request)
{
    size_t lines = 0;
    for (size_t i = 0; i < request->body.size; i++) {
        lines += request->body.data[i] == '\n';
    }
    return lines / 2;
}

static size_t last_documents(struct fixture *f)
{
    return documents_of(bulk_fake_request(f->fake, bulk_fake_count(f->fake) - 1));
}

/* This number is given up, because the events may be at fault. */
static void refuse_two(struct fixture *f)
{
    bulk_fake_always(f->fake, &refuse_all);
    assert_int_equal(send_all(f), OUTPUT_REJECTED);
    assert_int_equal(send_all(f), OUTPUT_REJECTED);
}

static void a_third_delivery_in_a_row_that_is_refused_whole_is_held(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 20);
    bulk_fake_always(f.fake, &refuse_all);
    refuse_two(&f);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(send_all(&f), OUTPUT_RETRY);
        assert_true(f.report.degraded);
        assert_int_equal(f.rejections.size, 0); /* no event is given up */
        assert_said(&f, "mapper_parsing_exception");
        assert_said(&f, "correct the mapping");
        assert_int_equal(last_documents(&f), i ? 1 : 20);
    }
    /* A user corrects the mapping: one event shows that, and the others follow. */
    bulk_fake_always(f.fake, NULL);
    size_t before = bulk_fake_count(f.fake);
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_int_equal(documents_of(bulk_fake_request(f.fake, before)), 1);
    char *stored = bulk_fake_documents(f.fake, true);
    assert_int_equal(strlen(stored), 20 * 11);
    for (unsigned n = 0; n < 20; n++) {
        char one[16];
        snprintf(one, sizeof(one), "{\"n\":%04u}\n", n);
        assert_non_null(strstr(stored, one));
    }
    free(stored);
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_int_equal(last_documents(&f), 20);
    teardown(&f);
}

static void each_try_asks_for_another_event(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 20);
    bulk_fake_always(f.fake, &refuse_all);
    refuse_two(&f);
    assert_int_equal(send_all(&f), OUTPUT_RETRY);
    bool asked[20] = {false};
    for (int i = 0; i < 20; i++) {
        assert_int_equal(send_all(&f), OUTPUT_RETRY);
        const struct http_fake_request *request = bulk_fake_request(
            f.fake, bulk_fake_count(f.fake) - 1);
        const char *document = strstr((const char *)request->body.data, "{\"n\":");
        assert_non_null(document);
        asked[strtoul(document + 5, NULL, 10)] = true;
    }
    for (int i = 0; i < 20; i++) {
        assert_true(asked[i]);
    }
    teardown(&f);
}

static const struct span names[] = {{(const uint8_t *)"a", 1}, {(const uint8_t *)"b", 1}};

/* Records go to ${count} indices in turn. */
static void route(struct fixture *f, uint32_t routes[MAX_RECORDS], uint32_t count)
{
    for (size_t i = 0; i < f->delivery.record_count; i++) {
        routes[i] = (uint32_t)i % count;
    }
    f->delivery.routes = routes;
    f->delivery.route_names = names;
    f->delivery.route_count = count;
}

static void assert_rejected(struct fixture *f, const char *text)
{
    buf_add_byte(&f->rejections, 0);
    assert_non_null(strstr((const char *)f->rejections.data, text));
    f->rejections.size--;
}

static void a_probe_that_is_blocked_blocks_all_that_go_there(void **state)
{
    (void)state;
    static const struct bulk_step shut = {
        .item_count = BULK_ALL, .item_status = 403, .item_type = "cluster_block_exception"};
    struct fixture f;
    uint32_t routes[MAX_RECORDS];
    setup(&f, 20);
    route(&f, routes, 1);
    f.delivery.suspect = true;
    bulk_fake_always(f.fake, &shut);
    assert_int_equal(send_all(&f), OUTPUT_MIXED);
    assert_int_equal(last_documents(&f), 1);
    assert_records(&f, 0, 20, RECORD_BLOCKED);
    assert_rejected(&f, "0 403 cluster_block_exception|");
    assert_rejected(&f, "19 403 cluster_block_exception|");
    bulk_fake_always(f.fake, NULL);
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    teardown(&f);
}

/* Of two indices "a" and "b" the second refuses everything. */
static const char *const halves[] = {"{\"items\":[{\"create\":{\"status\":201}}",
    "{\"create\":{\"status\":400,\"error\":{\"type\":\"mapper_parsing_exception\",\"reason\":"
    "\"no\"}}}"};

static void refuse_b(struct fixture *f, struct buf *reply)
{
    buf_reset(reply);
    for (size_t i = 0; i < f->delivery.record_count; i++) {
        buf_add_text(reply, i ? "," : "");
        buf_add_text(reply, i % 2 ? halves[1] : i ? halves[0] + strlen("{\"items\":[") : halves[0]);
    }
    buf_add_text(reply, "]}");
    buf_add_byte(reply, 0);
    bulk_fake_always(f->fake, &(struct bulk_step){.raw = (const char *)reply->data});
}

static void assert_halves(struct fixture *f, enum record_status b)
{
    assert_int_equal(send_all(f), OUTPUT_MIXED);
    for (size_t i = 0; i < f->delivery.record_count; i++) {
        assert_records(f, i, i + 1, i % 2 ? b : RECORD_DELIVERED);
    }
}

static void an_index_that_refuses_everything_is_held_beside_a_healthy_one(void **state)
{
    (void)state;
    struct fixture f;
    struct buf reply;
    uint32_t routes[MAX_RECORDS];
    setup(&f, 20);
    route(&f, routes, 2);
    buf_init(&reply, 1 << 16);
    refuse_b(&f, &reply);
    assert_halves(&f, RECORD_REJECTED);
    /* this number is given up, because the events may be at fault */
    assert_halves(&f, RECORD_REJECTED);
    for (int i = 0; i < 3; i++) {
        assert_halves(&f, RECORD_HELD);
        assert_false(f.report.degraded); /* nothing is left for the host to try again */
        assert_non_null(strstr(f.report.set_up, "correct the mapping"));
        assert_rejected(&f, "19 400 mapper_parsing_exception|no|");
    }
    /* One accepted event shows that the others are bad themselves. */
    static const struct bulk_step one_bad = {.item_first = 3, .item_count = 1, .item_status = 400};
    bulk_fake_always(f.fake, &one_bad);
    assert_int_equal(send_all(&f), OUTPUT_MIXED);
    assert_records(&f, 3, 4, RECORD_REJECTED);
    refuse_b(&f, &reply);
    assert_halves(&f, RECORD_REJECTED);
    buf_fini(&reply);
    teardown(&f);
}

static void what_was_held_is_asked_for_by_one_event(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t routes[MAX_RECORDS];
    bool asked[20] = {false};
    setup(&f, 20);
    route(&f, routes, 1);
    f.delivery.suspect = true; /* another worker may have found that out */
    bulk_fake_always(f.fake, &refuse_all);
    for (size_t i = 0; i < 20; i++) {
        f.delivery.probe = i + 40;
        assert_int_equal(send_all(&f), OUTPUT_MIXED);
        assert_records(&f, 0, 20, RECORD_HELD);
        assert_int_equal(last_documents(&f), 1);
        assert_rejected(&f, "19 400 mapper_parsing_exception|");
        const struct http_fake_request *request = bulk_fake_request(
            f.fake, bulk_fake_count(f.fake) - 1);
        asked[strtoul(strstr((const char *)request->body.data, "{\"n\":") + 5, NULL, 10)] = true;
    }
    for (int i = 0; i < 20; i++) {
        assert_true(asked[i]);
    }
    size_t before = bulk_fake_count(f.fake);
    bulk_fake_always(f.fake, NULL);
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_int_equal(documents_of(bulk_fake_request(f.fake, before)), 1);
    teardown(&f);
}

/* This worker's memory of refusals may be out of date. */
static void what_was_taken_elsewhere_clears_an_index(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t routes[MAX_RECORDS];
    setup(&f, 20);
    route(&f, routes, 1);
    refuse_two(&f);
    assert_int_equal(send_all(&f), OUTPUT_MIXED);
    assert_records(&f, 0, 20, RECORD_HELD);
    f.delivery.cleared = true;
    assert_int_equal(send_all(&f), OUTPUT_REJECTED);
    assert_int_equal(last_documents(&f), 20);
    f.delivery.cleared = false;
    assert_int_equal(send_all(&f), OUTPUT_REJECTED);
    assert_int_equal(send_all(&f), OUTPUT_MIXED);
    assert_records(&f, 0, 20, RECORD_HELD);
    teardown(&f);
}

/* No index accepts anything, so the sender need not try each of them three times. */
static void when_all_indices_refuse_each_is_held(void **state)
{
    (void)state;
    static const struct span others[] = {{(const uint8_t *)"c", 1}, {(const uint8_t *)"d", 1}};
    struct fixture f;
    uint32_t routes[MAX_RECORDS];
    setup(&f, 20);
    route(&f, routes, 2);
    refuse_two(&f);
    f.delivery.route_names = others;
    assert_int_equal(send_all(&f), OUTPUT_MIXED);
    assert_records(&f, 0, 20, RECORD_HELD);
    teardown(&f);
}

static void a_bad_event_of_a_quiet_index_is_refused_alone(void **state)
{
    (void)state;
    static const struct span other[] = {{(const uint8_t *)"c", 1}};
    struct fixture f;
    uint32_t routes[MAX_RECORDS];
    setup(&f, 20);
    route(&f, routes, 1);
    refuse_two(&f);
    assert_int_equal(send_all(&f), OUTPUT_MIXED);
    assert_records(&f, 0, 20, RECORD_HELD);
    f.delivery.record_count = 1;
    f.delivery.route_names = other;
    assert_int_equal(send_all(&f), OUTPUT_REJECTED);
    teardown(&f);
}

static void a_few_bad_events_in_small_deliveries_are_refused_alone(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 1);
    bulk_fake_always(f.fake, &refuse_all);
    for (int i = 0; i < 15; i++) {
        assert_int_equal(send_all(&f), OUTPUT_REJECTED);
    }
    assert_int_equal(send_all(&f), OUTPUT_RETRY); /* the 16th in a row */
    assert_true(f.report.degraded);
    teardown(&f);
}

static void one_event_that_is_taken_clears_the_set_up(void **state)
{
    (void)state;
    static const struct bulk_step all_but_one = {
        .item_first = 1, .item_count = BULK_ALL, .item_status = 400};
    struct fixture f;
    setup(&f, 20);
    for (int i = 0; i < 4; i++) {
        bulk_fake_always(f.fake, &refuse_all);
        assert_int_equal(send_all(&f), OUTPUT_REJECTED);
        bulk_fake_always(f.fake, &all_but_one);
        assert_int_equal(send_all(&f), OUTPUT_MIXED);
        assert_records(&f, 0, 1, RECORD_DELIVERED);
        assert_records(&f, 1, 20, RECORD_REJECTED);
    }
    teardown(&f);
}

static void what_is_bad_beside_the_event_that_is_taken_becomes_a_dead_letter(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 20);
    bulk_fake_always(f.fake, &refuse_all);
    refuse_two(&f);
    assert_int_equal(send_all(&f), OUTPUT_RETRY);
    const struct bulk_step steps[] = {
        {.status = 0}, {.item_first = 3, .item_count = 1, .item_status = 400}};
    bulk_fake_always(f.fake, NULL);
    bulk_fake_script(f.fake, steps, 2);
    assert_int_equal(
        send_all(&f), OUTPUT_MIXED); /* the first one was probed, so item 3 is record 4 */
    assert_records(&f, 0, 4, RECORD_DELIVERED);
    assert_records(&f, 4, 5, RECORD_REJECTED);
    assert_records(&f, 5, 20, RECORD_DELIVERED);
    teardown(&f);
}

/* A limit of the destination that no event fits. */
static void a_request_of_one_event_that_is_too_large_time_and_again_is_held(void **state)
{
    (void)state;
    static const struct bulk_step too_large = {.status = 413};
    struct fixture f;
    setup(&f, 10);
    bulk_fake_always(f.fake, &too_large);
    assert_int_equal(send_all(&f), OUTPUT_REJECTED);
    assert_int_equal(send_all(&f), OUTPUT_REJECTED);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(send_all(&f), OUTPUT_RETRY);
        assert_true(f.report.degraded);
        assert_int_equal(f.rejections.size, 0);
        assert_said(&f, "413");
    }
    assert_int_equal(last_documents(&f), 1);
    bulk_fake_always(f.fake, NULL);
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_true(bulk_fake_count(f.fake) > 3);
    teardown(&f);
}

static void a_probe_that_the_server_has_no_time_for_stays_a_probe(void **state)
{
    (void)state;
    static const struct bulk_step busy = {
        .item_count = BULK_ALL, .item_status = 429, .item_type = "es_rejected_execution_exception"};
    struct fixture f;
    setup(&f, 20);
    refuse_two(&f);
    assert_int_equal(send_all(&f), OUTPUT_RETRY);
    bulk_fake_always(f.fake, &busy);
    assert_int_equal(send_all(&f), OUTPUT_RETRY);
    assert_int_equal(last_documents(&f), 1);
    bulk_fake_always(f.fake, &refuse_all);
    assert_int_equal(send_all(&f), OUTPUT_RETRY);
    assert_int_equal(last_documents(&f), 1);
    teardown(&f);
}

static void dead_letters_that_are_sent_again_are_not_held(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 20);
    f.delivery.refused_before = true;
    bulk_fake_always(f.fake, &refuse_all);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(send_all(&f), OUTPUT_REJECTED);
        assert_int_equal(last_documents(&f), 20);
    }
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_third_delivery_in_a_row_that_is_refused_whole_is_held),
        cmocka_unit_test(each_try_asks_for_another_event),
        cmocka_unit_test(a_probe_that_is_blocked_blocks_all_that_go_there),
        cmocka_unit_test(an_index_that_refuses_everything_is_held_beside_a_healthy_one),
        cmocka_unit_test(what_was_held_is_asked_for_by_one_event),
        cmocka_unit_test(what_was_taken_elsewhere_clears_an_index),
        cmocka_unit_test(when_all_indices_refuse_each_is_held),
        cmocka_unit_test(a_bad_event_of_a_quiet_index_is_refused_alone),
        cmocka_unit_test(a_few_bad_events_in_small_deliveries_are_refused_alone),
        cmocka_unit_test(one_event_that_is_taken_clears_the_set_up),
        cmocka_unit_test(what_is_bad_beside_the_event_that_is_taken_becomes_a_dead_letter),
        cmocka_unit_test(a_request_of_one_event_that_is_too_large_time_and_again_is_held),
        cmocka_unit_test(a_probe_that_the_server_has_no_time_for_stays_a_probe),
        cmocka_unit_test(dead_letters_that_are_sent_again_are_not_held),
    };
    return cmocka_run_group_tests_name("outputs/elasticsearch/es_sender_held", tests, NULL, NULL);
}
