#include "outputs/http/http_pieces.h"

#include "support/test.h"

#include <stdio.h>

/* A server that answers by the bytes of records: each is a letter and a line feed. */
enum { MAX_RECORDS = 4096, MAX_SEEN = 2048 };

static struct {
    struct http_pieces pieces;
    struct delivery delivery;
    struct output_report report;
    uint32_t ends[MAX_RECORDS];
    enum record_status statuses[MAX_RECORDS];
    char seen[MAX_SEEN][64]; /* the records of each request, as far as there is room */
    size_t requests;
    size_t sent; /* records in all requests */
    bool names_last;
    bool names_none;
    size_t told; /* reasons */
} s;

static void reject(void *host, size_t record, const struct output_rejection *why)
{
    (void)host;
    (void)record;
    s.told += span_is(why->reason, "why");
}

/* `x` is refused, `b` has a route that accepts nothing, anything else is accepted. */
static struct http_piece_answer post(
    void *self, const struct http_piece *piece, struct output_report *report)
{
    (void)self;
    struct http_piece_answer answer = {.verdict = HTTP_PIECE_TAKEN, .record = HTTP_PIECES_UNKNOWN};
    char *seen = s.seen[s.requests++ % MAX_SEEN];
    size_t size = 0;
    size_t records = 0;
    for (size_t i = piece->first; i < piece->first + piece->count; i++) {
        char c = (char)s.delivery.bytes.data[2 * i];
        if (!http_piece_holds(piece, i)) {
            continue;
        }
        records++;
        if (size < sizeof(s.seen[0]) - 1) {
            seen[size++] = c;
        }
        if ((c == 'x' || c == 'b') && (answer.verdict == HTTP_PIECE_TAKEN || s.names_last)) {
            answer.verdict = c == 'x' ? HTTP_PIECE_REFUSED : HTTP_PIECE_BLOCKED;
            answer.record = s.names_none ? HTTP_PIECES_UNKNOWN : i;
            answer.why.reason = span_text("why");
            error_set(&report->error, ERR_IO, "refused");
        }
    }
    seen[size] = '\0';
    s.sent += records;
    assert_int_equal(records, piece->records);
    assert_int_equal(piece->bytes, 2 * records);
    return answer;
}

static void begin(void)
{
    memset(&s, 0, sizeof(s));
    http_pieces_init(&s.pieces, &(struct output_env){.name = "test"});
}

static void end(void)
{
    http_pieces_fini(&s.pieces);
}

/* ${text}: each record a letter and a line feed. */
static enum output_verdict send(struct span text, const uint32_t *routes)
{
    static const struct span names[] = {{(const uint8_t *)"A", 1}, {(const uint8_t *)"B", 1}};
    s.delivery = (struct delivery){.bytes = text,
        .record_ends = s.ends,
        .record_count = text.size / 2,
        .routes = routes,
        .route_names = names,
        .route_count = 2};
    s.report = (struct output_report){.records = s.statuses, .reject = reject};
    s.requests = 0;
    s.sent = 0;
    s.told = 0;
    for (size_t i = 0; i < s.delivery.record_count; i++) {
        s.ends[i] = (uint32_t)(2 * i + 2);
    }
    assert_true(http_pieces_send(&s.pieces, &s.delivery, &s.report, post, NULL));
    return http_pieces_verdict(&s.pieces, &s.delivery, &s.report);
}

static void records_of_one_route_go_together_wherever_they_stand(void **state)
{
    (void)state;
    static const uint32_t routes[] = {0, 1, 0, 1, 0, 1};
    begin();
    s.pieces.one_route = true;
    assert_int_equal(send(span_text("1\n2\n3\n4\n5\n6\n"), routes), OUTPUT_DELIVERED);
    assert_int_equal(s.requests, 2);
    assert_string_equal(s.seen[0], "135");
    assert_string_equal(s.seen[1], "246");
    /* Of a bad record's request only that record is left out. */
    assert_int_equal(send(span_text("1\n2\nx\n4\n5\n6\n"), routes), OUTPUT_MIXED);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(s.statuses[i], i == 2 ? RECORD_REJECTED : RECORD_DELIVERED);
    }
    /* A route that accepts nothing is found at once. */
    s.names_none = true;
    assert_int_equal(send(span_text("1\nb\n3\nb\n5\nb\n"), routes), OUTPUT_MIXED);
    assert_int_equal(s.requests, 2);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(s.statuses[i], i % 2 ? RECORD_BLOCKED : RECORD_DELIVERED);
    }
    assert_int_equal(s.told, 3);
    end();
}

static void what_of_a_route_did_not_arrive_is_taken_back_alone(void **state)
{
    (void)state;
    static const uint32_t routes[] = {0, 1, 0, 1};
    begin();
    s.pieces.one_route = true;
    assert_int_equal(send(span_text("1\n2\n3\n4\n"), routes), OUTPUT_DELIVERED);
    http_pieces_take_back(&s.pieces, &s.delivery, 0, 3);
    assert_int_equal(http_pieces_verdict(&s.pieces, &s.delivery, &s.report), OUTPUT_MIXED);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(s.statuses[i], i % 2 ? RECORD_DELIVERED : RECORD_RETRY);
    }
    end();
}

