#include "support/test.h"

#include <stdio.h>

#include "base/buf.h"
#include "outputs/elasticsearch/es_reply.h"

/* Items as lines: "place status index|type|reason". */
struct answers {
    struct buf text;
    struct error err;
    struct es_answer refusal;
    bool whole;
};

/* As a server writes them: real replies, except for names and times. */
static const char whole[] =
    "{\"took\":30,\"errors\":true,\"items\":["
    "{\"create\":{\"_index\":\".ds-logs-etw-000001\",\"_id\":\"1\",\"_version\":1,"
    "\"result\":\"created\",\"_shards\":{\"total\":2,\"successful\":1,\"failed\":0},"
    "\"_seq_no\":0,\"_primary_term\":1,\"status\":201}},"
    "{\"create\":{\"_index\":\"logs-etw\",\"_id\":null,\"status\":400,\"error\":"
    "{\"type\":\"mapper_parsing_exception\",\"reason\":\"failed to parse field [a] of \\\"x\\\"\","
    "\"caused_by\":{\"type\":\"illegal_argument_exception\",\"reason\":\"For input\"}}}},"
    "{\"create\":{\"_index\":\"logs-etw\",\"_type\":\"_doc\",\"_id\":\"3\",\"status\":429,"
    "\"error\":\"rejected as text\"}}"
    "]}";
static const char trimmed[] =
    "{\"errors\":true,\"items\":["
    "{\"create\":{\"_index\":\".ds-logs-etw-000001\",\"status\":201}},"
    "{\"create\":{\"_index\":\"logs-etw\",\"status\":400,\"error\":"
    "{\"type\":\"mapper_parsing_exception\",\"reason\":\"failed to parse field [a] of "
    "\\\"x\\\"\"}}},"
    "{\"create\":{\"status\":429,\"error\":\"rejected as text\",\"_index\":\"logs-etw\"}}]}";
static const char expected[] = "0 201 .ds-logs-etw-000001||\n"
                               "1 400 logs-etw|mapper_parsing_exception|failed to parse field [a] "
                               "of \"x\"\n"
                               "2 429 logs-etw||rejected as text\n";

static bool note(void *self, size_t place, const struct es_answer *answer)
{
    struct answers *answers = self;
    buf_printf(&answers->text, "%zu %d %.*s|%.*s|%.*s\n", place, answer->status,
        SPAN_ARG(answer->index), SPAN_ARG(answer->type), SPAN_ARG(answer->reason));
    return true;
}

static void read_reply(
    struct answers *answers, struct es_reply *reply, struct span json, size_t count, size_t piece)
{
    buf_init(&answers->text, 1 << 20);
    answers->err = (struct error){0};
    es_reply_init(reply, count, note, answers);
    for (size_t at = 0; at < json.size; at += piece) {
        if (!es_reply_feed(reply, span_first(span_from(json, at), piece))) {
            break;
        }
    }
    answers->whole = es_reply_end(reply, &answers->err);
    answers->refusal = es_reply_refusal(reply);
    assert_int_equal(answers->err.code, answers->whole ? ERR_NONE : ERR_FORMAT);
}

static void assert_refused(struct span json, size_t count)
{
    struct answers answers;
    struct es_reply reply;
    read_reply(&answers, &reply, json, count, 1);
    if (answers.whole) {
        fail_msg("took %.*s", SPAN_ARG(json));
    }
    assert_int_not_equal(answers.err.text[0], 0);
    buf_fini(&answers.text);
}

static void whole_and_trimmed_replies_answer_for_each_event_in_pieces_of_any_size(void **state)
{
    (void)state;
    const char *const replies[] = {whole, trimmed};
    for (size_t i = 0; i < 2; i++) {
        for (size_t piece = 1; piece <= strlen(replies[i]); piece++) {
            struct answers answers;
            struct es_reply reply;
            read_reply(&answers, &reply, span_text(replies[i]), 3, piece);
            assert_true(answers.whole);
            assert_span(buf_span(&answers.text), expected);
            buf_fini(&answers.text);
        }
    }
}

