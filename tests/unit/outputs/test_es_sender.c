#include "unit/outputs/es_sender_rig.h"

/* How a sender reacts to the answers of one node. */

/* ---- all goes well --------------------------------------------------------------------------- */

static void a_delivery_is_one_request_of_the_bulk_api(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 5);
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_int_equal(bulk_fake_count(f.fake), 1);
    const struct http_fake_request *request = bulk_fake_request(f.fake, 0);
    static const char line[] =
        "POST /_bulk?filter_path=errors,items.*.status,items.*._index,items.*.error.type,"
        "items.*.error.reason HTTP/1.1\r\n";
    assert_int_equal(strncmp(request->head, line, strlen(line)), 0);
    assert_true(http_fake_has(request, "Content-Type", "application/x-ndjson"));
    assert_false(http_fake_has(request, "Content-Encoding", NULL));
    assert_non_null(strstr((const char *)request->body.data,
        "{\"create\":{\"_index\":\"etw\",\"_id\":\"00000000000000010000000000000000\"}}\n"
        "{\"n\":0000}\n"));
    assert_int_equal(f.report.unexpected_duplicates, 0);
    assert_stored(f.fake, 0, 5);
    teardown(&f);
}

static void a_delivery_of_nothing_sends_no_request(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 0);
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_int_equal(bulk_fake_count(f.fake), 0);
    teardown(&f);
}

/* ---- items ----------------------------------------------------------------------------------- */

static void items_are_taken_tried_again_or_refused_one_by_one(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *type;
        enum record_status record;
        bool degraded;
        const char *words;
    } cases[] = {
        {429, "es_rejected_execution_exception", RECORD_RETRY, false,
            "status 429 es_rejected_execution_exception: because of 2"},
        {408, "x", RECORD_RETRY, false, "status 408"},
        {503, "x", RECORD_RETRY, false, "status 503"},
        {403, "cluster_block_exception", RECORD_RETRY, false, "cluster_block_exception"},
        {403, "security_exception", RECORD_RETRY, true, "the user has no right to write there"},
        {401, "security_exception", RECORD_RETRY, true, "check auth"},
        {404, "index_not_found_exception", RECORD_RETRY, true, "create it, or correct its name"},
        {400, "mapper_parsing_exception", RECORD_REJECTED, false, "status 400 mapper_parsing"},
        {413, "x", RECORD_REJECTED, false, "status 413"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        setup(&f, 6);
        const struct bulk_step step = {.item_first = 2,
            .item_count = 2,
            .item_status = cases[i].status,
            .item_type = cases[i].type};
        bulk_fake_script(f.fake, &step, 1);
        assert_int_equal(send_all(&f), OUTPUT_MIXED);
        assert_records(&f, 0, 2, RECORD_DELIVERED);
        assert_records(&f, 2, 4, cases[i].record);
        assert_records(&f, 4, 6, RECORD_DELIVERED);
        assert_int_equal(f.report.degraded, cases[i].degraded);
        assert_said(&f, cases[i].words);
        assert_said(&f, bulk_fake_url(f.fake));
        assert_int_equal(bulk_fake_count(f.fake), 1);
        char expected[256] = "";
        if (cases[i].record == RECORD_REJECTED) {
            snprintf(expected, sizeof(expected),
                "2 %d %s|because of 2|etw\n3 %d %s|because of 3|etw\n", cases[i].status,
                cases[i].type, cases[i].status, cases[i].type);
        }
        assert_span(buf_span(&f.rejections), expected);
        teardown(&f);
    }
}

static void when_all_are_of_one_kind_the_verdict_says_so(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 3);
    const struct bulk_step refused = {.item_count = BULK_ALL, .item_status = 400};
    const struct bulk_step busy = {.item_count = BULK_ALL, .item_status = 429};
    bulk_fake_always(f.fake, &refused);
    assert_int_equal(send_all(&f), OUTPUT_REJECTED);
    assert_int_not_equal(f.rejections.size, 0);
    bulk_fake_always(f.fake, &busy);
    assert_int_equal(send_all(&f), OUTPUT_RETRY);
    assert_int_equal(f.rejections.size, 0);
    teardown(&f);
}

