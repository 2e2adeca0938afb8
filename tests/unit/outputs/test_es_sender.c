#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "event/record.h"
#include "outputs/delivery_id.h"
#include "outputs/es_sender.h"
#include "support/bulk_fake.h"

/* Deliveries to a store on loopback that goes wrong as it is told. */

enum { MAX_RECORDS = 200, RECORD_BYTES = 16, SECOND_NS = 1000000000 };

struct fixture {
    struct bulk_fake *fake;
    struct bulk_fake *other; /* a second node */
    struct es_sender *sender;
    struct buf rejections; /* "record status type reason index\n" */
    struct output_report report;
    enum record_status records[MAX_RECORDS];
    uint32_t ends[MAX_RECORDS];
    struct record_position positions[MAX_RECORDS];
    struct delivery_ids ids;
    struct buf bytes;
    struct delivery delivery;
    int stop_after; /* questions; -1: never */
};

static bool stopping(void *f_)
{
    struct fixture *f = f_;
    return f->stop_after >= 0 && f->stop_after-- <= 0;
}

/* ${beside}: the address of a second node; "same": the first one's, written otherwise. */
static void make(struct fixture *f, bool second_node, const char *beside)
{
    char same[64];
    const char *urls[2] = {bulk_fake_url(f->fake), beside};
    const struct config_strings hosts = {.items = urls, .count = second_node || beside ? 2 : 1};
    if (beside && strcmp(beside, "same") == 0) {
        snprintf(same, sizeof(same), "%s/", urls[0]);
        urls[1] = same;
    }
    if (second_node) {
        f->other = bulk_fake_start();
        urls[1] = bulk_fake_url(f->other);
    }
    const struct http_options http = {.proxy = "",
        .connect_timeout_ns = 10 * (uint64_t)SECOND_NS,
        .timeout_ns = 60 * (uint64_t)SECOND_NS};
    char index[] = "etw"; /* gone afterwards */
    const struct es_sender_options options = {.hosts = &hosts,
        .http = &http,
        .bulk = {.action = "create", .ids = true, .name = {.index = index}},
        .format = "native"};
    const struct output_env env = {.stopping = stopping, .host = f};
    f->sender = es_sender_create(&options, &env, &f->report.error);
    assert_non_null(f->sender);
    memset(index, 'x', sizeof(index) - 1);
}

/* ${count} records {"n":0001} and so on, each with an id of its own. */
static void prepare(struct fixture *f, size_t count)
{
    buf_reset(&f->bytes);
    for (size_t i = 0; i < count; i++) {
        buf_printf(&f->bytes, "{\"n\":%04zu}\n", i);
        f->ends[i] = (uint32_t)f->bytes.size;
    }
    f->delivery = (struct delivery){.bytes = buf_span(&f->bytes),
        .record_ends = f->ends,
        .record_count = count,
        .ids = &f->ids};
}

static void setup_nodes(struct fixture *f, size_t count, bool second_node, const char *beside)
{
    *f = (struct fixture){.ids = {.epoch = 1}, .stop_after = -1};
    buf_init(&f->rejections, 1 << 20);
    buf_init(&f->bytes, 1 << 20);
    f->fake = bulk_fake_start();
    make(f, second_node, beside);
    prepare(f, count);
}

static void setup(struct fixture *f, size_t count)
{
    setup_nodes(f, count, false, NULL);
}

static void teardown(struct fixture *f)
{
    es_sender_destroy(f->sender);
    bulk_fake_stop(f->fake);
    bulk_fake_stop(f->other);
    buf_fini(&f->rejections);
    buf_fini(&f->bytes);
}

static void on_reject(void *f_, size_t record, const struct output_rejection *why)
{
    struct fixture *f = f_;
    buf_printf(&f->rejections, "%zu %d %.*s|%.*s|%.*s\n", record, why->status, SPAN_ARG(why->type),
        SPAN_ARG(why->reason), SPAN_ARG(why->index));
}

static enum output_verdict send_all(struct fixture *f)
{
    buf_reset(&f->rejections);
    memset(f->records, 0x5a, sizeof(f->records));
    f->report = (struct output_report){.records = f->records, .reject = on_reject, .host = f};
    enum output_verdict verdict = es_sender_send(f->sender, &f->delivery, &f->report);
    assert_int_equal(verdict == OUTPUT_DELIVERED, f->report.error.code == ERR_NONE);
    return verdict;
}

static void assert_stored(struct bulk_fake *fake, size_t first, size_t count)
{
    char *text = bulk_fake_documents(fake, true);
    assert_int_equal(strlen(text), count * 11);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(strtoul(text + i * 11 + 5, NULL, 10), first + i);
    }
    free(text);
}