static void a_reply_that_is_cut_off_anywhere_says_nothing(void **state)
{
    (void)state;
    const char *const replies[] = {whole, trimmed};
    for (size_t i = 0; i < 2; i++) {
        for (size_t size = 0; size < strlen(replies[i]); size++) {
            assert_refused(span_make(replies[i], size), 3);
        }
    }
}

static void a_reply_for_more_or_fewer_events_says_nothing(void **state)
{
    (void)state;
    for (size_t count = 0; count < 6; count++) {
        if (count != 3) {
            assert_refused(span_text(whole), count);
            assert_refused(span_text(trimmed), count);
        }
    }
    assert_refused(span_text("{}"), 1);
    assert_refused(span_text("{\"errors\":false}"), 1);
    assert_refused(span_text("{\"errors\":false,\"items\":[]}"), 1);
    assert_refused(span_text(""), 1);
    assert_refused(span_text(""), 0);
}

/* In one piece, the reader compares items with the previous one; byte by byte, it compares none. */
static void items_like_the_one_before_are_read_like_it(void **state)
{
    (void)state;
    static const char refused[] =
        "{\"create\":{\"_index\":\"a\",\"status\":429,\"error\":{\"type\":\"t\",\"reason\":"
        "\"} ]\"}}}";
    static const char *const items[] = {
        "{\"create\":{\"_index\":\"a\",\"status\":201}}",
        "{\"create\":{\"_index\":\"b\",\"status\":201}}",
        refused,
    };
    static const char *const orders[] = {
        "000000", "011111", "022222", "001100", "010101", "002200", "000002", "012012"};
    static const char *const separators[] = {",", " ,\n", ",,", " ", "},"};
    for (size_t o = 0; o < sizeof(orders) / sizeof(orders[0]); o++) {
        for (size_t s = 0; s < sizeof(separators) / sizeof(separators[0]); s++) {
            struct buf json;
            buf_init(&json, 1 << 20);
            buf_add_text(&json, "{\"items\":[ ");
            for (size_t i = 0; orders[o][i]; i++) {
                buf_add_text(&json, i ? separators[s] : "");
                buf_add_text(&json, items[orders[o][i] - '0']);
            }
            buf_add_text(&json, "]}");
            for (size_t count = 4; count < 8; count++) {
                struct answers at_once;
                struct answers by_byte;
                struct es_reply reply;
                read_reply(&at_once, &reply, buf_span(&json), count, json.size);
                read_reply(&by_byte, &reply, buf_span(&json), count, 1);
                assert_int_equal(at_once.whole, s < 2 && count == 6);
                assert_int_equal(by_byte.whole, at_once.whole);
                assert_true(span_equal(buf_span(&at_once.text), buf_span(&by_byte.text)));
                buf_fini(&at_once.text);
                buf_fini(&by_byte.text);
            }
            buf_fini(&json);
        }
    }
}

/* Longer than the part that is kept for comparison. */
static void long_items_that_are_alike_are_read(void **state)
{
    (void)state;
    struct buf json;
    struct buf item;
    buf_init(&json, 1 << 20);
    buf_init(&item, 1 << 20);
    buf_add_text(&item, "{\"create\":{\"status\":400,\"error\":{\"reason\":\"");
    for (size_t i = 0; i < ES_REPLY_MAX_SAME; i++) {
        buf_add_byte(&item, 'x');
    }
    buf_add_text(&item, "\"}}}");
    buf_add_text(&json, "{\"items\":[");
    for (size_t i = 0; i < 4; i++) {
        buf_add_text(&json, i ? "," : "");
        buf_add_span(&json, buf_span(&item));
    }
    buf_add_text(&json, "]}");
    for (size_t piece = 1; piece <= json.size; piece = piece * 3 + 1) {
        struct answers answers;
        struct es_reply reply;
        read_reply(&answers, &reply, buf_span(&json), 4, piece);
        assert_true(answers.whole);
        buf_fini(&answers.text);
    }
    buf_fini(&json);
    buf_fini(&item);
}