static void the_gravest_trouble_is_told(void **state)
{
    (void)state;
    static const char reply[] = "{\"items\":[{\"create\":{\"status\":400,\"error\":\"refused\"}},"
                                "{\"create\":{\"status\":429,\"error\":\"busy\"}},"
                                "{\"create\":{\"status\":403,\"error\":\"forbidden\"}},"
                                "{\"create\":{\"status\":404,\"error\":\"missing\"}}]}";
    struct fixture f;
    setup(&f, 4);
    const struct bulk_step step = {.raw = reply};
    bulk_fake_script(f.fake, &step, 1);
    assert_int_equal(send_all(&f), OUTPUT_MIXED);
    assert_said(&f, "status 403: forbidden: the user has no right");
    assert_true(f.report.degraded);
    assert_span(buf_span(&f.rejections), "0 400 |refused|\n");
    teardown(&f);
}

static void a_cluster_that_has_no_room_for_an_index_costs_no_event(void **state)
{
    (void)state;
    static const char reply[] =
        "{\"items\":[{\"create\":{\"status\":400,\"error\":{\"type\":\"mapper_parsing_exception\","
        "\"reason\":\"bad\"}}},{\"create\":{\"status\":400,\"error\":{\"reason\":\"Validation "
        "Failed: 1: "
        "this action would add [2] total shards, but this cluster currently has [1000]/[1000] "
        "maximum shards open;\",\"type\":\"illegal_argument_exception\"}}}]}";
    struct fixture f;
    setup(&f, 2);
    const struct bulk_step step = {.raw = reply};
    bulk_fake_script(f.fake, &step, 1);
    assert_int_equal(send_all(&f), OUTPUT_MIXED);
    assert_records(&f, 0, 1, RECORD_REJECTED);
    assert_records(&f, 1, 2, RECORD_RETRY);
    assert_true(f.report.degraded);
    assert_said(&f, "creates no new index. free some");
    teardown(&f);
}

/* ---- duplicates ------------------------------------------------------------------------------ */

static void a_document_that_exists_is_delivered_and_counts_if_it_was_not_sent(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 4);
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_int_equal(f.report.unexpected_duplicates, 4);
    f.delivery.repeated = true;
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_int_equal(f.report.unexpected_duplicates, 0);
    assert_stored(f.fake, 0, 4);
    teardown(&f);
}

static void a_file_that_is_read_again_is_no_surprise(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 4);
    f.ids.positions = f.positions;
    f.positions[1].file_id[0] = 1;
    f.positions[2].file_id[0] = 2;
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_int_equal(f.report.unexpected_duplicates, 2);
    assert_stored(f.fake, 0, 4);
    teardown(&f);
}

static void what_a_lost_reply_leaves_open_is_no_surprise_at_the_next_node(void **state)
{
    (void)state;
    static const struct bulk_step lost = {.lost = true, .obeyed = true};
    struct fixture f;
    setup_nodes(&f, 4, false, "same");
    bulk_fake_script(f.fake, &lost, 1);
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_int_equal(bulk_fake_count(f.fake), 2);
    assert_int_equal(f.report.unexpected_duplicates, 0);
    /* The next delivery starts anew. */
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_int_equal(f.report.unexpected_duplicates, 4);
    assert_stored(f.fake, 0, 4);
    teardown(&f);
}

static void when_every_node_loses_its_reply_the_host_tries_again(void **state)
{
    (void)state;
    static const struct bulk_step lost = {.lost = true, .obeyed = true};
    struct fixture f;
    setup_nodes(&f, 4, true, NULL);
    bulk_fake_script(f.fake, &lost, 1);
    bulk_fake_script(f.other, &lost, 1);
    assert_int_equal(send_all(&f), OUTPUT_RETRY);
    assert_int_equal(bulk_fake_count(f.fake) + bulk_fake_count(f.other), 2);
    f.delivery.repeated = true;
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_int_equal(f.report.unexpected_duplicates, 0);
    teardown(&f);
}

/* ---- replies without information ------------------------------------------------------------- */

