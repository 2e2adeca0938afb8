#include "cli/selftest/selftest_check.h"

#include <stdio.h>

#include "support/test.h"

/* Right and wrong lines of an agent: the check of the self-test must see each fault. */
enum { MAX_LINES = 16 };

struct lines {
    struct buf bytes;
    uint32_t ends[MAX_LINES];
    size_t count;
};

static int begin(void **state)
{
    (void)state;
    return selftest_check_begin(100) ? 0 : -1;
}

static void add(struct lines *lines, const char *kind, unsigned cpu, const char *rest)
{
    if (lines->count == 0) {
        buf_init(&lines->bytes, 1 << 16);
    }
    buf_printf(&lines->bytes,
        "{\"@timestamp\":\"x\",\"provider\":{\"kind\":\"%s\"},\"etw\":{\"cpu\":%u},%s}\n", kind,
        cpu, rest);
    lines->ends[lines->count++] = (uint32_t)lines->bytes.size;
}

static void add_event(struct lines *lines, enum selftest_kind kind, unsigned cpu, uint64_t sequence)
{
    struct buf data;
    buf_init(&data, 4096);
    selftest_writer_expect(kind, sequence, 1, &data);
    buf_add_byte(&data, ',');
    selftest_writer_expect_text(kind, sequence, 1, &data);
    buf_add_byte(&data, 0);
    add(lines, selftest_writer_kind(kind), cpu, (const char *)data.data);
    buf_fini(&data);
}

/* True: the output has closed. */
static bool send(struct lines *lines)
{
    struct output_report report = {.records = NULL};
    struct delivery delivery = {
        .bytes = buf_span(&lines->bytes), .record_ends = lines->ends, .record_count = lines->count};
    enum output_verdict verdict = selftest_check_ops.send(
        selftest_check_ops.create(NULL, NULL, NULL), &delivery, &report);
    buf_fini(&lines->bytes);
    lines->count = 0;
    return verdict == OUTPUT_FATAL && report.error.code == ERR_STOPPED;
}

static void it_closes_when_everything_has_come(void **state)
{
    (void)state;
    struct lines lines = {.count = 0};
    struct selftest_seen seen;
    for (int kind = 0; kind < SELFTEST_KINDS; kind++) {
        add_event(&lines, (enum selftest_kind)kind, 0, 1);
        add_event(&lines, (enum selftest_kind)kind, 0, 2);
    }
    assert_false(send(&lines)); /* their number was not reported */
    selftest_check_sent((const uint64_t[]){2, 2, 2, 3});
    /* the mark at the end does not count as an event */
    add_event(&lines, SELFTEST_TRACELOGGING, 1, 0);
    assert_false(send(&lines));
    add_event(&lines, SELFTEST_MESSAGE, 0, 3);
    assert_true(send(&lines));
    selftest_check_end(&seen);
    for (int kind = 0; kind < SELFTEST_KINDS; kind++) {
        assert_int_equal(seen.received[kind], kind == SELFTEST_MESSAGE ? 3 : 2);
        assert_int_equal(seen.wrong[kind], 0);
        assert_int_equal(seen.out_of_order[kind], 0);
    }
    assert_true(seen.p50_ns > 0 && seen.p50_ns <= seen.p99_ns && seen.p99_ns <= seen.max_ns);
}

#define MESSAGE_DATA                                                                          \
    "\"data\":{\"arg10\":7,\"arg11\":5,\"arg12\":-7,\"arg13\":\"na\xc3\xafve \xe2\x9c\x93\"," \
    "\"arg14\":3221225506,\"arg14_name\":\"STATUS_ACCESS_DENIED\"}"

static void a_message_is_right_with_its_text_alone(void **state)
{
    (void)state;
    struct selftest_seen seen;
    struct lines lines = {.count = 0};
    add(&lines, "wpp", 0,
        MESSAGE_DATA ",\"message\":\"tick 7 sent at 5: -00007, na\xc3\xafve \xe2\x9c\x93, "
                     "0xc0000022(STATUS_ACCESS_DENIED)\"");
    send(&lines);
    selftest_check_end(&seen);
    assert_int_equal(seen.received[SELFTEST_MESSAGE], 1);
    assert_int_equal(seen.wrong[SELFTEST_MESSAGE], 0);
}