static void what_is_no_bulk_reply_says_nothing(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "[]",
        "[{\"create\":{\"status\":201}}]",
        "{\"items\":{\"create\":{\"status\":201}}}",
        "{\"items\":1}",
        "{\"items\":null}",
        "{\"items\":\"x\"}",
        "{\"items\":[201]}",
        "{\"items\":[null]}",
        "{\"items\":[[{\"create\":{\"status\":201}}]]}",
        "{\"items\":[{}]}",
        "{\"items\":[{\"create\":{}}]}",
        "{\"items\":[{\"create\":201}]}",
        "{\"items\":[{\"create\":null}]}",
        "{\"items\":[{\"create\":[201]}]}",
        "{\"items\":[{\"status\":201}]}",
        "{\"items\":[{\"create\":{\"status\":\"201\"}}]}",
        "{\"items\":[{\"create\":{\"status\":20}}]}",
        "{\"items\":[{\"create\":{\"status\":2010}}]}",
        "{\"items\":[{\"create\":{\"status\":201.0}}]}",
        "{\"items\":[{\"create\":{\"status\":-20}}]}",
        "{\"items\":[{\"create\":{\"status\":2e2}}]}",
        "{\"items\":[{\"create\":{\"status\":600}}]}",
        "{\"items\":[{\"create\":{\"status\":099}}]}",
        "{\"items\":[{\"create\":{\"status\":null}}]}",
        "{\"items\":[{\"create\":{\"status\":[201]}}]}",
        "{\"items\":[{\"create\":{\"status\":{\"status\":201}}}]}",
        "{\"items\":[{\"create\":{\"status\":429,\"status\":201}}]}",
        "{\"items\":[{\"create\":{\"error\":{\"status\":201}}}]}",
        "{\"items\":[{\"create\":{\"x\":{\"status\":201}}}]}",
        "{\"items\":[{\"create\":{\"status\":201},\"index\":{\"status\":201}}]}",
        "{\"items\":[{\"create\":{\"status\":201}}],\"items\":[]}",
        "{\"items\":[],\"items\":[{\"create\":{\"status\":201}}]}",
        "{\"x\":{\"items\":[{\"create\":{\"status\":201}}]}}",
        "{\"items\":[{\"create\":{\"status\":201}}]}{}",
        "{\"items\":[{\"create\":{\"status\":201}}]]",
        "{\"items\":[{\"create\":{\"status\":201}},]}",
        "<html>Bad gateway</html>",
        "Unauthorized",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_refused(span_text(cases[i]), 1);
    }
}

static void what_is_not_asked_for_is_skipped(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "{\"items\":[{\"create\":{\"status\":201}}]}",
        " {\n\"items\" : [ { \"create\" : { \"status\" : 201 } } ] }\r\n",
        "{\"a\":[{\"items\":[]},[[]]],\"items\":[{\"index\":{\"status\":201}}],\"b\":{\"c\":{}}}",
        "{\"items\":[{\"create\":{\"a\":{\"status\":500},\"status\":201,\"b\":[{\"status\":5}]}}]}",
        "{\"items\":[{\"create\":{\"error\":null,\"status\":201,\"_index\":null}}]}",
        "{\"items\":[{\"create\":{\"error\":[\"x\"],\"status\":201,\"_index\":[\"x\"]}}]}",
        "{\"items\":[{\"create\":{\"error\":{\"type\":[1],\"reason\":null},\"status\":201}}]}",
        "{\"items\":[{\"cr\\u0065ate\":{\"st\\u0061tus\":201}}]}",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answers answers;
        struct es_reply reply;
        read_reply(&answers, &reply, span_text(cases[i]), 1, 5);
        if (!answers.whole) {
            fail_msg("refused %s: %s", cases[i], answers.err.text);
        }
        assert_span(buf_span(&answers.text), "0 201 ||\n");
        buf_fini(&answers.text);
    }
}