static void a_reply_that_is_not_whole_is_never_an_ack(void **state)
{
    (void)state;
    static const struct bulk_step cases[] = {
        {.raw = ""},
        {.raw = "{}"},
        {.raw = "{\"errors\":false}"},
        {.raw = "{\"took\":30}"},
        {.raw = "{\"took\":30,\"errors\":false}"},
        {.raw = "{\"acknowledged\":true}"},
        {.raw = "{\"errors\":false,\"items\":[]}"},
        {.raw = "{\"items\":[{\"create\":{\"status\":201}},{\"create\":{\"status\":201}}]}"},
        {.raw = "{\"items\":[{\"create\":{\"status\":400}},{\"create\":{\"status\":400}}]}"},
        {.raw = "{\"items\":[{\"create\":{\"status\":201}},{\"create\":{\"status\":201}},"
                "{\"create\":{\"status\":201}},{\"create\":{\"status\":201}}]}"},
        {.raw = "{\"items\":[{\"create\":{\"status\":201}},{\"create\":{\"status\":201}},"
                "{\"create\":{\"status\":201}}"},
        {.raw = "{\"items\":[{\"create\":{\"status\":201}},{\"create\":{\"status\":201}},"
                "{\"create\":{}}]}"},
        {.raw = "<html>all is well</html>"},
        {.lost = true},
        {.lost = true, .obeyed = true},
        {.cut = 20},
        {.cut = 150},
        {.status = 204, .obeyed = true},
        {.status = 202, .body = "<html>thank you</html>"},
        {.status = 201, .body = "{\"items\":[]}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        setup(&f, 3);
        bulk_fake_script(f.fake, &cases[i], 1);
        assert_int_equal(send_all(&f), OUTPUT_RETRY);
        assert_false(f.report.degraded);
        assert_int_equal(f.rejections.size, 0);
        f.delivery.repeated = true;
        assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
        assert_int_equal(f.report.unexpected_duplicates, 0);
        assert_stored(f.fake, 0, 3);
        teardown(&f);
    }
}

/* The sender ignores `errors`, and an item belongs to the event at its place. */
static void each_item_speaks_for_itself(void **state)
{
    (void)state;
    static const struct {
        const char *raw;
        enum output_verdict verdict;
    } cases[] = {
        {"{\"errors\":true,\"items\":[{\"create\":{\"status\":201}},{\"create\":{\"status\":201}}]"
         "}",
            OUTPUT_DELIVERED},
        {"{\"errors\":false,\"items\":[{\"create\":{\"status\":201}},{\"create\":{\"status\":429}}]"
         "}",
            OUTPUT_MIXED},
        {"{\"items\":[{\"create\":{\"status\":201}},{\"create\":{\"status\":429}}],\"errors\":"
         "false}",
            OUTPUT_MIXED},
        {"{\"items\":[{\"index\":{\"_id\":\"00000000000000010000000000000000\",\"status\":201}},"
         "{\"index\":{\"_id\":null,\"status\":429}}]}",
            OUTPUT_MIXED},
        /* not in the order of the request */
        {"{\"items\":[{\"index\":{\"_id\":\"00000000000000010000000000000001\",\"status\":201}},"
         "{\"index\":{\"_id\":\"00000000000000010000000000000000\",\"status\":429}}]}",
            OUTPUT_RETRY},
        /* the same answer twice */
        {"{\"items\":[{\"index\":{\"_id\":\"00000000000000010000000000000000\",\"status\":201}},"
         "{\"index\":{\"_id\":\"00000000000000010000000000000000\",\"status\":201}}]}",
            OUTPUT_RETRY},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        setup(&f, 2);
        const struct bulk_step step = {.raw = cases[i].raw};
        bulk_fake_script(f.fake, &step, 1);
        assert_int_equal(send_all(&f), cases[i].verdict);
        if (cases[i].verdict == OUTPUT_MIXED) {
            assert_records(&f, 0, 1, RECORD_DELIVERED);
            assert_records(&f, 1, 2, RECORD_RETRY);
        }
        teardown(&f);
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

static void a_request_that_is_refused_as_such_is_tried_again_fast_or_slowly(void **state)
{
    (void)state;
    static const struct {
        struct bulk_step step;
        bool degraded;
        uint32_t wait_ms;
        const char *words;
    } cases[] = {
        {{.status = 429, .headers = "Retry-After: 7\r\n"}, false, 7000, "status 429"},
        {{.status = 503, .headers = "Retry-After: 120\r\n"}, false, 120000, "status 503"},
        {{.status = 500,
             .body = "{\"error\":{\"type\":\"boom\",\"reason\":\"why\"},\"status\":500}"},
            false, 0, "status 500 boom: why"},
        {{.status = 404}, false, 0,
            "status 404: nothing accepts events there, or not yet. check address and path of "
            "hosts"},
        {{.status = 408}, false, 0, "status 408"},
        {{.status = 204}, false, 0,
            "status 204: the reply has no answer for each event. check that this is"},
        {{.status = 407}, true, 0, "status 407: the proxy refuses these credentials"},
        {{.status = 401, .body = "Unauthorized"}, true, 0, "status 401"},
        {{.status = 403, .body = "{\"error\":\"no permissions\"}"}, true, 0, "no permissions"},
        {{.status = 301, .headers = "Location: http://127.0.0.1:1/\r\n"}, true, 0, "status 301"},
        {{.status = 406, .body = "{\"error\":\"Content-Type header\",\"status\":406}"}, true, 0,
            "Content-Type header"},
        {{.status = 400,
             .body = "{\"error\":{\"type\":\"illegal_argument_exception\",\"reason\":"
                     "\"Action/metadata line [1] contains an unknown parameter [x]\"},"
                     "\"status\":400}"},
            true, 0, "unknown parameter [x]: the server does not know a setting"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        setup(&f, 3);
        bulk_fake_script(f.fake, &cases[i].step, 1);
        assert_int_equal(send_all(&f), OUTPUT_RETRY);
        assert_int_equal(f.report.degraded, cases[i].degraded);
        assert_int_equal(f.report.wait_ms, cases[i].wait_ms);
        assert_said(&f, cases[i].words);
        assert_int_equal(bulk_fake_count(f.fake), 1);
        assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
        teardown(&f);
    }
}

static void what_was_taken_before_a_failure_is_not_sent_again(void **state)
{
    (void)state;
    static const struct bulk_step steps[] = {{.status = 413}, {.status = 0}, {.status = 503}};
    struct fixture f;
    setup(&f, 10);
    bulk_fake_script(f.fake, steps, 3);
    assert_int_equal(send_all(&f), OUTPUT_MIXED);
    size_t taken = 0;
    while (taken < 10 && f.records[taken] == RECORD_DELIVERED) {
        taken++;
    }
    assert_in_range(taken, 1, 9);
    assert_records(&f, taken, 10, RECORD_RETRY);
    assert_stored(f.fake, 0, taken);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_delivery_is_one_request_of_the_bulk_api),
        cmocka_unit_test(a_delivery_of_nothing_sends_no_request),
        cmocka_unit_test(items_are_taken_tried_again_or_refused_one_by_one),
        cmocka_unit_test(when_all_are_of_one_kind_the_verdict_says_so),
        cmocka_unit_test(the_gravest_trouble_is_told),
        cmocka_unit_test(a_cluster_that_has_no_room_for_an_index_costs_no_event),
        cmocka_unit_test(a_document_that_exists_is_delivered_and_counts_if_it_was_not_sent),
        cmocka_unit_test(a_file_that_is_read_again_is_no_surprise),
        cmocka_unit_test(what_a_lost_reply_leaves_open_is_no_surprise_at_the_next_node),
        cmocka_unit_test(when_every_node_loses_its_reply_the_host_tries_again),
        cmocka_unit_test(a_reply_that_is_not_whole_is_never_an_ack),
        cmocka_unit_test(each_item_speaks_for_itself),
        cmocka_unit_test(a_request_that_is_refused_as_such_is_tried_again_fast_or_slowly),
        cmocka_unit_test(what_was_taken_before_a_failure_is_not_sent_again),
    };
    return cmocka_run_group_tests_name("outputs/elasticsearch/es_sender", tests, NULL, NULL);
}