static void wrong_values_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        const char *rest;
    } cases[] = {
        {"manifest", "\"data\":{\"Sequence\":7,\"SentNs\":5,\"Number\":7,\"Text\":\"x\"}"},
        {"manifest", "\"payload\":\"0700\""},
        {"mof", "\"data\":{\"Sequence\":7}"},
        {"tracelogging", "\"data\":{}"},
        {"wpp", "\"payload\":\"07\""},
        {"wpp", "\"data\":{\"arg10\":7,\"arg11\":5}"},
        {"wpp", MESSAGE_DATA}, /* without its text */
        {"wpp", MESSAGE_DATA ",\"message\":\"tick 7 sent at 5: -00007, na\xc3\xafve \xe2\x9c\x93, "
                             "0xc0000022\""},
    };
    struct selftest_seen seen;
    struct lines lines = {.count = 0};
    uint64_t wrong = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        add(&lines, cases[i].kind, 0, cases[i].rest);
    }
    send(&lines);
    selftest_check_end(&seen);
    for (int kind = 0; kind < SELFTEST_KINDS; kind++) {
        wrong += seen.wrong[kind];
    }
    assert_int_equal(wrong, sizeof(cases) / sizeof(cases[0]));
    assert_non_null(strstr(seen.first_wrong, "\"Number\":7"));
}

static void order_counts_within_a_processor(void **state)
{
    (void)state;
    struct selftest_seen seen;
    struct lines lines = {.count = 0};
    add_event(&lines, SELFTEST_MANIFEST, 0, 5);
    add_event(&lines, SELFTEST_MANIFEST, 1, 3); /* another processor's */
    add_event(&lines, SELFTEST_CLASSIC, 0, 1);  /* another kind's */
    add_event(&lines, SELFTEST_MANIFEST, 0, 4); /* too late */
    add_event(&lines, SELFTEST_MANIFEST, 1, 3); /* twice */
    send(&lines);
    selftest_check_end(&seen);
    assert_int_equal(seen.out_of_order[SELFTEST_MANIFEST], 2);
    assert_int_equal(seen.out_of_order[SELFTEST_CLASSIC], 0);
}

static void what_is_lost_counts_as_come(void **state)
{
    (void)state;
    struct selftest_seen seen;
    struct lines lines = {.count = 0};
    selftest_check_sent((const uint64_t[]){1, 0, 0, 11});
    add_event(&lines, SELFTEST_TRACELOGGING, 0, 1);
    add(&lines, "agent", 0,
        "\"gap\":{\"stage\":\"etw\",\"reason\":\"events_lost\",\"unit\":\"events\",\"count\":4}");
    add(&lines, "agent", 0,
        "\"gap\":{\"stage\":\"queue\",\"reason\":\"full\",\"unit\":\"events\",\"count\":2}");
    add(&lines, "agent", 0,
        "\"gap\":{\"stage\":\"etw\",\"reason\":\"realtime_buffers_lost\",\"unit\":\"buffers\","
        "\"count\":1}");
    assert_false(send(&lines));
    add(&lines, "agent", 0,
        "\"gap\":{\"stage\":\"etw\",\"reason\":\"events_lost\",\"unit\":\"events\",\"count\":5}");
    assert_true(send(&lines));
    selftest_check_end(&seen);
    assert_int_equal(seen.lost, 11);
    assert_int_equal(seen.lost_otherwise, 1);
    assert_int_equal(seen.loss_count, 3);
    assert_string_equal(seen.losses[0].stage, "etw");
    assert_string_equal(seen.losses[0].reason, "events_lost");
    assert_int_equal(seen.losses[0].count, 9);
    assert_string_equal(seen.losses[1].stage, "queue");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(it_closes_when_everything_has_come, begin),
        cmocka_unit_test_setup(a_message_is_right_with_its_text_alone, begin),
        cmocka_unit_test_setup(wrong_values_are_found, begin),
        cmocka_unit_test_setup(order_counts_within_a_processor, begin),
        cmocka_unit_test_setup(what_is_lost_counts_as_come, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