static void an_item_has_nothing_of_the_one_before(void **state)
{
    (void)state;
    struct answers answers;
    struct es_reply reply;
    read_reply(&answers, &reply,
        span_text("{\"items\":[{\"create\":{\"_index\":\"i\",\"status\":400,\"error\":{\"type\":"
                  "\"t\",\"reason\":\"r\"}}},{\"create\":{\"status\":201}}]}"),
        2, 3);
    assert_true(answers.whole);
    assert_span(buf_span(&answers.text), "0 400 i|t|r\n1 201 ||\n");
    assert_int_equal(answers.refusal.reason.size, 0);
    buf_fini(&answers.text);
}

static void names_that_are_longer_than_any_are_left_out_and_reasons_are_cut(void **state)
{
    (void)state;
    struct answers answers;
    struct es_reply reply;
    struct buf json;
    buf_init(&json, 1 << 16);
    buf_add_text(&json, "{\"items\":[{\"create\":{\"_index\":\"");
    for (int i = 0; i < ES_REPLY_MAX_INDEX + 1; i++) {
        buf_add_byte(&json, 'i');
    }
    buf_add_text(&json, "\",\"error\":{\"type\":\"");
    for (int i = 0; i < ES_REPLY_MAX_TYPE + 1; i++) {
        buf_add_byte(&json, 't');
    }
    buf_add_text(&json, "\",\"reason\":\"");
    for (int i = 0; i < ES_REPLY_MAX_REASON + 100; i++) {
        buf_add_byte(&json, 'r');
    }
    buf_add_text(&json, "\"},\"status\":400}}]}");
    read_reply(&answers, &reply, buf_span(&json), 1, 100);
    assert_true(answers.whole);
    assert_int_equal(answers.text.size, strlen("0 400 ||\n") + ES_REPLY_MAX_REASON);
    buf_fini(&answers.text);
    buf_fini(&json);
}

static void a_refused_request_says_why_as_far_as_it_can_be_read(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        int status;
        const char *type;
        const char *reason;
    } cases[] = {
        {"{\"error\":{\"root_cause\":[{\"type\":\"a\",\"reason\":\"b\"}],\"type\":\"illegal\","
         "\"reason\":\"Malformed action\"},\"status\":400}",
            400, "illegal", "Malformed action"},
        {"{\"error\":\"Content-Type header [] is not supported\",\"status\":406}", 406, "",
            "Content-Type header [] is not supported"},
        {"{\"error\":{\"type\":\"t\",\"reason\":\"r\"},\"sta", 0, "t", "r"},
        {"{\"items\":[{\"create\":{\"error\":{\"type\":\"t\"", 0, "", ""},
        {"Unauthorized", 0, "", ""},
        {"", 0, "", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct answers answers;
        struct es_reply reply;
        read_reply(&answers, &reply, span_text(cases[i].json), 1, 4);
        assert_false(answers.whole);
        assert_int_equal(answers.refusal.status, cases[i].status);
        assert_span(answers.refusal.type, cases[i].type);
        assert_span(answers.refusal.reason, cases[i].reason);
        buf_fini(&answers.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_and_trimmed_replies_answer_for_each_event_in_pieces_of_any_size),
        cmocka_unit_test(a_reply_that_is_cut_off_anywhere_says_nothing),
        cmocka_unit_test(a_reply_for_more_or_fewer_events_says_nothing),
        cmocka_unit_test(items_like_the_one_before_are_read_like_it),
        cmocka_unit_test(long_items_that_are_alike_are_read),
        cmocka_unit_test(what_is_no_bulk_reply_says_nothing),
        cmocka_unit_test(what_is_not_asked_for_is_skipped),
        cmocka_unit_test(an_item_has_nothing_of_the_one_before),
        cmocka_unit_test(names_that_are_longer_than_any_are_left_out_and_reasons_are_cut),
        cmocka_unit_test(a_refused_request_says_why_as_far_as_it_can_be_read),
    };
    return cmocka_run_group_tests_name("outputs/elasticsearch/es_reply", tests, NULL, NULL);
}