static void assert_records(const struct fixture *f, size_t first, size_t end, enum record_status s)
{
    for (size_t i = first; i < end; i++) {
        assert_int_equal(f->records[i], s);
    }
}

static void assert_said(const struct fixture *f, const char *words)
{
    if (!strstr(f->report.error.text, words)) {
        fail_msg("got \"%s\", expected \"%s\"", f->report.error.text, words);
    }
}

/* ---- all goes well ------------------------------------------------------------------------------- */

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

static void a_delivery_of_nothing_asks_nobody(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 0);
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_int_equal(bulk_fake_count(f.fake), 0);
    teardown(&f);
}

/* ---- items --------------------------------------------------------------------------------------- */

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
        {403, "security_exception", RECORD_RETRY, true, "we have no right to write there"},
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
    assert_said(&f, "status 403: forbidden: we have no right");
    assert_true(f.report.degraded);
    assert_span(buf_span(&f.rejections), "0 400 |refused|\n");
    teardown(&f);
}

/* ---- duplicates ---------------------------------------------------------------------------------- */

static void what_is_there_already_is_delivered_and_counts_if_nobody_sent_it(void **state)
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
    /* The next delivery is another matter. */
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

/* ---- replies that say nothing -------------------------------------------------------------------- */

static void a_reply_that_is_not_whole_is_never_an_ack(void **state)
{
    (void)state;
    static const struct bulk_step cases[] = {
        {.raw = ""},
        {.raw = "{}"},
        {.raw = "{\"errors\":false}"},
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
        {.status = 204},
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

/* ---- requests ------------------------------------------------------------------------------------ */

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
        {{.status = 404}, false, 0, "status 404"},
        {{.status = 408}, false, 0, "status 408"},
        {{.status = 401, .body = "Unauthorized"}, true, 0, "status 401"},
        {{.status = 403, .body = "{\"error\":\"no permissions\"}"}, true, 0, "no permissions"},
        {{.status = 301, .headers = "Location: http://127.0.0.1:1/\r\n"}, true, 0, "status 301"},
        {{.status = 406, .body = "{\"error\":\"Content-Type header\",\"status\":406}"}, true, 0,
            "Content-Type header"},
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
    /* Learnt: no request is refused any more, and none is needlessly small. */
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
        assert_said(&f, "unknown parameter: it refuses everything");
    }
    bulk_fake_always(f.fake, NULL);
    assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    assert_stored(f.fake, 0, 100);
    teardown(&f);
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

/* ---- nodes --------------------------------------------------------------------------------------- */

static void nodes_share_the_requests_and_stand_in_for_each_other(void **state)
{
    (void)state;
    static const struct bulk_step away = {.status = 503};
    struct fixture f;
    setup_nodes(&f, 3, true, NULL);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    }
    assert_int_equal(bulk_fake_count(f.fake), 5);
    assert_int_equal(bulk_fake_count(f.other), 5);
    bulk_fake_always(f.fake, &away);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
        assert_int_equal(f.report.wait_ms, 0);
    }
    /* Asked once, and then left alone for a second at least. */
    assert_in_range(bulk_fake_count(f.fake), 6, 8);
    teardown(&f);
}

static void a_node_that_nobody_answers_at_costs_nothing(void **state)
{
    (void)state;
    struct fixture f;
    setup_nodes(&f, 3, false, "http://127.0.0.1:1");
    for (int i = 0; i < 4; i++) {
        assert_int_equal(send_all(&f), OUTPUT_DELIVERED);
    }
    assert_int_equal(bulk_fake_count(f.fake), 4);
    teardown(&f);
}

/* A sender of other settings for ${url}. */
static void make_anew(struct fixture *f, const char *url, const struct http_options *http)
{
    const struct config_strings hosts = {.items = &url, .count = 1};
    const struct es_sender_options options = {
        .hosts = &hosts, .http = http, .bulk = {.action = "create"}, .format = "native"};
    const struct output_env env = {.name = "test"};
    es_sender_destroy(f->sender);
    f->sender = es_sender_create(&options, &env, &f->report.error);
    assert_non_null(f->sender);
}