static void a_server_that_names_one_record_after_the_other_is_asked_no_more_for_it(void **state)
{
    (void)state;
    static uint8_t bytes[2 * MAX_RECORDS];
    memset(bytes, '\n', sizeof(bytes));
    for (size_t i = 0; i < MAX_RECORDS; i++) {
        bytes[2 * i] = i && i % 16 < 10 ? 'x' : '1';
    }
    begin();
    s.names_last = true;
    size_t count = MAX_RECORDS;
    /* Each delivery settles some records, and costs little more than its own records. */
    for (int tries = 0; tries < 8 && count; tries++) {
        assert_int_not_equal(send(span_make(bytes, 2 * count), NULL), OUTPUT_RETRY);
        assert_true(s.requests <= HTTP_PIECES_MAX_REQUESTS);
        assert_true(s.sent < 16 * MAX_RECORDS);
        size_t left = 0;
        for (size_t i = 0; i < count; i++) {
            bytes[2 * left] = bytes[2 * i];
            left += s.statuses[i] == RECORD_RETRY;
        }
        count = left;
    }
    assert_int_equal(count, 0);
    end();
}

/* The set-up looks wrong since records are refused. Records of a route that accepts nothing must
 * not keep the walk from trying another one. */
static void with_some_refused_and_others_blocked_the_walk_moves_on(void **state)
{
    (void)state;
    static const uint32_t routes[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1};
    begin();
    assert_int_equal(
        send(span_text("x\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nb\nb\n"), routes),
        OUTPUT_MIXED);
    assert_true(s.report.degraded);
    for (size_t i = 0; i < 19; i++) {
        assert_int_equal(s.statuses[i], i < 17 ? RECORD_RETRY : RECORD_BLOCKED);
    }
    /* One record at a time: the first is blocked, and the second refused. So another one is tried,
     * which shows that the set-up is right. */
    static const uint32_t mixed[] = {1, 0, 1, 0};
    assert_int_equal(send(span_text("b\nx\nb\n1\n"), mixed), OUTPUT_MIXED);
    assert_int_equal(s.requests, 3);
    assert_string_equal(s.seen[0], "b");
    assert_string_equal(s.seen[1], "x");
    assert_string_equal(s.seen[2], "1");
    static const enum record_status expected[] = {
        RECORD_BLOCKED, RECORD_REJECTED, RECORD_BLOCKED, RECORD_DELIVERED};
    assert_memory_equal(s.statuses, expected, sizeof(expected));
    assert_int_equal(s.told, 3);
    end();
}

/* Between the records of a request are no others, if the owner wants that. */
static void a_request_of_records_in_a_row_ends_before_one_that_was_sent(void **state)
{
    (void)state;
    begin();
    s.pieces.in_a_row = true;
    assert_int_equal(
        send(span_text("x\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\n"), NULL), OUTPUT_RETRY);
    s.names_none = true;
    /* The fourth shows that the set-up is right: the first is rejected, and the others follow. */
    assert_int_equal(send(span_text("x\n1\n2\n3\n4\n"), NULL), OUTPUT_MIXED);
    assert_string_equal(s.seen[0], "x");
    assert_string_equal(s.seen[1], "3");
    assert_string_equal(s.seen[2], "1");
    assert_string_equal(s.seen[3], "2");
    assert_string_equal(s.seen[4], "4");
    assert_int_equal(s.requests, 5);
    assert_int_equal(s.statuses[0], RECORD_REJECTED);
    assert_int_equal(s.told, 1);
    end();
}

static void what_is_blocked_keeps_its_reason_where_the_set_up_looks_wrong(void **state)
{
    (void)state;
    static const uint32_t routes[] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    begin();
    assert_int_equal(
        send(span_text("b\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\n"), routes),
        OUTPUT_MIXED);
    assert_int_equal(s.statuses[0], RECORD_BLOCKED);
    assert_int_equal(s.statuses[17], RECORD_RETRY);
    assert_int_equal(s.told, 1);
    end();
}

static bool stops_after_a_request(void *host)
{
    (void)host;
    return s.requests > 0;
}

/* A stop shows nothing about the set-up, and a doubtful record is not rejected. */
static void at_a_stop_no_other_record_is_tried(void **state)
{
    (void)state;
    begin();
    assert_int_equal(
        send(span_text("x\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\nx\n"), NULL), OUTPUT_RETRY);
    assert_true(s.report.degraded);
    s.pieces.stopping = stops_after_a_request;
    assert_int_equal(send(span_text("x\n1\n2\n"), NULL), OUTPUT_RETRY);
    assert_int_equal(s.requests, 1);
    assert_false(s.report.degraded);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_one_route_go_together_wherever_they_stand),
        cmocka_unit_test(what_of_a_route_did_not_arrive_is_taken_back_alone),
        cmocka_unit_test(a_server_that_names_one_record_after_the_other_is_asked_no_more_for_it),
        cmocka_unit_test(with_some_refused_and_others_blocked_the_walk_moves_on),
        cmocka_unit_test(a_request_of_records_in_a_row_ends_before_one_that_was_sent),
        cmocka_unit_test(what_is_blocked_keeps_its_reason_where_the_set_up_looks_wrong),
        cmocka_unit_test(at_a_stop_no_other_record_is_tried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
