#include "es_sender_rig.h"

/* Several indices, one of which accepts nothing now. */

/* Every second record goes to the second index. */
static void route(struct fixture *f, uint32_t routes[MAX_RECORDS], const struct span names[2])
{
    for (size_t i = 0; i < f->delivery.record_count; i++) {
        routes[i] = i % 2;
    }
    f->delivery.routes = routes;
    f->delivery.route_names = names;
    f->delivery.route_count = 2;
}

static const struct span both[2] = {{(const uint8_t *)"a", 1}, {(const uint8_t *)"b", 1}};

static void an_index_that_takes_nothing_blocks_its_own_events(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *type;
        enum record_status record;
    } cases[] = {
        {403, "cluster_block_exception", RECORD_BLOCKED},
        {429, "cluster_block_exception", RECORD_BLOCKED},
        {403, "security_exception", RECORD_BLOCKED},
        {404, "index_not_found_exception", RECORD_BLOCKED},
        {400, "index_closed_exception", RECORD_BLOCKED},
        {503, "unavailable_shards_exception", RECORD_BLOCKED},
        {429, "es_rejected_execution_exception", RECORD_RETRY},
        {401, "security_exception", RECORD_RETRY},
        {400, "mapper_parsing_exception", RECORD_REJECTED},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        uint32_t routes[MAX_RECORDS];
        setup(&f, 4);
        route(&f, routes, both);
        const struct bulk_step step = {.item_first = 1,
            .item_count = 1,
            .item_status = cases[i].status,
            .item_type = cases[i].type};
        bulk_fake_script(f.fake, &step, 1);
        assert_int_equal(send_all(&f), OUTPUT_MIXED);
        assert_records(&f, 0, 1, RECORD_DELIVERED);
        assert_records(&f, 1, 2, cases[i].record);
        assert_records(&f, 2, 4, RECORD_DELIVERED);
        char expected[256] = "";
        if (cases[i].record != RECORD_RETRY) {
            snprintf(expected, sizeof(expected), "1 %d %s|because of 1|b\n", cases[i].status,
                cases[i].type);
        }
        assert_span(buf_span(&f.rejections), expected);
        if (cases[i].record == RECORD_BLOCKED) {
            assert_false(f.report.degraded); /* nothing is left for the host to try again */
            assert_int_equal(f.report.wait_ms, 0);
        }
        teardown(&f);
    }
}

static void when_all_are_blocked_the_records_say_so(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t routes[MAX_RECORDS];
    setup(&f, 10);
    route(&f, routes, both);
    const struct bulk_step step = {
        .item_count = BULK_ALL, .item_status = 403, .item_type = "security_exception"};
    bulk_fake_always(f.fake, &step);
    assert_int_equal(send_all(&f), OUTPUT_MIXED);
    assert_records(&f, 0, 10, RECORD_BLOCKED);
    assert_int_equal(bulk_fake_count(f.fake), 1);
    teardown(&f);
}

/* A full disk gives 429 for an index. That says nothing about the size of requests. */
static void blocks_do_not_make_requests_smaller(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t routes[MAX_RECORDS];
    setup(&f, 100);
    route(&f, routes, both);
    const struct bulk_step step = {
        .item_count = BULK_ALL, .item_status = 429, .item_type = "cluster_block_exception"};
    bulk_fake_always(f.fake, &step);
    for (size_t i = 1; i <= 20; i++) {
        assert_int_equal(send_all(&f), OUTPUT_MIXED);
        assert_int_equal(bulk_fake_count(f.fake), i);
    }
    teardown(&f);
}

static void what_is_told_is_of_what_is_tried_again_or_refused(void **state)
{
    (void)state;
    static const char busy[] = "{\"items\":[{\"create\":{\"status\":403,\"error\":\"shut\"}},"
                               "{\"create\":{\"status\":429,\"error\":\"busy\"}}]}";
    static const char bad[] = "{\"items\":[{\"create\":{\"status\":403,\"error\":\"shut\"}},"
                              "{\"create\":{\"status\":400,\"error\":\"bad\"}}]}";
    struct fixture f;
    uint32_t routes[MAX_RECORDS];
    setup(&f, 2);
    route(&f, routes, both);
    const struct bulk_step steps[] = {{.raw = busy}, {.raw = bad}};
    bulk_fake_script(f.fake, steps, 2);
    assert_int_equal(send_all(&f), OUTPUT_MIXED);
    assert_records(&f, 0, 1, RECORD_BLOCKED);
    assert_records(&f, 1, 2, RECORD_RETRY);
    assert_non_null(strstr(f.report.error.text, "busy"));
    assert_false(f.report.degraded);
    assert_int_equal(send_all(&f), OUTPUT_MIXED);
    assert_records(&f, 1, 2, RECORD_REJECTED);
    assert_non_null(strstr(f.report.error.text, "bad"));
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_that_takes_nothing_blocks_its_own_events),
        cmocka_unit_test(when_all_are_blocked_the_records_say_so),
        cmocka_unit_test(blocks_do_not_make_requests_smaller),
        cmocka_unit_test(what_is_told_is_of_what_is_tried_again_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