static void a_certificate_that_cannot_be_read_is_a_fault_of_set_up(void **state)
{
    (void)state;
#ifdef _WIN32
    /* Schannel reads it once the server has shown its own, which this one never does. */
    skip();
#endif
    struct fixture f;
    char url[64];
    setup(&f, 3);
    snprintf(url, sizeof(url), "https%s", bulk_fake_url(f.fake) + strlen("http"));
    const struct http_options http = {.proxy = "",
        .tls = {.ca = "no.such.file.pem"},
        .connect_timeout_ns = 10 * (uint64_t)SECOND_NS,
        .timeout_ns = 10 * (uint64_t)SECOND_NS};
    make_anew(&f, url, &http);
    assert_int_equal(send_all(&f), OUTPUT_RETRY);
    assert_true(f.report.degraded);
    assert_said(&f, "tls.ca");
    teardown(&f);
}

static void what_a_server_says_shows_no_secret(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 3);
    const struct http_options http = {.proxy = "",
        .auth = {.bearer = "a-long-secret"},
        .connect_timeout_ns = 10 * (uint64_t)SECOND_NS,
        .timeout_ns = 10 * (uint64_t)SECOND_NS};
    make_anew(&f, bulk_fake_url(f.fake), &http);
    const struct bulk_step step = {
        .status = 401, .body = "{\"error\":\"token a-long-secret is unknown\"}"};
    bulk_fake_script(f.fake, &step, 1);
    assert_int_equal(send_all(&f), OUTPUT_RETRY);
    const struct http_fake_request *request = bulk_fake_request(f.fake, 0);
    assert_true(http_fake_has(request, "Authorization", "Bearer a-long-secret"));
    assert_said(&f, "status 401");
    assert_null(strstr(f.report.error.text, "a-long-secret"));
    teardown(&f);
}

static void rights_are_not_asked_for_at_every_node(void **state)
{
    (void)state;
    static const struct bulk_step refused = {.status = 403};
    struct fixture f;
    setup_nodes(&f, 3, true, NULL);
    bulk_fake_always(f.fake, &refused);
    bulk_fake_always(f.other, &refused);
    assert_int_equal(send_all(&f), OUTPUT_RETRY);
    assert_int_equal(bulk_fake_count(f.fake) + bulk_fake_count(f.other), 1);
    teardown(&f);
}

static void it_stops_between_requests(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 100);
    bulk_fake_limit(f.fake, 1000, false);
    f.stop_after = 4;
    enum output_verdict verdict = send_all(&f);
    assert_true(verdict == OUTPUT_RETRY || verdict == OUTPUT_MIXED);
    f.stop_after = 0;
    prepare(&f, 100);
    size_t before = bulk_fake_count(f.fake);
    assert_int_equal(send_all(&f), OUTPUT_RETRY);
    assert_int_equal(bulk_fake_count(f.fake), before);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_delivery_is_one_request_of_the_bulk_api),
        cmocka_unit_test(a_delivery_of_nothing_asks_nobody),
        cmocka_unit_test(items_are_taken_tried_again_or_refused_one_by_one),
        cmocka_unit_test(when_all_are_of_one_kind_the_verdict_says_so),
        cmocka_unit_test(the_gravest_trouble_is_told),
        cmocka_unit_test(what_is_there_already_is_delivered_and_counts_if_nobody_sent_it),
        cmocka_unit_test(a_file_that_is_read_again_is_no_surprise),
        cmocka_unit_test(what_a_lost_reply_leaves_open_is_no_surprise_at_the_next_node),
        cmocka_unit_test(when_every_node_loses_its_reply_the_host_tries_again),
        cmocka_unit_test(a_reply_that_is_not_whole_is_never_an_ack),
        cmocka_unit_test(a_request_that_is_refused_as_such_is_tried_again_fast_or_slowly),
        cmocka_unit_test(what_is_too_large_is_halved_and_the_size_is_kept),
        cmocka_unit_test(a_single_event_that_is_too_large_is_refused),
        cmocka_unit_test(where_large_requests_break_the_connection_they_get_smaller_and_grow_again),
        cmocka_unit_test(a_bad_event_is_found_wherever_it_is),
        cmocka_unit_test(several_bad_events_are_found),
        cmocka_unit_test(a_server_that_refuses_every_event_is_set_up_wrongly),
        cmocka_unit_test(what_was_taken_before_a_failure_is_not_sent_again),
        cmocka_unit_test(nodes_share_the_requests_and_stand_in_for_each_other),
        cmocka_unit_test(a_node_that_nobody_answers_at_costs_nothing),
        cmocka_unit_test(a_certificate_that_cannot_be_read_is_a_fault_of_set_up),
        cmocka_unit_test(what_a_server_says_shows_no_secret),
        cmocka_unit_test(rights_are_not_asked_for_at_every_node),
        cmocka_unit_test(it_stops_between_requests),
    };
    return cmocka_run_group_tests_name("outputs/es_sender", tests, NULL, NULL);
}
